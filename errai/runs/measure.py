"""A strategy by name or file, ready to be measured: at once, sub-game by sub-game, or on a sample of flops.

Simple agents (`always-call`, `half`, ...) play any game and need its name; saved strategies know theirs. A
game whose hands do not fit into memory, and a strategy that is kept in buckets, are measured sub-game by
sub-game.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules
from errai.memory import num_cores
from errai.response.compared import compared_exploitability
from errai.response.estimate import (
    Estimate,
    estimate_by_subgames,
    estimate_exploitability,
    goes_by_subgames,
)
from errai.response.exploitability import exploitability
from errai.response.results import ComparedExploitability, Exploitability, SampledExploitability
from errai.response.sampled import sampled_exploitability
from errai.response.subgames import exploitability_by_subgames
from errai.runs.folder import load_strategy, saved_game
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.played import Play
from errai.strategy.postprocessing import NO_TREATMENT, Treatment, split_options
from errai.strategy.simple import SIMPLE_RULES, simple_plays, simple_strategy
from errai.strategy.strategy import Strategy
from errai.strategy.treated import treated
from errai.tree.bet_menu import BetMenu


@dataclass(frozen=True, eq=False)
class Measurable:
    """What is to be measured.

    Attributes:
        name: as it was given, or the path where a treatment stood behind it.
        rules: its game.
        menu: bet sizes of a no-limit game.
        payoffs: other payoffs than its own, as text.
        agents: simple agents by position; empty for a saved strategy.
        keep: where the results of sub-games are kept, None for nowhere.
        treatment: what is done to a saved strategy first.
    """

    name: str
    rules: PokerRules
    menu: BetMenu | None
    payoffs: str | None
    agents: tuple[str, ...]
    keep: Path | None
    treatment: Treatment = NO_TREATMENT

    @cached_property
    def saved(self) -> Strategy | BucketStrategy | None:
        """The strategy that was saved, verified and treated; None for simple agents."""
        return None if self.agents else treated(load_strategy(self.name, verify=True), self.treatment)

    @cached_property
    def _must_go_by_subgames(self) -> bool:
        return self.keep is not None or goes_by_subgames(self.rules, self.menu)

    def estimate(self, num_threads: int | None = None, flops: int | None = None, seed: int = 0) -> Estimate:
        """Return how long it would take here, and how much memory; a small strategy is not even read.

        Args:
            num_threads: all cores, for large games, without it.
            flops: how many are to be drawn; all boards without it.
            seed: of the draws.
        """
        if flops is None and not self._must_go_by_subgames:
            return estimate_exploitability(self.rules, self.menu)
        return estimate_by_subgames(*self._played(), num_threads, flops, seed)

    def exploitability(
        self, num_threads: int | None = None, report: Callable[[int, int], None] | None = None
    ) -> Exploitability:
        """Measure.

        Args:
            num_threads: all cores, for large games, without it.
            report: called with boards done and boards in all, where it goes sub-game by sub-game.
        """
        if self._must_go_by_subgames or isinstance(self.saved, BucketStrategy):
            tree, plays = self._played()
            return exploitability_by_subgames(tree, plays, num_threads or num_cores(), self.keep, report)
        strategy = self.saved
        if strategy is None:
            strategy = simple_strategy(self.rules, self.agents[0], self.menu, self.agents[-1])
        return exploitability(strategy, self.payoffs, num_threads=num_threads)

    def sampled_exploitability(
        self,
        flops: int,
        seed: int = 0,
        num_threads: int | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> SampledExploitability:
        """Estimate from a sample of flops.

        Args:
            flops: how many to draw.
            seed: of the draws.
            num_threads: all cores without it.
            report: called with flops done and flops in all.
        """
        threads = num_threads or num_cores()
        return sampled_exploitability(*self._played(), flops, seed, threads, self.keep, report)

    def compared_with(self, other: str) -> "Measurable":
        """Return what is to be compared with this, by name or file; a simple agent plays this one's game."""
        if _are_simple(other):
            return find_measurable(other, self.rules, self.menu, self.payoffs)
        return find_measurable(other, payoffs=self.payoffs)

    def compared_exploitability(
        self,
        other: "Measurable",
        flops: int,
        seed: int = 0,
        num_threads: int | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> ComparedExploitability:
        """Estimate from one sample of flops how much more a best response wins from this than from another.

        Args:
            other: what to compare with.
            flops: how many to draw.
            seed: of the draws.
            num_threads: all cores without it.
            report: called with flops done and flops in all, those of both.
        """
        threads = num_threads or num_cores()
        return compared_exploitability(
            self._played(), other._played(), flops, seed, threads, self.keep, report
        )

    def _played(self) -> tuple[PublicTree, tuple[Play, Play]]:
        if self.saved is None:
            tree = PublicTree.of(self.rules, self.menu, self.payoffs)
            return tree, simple_plays(tree, self.agents[0], self.agents[-1])
        tree = self.saved.tree if self.payoffs is None else self.saved.tree.under(self.payoffs)
        return tree, self.saved.plays


def _are_simple(name: str) -> bool:
    """Return whether a name is that of a simple agent, or of two."""
    agents = name.split("/")
    return len(agents) <= 2 and all(agent in SIMPLE_RULES for agent in agents)


def find_measurable(
    name: str,
    game: str | PokerRules | None = None,
    menu: BetMenu | None = None,
    payoffs: str | None = None,
    keep: str | Path | None = None,
) -> Measurable:
    """Return what a name or a path stands for.

    Args:
        name: a saved strategy or run, with a treatment behind a colon where it has one (`runs/x:purify`), or
            a simple agent, or two of these with `/` between them.
        game: the game that simple agents play.
        menu: bet sizes in it.
        payoffs: other payoffs than the strategy's own.
        keep: a folder to keep the results of sub-games in.
    """
    kept = Path(keep) if keep is not None else None
    if _are_simple(name):
        if game is None:
            raise UsageError(f"'{name}' plays any game: --game must say which")
        return Measurable(name, load_card_game(game), menu, payoffs, tuple(name.split("/")), kept)
    path, treatment = split_treatment(name)
    if game is not None or menu is not None:
        raise UsageError(f"--game and --bets need a simple agent, and '{name}' is a file or folder")
    rules, own_menu = saved_game(path)
    return Measurable(path, load_card_game(rules), own_menu, payoffs, (), kept, treatment)


def split_treatment(name: str) -> tuple[str, Treatment]:
    """Return the path of a saved strategy or run, and the treatment that stands behind its colon."""
    path, options = split_options(name)
    if not Path(path).exists():
        raise UsageError(
            f"expected a saved strategy or run, or a simple agent ({', '.join(SIMPLE_RULES)}): "
            f"'{path}' is neither"
        )
    if len(options) > 1:
        raise UsageError(f"'{name}' has {len(options)} treatments: expected at most one")
    return path, Treatment.parse(options[0]) if options else NO_TREATMENT
