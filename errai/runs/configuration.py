"""One frozen configuration: from options, Python's keywords or a training file to `run.toml` and back.

It holds all that decides a run's tables, iteration by iteration, and how the run was begun: when to stop,
what to measure, threads and checkpoints. The former may not change when a run is resumed; the latter may.
Reading is strict: an unknown key, a missing section, a wrong type and a number out of range are refused in
one sentence that names the file, the key and what is expected.

    [format]       kind, version
    [game]         name; file: the text of an ACPC game file, for a game without a name of ours
    [bets]         menu, force_all_in, max_raises of a no-limit game; for a menu from a file its name as menu
                   and the sizes of its rounds as [bets.rounds.flop] and so on
    [abstraction]  name, fingerprint and, where the game's hands never are in memory, folder of the buckets
    [algorithm]    name and options of the update rule; for a rule of the user's own also its class
    [payoffs]      text of a rake or a tilt; without it plain poker
    [tables]       dtype
    [random]       seed
    [stop]         iterations, seconds, mbb_per_game
    [checkpoints]  seconds
    [evaluation]   every or every_seconds, exact, agents, flops, exploitability
    [machine]      threads, tables_in
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError, field_serializer, field_validator

from errai.errors import UsageError
from errai.games.catalogue import Game
from errai.games.payoffs import PLAIN, Payoffs
from errai.runs.entries import parse_toml, validate_entries
from errai.runs.rule_section import Rule, describe_rule
from errai.runs.sections import (
    FIRST_BY_BUCKET,
    FREE,
    VERSION,
    AbstractionSection,
    BetsSection,
    CheckpointsSection,
    EvaluationSection,
    FormatSection,
    GameSection,
    MachineSection,
    PayoffsSection,
    RandomSection,
    StopSection,
    TablesSection,
)
from errai.strategy.files import describe_game, restore_game, restore_payoffs
from errai.tree.bet_menu import BetMenu
from errai.validation import Section, first_mistake

_HEADING = "# A run of Errai. Nothing here may change: the fingerprint beside it is checked.\n\n"


class RunConfiguration(Section):
    """The whole configuration of a run, one field for each section of `run.toml`.

    Attributes:
        format: kind and version of the file.
        game: the game.
        bets: bet sizes of a no-limit game.
        abstraction: what the players see; None for everything.
        algorithm: the update rule with its options, or the linear programme.
        payoffs: what the players get at the end of a hand; None for plain poker.
        tables: number format.
        random: seed.
        stop: when to stop, as the run was begun; like all that follow it does not decide the tables.
        checkpoints: how often to save.
        evaluation: what to measure along the way.
        machine: threads, and where tables are held.
    """

    format: FormatSection = FormatSection()
    game: GameSection
    bets: BetsSection | None = None
    abstraction: AbstractionSection | None = None
    algorithm: Rule
    payoffs: PayoffsSection | None = None
    tables: TablesSection
    random: RandomSection = RandomSection()
    stop: StopSection | None = None
    checkpoints: CheckpointsSection | None = None
    evaluation: EvaluationSection | None = None
    machine: MachineSection | None = None

    @field_validator("algorithm", mode="plain")
    @classmethod
    def _verify_algorithm(cls, value: Any) -> Any:
        # `validate_entries` has made a rule of a section before, so that an error can name the option.
        if not isinstance(value, Rule):
            raise UsageError("expected a section")
        return value

    @field_serializer("algorithm")
    def _describe_algorithm(self, rule: Rule) -> dict[str, Any]:
        return describe_rule(rule)

    @staticmethod
    def of(
        game: Game,
        bets: BetMenu | None,
        rule: Rule,
        dtype: str,
        seed: int = 0,
        abstraction: AbstractionSection | None = None,
        payoffs: Payoffs = PLAIN,
    ) -> "RunConfiguration":
        """Return the configuration of a run.

        Args:
            game: the game.
            bets: bet sizes of a no-limit game.
            rule: the update rule, or `LINEAR_PROGRAMME`.
            dtype: of the tables.
            seed: of everything random.
            abstraction: what the players see; None for everything.
            payoffs: what the players get at the end of a hand.
        """
        entries = {
            **describe_game(game, bets, payoffs),
            "abstraction": abstraction,
            "algorithm": rule,
            "tables": {"dtype": dtype},
            "random": {"seed": seed},
        }
        try:
            return RunConfiguration.model_validate(entries)
        except ValidationError as error:
            raise UsageError(f"invalid configuration: {first_mistake(error, RunConfiguration)}") from None

    @property
    def checkpoint_seconds(self) -> float:
        """Seconds between checkpoints."""
        return CheckpointsSection().seconds if self.checkpoints is None else self.checkpoints.seconds

    def begun_as(self, **sections: Section) -> "RunConfiguration":
        """Return the same with those sections besides that it does not have and that say something."""
        return self.model_copy(
            update={
                name: section
                for name, section in sections.items()
                if getattr(self, name) is None and section != type(section)()
            }
        )

    def text(self) -> str:
        """Return the configuration as TOML."""
        entries = self.model_dump(exclude_none=True)
        try:
            return _HEADING + tomli_w.dumps(entries, multiline_strings=True)
        except TypeError as error:
            raise UsageError(
                f"the options of the rule '{self.algorithm.name}' cannot be written: {error}"
            ) from None

    @staticmethod
    def parse(text: str, path: str | Path) -> "RunConfiguration":
        """Read what `text` wrote; whatever does not fit is refused in one sentence.

        Args:
            text: content of the file.
            path: what to call it.
        """
        what = f"'{path}'"
        found = validate_entries(RunConfiguration, parse_toml(text, what), what, lambda run: run.restored)
        if found.abstraction is not None and found.format.version < FIRST_BY_BUCKET:
            raise UsageError(
                f"{what} has format version {found.format.version}, whose tables of buckets lie in another "
                f"order: expected version {VERSION}, so train or solve it again with this version of errai"
            )
        return found

    @cached_property
    def restored(self) -> tuple[Game, BetMenu | None]:
        """The game and its bet sizes."""
        return restore_game(self.model_dump(include={"game", "bets"}, exclude_none=True))

    @cached_property
    def restored_payoffs(self) -> Payoffs:
        """What the players get at the end of a hand."""
        return restore_payoffs(self.model_dump(include={"payoffs"}, exclude_none=True))

    def _deciding(self) -> dict[str, Any]:
        """Return what decides the tables of every iteration."""
        found = self.model_dump(exclude={"format", *FREE})
        if self.abstraction is not None:  # where it lies and how it was made do not matter
            found["abstraction"] = self.abstraction.model_dump(include={"name", "fingerprint"})
        return found

    def verify_same(self, other: "RunConfiguration", path: str | Path) -> None:
        """Refuse to resume a run of another configuration, naming what differs.

        Args:
            other: the configuration that was asked for.
            path: the run's folder.
        """
        mine, theirs = self._deciding(), other._deciding()
        for section in mine:
            if mine[section] == theirs[section]:
                continue
            name, own, asked = _difference(section, mine[section], theirs[section])
            raise UsageError(
                f"'{path}' is a run with {name} {own}, not {asked}: only the same one can be resumed"
            )


def _difference(section: str, mine: Any, theirs: Any) -> tuple[str, str, str]:
    """Return what differs between two sections, and both in words."""
    if section == "payoffs":
        own, asked = (of["text"] if of else PLAIN.describe() for of in (mine, theirs))
        return section, f"'{own}'", f"'{asked}'"
    if section in ("game", "abstraction", "bets") or not (
        isinstance(mine, dict) and isinstance(theirs, dict)
    ):
        own, asked = _brief(mine), _brief(theirs)
        return section, own, asked if asked != own else f"another {asked}"
    key = next(key for key in [*mine, *theirs] if mine.get(key) != theirs.get(key))
    name = section if key == "name" else key
    return name, f"'{mine.get(key)}'", f"'{theirs.get(key)}'"


def _brief(section: Any) -> str:
    if not isinstance(section, dict):
        return f"'{section}'"
    mark = f" (fingerprint {section['fingerprint'][:12]})" if "fingerprint" in section else ""
    return f"'{section.get('name', section.get('menu', section))}'{mark}"
