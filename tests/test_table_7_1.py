"""Hands between strategies of buckets, and thesis table 7.1 made of them: the same code on Leduc."""

from pathlib import Path

import numpy as np
import pytest
from naive import WITHOUT_JIT

import errai
from errai.engine.public_tree import PublicTree
from errai.experiments import thesis_table_7_1 as table
from errai.experiments.figure import Size, compare
from errai.experiments.strategy_match import play_hands
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards
from errai.strategy.bucketed import BucketStrategy

pytestmark = pytest.mark.skipif(WITHOUT_JIT, reason="features of a whole game")


@pytest.fixture
def strategies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[BucketStrategy, BucketStrategy]:
    """Two strategies of Leduc with buckets, played at random."""
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(tmp_path / "cache"))
    rules = load_card_game("leduc")
    errai.abstract(rules, "IR-HS 3-4", tmp_path / "buckets")
    found = []
    for seed in (0, 1):
        strategy = BucketStrategy.uniform(PublicTree.of(rules), tmp_path / "buckets")
        for position in (0, 1):
            draws = np.random.default_rng((seed, position))
            strategy.tables[position][:] = 0.2 + draws.random(len(strategy.tables[position]))
        found.append(strategy)
    return found[0], found[1]


def test_hands_are_dealt_and_played_as_the_strategies_say(
    strategies: tuple[BucketStrategy, BucketStrategy],
) -> None:
    own, other = strategies
    records = play_hands(strategies, ("own", "other"), 4000, 3)
    assert [record.names for record in records[:2]] == [("own", "other"), ("other", "own")]
    dealt = DealerCards(own.game, 3).deal(4000).tolist()
    assert all(
        [*record.holes[0], *record.holes[1]] == cards[:2]
        for record, cards in zip(records, dealt, strict=True)
    )
    assert [str(one) for one in play_hands(strategies, ("own", "other"), 20, 3)] == [
        str(one) for one in records[:20]
    ]
    # How often each strategy raises first with a king is what its tables say.
    for name, strategy in (("own", own), ("other", other)):
        seen = [
            one for one in records if one.names[0] == name and one.holes[0][0] in own.game.deck.parse("KsKh")
        ]
        raised = np.mean([one.betting.betting[0] == "r" for one in seen])
        chance = strategy.probabilities("", "K")["r"]
        assert abs(raised - chance) < 4 * (chance * (1 - chance) / len(seen)) ** 0.5


def test_the_table_has_all_rows(
    strategies: tuple[BucketStrategy, BucketStrategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_trained", lambda seed: strategies[seed])
    told: list[str] = []
    curves = table.draw(Size(40), 0, lambda stage, done, total: told.append(stage))
    found = compare(table.FIGURE, curves)
    assert {end.curve: end.published for end in found.ends} == {
        f"on-policy: {name}": value for name, value in table.PUBLISHED.items()
    }
    assert len(found.claims) == 9
    assert curves.points[-1] == 40
    assert len(curves.notes) == 8 + 7 + 1
    assert {"training", "on-policy: hands", "off-policy: hands"} <= set(told)
