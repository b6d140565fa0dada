"""Update rules of the CFR family: what one iteration does to regrets and averages.

A rule is a frozen object; the named algorithms are recipes (`RULES`), and others are subclasses of
`UpdateRule` (`docs/update_rules.md` shows how). A rule speaks in one of two ways:

- *Fused.* `steps` gives five numbers for each iteration and player. In iteration t = 1, 2, ... a regret
  becomes `factor * old + new`, with one factor for positive and one for negative regrets, and may be floored
  at zero; the average strategy becomes `factor * old + weight * new`. The engine does so as it walks.
- *By gains.* The walk only adds up what one iteration gains; the rule's own `apply` then turns tables and
  gains into new tables. Such a rule may keep tables of its own and say which table is played.

Where several cells share a row, or players learn at once, fused rules go by gains, too (`UpdateRule.apply`).

- CFR (Zinkevich et al. 2007): no discount, uniform average.
- CFR+ (Tammelin 2014): regrets floored at zero (regret matching+), average weighted by max(t - delay, 0).
- Discounted CFR (Brown and Sandholm 2019): before iteration t's regrets are added, positive ones are
  multiplied by (t-1)^alpha / ((t-1)^alpha + 1), negative ones the same with beta, and the average by
  ((t-1) / t)^gamma. Linear CFR is alpha = beta = gamma = 1. Exponents may be infinite; what the formula does
  not say is taken as its limit: in iteration 1, where there is nothing to discount, the factor is 1 for
  a negative exponent; in iteration 2 it is 1/2 for every exponent; later it is 0 for minus infinity, so
  that negative regrets are forgotten, and 1 for infinity.
- Predictive CFR+ (Farina, Kroer and Sandholm 2021, "Faster Game Solving via Predictive Blackwell
  Approachability"): regrets floored at zero, z' = max(z + r, 0); what is played next is in proportion to the
  positive part of z' + r, because the next gain is predicted to be the last one; iteration t counts t^2 times
  in the average.
"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator

from errai.engine._blocks import (
    AVERAGE_FACTOR,
    AVERAGE_WEIGHT,
    FLOOR,
    NEGATIVE_FACTOR,
    POSITIVE_FACTOR,
)
from errai.engine.section import NUM_FACTORS
from errai.errors import UsageError
from errai.solvers import _update_rules as kernels
from errai.tables.layout import Floats
from errai.validation import first_mistake

REGRETS = "regrets"
AVERAGES = "averages"


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    else:
        yield value


def _sentence(rule: "type[UpdateRule]", error: ValidationError) -> str:
    """Describe the first mistake in one sentence."""
    first = error.errors()[0]
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"invalid {rule.__name__}: {first_mistake(error, rule)}"


class Update(NamedTuple):
    """One iteration's update of some of a player's slots.

    Attributes:
        iteration: counted from 1.
        player: who has learnt.
        step: float64[5] the player's numbers of this iteration, as `UpdateRule.steps` gives them.
        tables: float[slots] by name: regrets, averages and the rule's own, to be changed.
        gains: float[slots] regrets of this iteration alone.
        played: float[slots] strategies of this iteration, each as likely as the player gets there, times the
            average weight of `step`.
    """

    iteration: int
    player: int
    step: npt.NDArray[np.float64]
    tables: dict[str, Floats]
    gains: Floats
    played: Floats


class UpdateRule(BaseModel):
    """An update rule; by itself it is plain CFR.

    A fused rule says its numbers in `steps`. A rule that goes by gains says what to do with them in `apply`.

    Attributes:
        name: what reports call it; by default the name of the class.
        alternating: whether the second player answers the first one's new strategy.
        delay: iterations before averaging starts.
        average_power: iteration t counts (t - delay) to this power in the average.
        extra_tables: names of the tables that a rule keeps besides regrets and averages; zeros at the start.
        source: the table that is played, in proportion to its positive part.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    extra_tables: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str] = REGRETS

    name: str = ""
    alternating: bool = True
    delay: int = 0
    average_power: float = 0.0

    def __init__(self, **options: Any) -> None:
        """Verify the options; a mistake is a `UsageError`."""
        if not type(self).model_fields["name"].default:
            options = {"name": type(self).__name__, **options}
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise UsageError(_sentence(type(self), error)) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Refuse tables that cannot be kept as soon as a rule is defined."""
        names = (REGRETS, AVERAGES, *cls.extra_tables)
        if len(set(names)) < len(names) or not all(name.isidentifier() for name in names):
            raise UsageError(
                f"{cls.__name__} cannot have the tables {', '.join(cls.extra_tables)}: expected names of "
                f"letters, digits and '_', each once, other than {REGRETS} and {AVERAGES}"
            )
        if cls.source not in names:
            raise UsageError(
                f"{cls.__name__} cannot play '{cls.source}': expected one of its tables {', '.join(names)}"
            )
        if not cls.goes_by_gains() and (cls.extra_tables or cls.source != REGRETS):
            raise UsageError(f"{cls.__name__} has tables of its own but no 'apply' that fills them")

    @field_validator("*")
    @classmethod
    def _verify_number(cls, value: Any, info: ValidationInfo) -> Any:
        if any(isinstance(x, float) and math.isnan(x) for x in _flat(value)):
            raise ValueError(f"{info.field_name} of '{cls.__name__}' must be a number, not NaN")
        return value

    @field_validator("delay")
    @classmethod
    def _verify_delay(cls, value: int) -> int:
        if value < 0:
            raise ValueError(f"the delay must be 0 or more iterations, not {value}")
        return value

    @field_validator("average_power")
    @classmethod
    def _verify_average_power(cls, value: float) -> float:
        if not 0 <= value < math.inf:
            raise ValueError(f"the power that weights the average must be finite and 0 or more, not {value}")
        return value

    @classmethod
    def goes_by_gains(cls) -> bool:
        """Return whether the rule has an `apply` of its own."""
        return cls.apply is not UpdateRule.apply

    @classmethod
    def table_names(cls) -> tuple[str, ...]:
        """Return the names of all tables that must be kept from one iteration to the next."""
        return (REGRETS, AVERAGES, *cls.extra_tables)

    def steps(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the numbers of iterations first .. last - 1, counted from 1: float64[iterations, 2, 5].

        For each player: positive factor, negative factor, floor (1 or 0), average factor, average weight.
        """
        after = np.arange(first, last, dtype=np.float64) - self.delay
        steps = np.ones((last - first, 2, NUM_FACTORS))
        steps[:, :, FLOOR] = 0
        # Zero to the power of zero would be one.
        weights = np.where(after > 0, np.maximum(after, 0) ** self.average_power, 0)
        steps[:, :, AVERAGE_WEIGHT] = weights[:, np.newaxis]
        return steps

    def apply(self, update: Update) -> None:
        """Turn tables and gains into new tables, in place or by new arrays in `update.tables`.

        It is called for any part of the slots, in any order and perhaps on several threads: a slot
        may depend on the same slot of other arrays and on nothing else.
        """
        tables = update.tables
        kernels.apply_factors(update.step, update.gains, update.played, tables[REGRETS], tables[AVERAGES])

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return frozenset({"alternating", "delay"})

    def with_options(self, **options: Any) -> Self:
        """Return the same rule with some options changed."""
        return type(self)(**{**dict(self), **options})


class FactorRule(UpdateRule):
    """Regret matching, with or without floor and discount: all that five numbers describe.

    Attributes:
        floor: whether regrets are floored at zero (regret matching+).
        discount: (alpha, beta, gamma) of Discounted CFR; None for no discount.
    """

    floor: bool = False
    discount: tuple[float, float, float] | None = None

    @field_validator("discount")
    @classmethod
    def _verify_discount(cls, value: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        if value is not None and value[2] < 0:
            raise ValueError(f"gamma of the discount must be 0 or more, not {value[2]}")
        return value

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return super().free_options() | ({"discount"} if self.name == "dcfr" else set())

    def steps(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the numbers of iterations first .. last - 1, counted from 1: float64[iterations, 2, 5]."""
        steps = super().steps(first, last)
        steps[:, :, FLOOR] = self.floor
        if self.discount is not None:
            alpha, beta, gamma = self.discount
            t = np.arange(first, last, dtype=np.float64)
            steps[:, :, POSITIVE_FACTOR] = discount_factors(t, alpha)[:, np.newaxis]
            steps[:, :, NEGATIVE_FACTOR] = discount_factors(t, beta)[:, np.newaxis]
            steps[:, :, AVERAGE_FACTOR] = (((t - 1) / t) ** gamma)[:, np.newaxis]
        return steps


def discount_factors(t: npt.NDArray[np.float64], exponent: float) -> npt.NDArray[np.float64]:
    """Return (t-1)^exponent / ((t-1)^exponent + 1) of each iteration, or its limit."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        power = (t - 1) ** exponent
        return np.where(np.isinf(power), 1.0, power / (power + 1))


class PredictiveRule(UpdateRule):
    """Predictive regret matching+: plays as if the last gain came once more."""

    extra_tables: ClassVar[tuple[str, ...]] = ("predictions",)
    source: ClassVar[str] = "predictions"

    average_power: float = 2.0

    def apply(self, update: Update) -> None:
        """Add the gains, floor the regrets at zero, predict the next ones."""
        tables = update.tables
        kernels.apply_predictive(
            update.gains, update.played, tables[REGRETS], tables[AVERAGES], tables["predictions"]
        )


class SampledRule(UpdateRule):
    """What an algorithm that samples deals does: `errai.solvers.sampled` says how an iteration goes.

    Attributes:
        sampling: what is sampled besides the deal: nothing ("chance"), the opponent's actions ("external"),
            or everybody's ("outcome").
        deals: deals of each player in an iteration; the gains of all are added up before tables change.
        shared: whether threads learn in the same tables without locks. It is fast, and the tables depend on
            the threads' pace.
        regret_power: the regrets of iteration t count t to this power; 1 is linear CFR.
        discount: (alpha, beta, gamma) of Discounted CFR, applied after every `discount_every` iterations.
        discount_every: iterations of a period after which all tables are discounted; 0 for never.
        regret_floor: no regret is let below it.
        prune_below: an action of lower regret is left out, with all that follows it, where another one has a
            positive regret.
        prune_probability: how often; otherwise its gains count so much more that they are right on average.
        exploration: in outcome sampling, how often the walked player takes any action alike.
    """

    sampling: Literal["chance", "external", "outcome"]
    deals: int = 1
    shared: bool = False
    regret_power: float = 0.0
    discount: tuple[float, float, float] = (1.0, 1.0, 1.0)
    discount_every: int = 0
    regret_floor: float = -math.inf
    prune_below: float = -math.inf
    prune_probability: float = 0.95
    exploration: float = 0.6

    @model_validator(mode="after")
    def _verify_options(self) -> Self:
        if not self.alternating:
            raise ValueError(f"'{self.name}' learns for one player at a time: it cannot be simultaneous")
        if self.deals < 1:
            raise ValueError(f"the deals of an iteration must be 1 or more, not {self.deals}")
        if self.shared and self.deals > 1:
            raise ValueError("shared tables change with every deal: they need deals = 1")
        if not 0 <= self.regret_power < math.inf:
            raise ValueError(
                f"the power that weights regrets must be finite and 0 or more, not {self.regret_power}"
            )
        if self.discount_every < 0:
            raise ValueError(f"the iterations of a period must be 0 or more, not {self.discount_every}")
        if self.discount[2] < 0:
            raise ValueError(f"gamma of the discount must be 0 or more, not {self.discount[2]}")
        if self.regret_floor > 0:
            raise ValueError(f"the floor of regrets must be 0 or less, not {self.regret_floor}")
        if self.prune_below > -math.inf:
            if self.sampling == "outcome":
                raise ValueError("outcome sampling walks one action alone: there is nothing to prune")
            if not self.regret_floor <= self.prune_below <= 0:
                raise ValueError(
                    "the regret to prune below must be 0 or less and not below the floor, "
                    f"not {self.prune_below}"
                )
        if not 0 <= self.prune_probability < 1:
            raise ValueError(
                f"the probability of pruning must be from 0 to below 1, not {self.prune_probability}"
            )
        if not 0 < self.exploration <= 1:
            raise ValueError(f"the exploration must be above 0 and at most 1, not {self.exploration}")
        return self

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return frozenset({*type(self).model_fields} - {"name", "sampling", "alternating"})

    def weights(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return how much the regrets, and the strategy, of each iteration count: float64[iterations, 2].

        Iterations are first .. last - 1, counted from 1.
        """
        t = np.arange(first, last, dtype=np.float64)
        after = t - self.delay
        weights = np.ones((last - first, 2))
        # Powers take as long as walks of small games, and mostly they are 0.
        if self.regret_power != 0:
            weights[:, 0] = t**self.regret_power
        if self.average_power != 0:
            weights[:, 1] = np.maximum(after, 0) ** self.average_power
        if first <= self.delay:
            weights[after <= 0, 1] = 0
        return weights

    def discounts(self, iteration: int) -> tuple[float, float, float] | None:
        """Return factors of positive regrets, negative ones and averages after an iteration; None for 1."""
        if self.discount_every == 0 or iteration % self.discount_every:
            return None
        alpha, beta, gamma = self.discount
        period = np.array([iteration // self.discount_every + 1.0])
        positive, negative = (float(discount_factors(period, power)[0]) for power in (alpha, beta))
        return positive, negative, float(((period[0] - 1) / period[0]) ** gamma)


class SampledBoardsRule(UpdateRule):
    """Plain CFR of which each iteration sees one path of public boards (`errai.solvers.public_sampling`).

    A discount is realised by weights that grow, because most slots are not visited in an iteration: that
    of iteration t is the product of (k^alpha + 1) / k^alpha over k < t; t in Linear CFR, where alpha = 1.

    Attributes:
        discount: (alpha, beta, gamma) as in `FactorRule`, alpha and beta alike and 1 or more; None for none.
    """

    discount: tuple[float, float, float] | None = None

    @field_validator("alternating")
    @classmethod
    def _verify_alternating(cls, value: bool) -> bool:
        if not value:
            raise ValueError("players who learn on sampled boards do so in turn: alternating must be True")
        return value

    @field_validator("discount")
    @classmethod
    def _verify_discount(cls, value: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        if value is not None and not (1 <= value[0] == value[1] < math.inf and 0 <= value[2] < math.inf):
            raise ValueError(
                "a discount on sampled boards must be finite, with alpha = beta of 1 or more and gamma of 0 "
                f"or more, such as '1,1,1', not '{','.join(f'{x:g}' for x in value)}'"
            )
        return value

    def steps(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return the numbers of iterations first .. last - 1, counted from 1: float64[iterations, 2, 5]."""
        steps = super().steps(first, last)
        if self.discount is not None:
            t = np.arange(first, last, dtype=np.float64)
            steps[:, :, AVERAGE_WEIGHT] *= (t ** self.discount[2])[:, np.newaxis]
        return steps

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return frozenset({"delay", "discount"})

    def gain_weights(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """Return how often the regrets of iterations first .. last - 1 count: float64[iterations]."""
        if self.discount is None:
            return np.ones(last - first)
        t, alpha = np.arange(first, last, dtype=np.float64), self.discount[0]
        if alpha == 1:
            return t
        # Always summed from the first iteration on: the bits must not depend on where a stretch begins.
        growth = np.cumsum(np.log1p(np.arange(1, last, dtype=np.float64) ** -alpha))
        weights: npt.NDArray[np.float64] = np.exp(np.concatenate([[0.0], growth]))
        return weights[first - 1 : last - 1]


class PathRule(SampledBoardsRule):
    """Public chance sampling: both players learn on one path of boards, or each on its own.

    Attributes:
        boards: "own" where each player's walk samples boards of its own, as the thesis's algorithm 1 has it;
            without it both learn on the same boards, which takes fewer iterations and less time for each.
    """

    boards: Literal["own"] | None = None

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return super().free_options() | {"boards"}


class ResponseRule(SampledBoardsRule):
    """CFR-BR: an abstracted player against one who answers it (`errai.solvers.cfr_br`).

    Attributes:
        trunk: rounds above the sampled sub-games.
    """

    trunk: int = 1

    @field_validator("trunk")
    @classmethod
    def _verify_trunk(cls, value: int) -> int:
        if value < 1:
            raise ValueError(f"the trunk must have 1 round or more, not {value}")
        return value

    def free_options(self) -> frozenset[str]:
        """Return the options that a named rule may have otherwise than its recipe says."""
        return super().free_options() | {"trunk"}


RULES: dict[str, UpdateRule] = {
    "cfr": FactorRule(name="cfr"),
    "cfr+": FactorRule(name="cfr+", floor=True, average_power=1.0),
    "linear-cfr": FactorRule(name="linear-cfr", discount=(1.0, 1.0, 1.0)),
    "dcfr": FactorRule(name="dcfr", discount=(1.5, 0.0, 2.0)),
    "pcfr+": PredictiveRule(name="pcfr+"),
}
"""Rules of walks of the whole tree."""

DEAL_RULES: dict[str, UpdateRule] = {
    "cs": SampledRule(name="cs", sampling="chance"),
    "external": SampledRule(name="external", sampling="external"),
    "outcome": SampledRule(name="outcome", sampling="outcome"),
}
"""Rules of walks of sampled deals."""

BOARD_RULES: dict[str, UpdateRule] = {
    "pcs": PathRule(name="pcs"),
    "opcs": PathRule(name="opcs"),
    "spcs": PathRule(name="spcs"),
    "cfr-br": ResponseRule(name="cfr-br"),
}
"""Rules of walks of sampled boards."""

NAMED_RULES = {**RULES, **DEAL_RULES, **BOARD_RULES}


def rule_names() -> str:
    """Return the names of all rules, for a sentence."""
    return ", ".join(NAMED_RULES)


def find_rule(name: str) -> UpdateRule:
    """Return the rule of a named algorithm."""
    if name not in NAMED_RULES:
        raise UsageError(f"unknown algorithm '{name}': expected {rule_names()} or lp")
    return NAMED_RULES[name]


def is_recipe(rule: UpdateRule) -> bool:
    """Return whether its name and its free options say all about a rule."""
    recipe = NAMED_RULES.get(rule.name)
    return type(recipe) is type(rule) and all(
        getattr(rule, field) == getattr(recipe, field)
        for field in {*type(rule).model_fields} - rule.free_options()
    )
