"""Abstractions of whole small games: recipes, recall, symmetry, files; and the full deck, slowly."""

from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from naive import abstraction_buckets as naive

import errai
from errai.abstraction import _round_buckets, population
from errai.abstraction.abstraction import Abstraction, RoundFactory
from errai.abstraction.build import build_abstraction
from errai.abstraction.clustering.percentile import (
    MAX_VALUES_TO_COUNT,
    bucket_of_value,
    nested_percentiles,
    percentile_buckets,
)
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import BoardSweep, FeaturePlan, Features
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import Method, RoundRecipe, RoundWork
from errai.abstraction.options import BuildOptions
from errai.abstraction.population import random_deals
from errai.abstraction.public.build import build_public_abstraction
from errai.abstraction.public.clusters import cluster_public_boards, public_differences, transition_table
from errai.abstraction.recipe import Recipe, default_nesting, parse_recipes
from errai.abstraction.round_buckets import ClassTable, Lossless, RefinedStrength
from errai.cards.hands import open_deals
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.tree.buckets import verify_same_cards

NUM_DEALS = 100_000


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Features]:
    """Features of small games, built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        found = {}
        for name, num_clusters in (("rhode-island", 4), ("holdem-2-4", 8), ("leduc", 2)):
            found[name] = build_features(FeaturePlan(rules_of(name), num_clusters))
            for r in range(found[name].plan.rules.num_rounds):  # map now, while the variable is set
                found[name].deals(r), found[name].strength(r), found[name].ochs(r), found[name].squared(r)
                if r < found[name].plan.last_round:
                    found[name].histograms(r)
            assert len(found[name].opponent_clusters)
    return found


def build(features: Features, name: str, **options: int) -> Abstraction:
    return build_abstraction(parse_recipes(name, features.plan.rules), features, BuildOptions(**options))


@pytest.mark.parametrize(
    ("game", "name"),
    [
        ("limit-holdem", "IR-KE-KO 169-9000-9000-9000"),
        ("limit-holdem", "PR-PHS-PHS 10-10-10-10"),
        ("limit-holdem", "IR-KE-PHS 169-200-200-1000"),
        ("limit-holdem", "PR-KE-KO 169-4-4-4"),
        ("limit-holdem", "IR-C-KO 169-1286792-C-200"),
        ("limit-holdem", "IIPP-KE-KO 169-200-5-5"),
        ("limit-holdem", "IR-PHS-KE-PA-KO 10-100-50-200"),
        ("limit-holdem", "IR-PHS-PHS 169-60x150-9000-9000"),
        ("holdem-2-4", "PR-PHS-PHS 5-5"),
    ],
)
def test_names_can_be_read_back(game: str, name: str) -> None:
    recipe = Recipe.parse(name, rules_of(game))
    assert recipe.name == name
    assert Recipe.parse(recipe.name, rules_of(game)) == recipe


def test_what_names_mean() -> None:
    rules = rules_of("limit-holdem")
    thesis = Recipe.parse("IR-KE-KO 169-9000-9000-9000", rules)
    assert [one.method for one in thesis.rounds] == [
        Method.CANONICAL,
        Method.EARTH_MOVER,
        Method.EARTH_MOVER,
        Method.OPPONENT_CLUSTERS,
    ]
    assert not any(one.recall for one in thesis.rounds)
    recalling = Recipe.parse("PR-PHS-PHS 10-10-10-10", rules)
    assert [one.nested for one in recalling.rounds] == [(5, 2), (5, 2), (5, 2), None]
    assert [one.recall for one in recalling.rounds] == [False, True, True, True]
    assert Recipe.parse("ir-ke 169-1,000-1,000-1,000", rules).rounds[3].num_buckets == 1000
    # As many parts of each bucket as there are flops in all: no reason to forget the bucket.
    assert Recipe.parse("PR-HS 10-1286792-9-9", rules).rounds[1] == RoundRecipe(
        Method.STRENGTH, 1_286_792, None, recall=True
    )
    both = parse_recipes("IR-KE-KO 169-200-200-200 / PR-PHS-PHS 10-10-10-10", rules)
    assert len(both) == 2
    assert len(parse_recipes("IR-KE-KO 169-9-9-9 / IR-KE-KO 169-9-9-9", rules)) == 1


def test_nesting_is_that_of_the_thesis() -> None:
    """THESIS sections 5.5 and 11.3: 5 x 2, 150 x 60, 406 x 163 (103 in print, but the product is 66,178)."""
    assert default_nesting(10) == (5, 2)
    assert default_nesting(9) == (3, 3)
    assert default_nesting(9000) == (150, 60)
    assert default_nesting(66178) == (406, 163)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("IR-XX-KO 169-9-9-9", "unknown method 'XX': expected one of C, HS, PHS, SHS, KE, KO, PA"),
        (
            "IR-KE-KO 169-2000000-9-9",
            "on the flop of limit-holdem must be 1 to 1,286,792, the number of its hands, not 2,000,000",
        ),
        ("IR-KE-KO 169-0-9-9", "of its hands, not 0"),
        ("IR-KE-KO 169-9-9", "expected 4 sizes, one for each round of 'limit-holdem', not 3 as in '169-9-9'"),
        ("XR-KE-KO 169-9-9-9", "unknown recall 'XR': expected PR, IR, or a letter P or I"),
        ("IR-KE-KO 169-9-9-x", "invalid size 'x': expected a number of buckets, such as 200, 5x2 or C"),
        ("IR-KE-KO", "invalid name of an abstraction 'IR-KE-KO'"),
        ("IR-KE-KO 169-5x2-9-9", "the size '5x2' nests"),
        ("IR-KE-KO-KE 169-9-9-9", "or 4, one for each round, not 3 as in 'KE-KO-KE'"),
        ("IR-KE-PA 169-9-9-9", "round 4 is the last"),
        ("PR-PA-KO 169-9-9-9", "PA in round 2 must have a round 3 clustered alone"),
        ("PIII-KE-KO 9-9-9-9", "the first round cannot recall"),
        ("IR-KE-KO 169-99999999999-9-9", "the size '99999999999' must be at most 2,147,483,647"),
        ("IR-PHS 169-2147483647-5-5", "must be 1 to 1,286,792, the number of its hands, not 2,147,483,647"),
        ("PR-PHS 169-5-2147483647-5", "on the turn of limit-holdem must be 1 to 55,190,538, the number"),
        (
            f"IR-PHS 169-{'9' * 5000}-5-5",
            f"the size '{'9' * 30}... (5,000 characters)' must be at most 2,147,483,647",
        ),
        (
            f"IR-PHS 169-5x{'9' * 5000}-5-5",
            f"the size '5x{'9' * 28}... (5,002 characters)' must be at most 2,147,483,647",
        ),
        ("IR-KE-KO 169-9-9-9 / IR-KE-KO 169-9-9-9 / IR-KE-KO 169-9-9-9", "not 3"),
    ],
)
def test_bad_names(name: str, sentence: str) -> None:
    began = perf_counter()
    with pytest.raises(UsageError) as caught:
        parse_recipes(name, rules_of("limit-holdem"))
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 250, "one sentence"
    assert perf_counter() - began < 1, "bounds are checked before anything is computed"


def test_percentiles_against_the_twin() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        size, num_buckets = int(rng.integers(1, 60)), int(rng.integers(1, 12))
        values, others = rng.integers(10, size=(2, size))
        weights = rng.integers(1, 5, size=size)
        found = percentile_buckets(values, weights, num_buckets)
        assert found.tolist() == naive.percentile_buckets(values.tolist(), weights.tolist(), num_buckets)
        sorted_instead = percentile_buckets(values * MAX_VALUES_TO_COUNT, weights, num_buckets)
        assert sorted_instead.tolist() == found.tolist(), "numbers too large to be counted one by one"
        nested = nested_percentiles(values, others, weights, (3, 2))
        outer = percentile_buckets(values, weights, 3)
        assert (nested // 2 == outer).all()
        for part in range(3):
            members = np.flatnonzero(outer == part)
            expected = naive.percentile_buckets(others[members].tolist(), weights[members].tolist(), 2)
            assert (nested[members] % 2).tolist() == expected


def test_numbers_that_never_occurred_have_buckets_too() -> None:
    weight = np.array([0, 0, 3, 0, 3, 3, 0, 0])
    assert bucket_of_value(weight, 3).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert bucket_of_value(np.zeros(3, dtype=np.int64), 4).tolist() == [0, 0, 0]


def test_percentiles_have_equal_weight(features: dict[str, Features]) -> None:
    some = features["holdem-2-4"]
    buckets = build(some, "IR-PHS 169-10").rounds[0][1].arrays["table"]
    weight = np.bincount(buckets, some.deals(1), 10) / some.deals(1).sum(dtype=np.int64)
    assert len(weight) == 10
    assert np.abs(weight - 0.1).max() < 0.01  # hands of equal strength stay together


def test_nearest_in_group_against_the_twin() -> None:
    rng = np.random.default_rng(8)
    rows = rng.integers(40, size=(200, 3)).astype(np.uint16)
    centres = rng.integers(40, size=(5, 4, 3)).astype(np.uint16)
    num_centres = np.array([4, 1, 0, 3, 2])
    group = rng.integers(-1, 5, size=200)
    found = np.empty(200, dtype=np.int64)
    _round_buckets.nearest_in_group(rows, group, centres, num_centres, found)
    expected = naive.nearest_in_group(rows.tolist(), group.tolist(), centres.tolist(), num_centres.tolist())
    assert found.tolist() == expected


def test_the_lowest_of_equally_near_centres_of_a_group() -> None:
    """The row 5 lies between 4 and 6, whichever comes first; in group 1 the third of equals is not in use."""
    rows, group = np.array([[5], [5], [9]], dtype=np.uint16), np.array([0, 1, 1])
    centres = np.array([[[9], [6], [4]], [[4], [6], [9]]], dtype=np.uint16)
    found = np.empty(3, dtype=np.int64)
    _round_buckets.nearest_in_group(rows, group, centres, np.array([3, 2]), found)
    assert found.tolist() == [1, 3, 4]


def test_a_bucket_of_few_deals_has_fewer_centres(features: dict[str, Features]) -> None:
    """Of four parts in each bucket the first has two and the third one: the rest are not looked at."""
    some = features["rhode-island"]
    (recipe,) = parse_recipes("IIP-HS-KO 13-3-4", some.plan.rules)
    parent = build(some, "IR-HS-HS 13-3-2").rounds[0][1]
    deals, options = Deals(some.plan.rules), BuildOptions()
    work = RoundWork(2, recipe.rounds[2], some, deals, options, parent, None, print, "")
    parts = {0: np.full((2, 4), 900, dtype=np.uint16), 2: np.full((1, 4), 3000, dtype=np.uint16)}
    made = METHODS[Method.OPPONENT_CLUSTERS].looked_up(work, parts)
    assert made.num_buckets == 12
    assert made.arrays["num-centres"].tolist() == [2, 0, 1]
    assert made.arrays["centres"][:, :, 0].tolist() == [[900, 900, 0, 0], [0] * 4, [3000, 0, 0, 0]]


def test_an_opponent_cluster_without_hands_keeps_its_column(features: dict[str, Features]) -> None:
    """Four clusters, the last of them empty: rows have four columns, as the centres have."""
    some = features["rhode-island"]
    clusters = np.minimum(some.opponent_clusters, 2).astype(np.uint16)
    parent = build(some, "IR-HS-HS 13-4-2").rounds[0][1]
    rng = np.random.default_rng(5)
    centres = rng.integers(3500, size=(parent.num_buckets, 3, 4)).astype(np.uint16)
    num_centres = np.full(parent.num_buckets, 3)
    factory = RoundFactory(some.plan.rules, clusters)
    arrays = {"centres": centres, "num-centres": num_centres}
    made = factory.make("ochs", 2, arrays, 3 * parent.num_buckets, [parent, parent])
    deals = random_deals(some.classes, 2, 500, rng)
    sweep = BoardSweep(some.classes, clusters, 4)
    expected = []
    for deal, p in zip(deals, parent.of_deals(np.ascontiguousarray(deals[:, :2])).tolist(), strict=True):
        row = sweep.features(deal[1:]).ochs[some.plan.rules.deck.hand_index(deal[:1].tolist())]
        expected += naive.nearest_in_group([row.tolist()], [p], centres.tolist(), num_centres.tolist())
    assert made.of_deals(deals).tolist() == expected


@pytest.mark.parametrize("name", ["PR-PHS-PHS 4-2x2-3", "IIP-KO-KE 13-30-3", "IR-C-KO 13-325-9"])
def test_saved_recipes_are_the_recipes(features: dict[str, Features], tmp_path: Path, name: str) -> None:
    built = build(features["rhode-island"], name, restarts=1, max_iterations=1)
    built.save(tmp_path / "a")
    loaded = errai.load_abstraction(tmp_path / "a")
    assert isinstance(loaded, Abstraction)
    assert loaded.recipes == built.recipes
    assert [one.recall for one in loaded.recipes[0].rounds] == [one.recall for one in built.recipes[0].rounds]
    assert loaded.name == built.name == name
    letters = {"PR": "IPP", "IIP": "IIP", "IR": "III"}[name.split("-")[0]]
    assert "".join("P" if one.recall else "I" for one in loaded.recipes[0].rounds) == letters


@pytest.mark.parametrize(
    ("game", "name"),
    [
        ("rhode-island", "PR-KE-KO 5-4-3"),
        ("rhode-island", "IR-PA-KO 13-20-30"),
        ("rhode-island", "PR-PHS-PHS 4-2x2-3"),
        ("rhode-island", "IIP-KO-KE 13-30-3"),
        ("rhode-island", "IR-HS-HS 5-325-20"),
        ("holdem-2-4", "PR-PHS-PHS 5-5"),
        ("holdem-2-4", "IR-C-KE 169-100"),
        ("leduc", "PR-KE-KO 2-2"),
    ],
)
def test_every_deal_has_a_bucket_that_suits_do_not_change(
    features: dict[str, Features], game: str, name: str
) -> None:
    abstraction = build(features[game], name, restarts=1, max_iterations=5, sample_size=5000)
    assert abstraction.name == name
    verify_deals(abstraction, np.random.default_rng(1))


def verify_deals(abstraction: Abstraction, rng: np.random.Generator) -> None:
    """Every hand has a bucket, suits do not change it, and a round that recalls tells the round before."""
    rules, classes = abstraction.game, abstraction.classes
    for player in range(abstraction.num_players_described):
        deals = random_deals(classes, rules.num_rounds - 1, NUM_DEALS, rng)
        before = None
        for r, one in enumerate(abstraction.recipes[player].rounds):
            num_cards = rules.num_hole_cards + classes.num_board_cards(r)
            cards = np.ascontiguousarray(deals[:, :num_cards])
            buckets = abstraction.buckets(cards, r, player)
            assert (buckets >= 0).all()
            assert (buckets < abstraction.num_buckets(r, player)).all()
            assert (abstraction.buckets(renamed_suits(rules, cards, rng), r, player) == buckets).all()
            if one.recall:
                assert before is not None
                pairs = np.unique(np.stack([buckets, before]), axis=1)
                assert len(np.unique(pairs[0])) == pairs.shape[1], "a bucket has one bucket before it"
            before = buckets
        board = deals[0, rules.num_hole_cards :]
        on_board = abstraction.buckets_on_board(board, player)
        hand = rules.deck.hand_index(deals[0, : rules.num_hole_cards].tolist())
        assert on_board[hand] == abstraction.buckets(deals[:1], rules.num_rounds - 1, player)[0]
        is_open = np.logical_not(np.isin(classes.hands, board).any(axis=1))
        assert ((on_board >= 0) == is_open).all()


def renamed_suits(rules: PokerRules, cards: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rename suits at random, and shuffle hole cards and the first public cards."""
    suits = np.array(sorted({card & 3 for card in rules.deck.cards}))
    renamed = np.arange(4)
    renamed[suits] = rng.permutation(suits)
    changed = (cards & ~np.uint8(3)) | renamed[cards & 3].astype(np.uint8)
    hole = rng.permutation(rules.num_hole_cards)
    changed[:, : len(hole)] = changed[:, hole]
    return np.ascontiguousarray(changed)


@pytest.mark.parametrize("name", ["IR-KE-KE 169-60", "PR-KO-KO 8-6", "IR-HS-KO 20-30"])
def test_the_same_bytes_on_one_and_two_threads(features: dict[str, Features], name: str) -> None:
    one, two = (
        build(
            features["holdem-2-4"],
            name,
            restarts=2,
            max_iterations=5,
            num_threads=threads,
            sample_size=20_000,
        )
        for threads in (1, 2)
    )
    for first, second in zip(one.rounds[0], two.rounds[0], strict=True):
        assert first.arrays.keys() == second.arrays.keys()
        for key in first.arrays:
            assert first.arrays[key].tobytes() == second.arrays[key].tobytes()
    assert one.fingerprint == two.fingerprint
    other = build(features["holdem-2-4"], name, restarts=1, max_iterations=5, seed=9, sample_size=20_000)
    assert other.fingerprint != one.fingerprint


def test_large_last_rounds_are_refined_as_a_table_would(
    features: dict[str, Features], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a table, a bucket comes from the parts of its parent; with all deals known both agree."""
    some = features["rhode-island"]
    for name, kind in (
        ("PR-KE-KO 4-3-3", "ochs"),
        ("PR-PHS-PHS 4-2x2-3", "strength"),
        ("PR-KE-KE 4-3-3", "strength"),
    ):
        table = build(some, name, restarts=3)
        with monkeypatch.context() as patch:
            patch.setattr("errai.abstraction.methods.method.MAX_DEALS_IN_A_TABLE", 5000)
            refined = build(some, name, restarts=3)
        assert (table.rounds[0][2].kind, refined.rounds[0][2].kind) == ("deals", kind)
        assert refined.num_buckets(2) == table.num_buckets(2)
        deals = random_deals(some.classes, 2, 3000, np.random.default_rng(4))
        same = table.buckets(deals, 2) // 3 == refined.buckets(deals, 2) // 3
        assert same.all(), "parents are the same"
        if "PHS" in name:  # percentiles of a sample are nearly those of all deals
            assert (table.buckets(deals, 2) == refined.buckets(deals, 2)).mean() > 0.95


def test_hole_cards_of_a_refined_round_may_be_in_any_order() -> None:
    """Every strength is a part of its own, so that a bucket is the strength of the hand."""
    rules = rules_of("holdem-2-4")
    classes, most = HandClasses(rules), FeaturePlan(rules, 1).max_strength
    sweep = BoardSweep(classes, None, 0)
    all_alike = ClassTable(classes, 0, np.zeros(classes.size(0), dtype=np.uint16), 1)
    refined = RefinedStrength(all_alike, 2, 2, sweep, np.arange(most + 1)[np.newaxis], most + 1)
    boards = np.array([rules.deck.parse(text) for text in ("QsJs2d", "7c7d2h")], dtype=np.uint8)
    for board in boards:
        cards, hands = open_deals(rules.deck, 2, board)
        strengths = sweep.features(board).strength[hands]
        assert len(np.unique(strengths)) > 50
        swapped = np.ascontiguousarray(cards[:, [1, 0, 4, 2, 3]])
        for deals in (cards, swapped):
            assert np.array_equal(refined.of_deals(deals), strengths)
        assert np.array_equal(refined.on_board(cards, hands), strengths)


def test_chunks_of_a_sample_are_different_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = rules_of("rhode-island")
    deals, classes = Deals(rules), HandClasses(rules)
    monkeypatch.setattr(population, "DEALS_A_CHUNK", 100)

    def sample(seed: int, num_threads: int) -> population.Population:
        return population.sampled_deals(deals, classes, 1, Lossless(deals, 0), 250, seed, num_threads)

    found = sample(5, 1)
    chunks = [found.classes[begin : begin + 50].tolist() for begin in (0, 100, 200)]
    assert chunks[0] != chunks[1] != chunks[2] != chunks[0]
    assert sample(5, 2).classes.tolist() == found.classes.tolist()
    assert sample(6, 1).classes.tolist() != found.classes.tolist()
    cards = classes.unindex(found.classes, 1)
    assert np.array_equal(found.parents, classes.index(np.ascontiguousarray(cards[:, :1]), 0))
    assert found.weights.tolist() == [1] * 250


def test_sides_may_differ(features: dict[str, Features], tmp_path: Path) -> None:
    some = features["rhode-island"]
    recipes = parse_recipes("IR-KE-KO 13-20-30 / PR-PHS-PHS 4-2x2-3", some.plan.rules)
    abstraction = build_abstraction(recipes, some, BuildOptions(restarts=1), out=tmp_path / "two")
    assert abstraction.num_players_described == 2
    loaded = errai.load_abstraction(tmp_path / "two")
    assert loaded.name == abstraction.name
    assert isinstance(loaded, Abstraction)
    verify_deals(loaded, np.random.default_rng(3))
    deals = random_deals(some.classes, 2, 1000, np.random.default_rng(4))
    for player in (0, 1):
        assert (loaded.buckets(deals, 2, player) == abstraction.buckets(deals, 2, player)).all()
    assert (loaded.buckets(deals, 2, 0) != loaded.buckets(deals, 2, 1)).any()
    loaded.save(tmp_path / "again")
    again = errai.load_abstraction(tmp_path / "again")
    assert isinstance(again, Abstraction)
    assert again.statistics == loaded.statistics == abstraction.statistics
    assert again.statistics[0] != again.statistics[1]


def test_clusters_are_nearer_than_chance(features: dict[str, Features]) -> None:
    """Within-cluster distance falls with the number of buckets."""
    some = features["holdem-2-4"]
    costs = [
        build(some, f"IR-KE-KE 169-{k}", restarts=1, sample_size=50_000).statistics[0][1]["cost"]
        for k in (10, 40, 160)
    ]
    assert costs[0] > 2.5 * costs[1] > 6 * costs[2]


def test_asking_for_a_bucket(features: dict[str, Features], tmp_path: Path) -> None:
    abstraction = build(features["holdem-2-4"], "IR-KE-KE 169-100", restarts=1, max_iterations=3)
    abstraction.save(tmp_path / "a")
    loaded = errai.load_abstraction(tmp_path / "a", whole=True)
    assert isinstance(loaded, Abstraction)
    assert loaded.num_buckets(0) == 169
    assert loaded.num_buckets(1) == 100
    assert (
        loaded.bucket("AsKd", "Qs7d2c") == loaded.bucket("KdAs", "2c7dQs") == loaded.bucket("AhKc", "Qh7c2d")
    )
    assert loaded.bucket("AsKd") == loaded.bucket("AcKh")
    with pytest.raises(UsageError, match="a board of 4 cards does not belong to a round of 'holdem-2-4'"):
        loaded.bucket("AsKd", "Qs7d2c3c")
    with pytest.raises(
        UsageError, match="'As' is not a hand of 'holdem-2-4': the number of cards must be 2, not 1"
    ):
        loaded.bucket("As", "Qs7d2c")
    with pytest.raises(UsageError, match="twice"):
        loaded.bucket("AsKd", "As7d2c")
    with pytest.raises(UsageError, match="the player must be 0 or 1, not 2"):
        loaded.bucket("AsKd", "Qs7d2c", 2)
    with pytest.raises(UsageError, match="'holdem-2-4', whose cards are not those of 'limit-holdem'"):
        verify_same_cards(rules_of("limit-holdem"), (loaded, None))
    verify_same_cards(rules_of("holdem-2-1"), (None, loaded))
    with pytest.raises(UsageError, match="holds an abstraction already"):
        abstraction.save(tmp_path / "a")


def test_lossless_rounds_tell_every_canonical_deal() -> None:
    rules = rules_of("limit-holdem")
    recipe = Recipe.parse("IR-C-C 169-1286792-C-C", rules)
    assert all(one.method is Method.CANONICAL for one in recipe.rounds)
    assert [HandClasses(rules).size(r) for r in range(2)] == [169, 1_286_792]


@pytest.fixture(scope="module")
def full_deck(tmp_path_factory: pytest.TempPathFactory) -> Features:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("full")))
        features = build_features(FeaturePlan(rules_of("limit-holdem")))
        for feature in features.plan.arrays:
            features._array(feature)
    return features


@pytest.mark.slow
def test_features_of_the_full_deck(full_deck: Features) -> None:
    """All 138 million classes: every deal counted once, and every histogram's mean equal to E[HS]."""
    deals = (1326, 25_989_600, 305_377_800, 2_809_475_760)
    for r in range(4):
        assert int(full_deck.deals(r).sum(dtype=np.int64)) == deals[r]
        mean = np.average(full_deck.expected_strength(r), weights=full_deck.deals(r))
        assert abs(mean - 0.5) < 1e-9
        if r < 3:
            for begin in range(0, full_deck.classes.size(r), 1_000_000):
                rows = full_deck.histograms(r)[begin : begin + 1_000_000]
                exact = full_deck.expected_strength(r)[begin : begin + 1_000_000]
                assert np.abs(full_deck.histogram_mean(rows, r) - exact).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "IR-KE-KO 169-200-200-200",
        "PR-PHS-PHS 10-10-10-10",
        "PR-KE-KO 5-5-5-5",
        "IR-PA-KO 169-100-100-200",
        "IIPP-KE-KO 169-100-5-5 / IR-PHS-PHS 10-100-200-300",
    ],
)
def test_the_full_deck(full_deck: Features, name: str) -> None:
    verify_deals(build(full_deck, name, restarts=1), np.random.default_rng(7))


@pytest.mark.slow
def test_public_clusters_of_the_full_deck(full_deck: Features) -> None:
    """60 clusters of the 1,755 flops: renamed suits keep the bucket of 100,000 deals, and its cluster."""
    rules = full_deck.plan.rules
    base = build(full_deck, "IR-KE-KO 169-200-200-200", restarts=1)
    table = transition_table(base.buckets_on_board, Deals(rules), 1, 200)
    boards = cluster_public_boards(public_differences(table), 60)
    assert len(boards.cluster_of_board) == 1755
    assert boards.sizes.min() >= 1
    found = build_public_abstraction(full_deck, boards, buckets=50)
    rng = np.random.default_rng(6)
    deals = random_deals(found.classes, 3, NUM_DEALS, rng)
    flops = Deals(rules).boards.index(deals[:, 2:5], 0)
    for r in (1, 2, 3):
        cards = np.ascontiguousarray(deals[:, : 2 + found.classes.num_board_cards(r)])
        buckets = found.buckets(cards, r)
        assert found.num_buckets(r) == 60 * 50
        assert (buckets // 50 == boards.cluster_of_board[flops]).all()
        assert (found.buckets(renamed_suits(rules, cards, rng), r) == buckets).all()
