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
from math import isqrt, log

from errai.abstraction.features.hands import HandClasses
from errai.abstraction.methods.find import METHODS
from errai.abstraction.methods.method import Method, RoundMethod, RoundRecipe, verify_recall
from errai.errors import UsageError, shortened
from errai.games.deals import Deals
from errai.games.rounds import in_round
from errai.games.rules import PokerRules

NESTING_RATIO = 2.5
"""E[HS2] percentiles for each E[HS] percentile: the thesis nests 5 x 2, 150 x 60 and 406 x 163."""

MAX_BUCKETS = 2**31 - 1
MAX_DIGITS = len(str(MAX_BUCKETS))

_NAME = re.compile(r"\s*([A-Za-z]+)-([A-Za-z0-9-]*[A-Za-z0-9])\s+([0-9A-Za-z,x-]+)\s*")
_SIZE = re.compile(r"([0-9]+)(?:x([0-9]+))?")


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
                f"expected a recipe for each of the {self.rules.num_rounds} rounds of '{self.rules.name}', "
                f"not {len(self.rounds)}"
            )
        classes, deals = HandClasses(self.rules), Deals(self.rules)
        for r, recipe in enumerate(self.rounds):
            if recipe.recall and r == 0:
                raise UsageError("the first round cannot recall: there is no round before it")
            if recipe.method is not Method.CANONICAL:
                _verify_size(recipe.num_buckets, recipe.recall, r, classes, deals)
            if recipe.nested is not None and recipe.nested[0] * recipe.nested[1] != recipe.num_buckets:
                first, second = recipe.nested
                raise UsageError(
                    f"{first} x {second} nested percentiles must make {recipe.num_buckets} buckets, not "
                    f"{first * second}"
                )
            if recipe.recall:
                verify_recall(r, self.rules.num_rounds - 1, deals)
            METHODS[recipe.method].verify(self.rounds, r, self.following(r))

    def following(self, r: int) -> RoundMethod | None:
        """Return the method of the round after one; None after the last."""
        return METHODS[self.rounds[r + 1].method] if r + 1 < len(self.rounds) else None

    def features_needed(self) -> frozenset[str]:
        """Return the features it is made of: `strength-R`, `histograms-R`, `ochs-R`, `opponent-clusters`.

        The number of deals of each class is needed besides, wherever anything is.
        """
        last_round = len(self.rounds) - 1
        return frozenset().union(
            *(
                METHODS[one.method].features_needed(r, last_round, self.following(r))
                for r, one in enumerate(self.rounds)
            )
        )

    def options_used(self) -> frozenset[str]:
        """Return the names of those `BuildOptions` that decide its buckets."""
        return frozenset().union(*(METHODS[one.method].options_used(one.recall) for one in self.rounds))

    def num_buckets(self, r: int) -> int:
        """Return how many buckets a round has in all, those of all buckets of the round before included."""
        one = self.rounds[r]
        if one.method is Method.CANONICAL:
            return Deals(self.rules).num_rows(r)
        return one.num_buckets * (self.num_buckets(r - 1) if one.recall else 1)

    def order(self) -> list[int]:
        """Return the rounds in an order in which each finds what it needs."""
        order: list[int] = []
        waiting = list(range(len(self.rounds)))
        while waiting:
            r = next(r for r in waiting if all(needed in order for needed in self._needs(r)))
            waiting.remove(r)
            order.append(r)
        return order

    def _needs(self, r: int) -> list[int]:
        before = [r - 1] if self.rounds[r].recall else []
        return [*before, r + 1] if METHODS[self.rounds[r].method].looks_ahead else before

    @staticmethod
    def parse(name: str, rules: PokerRules) -> "Recipe":
        """Read one player's name."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(
                f"invalid name of an abstraction '{shortened(name)}': expected recall, methods and sizes, "
                "such as 'IR-KE-KO 169-200-200-200'"
            )
        recall = _parse_recall(match[1], rules.num_rounds)
        methods = _parse_methods(match[2].split("-"), rules.num_rounds)
        sizes = match[3].split("-")
        if len(sizes) != rules.num_rounds:
            raise UsageError(
                f"expected {rules.num_rounds} sizes, one for each round of '{rules.name}', not {len(sizes)} "
                f"as in '{shortened(match[3])}'"
            )
        classes, deals = HandClasses(rules), Deals(rules)
        return Recipe(
            rules,
            tuple(
                _round_recipe(method, size, recall[r], r, classes, deals)
                for r, (method, size) in enumerate(zip(methods, sizes, strict=True))
            ),
        )

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
        one, size = self.rounds[r], HandClasses(self.rules).size(r)
        if one.method is Method.CANONICAL:
            return str(size) if size == Deals(self.rules).num_rows(r) else "C"
        if one.nested is not None and one.nested != default_nesting(one.num_buckets):
            return f"{one.nested[0]}x{one.nested[1]}"
        return str(one.num_buckets)


def default_nesting(num_buckets: int) -> tuple[int, int]:
    """Return how many E[HS2] and E[HS] percentiles make so many buckets: the nearest to 2.5 to 1.

    >>> default_nesting(10), default_nesting(9000)
    ((5, 2), (150, 60))
    """
    small = [d for d in range(1, isqrt(num_buckets) + 1) if num_buckets % d == 0]
    divisors = sorted({*small, *(num_buckets // d for d in small)})
    first = min(divisors, key=lambda d: abs(log(d * d / num_buckets / NESTING_RATIO)))
    return first, num_buckets // first


def parse_recipes(name: str, rules: PokerRules) -> tuple[Recipe, ...]:
    """Read a name for both players, or two joined by ` / `."""
    if not isinstance(name, str):
        raise UsageError(f"the name of an abstraction must be text, not {shortened(name)}")
    sides = re.split(r"\s+/\s+", name.strip())
    if len(sides) > 2:
        raise UsageError(
            f"expected one name for both positions, or two with ' / ' between them, not {len(sides)}"
        )
    recipes = tuple(Recipe.parse(side, rules) for side in sides)
    return recipes[:1] if len(set(recipes)) == 1 else recipes


def _parse_recall(text: str, num_rounds: int) -> list[bool]:
    upper = text.upper()
    if upper in ("PR", "IR"):
        return [upper == "PR" and r > 0 for r in range(num_rounds)]
    if len(upper) == num_rounds and set(upper) <= {"P", "I"}:
        return [letter == "P" for letter in upper]
    raise UsageError(
        f"unknown recall '{shortened(text)}': expected PR, IR, or a letter P or I for each of the "
        f"{num_rounds} rounds"
    )


def _parse_methods(texts: list[str], num_rounds: int) -> list[Method]:
    methods = []
    for text in texts:
        try:
            methods.append(Method(text.upper()))
        except ValueError:
            known = ", ".join(method.value for method in Method)
            raise UsageError(f"unknown method '{shortened(text)}': expected one of {known}") from None
    if len(methods) == 1:
        return methods * num_rounds
    if len(methods) == num_rounds:
        return methods
    if len(methods) == 2:
        return [methods[0]] * (num_rounds - 1) + [methods[1]]
    raise UsageError(
        f"expected 1 method, 2 (before the last round and in it) or {num_rounds}, one for each round, not "
        f"{len(methods)} as in '{shortened('-'.join(texts))}'"
    )


def _round_recipe(
    method: Method, size: str, recall: bool, r: int, classes: HandClasses, deals: Deals
) -> RoundRecipe:
    """Read the size of a round; whatever is out of bounds is refused before anything is computed of it."""
    if size.upper() == "C" or method is Method.CANONICAL:
        return RoundRecipe(Method.CANONICAL)
    match = _SIZE.fullmatch(size.replace(",", ""))
    if match is None:
        raise UsageError(
            f"invalid size '{shortened(size)}': expected a number of buckets, such as 200, 5x2 or C"
        )
    if max(len(digits.lstrip("0")) for digits in match.groups("")) > MAX_DIGITS:
        raise UsageError(f"the size '{shortened(size)}' must be at most {MAX_BUCKETS:,}")
    nests = METHODS[method].nests and r < classes.num_rounds - 1
    if match[2] is not None and not nests:
        raise UsageError(
            f"the size '{size}' nests E[HS2] and E[HS], which only PHS before the last round does"
        )
    first, second = int(match[1]), int(match[2] or 1)
    if first == classes.size(r) and match[2] is None and not recall:
        return RoundRecipe(Method.CANONICAL)
    _verify_size(first * second, recall, r, classes, deals)
    if not nests:
        return RoundRecipe(method, first, None, recall)
    nested = (first, second) if match[2] is not None else default_nesting(first)
    return RoundRecipe(method, first * second, nested, recall)


def _verify_size(num_buckets: int, recall: bool, r: int, classes: HandClasses, deals: Deals) -> None:
    """Refuse more buckets than a round has hands, or none."""
    most = min(deals.num_rows(r) if recall else classes.size(r), MAX_BUCKETS)
    if not 1 <= num_buckets <= most:
        raise UsageError(
            f"the number of buckets {in_round(classes.rules, r)} of {classes.rules.name} must be 1 to "
            f"{most:,}, the number of its hands, not {num_buckets:,}"
        )
