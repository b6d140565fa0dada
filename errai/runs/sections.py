"""The sections of `run.toml` and of the file that `errai train` reads, each a frozen model.

Those that decide a run's tables come first; those that only say how a run goes on (`FREE`) may be changed
when it is resumed.
"""

from fractions import Fraction
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from errai.errors import UsageError
from errai.games.catalogue import restore_rules
from errai.games.payoffs import Payoffs
from errai.strategy.simple import find_simple_rule
from errai.tree.bet_menu import BetMenu
from errai.tree.menu_file import RoundSizes, verify_rounds
from errai.validation import Section

VERSION: Literal[4] = 4
OLD_VERSIONS = (2, 3)
"""Formats that are still read: what they do not say has its default."""

FIRST_BY_BUCKET = 4
"""The first format whose tables of buckets lie bucket by bucket; earlier ones cannot be read as tables."""

FREE = ("stop", "checkpoints", "evaluation", "machine")
"""Sections that do not decide the tables of an iteration."""

CHECKPOINT_SECONDS = 600.0

# What decides the tables


class FormatSection(Section):
    """What kind of file it is."""

    kind: Literal["run"] = "run"
    version: Literal[2, 3, 4] = VERSION


class GameSection(Section):
    """The game, by name or as the text of an ACPC game file."""

    name: str
    file: str | None = None

    @field_validator("file")
    @classmethod
    def _verify_file(cls, text: str | None) -> str | None:
        if text is not None:
            restore_rules({"name": "a game", "file": text})
        return text


class BetsSection(Section):
    """The bet sizes of a no-limit game, as `describe_menu` writes them."""

    rounds: dict[str, RoundSizes] | None = None
    menu: str
    force_all_in: str = "0"
    max_raises: int | None = Field(default=None, ge=0)

    @field_validator("rounds")
    @classmethod
    def _verify_rounds(cls, rounds: dict[str, RoundSizes] | None) -> dict[str, RoundSizes] | None:
        if rounds is not None:
            verify_rounds(rounds)
        return rounds

    @field_validator("menu")
    @classmethod
    def _verify_menu(cls, text: str, about: ValidationInfo) -> str:
        if about.data.get("rounds") is None:
            BetMenu.parse(text)
        return text

    @field_validator("force_all_in")
    @classmethod
    def _verify_threshold(cls, text: str) -> str:
        try:
            is_sound = Fraction(text) >= 0
        except (ValueError, ZeroDivisionError):
            is_sound = False
        if not is_sound:
            raise UsageError("expected a part of the pot of 0 or more, such as '1/20'")
        return text


class AbstractionSection(Section):
    """What tells one abstraction from another, and how it was made.

    Attributes:
        name: in reports; for one that was built, how to build it.
        fingerprint: the checksum of every cell's bucket; where the game's cells never are in memory, the
            fingerprint of the abstraction itself.
        folder: where the abstraction lies that the run's strategy looks its buckets up in; None where the
            run has a bucket for every cell itself.
        seed: of the build; this and the following are None for an abstraction that was there.
        restarts: as `BuildOptions` has it; the builder's choice where it is None, as in all that follow.
        max_iterations: as `BuildOptions` has it.
        sample_size: as `BuildOptions` has it.
        full_passes: as `BuildOptions` has it.
        clusters: of opponent hands.
    """

    name: str
    fingerprint: str
    folder: str | None = None
    seed: int | None = Field(default=None, ge=0)
    restarts: int | None = Field(default=None, ge=1)
    max_iterations: int | None = Field(default=None, ge=1)
    sample_size: int | None = Field(default=None, ge=1)
    full_passes: int | None = Field(default=None, ge=0)
    clusters: int | None = Field(default=None, ge=1)


class PayoffsSection(Section):
    """What the players get at the end of a hand, as `Payoffs` reads it."""

    text: str

    @field_validator("text")
    @classmethod
    def _verify_text(cls, text: str) -> str:
        Payoffs.parse(text)
        return text


class TablesSection(Section):
    """How numbers are held."""

    dtype: Literal["float32", "float64"]


class RandomSection(Section):
    """The seed of everything random."""

    seed: int = Field(default=0, ge=0)


# What does not


class StopSection(Section):
    """When to stop: whatever comes first."""

    iterations: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    mbb_per_game: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class CheckpointsSection(Section):
    """How often the tables are saved, besides at the end and when the run is told to end."""

    seconds: float = Field(default=CHECKPOINT_SECONDS, ge=0, allow_inf_nan=False)


class EvaluationSection(Section):
    """What is measured along the way, and how often.

    Attributes:
        every: iterations between evaluations; by the stop rule without it.
        every_seconds: seconds of solving between them.
        exact: whether the exact exploitability is measured; without it, where the game's hands are in memory.
        agents: simple agents whose loss is measured.
        deals: dealt hands, drawn at random, that the agents' losses are estimated from, with an interval.
        flops: boards of the first public deal, drawn at random, in place of all of them. Without `deals`,
            the agents' losses are estimated from these, exactly below each flop.
        exploitability: whether the real game's exploitability is estimated from these flops, too.
    """

    every: int | None = Field(default=None, ge=1)
    every_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    exact: bool | None = None
    agents: tuple[str, ...] = ()
    deals: int | None = Field(default=None, ge=2)
    flops: int | None = Field(default=None, ge=2)
    exploitability: bool = False

    @field_validator("agents")
    @classmethod
    def _verify_agents(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        for agent in agents:
            find_simple_rule(agent)
        return agents

    @model_validator(mode="after")
    def _verify_together(self) -> "EvaluationSection":
        if self.every is not None and self.every_seconds is not None:
            raise UsageError("'every' and 'every_seconds' are both given: expected one of them")
        if self.exploitability and self.flops is None:
            raise UsageError("'exploitability' needs 'flops', the number of flops to estimate it from")
        return self


class MachineSection(Section):
    """What is used of the machine."""

    threads: int | None = Field(default=None, ge=1)
    tables_in: str | None = None
