"""Recipes of abstractions: what a name says, what it is written as, and what is refused of one."""

import pytest

from errai.abstraction import recipe as recipe_module
from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.features.hands import HandClasses
from errai.abstraction.methods.method import Method, RoundRecipe
from errai.abstraction.options import BuildOptions
from errai.abstraction.recipe import Recipe, default_nesting, parse_recipes
from errai.errors import UsageError
from errai.games.catalogue import load_game
from errai.games.deals import Deals
from errai.games.rules import PokerRules


def rules_of(name: str) -> PokerRules:
    rules = load_game(name)
    assert isinstance(rules, PokerRules)
    return rules


RHODE_ISLAND = rules_of("rhode-island")
CANONICAL = RoundRecipe(Method.CANONICAL)


def parsed(name: str, rules: PokerRules = RHODE_ISLAND) -> Recipe:
    (found,) = parse_recipes(name, rules)
    return found


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("IR-KE-KO 5-20-30", [5, 20, 30]),
        ("PR-KE-KO 5-4-3", [5, 20, 60]),
        ("IIP-KE-KO 5-20-3", [5, 20, 60]),
        ("IPI-KE-KO 5-4-30", [5, 20, 30]),
        ("PR-PHS-PHS 4-2x2-3", [4, 16, 48]),
        ("IIP-C-KO C-C-2", [13, 325, 650]),
    ],
)
def test_buckets_of_a_round_are_those_of_all_buckets_before_it(name: str, counts: list[int]) -> None:
    found = parsed(name)
    assert [found.num_buckets(r) for r in range(3)] == counts


def test_a_lossless_round_has_a_bucket_for_every_canonical_deal() -> None:
    """In the last round of Rhode Island the board has an order, which classes of hands forget."""
    found, deals = parsed("IR-C-C 13-325-C"), Deals(RHODE_ISLAND)
    assert deals.num_rows(2) > HandClasses(RHODE_ISLAND).size(2)
    assert [found.num_buckets(r) for r in range(3)] == [deals.num_rows(r) for r in range(3)]
    assert found.name == "IR-C-C 13-325-C"


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("IR-KE-KO 5-20-30", [0, 1, 2]),
        ("PR-KE-KO 5-4-3", [0, 1, 2]),
        ("IR-KE-PA-KO 5-20-30", [0, 2, 1]),
        ("IPI-PA-KO 13-4-30", [0, 2, 1]),
        ("IPI-HS-PA-KO 5-4-30", [0, 2, 1]),
    ],
)
def test_rounds_are_built_when_what_they_need_is_there(name: str, order: list[int]) -> None:
    assert parsed(name).order() == order


def test_rounds_that_look_ahead_one_after_the_other() -> None:
    limit = rules_of("limit-holdem")
    assert parsed("IR-PA-KO 169-9-9-9", limit).order() == [0, 3, 2, 1]
    assert parsed("IR-C-PA-KE-KO 169-9-9-9", limit).order() == [0, 2, 1, 3]
    assert parsed("IPII-C-PA-KE-KO 169-9-9-9", limit).order() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ir-ke-ko 5-20-30", "IR-KE-KO 5-20-30"),
        ("  IR-KE   5-20-30 ", "IR-KE-KE 5-20-30"),
        ("iii-ke-ko c-20-1,000", "IR-KE-KO 13-20-1000"),
        ("ipp-ke-ko 5-4-3", "PR-KE-KO 5-4-3"),
        ("IIP-KE-KO 5-20-3", "IIP-KE-KO 5-20-3"),
        ("PR-C-HS C-C-4", "PR-C-HS 13-325-4"),
        ("IIP-C-HS C-C-4", "PR-C-HS 13-325-4"),  # nothing can be forgotten of a lossless round
        ("IR-PHS-PHS 5x1-10x2-3", "IR-PHS-PHS 5-10x2-3"),
        ("IR-PHS-PHS 4-5x2-3", "IR-PHS-PHS 4-10-3"),
        ("IR-HS-KE-KO 5-20-30", "IR-HS-KE-KO 5-20-30"),
        ("IR-C-KE-KO 13-20-30", "IR-KE-KO 13-20-30"),
        ("IR-KE-C-KO 5-C-30", "IR-KE-KO 5-325-30"),
        ("IR-KE-KO 5-20-C", "IR-KE-C 5-20-C"),
        ("IR-C 13-325-C", "IR-C-C 13-325-C"),
        ("IR-KE-KO 00005-20-000000000000030", "IR-KE-KO 5-20-30"),
    ],
)
def test_how_a_name_is_written(name: str, written: str) -> None:
    found = parsed(name)
    assert found.name == written
    assert parsed(written).rounds == found.rounds


def test_a_game_of_one_round_has_one_method() -> None:
    kuhn = rules_of("kuhn")
    assert parsed("IR-HS 2", kuhn).name == "IR-HS 2"
    assert parsed("IR-HS 3", kuhn).rounds == (CANONICAL,)


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("IR-PHS 4-10-7", [(4, (4, 1)), (10, (5, 2)), (7, None)]),
        ("IR-PHS 4x1-2x5-7", [(4, (4, 1)), (10, (2, 5)), (7, None)]),
        ("IR-PHS 2x6-325x1-7", [(12, (2, 6)), (325, (325, 1)), (7, None)]),  # 325 x 1 nests: not lossless
        ("IR-HS 4-10-7", [(4, None), (10, None), (7, None)]),
    ],
)
def test_sizes_that_nest(name: str, rounds: list[tuple[int, tuple[int, int] | None]]) -> None:
    assert [(one.num_buckets, one.nested) for one in parsed(name).rounds] == rounds


@pytest.mark.parametrize(
    ("num_buckets", "nested"),
    [
        (1, (1, 1)),
        (2, (2, 1)),
        (4, (4, 1)),
        (7, (7, 1)),
        (12, (6, 2)),
        (40, (10, 4)),
        (6, (3, 2)),
        (420, (35, 12)),
    ],
)
def test_the_nearest_to_five_by_two(num_buckets: int, nested: tuple[int, int]) -> None:
    """As ratios: 23 x 18 is 1.96 times below 2.5, and 46 x 9 is 2.04 times above it."""
    assert default_nesting(num_buckets) == nested


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("IR-KE-KO 5-326-9", "the number of buckets in round 2 of rhode-island must be 1 to 325, "),
        ("IR-KE-KO 5-0-9", "must be 1 to 325, the number of its hands, not 0"),
        ("IR-PHS 5-0x7-9", "must be 1 to 325, the number of its hands, not 0"),
        ("IR-PHS 5-10x33-9", "must be 1 to 325, the number of its hands, not 330"),
        (
            "IR-PHS 5-5-5x2",
            "the size '5x2' nests E[HS2] and E[HS], which only PHS before the last round does",
        ),
        ("IR-KE-KO 5-20-2147483648", "must be 1 to "),
        ("IR-KE-KO 5-20-9999999999", "must be 1 to "),  # as many digits as the most that there may be
        ("IR-KE-KO 5-20-10000000000", "the size '10000000000' must be at most 2,147,483,647"),
        ("IR-KE-KO 5-20-21474836470", "the size '21474836470' must be at most 2,147,483,647"),
        (
            "IP-KE-KO 5-20-9",
            "unknown recall 'IP': expected PR, IR, or a letter P or I for each of the 3 rounds",
        ),
        ("IRI-KE-KO 5-20-9", "unknown recall 'IRI'"),
        ("PII-KE-KO 5-20-9", "the first round cannot recall: there is no round before it"),
        (
            "IR-KE-KO-KE-KO 5-20-9",
            "expected 1 method, 2 (before the last round and in it) or 3, one for each ",
        ),
        (
            "IR-KE-KO 5-20-9-9",
            "expected 3 sizes, one for each round of 'rhode-island', not 4 as in '5-20-9-9'",
        ),
        (
            "IR-KE-KO 5 20-9",
            "invalid name of an abstraction 'IR-KE-KO 5 20-9': expected recall, methods and ",
        ),
        ("IR-KE-KO 5-2y-9", "invalid size '2y'"),
        ("IR-KE-KO 5-2_-9", "invalid name of"),
        ("IR-KE-KO 5-2x-9", "invalid size '2x': expected a number of buckets, such as 200, 5x2 or C"),
        ("IR-HS / IR-HS", "invalid name"),
        ("IR-HS 2-2-2 / IR-HS 2-2-2 / IR-HS 3-2-2", "two with ' / ' between them, not 3"),
    ],
)
def test_names_that_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_recipes(name, RHODE_ISLAND)
    assert sentence in str(caught.value)


def test_what_is_no_name_is_refused() -> None:
    for wrong in (7, None, b"IR-HS 2-2-2"):
        with pytest.raises(UsageError, match=r"the name of an abstraction must be text, not "):
            parse_recipes(wrong, RHODE_ISLAND)  # type: ignore[arg-type]


def test_two_sides() -> None:
    one, other = "IR-HS-HS 2-2-2", "IR-HS-HS 3-2-2"
    assert [side.name for side in parse_recipes(f" {one}  /  {other} ", RHODE_ISLAND)] == [one, other]
    assert [side.name for side in parse_recipes(f"{other} / {one}", RHODE_ISLAND)] == [other, one]
    assert [side.name for side in parse_recipes(f"{one} / ir-hs 2-2-2", RHODE_ISLAND)] == [one]


@pytest.mark.parametrize(
    ("rounds", "sentence"),
    [
        ((CANONICAL, CANONICAL), "expected a recipe for each of the 3 rounds of 'rhode-island', not 2"),
        ((CANONICAL,) * 4, "expected a recipe for each of the 3 rounds of 'rhode-island', not 4"),
        (
            (CANONICAL, RoundRecipe(Method.NESTED_STRENGTH, 11, (5, 2)), CANONICAL),
            "5 x 2 nested percentiles must make 11 buckets, not 10",
        ),
        (
            (CANONICAL, RoundRecipe(Method.EARTH_MOVER, 326), CANONICAL),
            "the number of buckets in round 2 of rhode-island must be 1 to 325, the number of its hands, "
            "not 326",
        ),
        (
            (RoundRecipe(Method.EARTH_MOVER, 5, None, True), CANONICAL, CANONICAL),
            "the first round cannot recall: there is no round before it",
        ),
    ],
)
def test_recipes_that_are_refused(rounds: tuple[RoundRecipe, ...], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Recipe(RHODE_ISLAND, rounds)
    assert str(caught.value) == sentence


def test_parts_of_a_bucket_are_no_more_than_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """With recall the deals of the round count, whose boards have an order; never more than 31 bits."""
    deals, classes = Deals(RHODE_ISLAND).num_rows(2), HandClasses(RHODE_ISLAND).size(2)
    assert parsed(f"IIP-HS 5-20-{deals}").rounds[2].num_buckets == deals
    for name in (f"IIP-HS 5-20-{deals + 1}", f"IR-HS 5-20-{classes + 1}"):
        with pytest.raises(UsageError, match="the number of its hands, not"):
            parsed(name)
    monkeypatch.setattr(recipe_module, "MAX_BUCKETS", classes - 2)
    assert parsed(f"IR-HS 5-20-{classes - 2}").rounds[2].num_buckets == classes - 2
    with pytest.raises(UsageError, match=rf"must be 1 to {classes - 2:,}, the number of its hands"):
        parsed(f"IR-HS 5-20-{classes - 1}")


def test_options_are_passed_on_to_k_means() -> None:
    options = BuildOptions(1, 3, 4, 5, 0, 7)
    assert options.effort(2) == Effort(
        seed=2, restarts=3, max_iterations=4, sample_size=5, full_passes=0, num_threads=7
    )
    for name in ("restarts", "max_iterations", "full_passes"):
        with pytest.raises(UsageError, match=f"{name} must be a whole number, not None"):
            BuildOptions(**{name: None})  # type: ignore[arg-type]
    assert BuildOptions(max_iterations=1, sample_size=1, num_threads=1).max_iterations == 1
