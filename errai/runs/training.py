"""`errai.train`: a run from one file, from the abstraction that it needs to the strategy that comes out.

Stages: the file is read and all that follows from it is looked at (`Training`), nothing computed; what
memory, disk and time it takes is told (`needs`) and what cannot work is refused; the abstraction is opened,
or built where it is missing; then a `Job` is prepared and run as for `errai.solve`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from errai.abstraction.options import BuildOptions
from errai.abstraction.protocol import AbstractionPair
from errai.abstraction.stored import PlannedAbstraction
from errai.engine.dealt_boards import all_boards_bytes
from errai.engine.dealt_subgames import most_hybrid_slots
from errai.engine.public_tree import SMALL_GAME_SLOTS, PublicTree
from errai.errors import UsageError, verify_function, verify_path
from errai.games.deals import Deals
from errai.games.rules import PokerRules
from errai.memory import available_memory, format_bytes, free_disk
from errai.response.trunk import cut_round
from errai.runs.evaluation import Evaluation
from errai.runs.find_abstraction import find_abstractions, names_abstractions
from errai.runs.job import Configured, Job, Run, prepare, prepare_resumed
from errai.runs.rule_section import ForeignRule, LinearProgramme
from errai.runs.run import configure, is_large
from errai.runs.training_file import TrainingFile, find_training
from errai.solvers.make import goes_by_buckets
from errai.solvers.solve import StopRule, arrays_needed
from errai.solvers.update_rules import ResponseRule, SampledBoardsRule, UpdateRule
from errai.tables.checkpoint import has_checkpoint
from errai.tree.bet_menu import BetMenu
from errai.tree.cells import game_cells_bytes
from errai.workers import verified_threads

EVALUATION_BYTES = 600 << 20
"""About what the hands of one flop of hold'em take while they are walked."""

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Needs:
    """What a run takes.

    Attributes:
        slots: of both players' tables.
        table_bytes: of all tables.
        memory_bytes: at most, of all that is held at a time.
        disk_bytes: of what is missing in the cache, and of checkpoints.
        preparation_seconds: about, before the first iteration.
        seconds: of iterations; None where no time limit is set.
        free_memory_bytes: now.
        free_disk_bytes: now, where the run is to be saved.
    """

    slots: int
    table_bytes: int
    memory_bytes: int
    disk_bytes: int
    preparation_seconds: float
    seconds: float | None
    free_memory_bytes: int
    free_disk_bytes: int

    @property
    def fits(self) -> bool:
        """Whether memory and disk suffice."""
        return self.memory_bytes <= self.free_memory_bytes and self.disk_bytes <= self.free_disk_bytes


class Training:
    """A run that is wanted, with all that follows from its file; nothing is computed yet.

    Attributes:
        file: what is wanted.
        name: what to call it.
        rules: its game.
        menu: bet sizes of a no-limit game.
        rule: the update rule.
    """

    def __init__(self, file: TrainingFile, name: str) -> None:
        """Look at a configuration; one that cannot work is refused by the name of the key.

        Args:
            file: what is wanted.
            name: what to call it.
        """
        self.file, self.name = file, name
        rules, rule = file.rules, file.algorithm
        if not isinstance(rules, PokerRules):
            raise UsageError(f"game.name '{rules.name}' is a dice game: expected a card game")
        if isinstance(rule, LinearProgramme):
            raise UsageError("algorithm.name 'lp' has no iterations: expected an update rule such as 'cfr+'")
        if isinstance(rule, ForeignRule):
            raise UsageError(
                f"algorithm.class '{rule.origin}' is not known to Errai: errai.solve takes it as an object"
            )
        self.rules: PokerRules = rules
        self.rule: UpdateRule = rule
        self.menu: BetMenu | None = file.bets.find() if file.bets is not None else None
        self._verify_evaluation()

    @staticmethod
    def find(config: str | Path | Mapping[str, Any]) -> "Training":
        """Look at a file, a preset or the entries of a file."""
        return Training(*find_training(config))

    @cached_property
    def tree(self) -> PublicTree:
        """The game; its hands are not asked for."""
        payoffs = self.file.payoffs.text if self.file.payoffs is not None else None
        return PublicTree.of(self.rules, self.menu, payoffs)

    @cached_property
    def planned(self) -> PlannedAbstraction | None:
        """The abstraction that is to be built if it is missing; None where it is there, or none is wanted."""
        wanted = self.file.abstraction
        if wanted is None or names_abstractions(wanted.name, self.rules):
            return None
        if wanted.folder is not None and (not wanted.name or Path(wanted.folder).is_dir()):
            return None  # a run's own file has both: what is gone is built again
        about = wanted.model_dump(exclude_none=True, exclude={"name", "fingerprint", "folder", "clusters"})
        options = BuildOptions(**about, num_threads=self.file.machine.threads)
        try:
            return PlannedAbstraction.of(self.rules, wanted.name, options, wanted.clusters)
        except UsageError as error:
            raise UsageError(f"abstraction.name: {error}") from None

    @cached_property
    def present(self) -> AbstractionPair:
        """The abstractions of both positions that are there already."""
        wanted = self.file.abstraction
        if wanted is None or self.planned is not None:
            return None, None
        try:
            return find_abstractions(wanted.folder or wanted.name, self.rules)
        except UsageError as error:
            raise UsageError(f"abstraction.{'folder' if wanted.folder else 'name'}: {error}") from None

    def rows(self, player: int, r: int) -> int:
        """Return the rows of a decision of a round."""
        seen = self.present[player]
        if self.planned is not None:
            return self.planned.num_buckets(r, player)
        return Deals(self.rules).num_rows(r) if seen is None else seen.num_buckets(r, player)

    @cached_property
    def num_slots(self) -> tuple[int, int]:
        """[player] slots of the tables."""
        slots = self.tree.walk.num_slots
        first, second = (
            sum(int(slots[q, r]) * self.rows(q, r) for r in range(self.rules.num_rounds)) for q in (0, 1)
        )
        return first, second

    @cached_property
    def goes_by_buckets(self) -> bool:
        """Whether the game's hands never are in memory: deals are sampled, and buckets looked up."""
        if not goes_by_buckets(self.rule) or self.file.abstraction is None:
            return False
        has_folder = self.planned is not None or self.file.abstraction.folder is not None
        return has_folder and is_large(self.rules)

    @property
    def is_abstracted(self) -> bool:
        """Whether the players see buckets."""
        return self.planned is not None or any(one is not None for one in self.present)

    def needs(self, out: str | Path | None = None) -> Needs:
        """Return what it takes.

        Args:
            out: where it is to be saved.
        """
        slots, planned = sum(self.num_slots), self.planned
        is_small = slots <= SMALL_GAME_SLOTS and not self.goes_by_buckets
        itemsize = np.dtype(self.file.tables.dtype or ("float64" if is_small else "float32")).itemsize
        names = len(self.rule.table_names())
        table_bytes = slots * names * itemsize
        held = 0 if self.file.machine.tables_in is not None else table_bytes
        if self.goes_by_buckets:
            held += planned.table_bytes if planned is not None else 0
            held += all_boards_bytes(Deals(self.rules)) if isinstance(self.rule, SampledBoardsRule) else 0
        else:
            held += game_cells_bytes(Deals(self.rules))
        if not goes_by_buckets(self.rule):
            arrays = arrays_needed(self.rule, (self.is_abstracted, self.is_abstracted))
            held += itemsize * sum(
                size * (num - names) for size, num in zip(self.num_slots, arrays, strict=True)
            )
        if isinstance(self.rule, ResponseRule):
            kept, responses = most_hybrid_slots(
                self.tree.walk, Deals(self.rules), min(self.rule.trunk, self.rules.num_rounds)
            )
            held += (kept + responses) * itemsize
            table_bytes += kept * itemsize
        if self.file.evaluation.flops is not None:
            held += EVALUATION_BYTES * verified_threads(self.file.machine.threads)
        disk = 2 * table_bytes + (table_bytes if self.file.machine.tables_in is not None else 0)
        return Needs(
            slots,
            table_bytes,
            max(held, planned.building_bytes if planned is not None else 0),
            disk + (planned.missing_bytes if planned is not None else 0),
            planned.building_seconds() if planned is not None else 0.0,
            self.file.stop.seconds,
            available_memory(),
            free_disk(out or Path.cwd()),
        )

    def verify(self, out: str | Path | None = None) -> Needs:
        """Refuse what does not fit, by the name of the key; return what it takes."""
        if self.planned is not None:
            try:
                self.planned.verify()
            except UsageError as error:
                raise UsageError(f"abstraction.name: {error}") from None
        needs = self.needs(out)
        key = "abstraction.name" if self.is_abstracted else "game.name"
        if needs.memory_bytes > needs.free_memory_bytes:
            raise UsageError(
                f"{key}: the run needs {format_bytes(needs.memory_bytes)} of memory ({needs.slots:,} slots), "
                f"and {format_bytes(needs.free_memory_bytes)} are free"
            )
        if needs.disk_bytes > needs.free_disk_bytes:
            raise UsageError(
                f"{key}: the run needs {format_bytes(needs.disk_bytes)} of disk ({needs.slots:,} slots), "
                f"and {format_bytes(needs.free_disk_bytes)} are free"
            )
        return needs

    def _verify_evaluation(self) -> None:
        stop, evaluation = self.file.stop, self.file.evaluation
        if evaluation.flops is not None and cut_round(self.rules) is None:
            raise UsageError(
                f"evaluation.flops: '{self.rules.name}' deals no public cards after its first round"
            )
        if stop.mbb_per_game is not None and evaluation.exact is False:
            raise UsageError("stop.mbb_per_game needs evaluation.exact, which is false")
        if not self.goes_by_buckets:
            return
        for key, value in (("stop.mbb_per_game", stop.mbb_per_game), ("evaluation.exact", evaluation.exact)):
            if value:
                raise UsageError(
                    f"{key} needs the exact exploitability, and the hands of '{self.rules.name}' do not fit "
                    "into memory: evaluation.exploitability estimates it from evaluation.flops"
                )
        if evaluation.agents and evaluation.flops is None and evaluation.deals is None:
            raise UsageError(
                f"evaluation.agents needs evaluation.deals or evaluation.flops: the hands of "
                f"'{self.rules.name}' do not fit into memory, so what agents lose is estimated"
            )

    def configured(self, report: Report | None = None) -> Configured:
        """Build what is missing, and describe the run in full.

        Args:
            report: called with what is being built, steps done and steps in all.
        """
        file = self.file
        seen: AbstractionPair | str | None = None
        if self.planned is not None:
            built = self.planned.open(report)
            seen = str(self.planned.folder) if self.goes_by_buckets else (built, built)
        elif file.abstraction is not None:
            seen = file.abstraction.folder if self.goes_by_buckets else self.present
        found = configure(
            self.rules,
            self.rule,
            seed=file.random.seed,
            bets=self.menu,
            abstraction=seen,
            payoffs=file.payoffs.text if file.payoffs is not None else None,
            dtype=file.tables.dtype,
        )
        about: dict[str, Any] = {
            "stop": file.stop,
            "checkpoints": file.checkpoints,
            "evaluation": file.evaluation,
            "machine": file.machine,
        }
        wanted, mark = file.abstraction, found.configuration.abstraction
        if wanted is not None and mark is not None:
            if wanted.fingerprint and wanted.fingerprint != mark.fingerprint:
                raise UsageError(
                    f"abstraction.fingerprint is '{wanted.fingerprint}', and '{mark.name}' has "
                    f"'{mark.fingerprint}'"
                )
            effort = wanted.model_dump(exclude={"name", "fingerprint", "folder"})  # how it was made
            about["abstraction"] = mark.model_copy(update=effort)
        return found._replace(configuration=found.configuration.model_copy(update=about))

    def prepare(
        self, out: str | Path | None = None, *, resume: bool = False, report: Report | None = None
    ) -> Job:
        """Build what is missing and allocate the run.

        Args:
            out: folder to save the run in.
            resume: go on with the run there, or begin it where there is none.
            report: called with what is being built, steps done and steps in all.
        """
        file = self.file
        if not (resume and out is not None and has_checkpoint(out)):
            self.verify(out)
        stop = file.stop
        return prepare(
            self.configured(report),
            StopRule.of(stop.iterations, stop.mbb_per_game, stop.seconds),
            num_threads=file.machine.threads,
            measure_every=file.evaluation.every,
            evaluation=file.evaluation,
            out=out,
            resume=resume,
            tables_in=file.machine.tables_in,
        )


def train(
    config: str | Path | Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    report: Callable[[Evaluation], None] | None = None,
) -> Run:
    """Train a strategy as a file says: the abstraction that it needs is built if it is missing.

    Args:
        config: the path of a TOML file, the name of a preset (`leduc`, `rhode-island`, `limit-quick`, ...),
            or the entries of such a file as a dictionary. May be left out with `resume`.
        out: folder to save the run in, with checkpoints along the way.
        resume: continue the run in `out`, or begin it where there is none. What decides its tables must be
            the same; when to stop, what to measure and what to use of the machine may have changed.
        report: called after each evaluation.

    Returns:
        The run, as `errai.solve` returns it.
    """
    if out is not None:
        verify_path("out", out)
    if report is not None:
        verify_function("report", report)
    if config is None:
        if not resume or out is None:
            raise UsageError("missing a configuration: the path of a TOML file or the name of a preset")
        job = prepare_resumed(out)
        return job.run(report, checkpoint_every=job.checkpoint_seconds)
    training = Training.find(config)
    job = training.prepare(out, resume=resume)
    return job.run(report, checkpoint_every=training.file.checkpoints.seconds)
