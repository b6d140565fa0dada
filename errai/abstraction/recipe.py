"""How an abstraction is to be made, and its name: `IR-KE-KO 169-9000-9000-9000`, `PR-PHS-PHS 10-10-10-10`.

Names are those of Johanson's thesis, chapter 5: recall, methods, sizes.

- Recall: `PR` if every round refines the buckets of the round before it, `IR` if every round is clustered
  alone. A mixture spells it out, a letter a round: `IIPP` clusters flop and preflop alone, turn and river
  within the buckets before them.
- Methods: one for all rounds; two for the rounds before the last and for the last; or one for each round.
- Sizes: buckets of each round; with perfect recall, buckets within each bucket of the round before. `5x2`
  nests percentiles of E[HS2] and E[HS]. A size equal to the number of canonical hands, or `C`, is lossless.
- Two names joined by ` / ` make an abstraction with a side for each position.
"""

import re
from dataclasses import dataclass
from enum import Enum
from math import log

from errai.abstraction.features.hands import HandClasses
from errai.errors import UsageError
from errai.games.deals import Deals
from errai.games.rules import PokerRules

NESTING_RATIO = 2.5
"""E[HS2] percentiles for each E[HS] percentile: the thesis nests 5 x 2, 150 x 60 and 406 x 163."""

MAX_BUCKETS = 2**31 - 1

_NAME = re.compile(r"\s*([A-Za-z]+)-([A-Za-z0-9-]*[A-Za-z0-9])\s+([0-9A-Za-z,x-]+)\s*")
_SIZE = re.compile(r"([0-9]+)(?:x([0-9]+))?")


class Method(Enum):
    """How the hands of a round become buckets."""

    CANONICAL = "C"
    """Every canonical hand is a bucket: lossless."""

    STRENGTH = "HS"
    """Percentiles of E[HS]."""

    NESTED_STRENGTH = "PHS"
    """Percentiles of E[HS2], and within each of them percentiles of E[HS]; in the last round of HS alone."""

    EARTH_MOVER = "KE"
    """k-means under the earth mover's distance of histograms of hand strength."""

    OPPONENT_CLUSTERS = "KO"
    """k-means over the strength against clusters of opponent hands."""

    POTENTIAL_AWARE = "PA"
    """k-means under the earth mover's distance of histograms over the next round's buckets."""


@dataclass(frozen=True)
class RoundRecipe:
    """How the buckets of one round are made.

    Attributes:
        method: how.
        num_buckets: how many; with recall, within each bucket of the round before. 0 if lossless.
        nested: percentiles of E[HS2] and of E[HS], whose product is `num_buckets`; for PHS before the last
            round only.
        recall: whether a bucket tells the bucket of the round before.
    """

    method: Method
    num_buckets: int = 0
    nested: tuple[int, int] | None = None
    recall: bool = False

    @property
    def size_text(self) -> str:
        """The size as it stands in a name."""
        if self.method is Method.CANONICAL:
            return "C"
        if self.nested is not None and self.nested != default_nesting(self.num_buckets):
            return f"{self.nested[0]}x{self.nested[1]}"
        return str(self.num_buckets)


@dataclass(frozen=True)
class Recipe:
    """How an abstraction of one player's cards is made.

    Attributes:
        rules: the game.
        rounds: one recipe a round.
    """

    rules: PokerRules
    rounds: tuple[RoundRecipe, ...]

    def __post_init__(self) -> None:
        if len(self.rounds) != self.rules.num_rounds:
            raise UsageError(
                f"{len(self.rounds)} rounds do not fit '{self.rules.name}', which has {self.rules.num_rounds}"
            )
        classes, deals = HandClasses(self.rules), Deals(self.rules)
        for r, recipe in enumerate(self.rounds):
            if recipe.method is Method.CANONICAL:
                continue
            most = deals.num_rows(r) if recipe.recall else classes.size(r)
            if not 1 <= recipe.num_buckets <= most:
                raise UsageError(
                    f"{recipe.num_buckets:,} buckets are impossible in round {r} of '{self.rules.name}': "
                    f"1 to {most:,} are allowed, the number of its hands"
                )
            if recipe.nested is not None and recipe.nested[0] * recipe.nested[1] != recipe.num_buckets:
                raise UsageError(
                    f"{recipe.nested} nested percentiles do not make {recipe.num_buckets} buckets"
                )
            if recipe.recall and r == 0:
                raise UsageError("round 0 has nothing to recall: there is no round before it")
            if recipe.method is Method.POTENTIAL_AWARE:
                self._verify_potential(r)

    def _verify_potential(self, r: int) -> None:
        if r == self.rules.num_rounds - 1:
            raise UsageError(
                f"PA looks at the next round's buckets: round {r} is the last and has none after it"
            )
        if r == 0:
            raise UsageError(
                "PA is not made for round 0, which has few hands: 'C', 'KE' or 'PHS' are allowed"
            )
        if self.rounds[r + 1].recall or self.rounds[r + 1].method is Method.CANONICAL:
            raise UsageError(
                f"PA in round {r} needs round {r + 1} clustered alone: "
                "buckets that recall earlier ones, or lossless ones, cannot be looked ahead to"
            )

    @staticmethod
    def parse(name: str, rules: PokerRules) -> "Recipe":
        """Read one player's name."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(
                f"'{name}' is not an abstraction's name: one such as 'IR-KE-KO 169-200-200-200' is allowed"
            )
        recall = _parse_recall(match[1], rules.num_rounds)
        methods = _parse_methods(match[2].split("-"), rules.num_rounds)
        sizes = match[3].split("-")
        if len(sizes) != rules.num_rounds:
            raise UsageError(
                f"'{match[3]}' has {len(sizes)} sizes, where '{rules.name}' has {rules.num_rounds} rounds"
            )
        classes = HandClasses(rules)
        rounds = []
        for r, (method, size) in enumerate(zip(methods, sizes, strict=True)):
            rounds.append(_round_recipe(method, size, recall[r], r == rules.num_rounds - 1, classes.size(r)))
        return Recipe(rules, tuple(rounds))

    @property
    def name(self) -> str:
        """The name that `parse` reads."""
        recall = [one.recall for one in self.rounds]
        if not any(recall):
            head = "IR"
        elif all(one.recall or one.method is Method.CANONICAL for one in self.rounds[1:]):
            head = "PR"
        else:
            head = "".join("P" if one else "I" for one in recall)
        *early, last = (one.method.value for one in self.rounds)
        clustered = {method for method in early if method != Method.CANONICAL.value}
        if len(clustered) > 1:
            methods = [*early, last]
        elif early:
            methods = [clustered.pop() if clustered else Method.CANONICAL.value, last]
        else:
            methods = [last]
        return f"{head}-{'-'.join(methods)} {'-'.join(map(self._size_text, range(len(self.rounds))))}"

    def _size_text(self, r: int) -> str:
        """Return a round's size; a number for a lossless round in which the board has no order."""
        size = HandClasses(self.rules).size(r)
        if self.rounds[r].method is Method.CANONICAL and size == Deals(self.rules).num_rows(r):
            return str(size)
        return self.rounds[r].size_text


def default_nesting(num_buckets: int) -> tuple[int, int]:
    """Return how many E[HS2] and E[HS] percentiles make so many buckets: the nearest to 2.5 to 1.

    >>> default_nesting(10), default_nesting(9000)
    ((5, 2), (150, 60))
    """
    divisors = [d for d in range(1, num_buckets + 1) if num_buckets % d == 0]
    first = min(divisors, key=lambda d: abs(log(d * d / num_buckets / NESTING_RATIO)))
    return first, num_buckets // first


def parse_recipes(name: str, rules: PokerRules) -> tuple[Recipe, ...]:
    """Read a name for both players, or two joined by ` / `."""
    sides = re.split(r"\s+/\s+", name.strip())
    if len(sides) > 2:
        raise UsageError(f"'{name}' has {len(sides)} sides: one for both positions, or two, are allowed")
    recipes = tuple(Recipe.parse(side, rules) for side in sides)
    return recipes[:1] if len(set(recipes)) == 1 else recipes


def _parse_recall(text: str, num_rounds: int) -> list[bool]:
    upper = text.upper()
    if upper in ("PR", "IR"):
        return [upper == "PR" and r > 0 for r in range(num_rounds)]
    if len(upper) == num_rounds and set(upper) <= {"P", "I"}:
        return [letter == "P" for letter in upper]
    raise UsageError(
        f"'{text}' is not a kind of recall: PR, IR, or a letter P or I for each of {num_rounds} rounds "
        "is allowed"
    )


def _parse_methods(texts: list[str], num_rounds: int) -> list[Method]:
    methods = []
    for text in texts:
        try:
            methods.append(Method(text.upper()))
        except ValueError:
            allowed = ", ".join(method.value for method in Method)
            raise UsageError(f"'{text}' is not a feature to cluster by: {allowed} are allowed") from None
    if len(methods) == 1:
        return methods * num_rounds
    if len(methods) == num_rounds:
        return methods
    if len(methods) == 2:
        return [methods[0]] * (num_rounds - 1) + [methods[1]]
    raise UsageError(
        f"'{'-'.join(texts)}' names {len(methods)} methods: 1, 2 (before the last round and in it) or "
        f"{num_rounds}, one a round, are allowed"
    )


def _round_recipe(method: Method, size: str, recall: bool, is_last: bool, num_classes: int) -> RoundRecipe:
    if size.upper() == "C" or method is Method.CANONICAL:
        return RoundRecipe(Method.CANONICAL)
    match = _SIZE.fullmatch(size.replace(",", ""))
    if match is None:
        raise UsageError(f"'{size}' is not a number of buckets: one such as '200', '5x2' or 'C' is allowed")
    first, second = int(match[1]), int(match[2] or 1)
    if first * second > MAX_BUCKETS:
        raise UsageError(f"'{size}' buckets are too many: at most {MAX_BUCKETS:,} are allowed")
    nests = method is Method.NESTED_STRENGTH and not is_last
    if match[2] is not None and not nests:
        raise UsageError(f"'{size}' nests E[HS2] and E[HS], which only PHS before the last round does")
    if first == num_classes and match[2] is None and not recall:
        return RoundRecipe(Method.CANONICAL)
    if not nests or first * second == 0:
        return RoundRecipe(method, first * second, None, recall)
    nested = (first, second) if match[2] is not None else default_nesting(first)
    return RoundRecipe(method, first * second, nested, recall)
