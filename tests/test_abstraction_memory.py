"""What the build of an abstraction takes, byte for byte, in games whose tables no test could hold.

`test_methods.py` and `test_own_abstraction.py` compare estimates with what small builds really take.
"""

from collections.abc import Callable
from typing import Any

import pytest

from errai.abstraction import build
from errai.abstraction.build import feature_plan, memory_needed, table_bytes
from errai.abstraction.features.features import FeaturePlan
from errai.abstraction.methods import clusters, potential
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import Method, RoundMethod, RoundRecipe, num_sampled
from errai.abstraction.methods.percentiles import numbers_a_hand
from errai.abstraction.options import BuildOptions
from errai.abstraction.public import cost
from errai.abstraction.recipe import parse_recipes
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules

KE, KO = METHODS[Method.EARTH_MOVER], METHODS[Method.OPPONENT_CLUSTERS]
HS, PHS, PA = METHODS[Method.STRENGTH], METHODS[Method.NESTED_STRENGTH], METHODS[Method.POTENTIAL_AWARE]

FLOPS, TURNS = 1_286_792, 13_960_050  # classes; those of Waugh's hand-isomorphism on unordered boards
TURN_DEALS = 55_190_538  # canonical deals, in the order of the deals


def plan_of(name: str, num_clusters: int) -> FeaturePlan:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return FeaturePlan(rules, num_clusters)


HOLDEM = plan_of("limit-holdem", 8)
RHODE_ISLAND = plan_of("rhode-island", 4)
DEALS = Deals(HOLDEM.rules)


class Training:
    """Stands for `bytes_to_train` and the like: says how much it is told to say, and listens."""

    def __init__(self, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, *asked: Any) -> int:
        self.asked.append(asked)
        return self.num_bytes


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, int], Training]:
    def patched(module: Any, num_bytes: int) -> Training:
        stand_in = Training(num_bytes)
        monkeypatch.setattr(module, "bytes_to_train", stand_in)
        return stand_in

    monkeypatch.setattr(clusters, "num_cores", lambda: 7)
    monkeypatch.setattr(potential, "num_cores", lambda: 7)
    return patched


@pytest.mark.parametrize(
    ("plan", "r", "num_buckets", "options", "taken", "asked"),
    [
        # A sample of more than a fiftieth is drawn from a list of all numbers; less is not.
        (HOLDEM, 1, 200, {"sample_size": 25_736, "num_threads": 3}, 8 * FLOPS, (50, 25_736, 200, 3)),
        (HOLDEM, 1, 200, {"sample_size": 25_735}, 2 * FLOPS, (50, 25_735, 200, 7)),
        # What is not drawn from takes no list; labels of more than 65,536 buckets take 4 bytes.
        (RHODE_ISLAND, 1, 20, {"sample_size": 325}, 2 * 325, (50, 325, 20, 7)),
        (HOLDEM, 2, 65_536, {"sample_size": 100_000}, 2 * TURNS, (50, 100_000, 65_536, 7)),
        (HOLDEM, 2, 65_537, {"sample_size": 100_000}, 4 * TURNS, (50, 100_000, 65_537, 7)),
        (RHODE_ISLAND, 2, 20, {"num_threads": 1}, 2 * 5083, (1, 5083, 20, 1)),
    ],
)
def test_clustering_all_classes(training, plan, r, num_buckets, options, taken, asked) -> None:
    trained = training(clusters, 10**6)
    recipe = RoundRecipe(Method.EARTH_MOVER, num_buckets)
    assert KE.labels_bytes(plan, r, recipe, 0, BuildOptions(**options)) == taken + 10**6
    columns = (plan.num_clusters, *asked[1:])
    assert KO.labels_bytes(plan, r, recipe, 0, BuildOptions(**options)) == taken + 10**6
    assert trained.asked == [asked, columns]


@pytest.mark.parametrize(
    ("num_deals", "num_buckets", "num_trained", "num_parts", "num_assigned"),
    [
        (10**6, 5, 20_000, 5, 1 << 18),
        (10**6, 50, 100_000, 50, 1 << 18),
        (25_000, 50, 25_000, 50, 25_000),
        (3, 5, 3, 3, 3),
    ],
)
def test_clustering_the_deals_of_a_bucket(
    training, num_deals: int, num_buckets: int, num_trained: int, num_parts: int, num_assigned: int
) -> None:
    """Deals take 26 bytes each; then rows are trained on, or put to the nearest centres, which takes more."""
    recipe = RoundRecipe(Method.EARTH_MOVER, num_buckets, recall=True)
    for method, columns in ((KE, 50), (KO, 8)):
        trained = training(clusters, 1)
        taken = 26 * num_deals + num_assigned * (2 * columns + 8)
        assert method.split_bytes(HOLDEM, 2, recipe, 0, num_deals) == taken
        assert trained.asked == [(columns, num_trained, num_parts, 7)]
        training(clusters, 10**9)
        assert method.split_bytes(HOLDEM, 2, recipe, 0, num_deals) == 26 * num_deals + 10**9


def test_numbers_that_percentiles_hold_for_a_hand() -> None:
    few, many = (1 << 22) - 1, 1 << 22
    assert numbers_a_hand(few, many, None) == 2.1
    assert numbers_a_hand(many, few, None) == 6.3
    assert numbers_a_hand(few, few, (5, 2)) == pytest.approx(4 + 3.6 * 0.4)
    assert numbers_a_hand(few, few, (2, 5)) == numbers_a_hand(few, few, (1, 5)) == pytest.approx(7.6)
    assert numbers_a_hand(few, many, (50, 2)) == 6.3
    assert numbers_a_hand(many, few, (5, 2)) == pytest.approx(4 + 7.8 * 0.4)


def test_percentiles_of_all_classes_and_of_some_deals() -> None:
    """On the flop sums of strengths are below 2^22 and sums of squares are not."""
    plain, nested = RoundRecipe(Method.STRENGTH, 10), RoundRecipe(Method.NESTED_STRENGTH, 10, (5, 2))
    for recipe, method, numbers in ((plain, HS, 2.1), (nested, PHS, 6.3)):
        assert method.labels_bytes(HOLDEM, 1, recipe, 0, BuildOptions()) == int(8 * FLOPS * numbers)
        assert method.split_bytes(HOLDEM, 1, recipe, 0, 1000) == int(8000 * (3 + numbers))
    # Before the flop there are more run-outs, and even sums of strengths are sorted.
    assert HS.labels_bytes(HOLDEM, 0, plain, 0, BuildOptions()) == int(8 * 169 * 6.3)


def test_potential_aware_clustering(training) -> None:
    """Who has seen five cards may see 47 others come, for each of which a row has the bucket."""
    training(clusters, 0)
    alone, recalling = (RoundRecipe(Method.POTENTIAL_AWARE, 100, recall=recall) for recall in (False, True))
    for num_rows, num_trained, num_clusters, found in (
        (FLOPS, 5000, 100, PA.labels_bytes(HOLDEM, 1, alone, 3000, BuildOptions(sample_size=5000))),
        (600, 600, 100, PA.split_bytes(HOLDEM, 1, recalling, 3000, 600)),
        (60, 60, 60, PA.split_bytes(HOLDEM, 1, recalling, 3000, 60)),
    ):
        rows = num_rows * (2 * 47 + 12) + num_trained * (2 * 47 + 28)
        chunks = 7 * 2 * (1024 * (2 * 47 + 300) + 8 * 3000 + 16 * num_clusters)
        assert found == rows + 6 * 3000**2 + 8 * num_clusters * 3000 + chunks


def test_deals_of_a_large_last_round_are_2_to_30_million() -> None:
    assert [num_sampled(n) for n in (1, 100, 101, 1500, 1501)] == [
        2_000_000,
        2_000_000,
        2_020_000,
        30_000_000,
        30_000_000,
    ]


@pytest.mark.parametrize(
    ("r", "num_parents", "num_buckets", "taken"),
    [
        (2, 200, 327, 2 * TURN_DEALS),  # 65,400 buckets in all
        (2, 256, 256, 2 * TURN_DEALS),  # just 65,536
        (2, 200, 328, 4 * TURN_DEALS),  # 65,600
        (3, 7, 30, 7 * 1981 * 2),  # the part of every strength, from 0 to 1980
        (3, 7, 65_537, 7 * 1981 * 4),
    ],
)
def test_tables_with_recall(r: int, num_parents: int, num_buckets: int, taken: int) -> None:
    recipe = RoundRecipe(Method.STRENGTH, num_buckets, recall=True)
    assert HS.table_bytes(HOLDEM, DEALS, r, recipe, num_parents) == taken
    ochs = num_parents * (2 * num_buckets * 8 + 8)
    assert KO.table_bytes(HOLDEM, DEALS, r, recipe, num_parents) == (taken if r == 2 else ochs)


@pytest.mark.parametrize(("num_buckets", "size"), [(65_536, 2), (65_537, 4)])
def test_tables_without_recall(num_buckets: int, size: int) -> None:
    recipe = RoundRecipe(Method.STRENGTH, num_buckets)
    assert HS.table_bytes(HOLDEM, DEALS, 2, recipe, 9) == size * TURNS


@pytest.mark.parametrize(
    ("r", "num_parents", "num_deals", "largest"),
    [
        (2, 5, TURN_DEALS, 2 * TURN_DEALS // 5 + 1),
        (2, 1, TURN_DEALS, TURN_DEALS),  # not twice as many as there are
        (3, 5, 2_000_000, 800_001),
        (3, 1_000_000, 30_000_000, 61),
    ],
)
def test_a_round_that_recalls(monkeypatch, r: int, num_parents: int, num_deals: int, largest: int) -> None:
    """22 bytes a deal besides what cutting the largest bucket takes, or 34 while deals are sorted."""
    recipe = RoundRecipe(Method.STRENGTH, 10, recall=True)
    for cut in (10, 10**12):
        asked: list[Any] = []

        def split(*arguments: Any, cut: int = cut, asked: list[Any] = asked) -> int:
            asked.append(arguments)
            return cut

        monkeypatch.setattr(HS, "split_bytes", split)
        found = HS.working_bytes(HOLDEM, DEALS, r, recipe, num_parents, 11, BuildOptions())
        assert found == max(34 * num_deals, 22 * num_deals + cut)
        assert asked == [(HOLDEM, r, recipe, 11, largest)]


def test_a_round_that_is_clustered_alone(monkeypatch) -> None:
    recipe, options = RoundRecipe(Method.STRENGTH, 10), BuildOptions(seed=5)
    listener = Training(77)
    monkeypatch.setattr(HS, "labels_bytes", listener)
    assert HS.working_bytes(HOLDEM, DEALS, 2, recipe, 9, 11, options) == 77
    assert listener.asked == [(HOLDEM, 2, recipe, 11, options)]


def test_a_build_holds_its_tables_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most of all rounds; each is told how many buckets the rounds beside it have."""
    (recipe,) = parse_recipes("PR-KE-KE 5-4-3", RHODE_ISLAND.rules)
    plan, options = feature_plan([recipe]), BuildOptions(seed=4)
    sizes = table_bytes(recipe, plan)
    assert sizes == (2 * 13, 2 * 325, 2 * 9997)
    for heaviest in range(3):
        asked: list[Any] = []

        def working(
            self: RoundMethod, *arguments: Any, heaviest: int = heaviest, asked: list[Any] = asked
        ) -> int:
            asked.append((*arguments[2:3], *arguments[4:]))
            return 10**9 if arguments[2] == heaviest else 0

        monkeypatch.setattr(RoundMethod, "working_bytes", working)
        assert build.memory_needed([recipe], plan, options) == 10**9 + sum(sizes[: heaviest + 1])
        assert asked == [(0, 1, 4, options), (1, 5, 3, options), (2, 20, 0, options)]


def test_lossless_rounds_take_nothing() -> None:
    recipes = parse_recipes("IR-C-C 169-C-C-C", HOLDEM.rules)
    plan = feature_plan(recipes)
    assert table_bytes(recipes[0], plan) == (0, 0, 0, 0)
    assert memory_needed(recipes, plan, BuildOptions()) == 0


def test_tables_of_public_clusters() -> None:
    """A number for each hand on each of the 1,755 flops, and after each card; centres of the river."""
    flop = 2 * 1755 * 1326
    assert cost.table_bytes(HOLDEM, 1, 60, (500, 400, 200)) == (flop, 52 * flop, 2 * 60 * 200 * 8)
    turn = 2 * 63_193 * 1326
    assert cost.table_bytes(HOLDEM, 2, 60, (400, 200)) == (turn, 2 * 60 * 200 * 8)
    assert cost.table_bytes(plan_of("leduc", 2), 1, 3, (4,)) == (2 * 3 * 4 * 2,)


@pytest.mark.parametrize(
    ("r", "num_buckets", "num_boards", "num_open", "num_places", "num_classes", "asked"),
    [
        (1, 500, 120, 120 * 1176, 120 * 1326, 120 * 1176, (50, 50_000, 500, 1)),
        # 49 cards may come, and leave 1,128 hands.
        (2, 300, 120, 120 * 49 * 1128, 120 * 1326 * 52, 120 * 49 * 1128, (50, 30_000, 300, 1)),
        # There are no more classes than the round has, nor more buckets or rows than classes.
        (1, 65_535, 1755, 1755 * 1176, 1755 * 1326, FLOPS, (50, FLOPS, 65_535, 1)),
        (1, 65_535, 2, 2 * 1176, 2 * 1326, 2 * 1176, (50, 2 * 1176, 2 * 1176, 1)),
    ],
)
def test_a_public_cluster_in_a_round_before_the_last(
    training, r, num_buckets, num_boards, num_open, num_places, num_classes, asked
) -> None:
    trained = training(cost, 10**10)
    found = cost._table_working_bytes(HOLDEM, 1, r, num_buckets, num_boards)
    assert found == 9 * num_places + 8 * num_open + 28 * num_classes + 10**10
    assert trained.asked == [asked]
    training(cost, 1)  # telling hands apart takes more than clustering them
    assert cost._table_working_bytes(HOLDEM, 1, r, num_buckets, num_boards) == 9 * num_places + 49 * num_open


@pytest.mark.parametrize(
    ("plan", "num_buckets", "num_boards", "num_rows", "asked"),
    [
        # 1,176 ends of a flop are too many: of 1,000 boards 20 hands each, or one, or all 1,081.
        (HOLDEM, 200, 120, 20_000, (8, 20_000, 200, 1)),
        (HOLDEM, 201, 120, 21_000, (8, 21_000, 201, 1)),
        (HOLDEM, 3, 1, 1000, (8, 1000, 3, 1)),
        (HOLDEM, 65_535, 120, 1_081_000, (8, 1_081_000, 65_535, 1)),
        # 51 ends of a board of one card, each with 50 hands; from 20 boards on a sample, if that has more.
        (RHODE_ISLAND, 30, 10, 10 * 51 * 50, (4, 25_500, 30, 1)),
        (RHODE_ISLAND, 30, 19, 19 * 51 * 50, (4, 48_450, 30, 1)),
        (RHODE_ISLAND, 30, 20, 19 * 51 * 50, (4, 48_450, 30, 1)),
        (RHODE_ISLAND, 600, 20, 50_000, (4, 50_000, 600, 1)),
        (RHODE_ISLAND, 60_000, 1, 2550, (4, 2550, 2550, 1)),
    ],
)
def test_a_public_cluster_in_the_last_round(training, plan, num_buckets, num_boards, num_rows, asked) -> None:
    width = 2 * plan.num_clusters
    swept = 64 * plan.rules.num_hands() * (31 + width)
    trained = training(cost, 10**10)
    found = cost._centres_working_bytes(plan, 1, num_buckets, num_boards)
    assert found == swept + num_rows * (3 * width + 16) + 10**10
    assert trained.asked == [asked]
    training(cost, 1)
    told_apart = num_rows * (4 * width + 45)
    assert cost._centres_working_bytes(plan, 1, num_buckets, num_boards) == swept + told_apart


@pytest.mark.parametrize(
    ("num_clusters", "largest"),
    [(60, 4 * 30), (1754, 2), (1755, 1), (1, 1755), (3, 1753), (5, 4 * 351)],
)
def test_the_largest_public_cluster(monkeypatch, num_clusters: int, largest: int) -> None:
    """Four times the mean, but each other cluster has a board. The round that takes the most counts."""
    asked: list[Any] = []
    for heaviest in (1, 2, 3):

        def table(*arguments: Any, heaviest: int = heaviest) -> int:
            asked.append(arguments[1:])
            return 10**12 if arguments[2] == heaviest else 1

        def centres(*arguments: Any, heaviest: int = heaviest) -> int:
            asked.append(arguments[1:])
            return 10**12 if heaviest == 3 else 1

        monkeypatch.setattr(cost, "_table_working_bytes", table)
        monkeypatch.setattr(cost, "_centres_working_bytes", centres)
        tables = sum(cost.table_bytes(HOLDEM, 1, num_clusters, (9, 8, 7)))
        found = cost.memory_needed(HOLDEM, 1, num_clusters, (9, 8, 7), 5000, 2)
        assert found == tables + min(2, num_clusters) * 10**12
        assert asked[-3:] == [(1, 1, 9, largest), (1, 2, 8, largest), (1, 7, largest)]
