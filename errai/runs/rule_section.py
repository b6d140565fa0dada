"""The section [algorithm] of a run: an update rule as a dictionary, and back.

A named rule is written with its options and read back as itself. Any other rule, of the user's own, say, is
written with its class besides, and read back as a `ForeignRule`, which tells what was played but cannot
go on: no file decides which code is run.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from errai.errors import UsageError
from errai.solvers.update_rules import UpdateRule, find_rule, is_recipe

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


Rule = UpdateRule | LinearProgramme | ForeignRule


def describe_rule(rule: Rule) -> dict[str, Any]:
    """Return what [algorithm] says about a rule."""
    if not isinstance(rule, UpdateRule):
        return rule.model_dump(by_alias=True)
    options: dict[str, Any] = with_tuples(rule.model_dump(mode="json", exclude_none=True))
    if is_recipe(rule):
        return options
    origin = f"{type(rule).__module__}.{type(rule).__qualname__}"
    return {"name": rule.name, "class": origin, **options}


def restore_rule(section: dict[str, Any]) -> Rule:
    """Return the rule that `describe_rule` described.

    Raises:
        ValidationError: where an option has the wrong type, is missing or unknown.
        UsageError: where the rule has no such name, or an option that it cannot have.
    """
    model = rule_model(section)
    found = model.model_validate(section)
    if model in (LinearProgramme, ForeignRule):
        assert isinstance(found, LinearProgramme | ForeignRule)
        return found
    recipe = find_rule(section["name"])
    rule = type(recipe)(**section)
    for option, value in rule:
        if not is_recipe(recipe.with_options(**{option: value})):
            own = getattr(recipe, option)
            raise UsageError(f"{option} of '{rule.name}' must be {own!r}, not {value!r}")
    return rule


def with_tuples(value: Any) -> Any:
    """Make tuples of lists: what is frozen has no lists."""
    if isinstance(value, dict):
        return {key: with_tuples(of) for key, of in value.items()}
    return tuple(with_tuples(of) for of in value) if isinstance(value, list | tuple) else value


def rule_model(section: dict[str, Any]) -> type[BaseModel]:
    """Return what a section must look like: for a named rule each of its options, of the very type."""
    if "class" in section:
        return ForeignRule
    name = section.get("name")
    if name == LINEAR_PROGRAMME:
        return LinearProgramme
    if not isinstance(name, str):
        return create_model("Named", __config__=ConfigDict(strict=True), name=(str, ...))
    recipe = find_rule(name)
    fields: dict[str, Any] = {
        option: (type(recipe).model_fields[option].annotation, ...)
        for option, value in recipe
        if value is not None
    }
    for option in recipe.free_options() - {*fields}:  # what may be chosen, and by default is not
        fields[option] = (type(recipe).model_fields[option].annotation, None)
    return create_model(type(recipe).__name__, __config__=_STRICT, **fields)
