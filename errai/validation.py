"""What pydantic has found wrong in a configuration, in words: the key, its value and what is expected."""

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

LONGEST_VALUE = 60

_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a section",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a section",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What is expected, by pydantic's name of an error."""


class Section(BaseModel):
    """A part of a configuration: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def first_mistake(error: ValidationError, model: type[BaseModel], section: str = "") -> str:
    """Describe the first mistake that pydantic has found, as in "random.seed must be 0 or more, not -1".

    Args:
        error: what pydantic has found.
        model: what was read.
        section: its name, where it is a part of something larger.
    """
    first = error.errors()[0]
    place: tuple[int | str, ...] = first["loc"]
    key = _place([section, *place] if section else [*place])
    value, kind, about = _shown(first["input"]), first["type"], first.get("ctx", {})
    if kind == "missing" and isinstance(place[-1], int):
        return f"{_place([section, *place[:-1]])} is {value}: expected more entries"
    if kind == "missing":
        return f"{key} is missing"
    if kind == "extra_forbidden":
        return f"{key} is unknown: expected {', '.join(_keys(model, place[:-1]))}"
    if kind == "value_error":
        return f"{key} is {value}: {about['error']}"
    if kind == "literal_error":
        return f"{key} must be {about['expected']}, not {value}"
    if kind == "greater_than_equal":
        return f"{key} must be {about['ge']:g} or more, not {value}"
    if kind == "greater_than":
        return f"{key} must be more than {about['gt']:g}, not {value}"
    if kind == "too_short":
        return f"{key} must have {about['min_length']} or more entries, not {about['actual_length']}"
    if kind == "too_long":
        return f"{key} must have at most {about['max_length']} entries, not {about['actual_length']}"
    if kind in _EXPECTED:
        return f"{key} must be {_EXPECTED[kind]}, not {value}"
    return f"{key} is {value}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _place(parts: list[int | str]) -> str:
    """Write where something stands.

    >>> _place(["random", "seed"]), _place(["rounds", 0, "method"])
    ('random.seed', 'rounds, entry 1: method')
    """
    written = ""
    for before, part in zip([None, *parts], parts, strict=False):
        if isinstance(part, int):
            written += f", entry {part + 1}"
        else:
            written += (": " if isinstance(before, int) else "." if written else "") + part
    return written


def _keys(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """Return the keys that a part of a model may have."""
    parts = iter(place)
    for part in parts:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = _models_in(annotation)[0]
            if _is_table(annotation):
                next(parts, None)  # a key of the user's own
    return list(model.model_fields)


def _is_table(annotation: Any) -> bool:
    """Return whether a type is `dict[str, Model]`, or that or None."""
    return get_origin(annotation) is dict or any(get_origin(part) is dict for part in get_args(annotation))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in a type such as `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models_in(inner)]


def _shown(value: Any) -> str:
    """Write a value as TOML would, and not all of a long one."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
