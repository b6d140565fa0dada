"""Entries of a run's TOML file, `run.toml` or one that `errai train` reads: what reading either takes.

Whatever does not fit is refused in one sentence that names the file, the key and what is expected.
"""

import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from errai.errors import UsageError
from errai.runs.rule_section import Rule, restore_rule, rule_model, with_tuples
from errai.runs.sections import OLD_VERSIONS, VERSION
from errai.validation import Section, first_mistake

Configuration = TypeVar("Configuration", bound=Section)


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Return the entries of a file.

    Args:
        text: content of the file.
        what: what to call it in an error.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{what} is not TOML: {error}") from None


def validate_entries(
    model: type[Configuration],
    entries: dict[str, Any],
    what: str,
    verify_game: Callable[[Configuration], object],
) -> Configuration:
    """Make a configuration of entries whose [algorithm] is a section or a rule.

    Args:
        model: of the configuration, with a field `algorithm`.
        entries: by section.
        what: what to call them in an error.
        verify_game: raises UsageError where the configuration's game is none, which is told here, where the
            file is known.
    """
    form = entries.get("format")
    version = form.get("version") if isinstance(form, dict) else None
    if isinstance(version, int) and version not in (VERSION, *OLD_VERSIONS):
        raise UsageError(f"{what} has format version {version}: expected version {VERSION}")
    entries = {name: with_tuples(section) for name, section in entries.items()}
    if isinstance(entries.get("algorithm"), dict):
        entries["algorithm"] = _restored_rule(entries["algorithm"], what)
    try:
        found = model.model_validate(entries)
        verify_game(found)
    except ValidationError as error:
        raise UsageError(f"{what} is invalid: {first_mistake(error, model)}") from None
    except UsageError as error:
        raise UsageError(f"{what} is invalid: game: {error}") from None
    return found


def _restored_rule(section: dict[str, Any], what: str) -> Rule:
    """Return the rule that a section describes, so that an error can name the option."""
    try:
        return restore_rule(section)
    except ValidationError as error:
        told = first_mistake(error, rule_model(section), "algorithm")
        raise UsageError(f"{what} is invalid: {told}") from None
    except UsageError as error:
        raise UsageError(f"{what} is invalid: algorithm: {error}") from None
