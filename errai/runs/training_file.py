"""The file that `errai train` reads: a run as a person writes it, with nothing that can be found out.

    [game]
    name = "rhode-island"

    [abstraction]
    name = "IR-KE-KO 13-50-60"     # built if it is missing; or folder = "abstractions/ri"

    [algorithm]
    name = "cfr+"

    [stop]
    seconds = 600

Only [game] and [algorithm] must be there. Sections and keys are those of `run.toml`, which may be trained
again as it is: an update rule's options, the number format and so on have defaults here, and an abstraction
has a name or a folder, and no fingerprint yet. Bet sizes may also be a menu's name or file. A mistake is
refused in one sentence that names the file, the key and what is expected.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from errai.errors import UsageError, shortened
from errai.games.catalogue import Game, restore_rules
from errai.runs.entries import parse_toml, validate_entries
from errai.runs.rule_section import Rule, describe_rule
from errai.runs.sections import (
    AbstractionSection,
    CheckpointsSection,
    EvaluationSection,
    FormatSection,
    GameSection,
    MachineSection,
    PayoffsSection,
    RandomSection,
    StopSection,
)
from errai.solvers.update_rules import NAMED_RULES, find_rule
from errai.tree.bet_menu import BetMenu
from errai.tree.menu_file import RoundSizes, load_bets, restore_menu
from errai.validation import Section

SUFFIX = ".toml"
PRESETS = Path(__file__).parent / "presets"


class WantedBets(Section):
    """The bet sizes of a no-limit game: as text, a menu's name or file, or as `run.toml` has them."""

    menu: str
    force_all_in: str | float = "0"
    max_raises: int | None = Field(default=None, ge=0)
    rounds: dict[str, RoundSizes] | None = None

    def find(self) -> BetMenu:
        """Return the menu."""
        if self.rounds is not None:
            return restore_menu(self.model_dump(exclude_none=True) | {"force_all_in": str(self.force_all_in)})
        threshold = "" if self.force_all_in == "0" else self.force_all_in
        return load_bets(self.menu, self.max_raises, threshold or 0)

    @model_validator(mode="after")
    def _verify(self) -> "WantedBets":
        self.find()
        return self


class WantedAbstraction(AbstractionSection):
    """What the players are to see: an abstraction by name, built if it is missing, or one in a folder."""

    name: str = ""
    fingerprint: str = ""

    @model_validator(mode="after")
    def _verify(self) -> "WantedAbstraction":
        if not self.name and not self.folder:
            raise UsageError("expected a name such as 'IR-KE-KO 169-200-200-200', or a folder")
        return self


class WantedTables(Section):
    """How numbers are held; by size where it is not said."""

    dtype: Literal["float32", "float64"] | None = None


class TrainingFile(Section):
    """A run as it is wanted, one field for each section of the file.

    Attributes:
        description: a line for people.
        format: that of `run.toml`, where it is one.
        game: the game.
        bets: bet sizes of a no-limit game.
        abstraction: what the players see; None for everything.
        algorithm: the update rule.
        payoffs: what the players get at the end of a hand; None for plain poker.
        tables: number format.
        random: seed.
        stop: when to stop.
        checkpoints: how often to save.
        evaluation: what to measure along the way.
        machine: threads, and where tables are held.
    """

    description: str = ""
    format: FormatSection = FormatSection()
    game: GameSection
    bets: WantedBets | None = None
    abstraction: WantedAbstraction | None = None
    algorithm: Rule
    payoffs: PayoffsSection | None = None
    tables: WantedTables = WantedTables()
    random: RandomSection = RandomSection()
    stop: StopSection = StopSection()
    checkpoints: CheckpointsSection = CheckpointsSection()
    evaluation: EvaluationSection = EvaluationSection()
    machine: MachineSection = MachineSection()

    @field_validator("algorithm", mode="plain")
    @classmethod
    def _verify_algorithm(cls, value: Any) -> Any:
        if not isinstance(value, Rule):
            raise UsageError("expected a section")
        return value

    @property
    def rules(self) -> Game:
        """The game."""
        return restore_rules(self.game.model_dump(exclude_none=True))


def find_training(config: str | Path | Mapping[str, Any]) -> tuple[TrainingFile, str]:
    """Return a configuration and what to call it.

    Args:
        config: the path of a file, the name of one that comes with the package, such as `leduc`, or the
            entries of such a file.
    """
    if isinstance(config, Mapping):
        return parse_entries(dict(config), "the configuration"), "training"
    if not isinstance(config, str | Path):
        raise UsageError(
            f"a configuration must be the path of a {SUFFIX} file, a preset ({', '.join(preset_names())}) or "
            f"a dictionary, not {shortened(repr(config))}"
        )
    if isinstance(config, str) and config in preset_names():
        return read_preset(config), config
    return read_training(config), Path(config).stem


def preset_names() -> tuple[str, ...]:
    """Return the names of the configurations that come with the package."""
    return tuple(sorted(path.stem for path in PRESETS.glob(f"*{SUFFIX}")))


def read_preset(name: str) -> TrainingFile:
    """Read a configuration that comes with the package."""
    if name not in preset_names():
        raise UsageError(f"unknown preset '{shortened(name)}': expected one of {', '.join(preset_names())}")
    return read_training(PRESETS / f"{name}{SUFFIX}")


def read_training(path: str | Path) -> TrainingFile:
    """Read a configuration from a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"'{path}' was not found: expected a {SUFFIX} file or a preset ({', '.join(preset_names())})"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not TOML: {error}") from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"'{path}' cannot be read: {told}") from None
    what = f"'{path}'"
    return parse_entries(parse_toml(text, what), what)


def parse_entries(entries: dict[str, Any], what: str) -> TrainingFile:
    """Make a configuration of a file's entries.

    Args:
        entries: by section.
        what: what to call it in an error.
    """
    section = entries.get("algorithm")
    if isinstance(section, dict):
        name = section.get("name")
        if isinstance(name, str) and name in NAMED_RULES:
            entries = entries | {"algorithm": describe_rule(find_rule(name)) | section}
    return validate_entries(TrainingFile, entries, what, lambda file: file.rules)
