"""The section [algorithm] of a run: an update rule as a dictionary, and back.

A named rule is written with its options and read back as itself. A rule of the user's own is written with its
class besides, and read back as a `ForeignRule`, which tells what was played but cannot go on: no file
decides which code is run.
"""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from errai.errors import UsageError
from errai.solvers.solve import configured_rule
from errai.solvers.update_rules import RULES, UpdateRule, find_rule

LINEAR_PROGRAMME = "lp"

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


class LinearProgramme(BaseModel):
    """The exact solution, which is no update rule and has no options."""

    model_config = _STRICT

    name: str = LINEAR_PROGRAMME


class ForeignRule(BaseModel):
    """A rule that is not one of ours.

    Attributes:
        name: what reports call it.
        origin: module and name of its class.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    name: str
    origin: str = Field(alias="class")


class _Options(BaseModel):
    """Options of a named rule."""

    model_config = _STRICT

    name: str
    alternating: bool
    delay: int = Field(ge=0)
    discount: tuple[float, float, float] | None = None


Rule = UpdateRule | LinearProgramme | ForeignRule


def chosen_rule(
    algorithm: str | UpdateRule,
    alternating: bool | None = None,
    delay: int = 0,
    discount: tuple[float, float, float] | None = None,
) -> UpdateRule:
    """Return a named rule with its options, or the rule that was given, which has its own."""
    if isinstance(algorithm, str):
        return configured_rule(algorithm, alternating, delay, discount)
    if alternating is not None or delay or discount is not None:
        raise UsageError(f"the rule '{algorithm.name}' was given with its options: no others are allowed")
    return algorithm


def describe_rule(rule: Rule) -> dict[str, Any]:
    """Return what [algorithm] says about a rule."""
    if isinstance(rule, BaseModel):
        return rule.model_dump(by_alias=True)
    if not _is_named(rule):
        origin = f"{type(rule).__module__}.{type(rule).__qualname__}"
        return {"name": rule.name, "class": origin, **asdict(rule)}
    named = _Options(name=rule.name, alternating=rule.alternating, delay=rule.delay, discount=rule.discount)
    return named.model_dump()


def restore_rule(section: dict[str, Any]) -> Rule:
    """Return the rule that `describe_rule` described.

    Raises:
        ValidationError: where an option has the wrong type, is out of range, is missing or unknown.
        UsageError: where the rule has no such name.
    """
    if "class" in section:
        return ForeignRule.model_validate(section)
    if section.get("name") == LINEAR_PROGRAMME:
        return LinearProgramme.model_validate(section)
    if isinstance(section.get("name"), str):
        find_rule(section["name"])
    options = _Options.model_validate(section)
    return configured_rule(options.name, options.alternating, options.delay, _given_discount(options))


def option_names(section: dict[str, Any]) -> list[str]:
    """Return the keys that a section may have."""
    model = LinearProgramme if section.get("name") == LINEAR_PROGRAMME else _Options
    return list(model.model_fields)


def _given_discount(options: _Options) -> tuple[float, float, float] | None:
    """Return the exponents where they are not the rule's own, which only `dcfr` allows."""
    return None if options.discount == find_rule(options.name).discount else options.discount


def _is_named(rule: UpdateRule) -> bool:
    if rule.name not in RULES:
        return False
    own = RULES[rule.name].discount
    discount = None if rule.discount == own else rule.discount
    if discount is not None and rule.name != "dcfr":
        return False
    return configured_rule(rule.name, rule.alternating, rule.delay, discount) == rule
