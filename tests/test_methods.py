"""Methods: which features and options each uses, what it tells, what it costs before it is paid."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import errai
from errai import memory
from errai.abstraction import build
from errai.abstraction.build import (
    build_abstraction,
    feature_plan,
    fingerprint,
    memory_needed,
    table_bytes,
    verify_build,
)
from errai.abstraction.clustering.kmeans import cluster
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.clustering.percentile import nested_percentiles, percentile_buckets
from errai.abstraction.clustering.potential_aware import cluster_potential
from errai.abstraction.features.build import build_features
from errai.abstraction.features.features import FeaturePlan, Features
from errai.abstraction.features.rows import HandRows
from errai.abstraction.methods import clusters, method, potential
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import Method, RoundWork
from errai.abstraction.methods.percentiles import numbers_a_hand
from errai.abstraction.options import BuildOptions
from errai.abstraction.recipe import Recipe, parse_recipes
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Features]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRAI_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        found = {}
        for name, num_clusters in (("rhode-island", 4), ("holdem-2-1", 8)):
            found[name] = build_features(FeaturePlan(rules_of(name), num_clusters))
            for r in range(found[name].plan.rules.num_rounds):  # map now, while the variable is set
                found[name].deals(r), found[name].strength(r), found[name].ochs(r), found[name].squared(r)
                if r < found[name].plan.last_round:
                    found[name].histograms(r)
            assert len(found[name].opponent_clusters)
    return found


def test_every_method_has_an_object() -> None:
    assert list(METHODS) == list(Method)


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("IR-C-C 169-1286792-C-C", set()),
        ("IR-HS 10-10-10-10", {"strength-0", "strength-1", "strength-2", "strength-3"}),
        ("IR-PHS-PHS 169-10-10-10", {"strength-1", "strength-2", "strength-3"}),
        ("IR-KE-KO 169-9-9-9", {"histograms-1", "histograms-2", "ochs-3", "opponent-clusters"}),
        ("IR-KE-KE 169-9-9-9", {"histograms-1", "histograms-2", "strength-3"}),
        ("IR-PA-KO 169-9-9-9", {"histograms-2", "ochs-3", "opponent-clusters"}),
        ("IR-C-PA-KE-PHS 169-9-9-9", {"histograms-2", "strength-3"}),
    ],
)
def test_features_that_a_recipe_is_made_of(name: str, needed: set[str]) -> None:
    assert Recipe.parse(name, rules_of("limit-holdem")).features_needed() == needed


ALL = {"seed", "restarts", "max_iterations", "sample_size", "full_passes"}


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("IR-C-C 13-C-C", set()),
        ("IR-PHS-HS 13-10-10", set()),
        ("PR-PHS-HS 5-2-2", {"seed"}),
        ("PR-KE-KO 5-2-2", ALL),  # round 0 is clustered alone
        ("PR-KE-KO 13-2-2", ALL - {"sample_size", "full_passes"}),
        ("IR-KE-KO 13-9-9", ALL),
        ("IPI-PA-KO 13-9-9", ALL),
    ],
)
def test_options_that_are_used_and_no_others_are_in_the_fingerprint(name: str, used: set[str]) -> None:
    plan = FeaturePlan(rules_of("rhode-island"), 4)
    recipes = parse_recipes(name, plan.rules)
    assert recipes[0].options_used() == used
    options = BuildOptions(sample_size=5000)
    others = {"seed": 7, "restarts": 7, "max_iterations": 7, "sample_size": 7000, "full_passes": 7}
    plain = fingerprint(recipes, plan, options)
    for option, value in others.items():
        changed = fingerprint(recipes, plan, replace(options, **{option: value}))
        assert (changed != plain) == (option in used), option
    assert fingerprint(recipes, plan, replace(options, num_threads=1)) == plain
    other_clusters = fingerprint(recipes, replace(plan, num_clusters=5), options)
    assert (other_clusters != plain) == ("KO" in name)
    sides = [recipes[0], *parse_recipes("IR-HS-HS 3-3-3", plan.rules)]
    marks = [fingerprint(chosen, plan, options) for chosen in (recipes, sides, sides[::-1], sides[1:])]
    assert len(set(marks)) == 4, "the name of each side counts"


def test_buckets_beyond_65536_have_numbers_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that recalls may have few parts in each of many buckets."""
    monkeypatch.setattr(method, "TABLE_CHUNK", 2)
    parents, parts = np.array([0, 40_000, 21_845, 3, 32_767], dtype=np.uint32), np.array([1, 1, 0, 0, 1])
    table = method._numbered(parents, parts.astype(np.uint16), 2, 80_002)
    assert table.tolist() == [1, 80_001, 43_690, 6, 65_535]
    types = [method.smallest_type(num_buckets) for num_buckets in (1, 1 << 16, (1 << 16) + 1)]
    assert types == [np.uint16, np.uint16, np.uint32]


def test_options_that_are_not_used_change_no_bucket(features: dict[str, Features]) -> None:
    """What the fingerprint leaves out is really without effect."""
    some = features["rhode-island"]
    for name in ("IR-PHS-HS 13-10-10", "PR-KE-KO 13-2-2"):
        recipes = parse_recipes(name, some.plan.rules)
        one, other = (
            build_abstraction(recipes, some, BuildOptions(0, 2, 3, sample, passes))
            for sample, passes in ((40, 0), (4000, 3))
        )
        assert one.fingerprint == other.fingerprint
        for first, second in zip(one.rounds[0], other.rounds[0], strict=True):
            for key, array in first.arrays.items():
                assert np.array_equal(array, second.arrays[key])


@pytest.mark.parametrize(
    ("name", "r"), [("PR-KE-KO 3-2-2", 1), ("PR-KE-KO 3-2-2", 2), ("IPI-KE-PA-KE 3-4-30", 1)]
)
def test_with_recall_every_deal_counts_alike_in_the_distance(
    features: dict[str, Features], monkeypatch: pytest.MonkeyPatch, name: str, r: int
) -> None:
    """Of all buckets before, however many deals each has: sums of costs over all deals, then the unit."""
    some = features["rhode-island"]
    calls: list[tuple[float, int]] = []

    def listen(real):
        def call(rows, weights, *arguments, **options):
            calls.append((real(rows, weights, *arguments, **options).cost, int(weights.sum())))
            return real(rows, weights, *arguments, **options)

        return call

    monkeypatch.setattr(clusters, "cluster", listen(cluster))
    monkeypatch.setattr(potential, "cluster_potential", listen(cluster_potential))
    built = build_abstraction(parse_recipes(name, some.plan.rules), some, BuildOptions(restarts=1))
    parts = calls[:3] if r == 1 else calls[3:]
    deals = 52 * 51 if r == 1 else 52 * 51 * 50
    assert len(parts) == (3 if r == 1 else 6)
    assert sum(weight for _, weight in parts) == deals
    assert len({weight for _, weight in parts}) > 1, "a mean over buckets would be another"
    mean = sum(cost * weight for cost, weight in parts) / deals
    # Hands beaten twice in a histogram, whose bins and total cancel in the last round's strength; the root of
    # the mean square of OCHS.
    if "PA" in name:
        expected = mean / 98
    elif r == 1:
        expected = HandRows(some, 1, ochs=False).distance(mean)
    else:
        expected = mean**0.5 / 3500
    assert built.statistics[0][r]["cost"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("last", ["KE", "KO"])
def test_potential_aware_distances_are_in_units_of_hand_strength(
    features: dict[str, Features], last: str
) -> None:
    """The mean earth mover's distance of a class to its bucket, as if strengths were written from 0 to 1."""
    some = features["rhode-island"]
    name = f"IR-PA-{last} 13-20-30"
    built = build_abstraction(parse_recipes(name, some.plan.rules), some, BuildOptions(restarts=1))
    following = built.rounds[0][2].arrays["table"]
    ahead = HandRows(some, 2, ochs=last == "KO")
    weights = some.deals(1)
    found = cluster_potential(
        HandRows(some, 1, ochs=False).next_buckets(np.arange(len(weights)), following, 1),
        weights,
        ahead.means(following, some.deals(2), 30),
        ahead.metric,
        20,
        Effort(seed=int(np.random.SeedSequence((0, 1)).generate_state(1)[0]), num_threads=1),
    )
    unit = 98 if last == "KE" else 3500  # hands beaten twice; chances of OCHS
    assert built.statistics[0][1]["cost"] == pytest.approx(found.cost / unit, rel=1e-12)
    assert 0.01 < built.statistics[0][1]["cost"] < 0.2


def test_all_parents_of_a_potential_aware_round_are_told(
    features: dict[str, Features], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With recall there is a clustering for each bucket before: mean cost, all distances, most steps."""
    told = []

    def listen(*arguments, **options):
        told.append(cluster_potential(*arguments, **options))
        return told[-1]

    monkeypatch.setattr(potential, "cluster_potential", listen)
    some = features["rhode-island"]
    recipes = parse_recipes("IPI-PA-KE 13-4-30", some.plan.rules)
    statistics = build_abstraction(recipes, some, BuildOptions(restarts=1)).statistics[0][1]
    assert len(told) == 13
    costs = [one.cost / 98 for one in told]
    assert len(set(costs)) > 5
    assert statistics["cost"] == pytest.approx(np.mean(costs), rel=1e-12)
    assert statistics["iterations"] == max(one.iterations for one in told)
    computed, plain = (
        sum(one.num_distances for one in told),
        sum(one.num_plain_distances for one in told),
    )
    assert statistics["share_saved"] == 1 - computed / plain


@pytest.mark.parametrize(
    ("game", "name", "options"),
    [
        ("holdem-2-1", "IR-PHS 169-100", {}),
        ("holdem-2-1", "IR-HS 50-100", {}),
        ("holdem-2-1", "PR-PHS 5-5", {}),
        ("holdem-2-1", "PR-PHS 2-5", {}),
        ("holdem-2-1", "PR-KO-KO 5-5", {"max_iterations": 2}),
        ("holdem-2-1", "PR-KE-KE 169-5", {"max_iterations": 2}),
        ("holdem-2-1", "IR-KE-KO 169-300", {"max_iterations": 2}),
        ("holdem-2-1", "IR-KE-KO 169-3000", {"max_iterations": 1, "sample_size": 20_000, "full_passes": 0}),
        ("rhode-island", "IR-PA-KO 13-20-4000", {"max_iterations": 2}),
    ],
)
def test_memory_is_estimated_before_it_is_taken(
    features: dict[str, Features], game: str, name: str, options: dict[str, int]
) -> None:
    """The estimate is at least what a build takes, and not far above it."""
    some = features[game]
    recipes = parse_recipes(name, some.plan.rules)
    chosen = BuildOptions(restarts=1, num_threads=1, **options)
    build_abstraction(recipes, some, chosen)  # kernels are compiled, caches are filled
    tracemalloc.start()
    build_abstraction(recipes, some, chosen)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = memory_needed(recipes, some.plan, chosen)
    print(f"{name}: {estimate / 1e6:.1f} MB estimated, {peak / 1e6:.1f} MB taken, {estimate / peak:.2f}")
    assert peak <= estimate <= 1.9 * peak


def test_tables_that_are_finished_are_still_held() -> None:
    """The second side is built while the tables of the first are in memory."""
    (recipe,) = parse_recipes("IR-HS-HS 5-50-50", rules_of("rhode-island"))
    plan = feature_plan([recipe])
    first, second, third = table_bytes(recipe, plan)
    alone = memory_needed([recipe], plan, BuildOptions())
    assert memory_needed([recipe, recipe], plan, BuildOptions()) == alone + first + second + third
    working = METHODS[Method.STRENGTH].labels_bytes(plan, 2, recipe.rounds[2], 0, BuildOptions())
    assert alone == first + second + third + working


def test_each_round_has_a_seed_of_its_own(features: dict[str, Features]) -> None:
    some = features["rhode-island"]
    (recipe,) = parse_recipes("IR-HS-HS 5-50-50", some.plan.rules)
    seeds = []
    for seed in (0, 1):
        for r, one in enumerate(recipe.rounds):
            deals, options = Deals(some.plan.rules), BuildOptions(seed=seed)
            seeds.append(RoundWork(r, one, some, deals, options, None, None, print, "").seed)
    assert len(set(seeds)) == 6


@pytest.mark.parametrize("most", [2000, 1 << 40])
@pytest.mark.parametrize("nested", [None, (20, 2), (1, 2)])
def test_memory_of_percentiles(most: int, nested: tuple[int, int] | None) -> None:
    """Of values that are counted and of values that are sorted, which no small game has many of."""
    rng = np.random.default_rng(0)
    squares, values = rng.integers(most, size=(2, 100_000)).astype(np.uint64)
    weights = rng.integers(1, 5, size=100_000).astype(np.uint16)
    tracemalloc.start()
    if nested is None:
        percentile_buckets(values, weights, 50)
    else:
        nested_percentiles(squares, values, weights, nested)
    peak = tracemalloc.get_traced_memory()[1] / 100_000 / 8
    tracemalloc.stop()
    assert peak <= numbers_a_hand(most, most, nested) <= 1.3 * peak


def test_what_does_not_fit_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "build_features", lambda *_: pytest.fail("the work has begun"))
    monkeypatch.setattr(memory, "available_memory", lambda: 8 << 30)
    for name in ("IR-PA-KO 169-500-500-60000", "IIPP-KE-KO 169-200-300-5"):
        recipes = parse_recipes(name, rules_of("limit-holdem"))
        needed = memory_needed(recipes, feature_plan(recipes), BuildOptions())
        if name.startswith("IR-PA"):
            assert 21 << 30 < needed < 26 << 30, "ground distances of 60,000 buckets take 6 bytes a pair"
            with pytest.raises(UsageError, match=r"'IR-PA-KO .*' needs 21.9 GiB of memory, and 8.0 GiB"):
                errai.abstract("limit-holdem", name)
        else:
            assert 1 << 30 < needed < 8 << 30
    with pytest.raises(UsageError, match=r"the sample must have at least 200 rows, .* not 199"):
        errai.abstract("limit-holdem", "IR-KE-KO 169-200-9-9", options=BuildOptions(sample_size=199))


def test_a_sample_is_verified_only_where_it_is_used() -> None:
    for name, is_used in (
        ("IR-KE-KE 13-20-9", True),
        ("IPI-PA-KE 13-20-9", True),
        ("PR-KE-KO 13-20-9", False),
    ):
        recipes = parse_recipes(name, rules_of("rhode-island"))
        plan, options = feature_plan(recipes), BuildOptions(sample_size=12)
        if is_used:
            with pytest.raises(UsageError, match="the sample must have at least 20 rows"):
                verify_build(recipes, plan, options)
        else:
            verify_build(recipes, plan, options)


def test_mean_rows_of_buckets_are_rounded_to_the_nearest(features: dict[str, Features]) -> None:
    some = features["rhode-island"]
    for r, ochs in ((1, False), (1, True), (2, False), (2, True)):
        rows, weights = HandRows(some, r, ochs), some.deals(r).astype(object)
        table = (np.arange(len(rows)) * 7 % 5).astype(np.uint16)  # of 6 buckets, the last of which is empty
        found = rows.means(table, some.deals(r), 6)
        numbers, num_up = rows.read(0, len(rows)).astype(object), 0
        for bucket in range(5):
            chosen = table == bucket
            sums, total = weights[chosen] @ numbers[chosen], weights[chosen].sum()
            assert found[bucket].tolist() == [(2 * one + total) // (2 * total) for one in sums]
            num_up += sum(2 * (one % total) >= total for one in sums)
        assert num_up > 0, "some are rounded up"
        assert not found[5].any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"restarts": 0}, "restarts must be 1 or more, not 0"),
        ({"max_iterations": 0}, "max_iterations must be 1 or more, not 0"),
        ({"sample_size": 0}, "sample_size must be 1 or more, not 0"),
        ({"full_passes": -1}, "full_passes must be 0 or more, not -1"),
        ({"num_threads": 0}, "num_threads must be 1 or more, not 0"),
    ],
)
def test_bad_options(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        BuildOptions(**options)
    assert str(caught.value) == sentence


def test_options_that_are_not_given() -> None:
    assert BuildOptions() == BuildOptions(
        seed=0, restarts=2, max_iterations=50, sample_size=None, full_passes=1, num_threads=None
    )
    assert BuildOptions().effort(7) == Effort(7, 2, 50, None, 1, None)


def test_games_by_name_and_games_without_cards() -> None:
    with pytest.raises(UsageError, match="'bluff-2-1' is a dice game: expected a card game"):
        errai.abstract("bluff-2-1", "IR-KE-KO 2-2")
    with pytest.raises(UsageError, match="'bluff-2-1' is a dice game: expected a card game"):
        errai.abstract(load_game("bluff-2-1"), "IR-KE-KO 2-2")
    with pytest.raises(UsageError, match="neither a game nor"):
        errai.abstract("no-such-game", "IR-KE-KO 2-2")


@pytest.mark.parametrize("name", ["IR-KE-KO 13-20-30", "PR-PHS-PHS 4-2x2-3", "IIP-KO-KE 13-30-3"])
def test_tables_are_as_large_as_was_said(features: dict[str, Features], name: str) -> None:
    some = features["rhode-island"]
    recipes = parse_recipes(name, some.plan.rules)
    built = build_abstraction(recipes, some, BuildOptions(restarts=1, max_iterations=1))
    taken = tuple(sum(array.nbytes for array in one.arrays.values()) for one in built.rounds[0])
    assert table_bytes(recipes[0], some.plan) == taken
