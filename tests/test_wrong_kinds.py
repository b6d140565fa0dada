"""Every public function that takes a game or a strategy takes a name where it can, and refuses the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import errai
from errai.abstraction.options import BuildOptions
from errai.errors import UsageError
from errai.strategy.strategy import uniform_strategy

KUHN = uniform_strategy("kuhn")
BLUFF = errai.load_game("bluff-1-1")
RUN = errai.solve("kuhn", iterations=1)

TAKES_A_GAME: dict[str, Callable[[Any], Any]] = {
    "load_game": errai.load_game,
    "solve": lambda game: errai.solve(game, iterations=1),
    "uniform_strategy": errai.uniform_strategy,
    "strategy_from_function": lambda game: errai.strategy_from_function(
        game, lambda betting, hand, board, actions: [1 / len(actions)] * len(actions)
    ),
    "abstract": lambda game: errai.abstract(game, "IR-C C"),
    "abstraction_from_function": lambda game: errai.abstraction_from_function(game, lambda hand, board, r: 0),
    "load_agent": lambda game: errai.load_agent("half", game),
    "from_openspiel": lambda game: errai.from_openspiel(game, errai.to_openspiel(KUHN)),
}

TAKES_A_STRATEGY: dict[str, Callable[[Any], Any]] = {
    "exploitability": errai.exploitability,
    "best_response": errai.best_response,
    "expected_value": lambda strategy: errai.expected_value(strategy, KUHN),
    "expected_value of the second": lambda strategy: errai.expected_value(KUHN, strategy),
    "to_openspiel": errai.to_openspiel,
}

TAKES_NEITHER: dict[str, Callable[[Any], Any]] = {
    "solve_matrix": errai.solve_matrix,
    "solve_spot": lambda board: errai.solve_spot(board, ("AA", "KK"), 10, 10, iterations=1),
    "ranges of solve_spot": lambda ranges: errai.solve_spot("AsKsQs", ranges, 10, 10, iterations=1),
    "bets of solve_spot": lambda bets: errai.solve_spot("AsKsQsJs2h", ("AA", "KK"), 10, 10, bets or 5),  # type: ignore[arg-type]
    "load_strategy": errai.load_strategy,
    "load_agent": lambda text: errai.load_agent(text, "kuhn"),
    "name of abstract": lambda name: errai.abstract("kuhn", name),
    "load_abstraction": errai.load_abstraction,
    "abstract_public": errai.abstract_public,
    "abstraction of solve": lambda seen: errai.solve("leduc", iterations=1, abstraction=seen or 5),
}

WRONG: dict[str, Any] = {
    "a name": "no such game",
    "nothing": None,
    "a number": 5,
    "a list": [],
    "bytes": b"kuhn",
    "a run": RUN,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", [*TAKES_A_GAME, *TAKES_A_STRATEGY, *TAKES_NEITHER])
def test_what_is_of_another_kind_is_refused_in_a_sentence(name: str, wrong: str) -> None:
    function = {**TAKES_A_GAME, **TAKES_A_STRATEGY, **TAKES_NEITHER}[name]
    with pytest.raises(UsageError) as refused:
        function(WRONG[wrong])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 320


@pytest.mark.parametrize("name", TAKES_A_GAME)
def test_games_are_taken_by_name(name: str) -> None:
    TAKES_A_GAME[name]("kuhn")
    TAKES_A_GAME[name](errai.load_game("kuhn"))


@pytest.mark.parametrize("name", [*TAKES_A_STRATEGY, *TAKES_NEITHER])
def test_the_name_of_a_game_is_not_a_strategy(name: str) -> None:
    with pytest.raises(UsageError):
        {**TAKES_A_STRATEGY, **TAKES_NEITHER}[name]("kuhn")


@pytest.mark.parametrize("name", [name for name in TAKES_A_GAME if name not in ("load_game", "solve")])
def test_dice_are_refused_where_cards_are_expected(name: str) -> None:
    with pytest.raises(UsageError, match="'bluff-1-1' is a dice game: expected a card game"):
        TAKES_A_GAME[name](BLUFF)


@pytest.mark.parametrize("name", TAKES_A_STRATEGY)
def test_a_strategy_of_dice_is_measured_or_refused(name: str) -> None:
    strategy = errai.solve("bluff-1-1", iterations=1).strategy
    if name == "exploitability":
        assert errai.exploitability(strategy).chips > 0
        return
    with pytest.raises(UsageError, match="a card game"):
        TAKES_A_STRATEGY[name](strategy)
    with pytest.raises(UsageError, match="expected a strategy"):
        TAKES_A_STRATEGY[name](BLUFF)


def test_a_run_is_told_where_its_strategy_is() -> None:
    with pytest.raises(UsageError, match=r"expected a strategy, not <?Run.*: its 'strategy' is one"):
        errai.exploitability(RUN)  # type: ignore[call-overload]


BASE = errai.abstraction_from_function("leduc", lambda hand, board, r: 0, "one")

OPTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "iterations": (lambda v: errai.solve("kuhn", iterations=v), "iterations must be a whole number"),
    "seed": (lambda v: errai.solve("kuhn", iterations=1, seed=v), "seed must be a whole number"),
    "delay": (lambda v: errai.solve("kuhn", iterations=1, delay=v), "delay must be a whole number"),
    "measure_every": (
        lambda v: errai.solve("kuhn", iterations=1, measure_every=v),
        "the iterations between measurements must be a whole number",
    ),
    "num_threads": (
        lambda v: errai.solve("kuhn", iterations=1, num_threads=v),
        "the number of threads must be a whole number",
    ),
    "threads of exploitability": (
        lambda v: errai.exploitability(KUHN, num_threads=v),
        "the number of threads must be a whole number",
    ),
    "seed of options": (lambda v: BuildOptions(seed=v), "seed must be a whole number"),
    "restarts of options": (lambda v: BuildOptions(restarts=v), "restarts must be a whole number"),
    "iterations of options": (
        lambda v: BuildOptions(max_iterations=v),
        "max_iterations must be a whole number",
    ),
    "sample of options": (lambda v: BuildOptions(sample_size=v), "sample_size must be a whole number"),
    "passes of options": (lambda v: BuildOptions(full_passes=v), "full_passes must be a whole number"),
    "threads of options": (lambda v: BuildOptions(num_threads=v), "num_threads must be a whole number"),
    "clusters of abstract": (
        lambda v: errai.abstract("leduc", "IR-KO 2-2", clusters=v),
        "the number of opponent clusters must be a whole number",
    ),
    "public_clusters": (
        lambda v: errai.abstract_public(BASE, public_clusters=v),
        "the number of public clusters must be a whole number",
    ),
    "special_round": (
        lambda v: errai.abstract_public(BASE, special_round=v),
        "special_round must be a whole number",
    ),
    "buckets": (
        lambda v: errai.abstract_public(BASE, buckets=v),
        "the buckets of a cluster must be a whole number",
    ),
    "seed of abstract_public": (
        lambda v: errai.abstract_public(BASE, public_clusters=2, seed=v),
        "seed must be a whole number",
    ),
}


@pytest.mark.parametrize("wrong", ["x", 2.5, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_not_a_whole_number_is_refused_by_name(name: str, wrong: Any) -> None:
    function, sentence = OPTIONS[name]
    with pytest.raises(UsageError) as refused:
        function(wrong)
    assert str(refused.value) == f"{sentence}, not {wrong!r}"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: errai.solve("kuhn", until="1mbb"), "the target must be a number, not '1mbb'"),
        (lambda: errai.solve("kuhn", seconds="10s"), "the time limit must be a number, not '10s'"),
        (lambda: errai.solve("kuhn", seconds=float("nan")), "the time limit must be a number, not nan"),
        (
            lambda: errai.solve("kuhn", iterations=1, checkpoint_every="x"),
            "checkpoint_every must be a number, not 'x'",
        ),
        (
            lambda: errai.solve("kuhn", iterations=1, alternating=1),
            "alternating must be True or False, not 1",
        ),
        (
            lambda: errai.best_response(KUHN, payoffs=5),  # type: ignore[arg-type]
            "payoffs must be Payoffs or text such as 'rake 5% cap 3', not 5",
        ),
        (lambda: errai.solve("kuhn", iterations=1, out=5), "out must be a path, not 5"),
        (lambda: errai.solve("kuhn", iterations=1, tables_in=5), "tables_in must be a path, not 5"),
        (lambda: errai.solve("kuhn", iterations=1, report="x"), "report must be a function, not 'x'"),
        (
            lambda: errai.solve("kuhn", iterations=1, bets=5),
            "bets must be a BetMenu, text such as '0.5p,1p,all-in' or a path, not 5",
        ),
        (lambda: errai.abstract("leduc", "IR-HS 2-2", 5), "out must be a path, not 5"),  # type: ignore[arg-type]
        (
            lambda: errai.abstract("leduc", "IR-HS 2-2", options={"seed": 1}),  # type: ignore[arg-type]
            "options must be BuildOptions, not {'seed': 1}",
        ),
        (lambda: errai.abstract_public(BASE, report="x"), "report must be a function, not 'x'"),  # type: ignore[arg-type]
    ],
)
def test_options_of_another_kind_are_refused_by_name(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        call()
    assert str(refused.value) == sentence


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    two: Any = np.int64(2)
    assert errai.solve("kuhn", iterations=two).iterations == 2
