"""Bet menus in TOML files, those that come with the package among them.

    description = "Three sizes for both, two more for the dealer on the flop"
    force_all_in = 0.1
    max_raises = 4
    both = "0.5p,1p,all-in | 1p,all-in"

    [rounds.flop]
    dealer = "0.33p,2p | none"
    max_raises = 3

`both`, `dealer` and `big_blind` (or `position_1` and `position_0`) are sizes as in the text of a menu, by
raise number: a position is offered those of `both` and its own. So sizes that only one player may use
stand under that player's name. A round has a section named by its street or its number from 1; what the
section does not say, the head of the file says. Without sizes in the head, the last section serves all
later rounds, as in the text of a menu.

A menu comes back from the section that `describe_menu` makes of it, so that runs can keep it.
"""

import re
import reprlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from errai.errors import UsageError, shortened
from errai.games.rounds import STREETS
from errai.tree.bet_menu import SEATS, BetMenu, Size, parse_round, round_text
from errai.validation import Section, first_mistake

SUFFIX = ".toml"
PRESETS = Path(__file__).parent / "menus"

_NAME = re.compile(r"[A-Za-z][A-Za-z-]+")
_ROUND_NUMBER = re.compile(r"[1-9][0-9]?")

_POSITIONS = tuple((f"position_{position}", seat) for position, seat in enumerate(SEATS))
"""[position] the keys of its own sizes."""

_SIZES = ("both", *(key for keys in _POSITIONS for key in keys))


class RoundSizes(Section):
    """The sizes of one round, each text by raise number, and its cap."""

    both: str | None = None
    dealer: str | None = None
    big_blind: str | None = None
    position_0: str | None = None
    position_1: str | None = None
    max_raises: int | None = Field(default=None, ge=0)

    @field_validator(*_SIZES)
    @classmethod
    def _verify_sizes(cls, text: str | None) -> str | None:
        if text is not None:
            parse_round(text)
        return text

    @property
    def has_sizes(self) -> bool:
        """Whether it says any sizes, be it that there are none."""
        return any(
            getattr(self, key) is not None for key in ("both", *(k for pair in _POSITIONS for k in pair))
        )


class MenuFile(RoundSizes):
    """A file of bet sizes: what holds for every round without a section of its own, and the sections."""

    description: str = ""
    force_all_in: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    rounds: dict[str, RoundSizes] = Field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """A menu that comes with the package.

    Attributes:
        name: as the options take it.
        description: a line for people.
        menu: its sizes.
    """

    name: str
    description: str
    menu: BetMenu


def load_bets(
    bets: BetMenu | str | Path, max_raises: int | None = None, force_all_in: float | str = 0
) -> BetMenu:
    """Return a menu of bet sizes for a no-limit game.

    Args:
        bets: sizes as text, such as '0.5p,1p,all-in'; the name of a menu that comes with the package, such
            as 'half-pot-pot-all-in'; or the path of a TOML file. A menu is returned as it is.
        max_raises: with sizes as text, the most bets and raises of a round.
        force_all_in: with sizes as text, a raise becomes all-in where it would leave less than this part of
            the pot.

    Returns:
        The menu, which `errai.solve` takes as `bets`.
    """
    if isinstance(bets, BetMenu):
        return bets
    if not isinstance(bets, str | PathLike):
        raise UsageError(
            f"bets must be a BetMenu, text such as '0.5p,1p,all-in' or a path, not {reprlib.repr(bets)}"
        )
    if isinstance(bets, str):
        bets = bets.strip()
        if not bets.endswith(SUFFIX) and bets not in preset_names():
            _verify_not_a_name(bets)
            return BetMenu.parse(bets, max_raises, force_all_in)
    if max_raises is not None or force_all_in:
        raise UsageError(
            f"a cap on raises and an all-in threshold go with sizes as text: '{bets}' has its own"
        )
    return _preset(bets).menu if isinstance(bets, str) and bets in preset_names() else read_menu(bets)


def _verify_not_a_name(text: str) -> None:
    """Refuse a word that is no size: whoever wrote it thought of a name."""
    if _NAME.fullmatch(text) is None:
        return
    try:
        parse_round(text)
    except UsageError:
        raise UsageError(
            f"'{shortened(text)}' is not a menu of bet sizes: expected sizes such as '0.5p,1p,all-in', the "
            f"path of a {SUFFIX} file, or one of {', '.join(preset_names())}"
        ) from None


def preset_names() -> tuple[str, ...]:
    """Return the names of the menus that come with the package, by the alphabet."""
    return tuple(sorted(path.stem for path in PRESETS.glob(f"*{SUFFIX}")))


def presets() -> tuple[Preset, ...]:
    """Return the menus that come with the package, by the alphabet."""
    return tuple(_preset(name) for name in preset_names())


@cache
def _preset(name: str) -> Preset:
    path = PRESETS / f"{name}{SUFFIX}"
    found = _parse_file(path.read_text(encoding="utf-8"), path.name)
    return Preset(name, found.description, _menu(found, name))


def read_menu(path: str | Path) -> BetMenu:
    """Read a file of bet sizes; its name without the ending becomes the menu's."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"'{path}' was not found: expected a TOML file of bet sizes") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not TOML: {error}") from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"'{path}' cannot be read: {told}") from None
    return parse_menu_file(text, path)


def parse_menu_file(text: str, path: str | Path) -> BetMenu:
    """Return the menu that a file's text describes.

    Args:
        text: content of the file.
        path: what to call it.
    """
    found = _parse_file(text, path)
    try:
        return _menu(found, Path(path).stem)
    except UsageError as error:
        raise UsageError(f"'{path}' is invalid: {error}") from None


def _parse_file(text: str, path: str | Path) -> MenuFile:
    try:
        return MenuFile.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"'{path}' is not TOML: {error}") from None
    except ValidationError as error:
        raise UsageError(f"'{path}' is invalid: {first_mistake(error, MenuFile)}") from None


# To a menu


def _menu(file: MenuFile, name: str) -> BetMenu:
    threshold = Fraction(str(file.force_all_in))  # as written in decimals: 0.05 is a twentieth
    return menu_of_rounds(name, threshold, _merged(file), _names(file))


def _merged(file: MenuFile) -> list[RoundSizes]:
    """Return what each round says together with the head; the last one serves all later rounds."""
    sections = rounds_by_index(file.rounds)
    rounds = []
    for r in range(max(sections, default=-1) + 1):
        section = sections.get(r, RoundSizes())
        own = section.model_dump(exclude_none=True)
        merged = RoundSizes(**{**_head(file), **own})
        if not merged.has_sizes:
            raise UsageError(
                f"round {r + 1} has no sizes: expected 'both', sizes of one position, or sizes in the head"
            )
        rounds.append(merged)
    if file.has_sizes:
        rounds.append(RoundSizes(**_head(file)))
    if not rounds:
        raise UsageError("it has no sizes: expected 'both', such as '0.5p,1p,all-in', or sections of rounds")
    return rounds


def _head(file: MenuFile) -> dict[str, Any]:
    return file.model_dump(include=set(RoundSizes.model_fields), exclude_none=True)


def rounds_by_index(rounds: Mapping[str, RoundSizes]) -> dict[int, RoundSizes]:
    """Return sections by round, counted from 0; what names no round, or one a second time, is refused."""
    found: dict[int, tuple[str, RoundSizes]] = {}
    streets = list(STREETS.values())
    for name, section in rounds.items():
        if name not in streets and not _ROUND_NUMBER.fullmatch(name):
            raise UsageError(
                f"rounds.{shortened(name)} is unknown: expected {', '.join(streets)}, or a number from 1"
            )
        index = streets.index(name) if name in streets else int(name) - 1
        if index in found:
            raise UsageError(f"rounds.{found[index][0]} and rounds.{name} are one round: expected only one")
        found[index] = (name, section)
    return {index: section for index, (_, section) in found.items()}


def menu_of_rounds(
    name: str, force_all_in: Fraction, rounds: Sequence[RoundSizes], names: tuple[str, ...]
) -> BetMenu:
    """Return a menu.

    Args:
        name: what to call it.
        force_all_in: a raise is made all-in where it would leave less than this part of the pot.
        rounds: the sizes of each round; the last one serves all later rounds.
        names: streets and seats that are spoken of.
    """
    both, *own = [tuple(_sizes(section, keys) for section in rounds) for keys in (("both",), *_POSITIONS)]
    caps = tuple(section.max_raises for section in rounds)
    is_even = len(set(caps)) == 1
    menus = [
        BetMenu(
            sizes=tuple(_union(shared, extra) for shared, extra in zip(both, extras, strict=True)),
            max_raises=caps[0] if is_even else None,
            force_all_in=force_all_in,
            text=name,
            round_caps=() if is_even else caps,
        )
        for extras in own
    ]
    if menus[0] == menus[1]:  # then seats do not matter
        return replace(menus[0], names=tuple(name for name in names if name not in SEATS))
    return replace(menus[0], by_position=tuple(menus), names=names)


def _sizes(section: RoundSizes, keys: Iterable[str]) -> tuple[tuple[Size, ...], ...]:
    given = {key: text for key in keys if (text := getattr(section, key)) is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are one position: expected only one of them")
    return parse_round(next(iter(given.values()), "none"))


def _union(
    shared: tuple[tuple[Size, ...], ...], extra: tuple[tuple[Size, ...], ...]
) -> tuple[tuple[Size, ...], ...]:
    """Return both menus' sizes by raise number, each once; of either the last entry repeats."""
    number = max(len(shared), len(extra))
    pairs = ((of[min(i, len(of) - 1)] for of in (shared, extra)) for i in range(number))
    return tuple(tuple(dict.fromkeys(size for sizes in pair for size in sizes)) for pair in pairs)


def _names(file: MenuFile) -> tuple[str, ...]:
    """Return the streets that a file speaks of, and both seats where it speaks of one."""
    parts = (file, *file.rounds.values())
    has_seats = any(getattr(part, seat) is not None for part in parts for seat in SEATS)
    streets = tuple(street for street in STREETS.values() if street in file.rounds)
    return streets + (SEATS if has_seats else ())


# From a menu


def describe_menu(menu: BetMenu) -> dict[str, Any]:
    """Describe a menu as a section of a file, from which `restore_menu` makes it again.

    One that its text and a cap describe is written as these; another one round by round, under its name.
    """
    about: dict[str, Any] = {"menu": menu.text, "force_all_in": str(menu.force_all_in)}
    if menu.max_raises is not None:
        about["max_raises"] = menu.max_raises
    try:
        if restore_menu(about) == menu:
            return about
    except UsageError:
        pass  # its text is a name
    about.pop("max_raises", None)
    return about | {"rounds": _described_rounds(menu)}


def _described_rounds(menu: BetMenu) -> dict[str, dict[str, Any]]:
    streets = list(STREETS.values())
    keys = [seat if set(SEATS) & set(menu.names) else number for number, seat in _POSITIONS]
    rounds = {}
    for r in range(len(menu.sizes)):
        name = streets[r] if r < len(streets) and streets[r] in menu.names else str(r + 1)
        if menu.by_position:
            sizes = {key: one.sizes[r] for key, one in zip(keys, menu.by_position, strict=True)}
        else:
            sizes = {"both": menu.sizes[r]}
        section: dict[str, Any] = {key: round_text(by_raise) for key, by_raise in sizes.items()}
        cap = menu.cap(r)
        rounds[name] = section if cap is None else section | {"max_raises": cap}
    return rounds


def verify_rounds(rounds: Mapping[str, RoundSizes]) -> None:
    """Refuse sections of rounds that are no menu."""
    file = MenuFile(rounds=dict(rounds))
    menu_of_rounds("", Fraction(0), _merged(file), _names(file))


def restore_menu(about: Mapping[str, Any]) -> BetMenu:
    """Return the menu that `describe_menu` described."""
    threshold = Fraction(about["force_all_in"])
    if "rounds" not in about:
        return replace(BetMenu.parse(about["menu"], about.get("max_raises")), force_all_in=threshold)
    file = MenuFile(rounds={name: RoundSizes(**section) for name, section in about["rounds"].items()})
    return menu_of_rounds(about["menu"], threshold, _merged(file), _names(file))
