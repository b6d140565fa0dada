"""How large a game is, counted before anything is built: nodes, sequences, information sets, bytes.

All figures are exact integers at any size. An information set is a betting sequence at which a player
acts together with what that player sees: the raw (hand, board) pair, its canonical class under the
game's symmetry, or a bucket.
"""

import re
from dataclasses import dataclass

from errai.abstraction.recipe import parse_recipes
from errai.errors import UsageError, shortened
from errai.games.bluff import BluffRules, rolls
from errai.games.catalogue import Game
from errai.games.deals import Deals
from errai.games.rounds import in_round, round_name
from errai.games.rules import PokerRules
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import RoundCount, TreePlan
from errai.tree.bluff_tree import bluff_round_count
from errai.tree.nolimit_count import count_nolimit_rounds, has_closed_form

BYTES_A_SLOT = 4
"""Regrets and averages are float32."""

_BUCKETS = re.compile(r"\s*(?:(PR|IR)[\s:-]\s*)?([0-9]{1,15}(?:-[0-9]{1,15})*)\s*")
_RECIPE = re.compile(r"\s*[A-Za-z]+-[A-Za-z]")
"""How the name of an abstraction begins: recall and a method."""


@dataclass(frozen=True)
class RoundSize:
    """The size of one round.

    Attributes:
        name: the round in words.
        betting: counts of betting nodes.
        boards: canonical public boards.
        rows: canonical (hand, board) pairs; None where the players see differently many (dice).
        raw_infosets: information sets before any merging.
        canonical_infosets: information sets up to the game's symmetry.
        canonical_slots: actions over all canonical information sets.
        buckets: buckets a betting sequence, None without an abstraction.
    """

    name: str
    betting: RoundCount
    boards: int
    rows: int | None
    raw_infosets: int
    canonical_infosets: int
    canonical_slots: int
    buckets: int | None = None

    @property
    def bucketed_infosets(self) -> int | None:
        """Information sets of the abstraction."""
        return None if self.buckets is None else self.betting.decisions * self.buckets

    @property
    def table_infosets(self) -> int:
        """Information sets of the tables: buckets where given, else canonical ones."""
        return self.canonical_infosets if self.buckets is None else self.betting.decisions * self.buckets

    @property
    def table_slots(self) -> int:
        """Slots (an action at an information set) of the tables."""
        return self.canonical_slots if self.buckets is None else self.betting.slots * self.buckets


@dataclass(frozen=True)
class GameSize:
    """The size of a game, round by round.

    Attributes:
        game: the game's name.
        rounds: betting rounds or, in Bluff, the stages with different dice.
        abstraction: the buckets as given, None without an abstraction.
        bets: the menu of bet sizes as given, None without one.
    """

    game: str
    rounds: tuple[RoundSize, ...]
    abstraction: str | None = None
    bets: str | None = None

    @property
    def nodes(self) -> int:
        """Betting nodes in all."""
        return sum(r.betting.nodes for r in self.rounds)

    @property
    def decisions(self) -> int:
        """Betting sequences at which a player acts."""
        return sum(r.betting.decisions for r in self.rounds)

    @property
    def raw_infosets(self) -> int:
        """Information sets before any merging."""
        return sum(r.raw_infosets for r in self.rounds)

    @property
    def canonical_infosets(self) -> int:
        """Information sets up to the game's symmetry."""
        return sum(r.canonical_infosets for r in self.rounds)

    @property
    def bucketed_infosets(self) -> int | None:
        """Information sets of the abstraction."""
        return None if self.abstraction is None else self.table_infosets

    @property
    def table_infosets(self) -> int:
        """Information sets of the tables."""
        return sum(r.table_infosets for r in self.rounds)

    @property
    def table_slots(self) -> int:
        """Slots of the tables."""
        return sum(r.table_slots for r in self.rounds)

    @property
    def regret_bytes(self) -> int:
        """Bytes for regrets; the averages take as many again."""
        return self.table_slots * BYTES_A_SLOT


def parse_buckets(text: str, num_rounds: int) -> tuple[int, ...]:
    """Read buckets by round: `IR 169-9000-9000-9000`, or `PR 10-10-10-10` for buckets inside buckets.

    Under perfect recall (`PR`) the buckets of a round multiply with those of the rounds before;
    under imperfect recall (`IR`, the default) each round has just its own.
    """
    match = _BUCKETS.fullmatch(text.upper().replace(",", ""))
    numbers = [int(number) for number in match[2].split("-")] if match else []
    if len(numbers) != num_rounds or min(numbers) < 1:
        example = "-".join(["10"] * num_rounds)
        raise UsageError(
            f"'{shortened(text)}' are not buckets for {num_rounds} rounds: expected a positive number for "
            f"each round, as in 'IR {example}' or 'PR {example}'"
        )
    assert match is not None
    if match[1] == "PR":
        for r in range(1, num_rounds):
            numbers[r] *= numbers[r - 1]
    return tuple(numbers)


def buckets_of_recipe(name: str, rules: PokerRules) -> tuple[int, ...]:
    """Return the buckets of each round of an abstraction, such as `IR-KE-KO 169-9000-9000-9000`.

    Where a round recalls the one before it, its buckets multiply with those.
    """
    recipes = parse_recipes(name, rules)
    if len(recipes) > 1:
        raise UsageError(f"expected one abstraction for both positions, not two: '{name}'")
    return tuple(recipes[0].num_buckets(r) for r in range(rules.num_rounds))


def game_size(game: Game, menu: BetMenu | None = None, buckets: str | None = None) -> GameSize:
    """Count a game.

    Args:
        game: the game.
        menu: bet sizes of a no-limit game; without it every legal size counts.
        buckets: an abstraction's name, or its buckets by round, as `parse_buckets` reads them.
    """
    if isinstance(game, BluffRules):
        if menu is not None or buckets is not None:
            raise UsageError(f"'{game.name}' is a dice game: bet menus and buckets do not apply to it")
        return _bluff_size(game)
    by_round = None
    if buckets is not None:
        names_methods = _RECIPE.match(buckets) is not None
        by_round = (
            buckets_of_recipe(buckets, game) if names_methods else parse_buckets(buckets, game.num_rounds)
        )
    counts = betting_counts(game, menu)
    deals = Deals(game)
    rounds = []
    for r, betting in enumerate(counts):
        rows = deals.num_rows(r)
        if by_round is not None and by_round[r] > rows:
            raise UsageError(
                f"{by_round[r]} buckets {in_round(game, r)} are too many: it has {rows:,} canonical hands"
            )
        rounds.append(
            RoundSize(
                name=round_name(game, r),
                betting=betting,
                boards=deals.num_boards(r),
                rows=rows,
                raw_infosets=betting.decisions * game.num_deals(r),
                canonical_infosets=betting.decisions * rows,
                canonical_slots=betting.slots * rows,
                buckets=by_round[r] if by_round is not None else None,
            )
        )
    return GameSize(game.name, tuple(rounds), buckets, menu.text if menu is not None else None)


def betting_counts(rules: PokerRules, menu: BetMenu | None = None) -> tuple[RoundCount, ...]:
    """Return the betting nodes of each round, by formula where every chip size is a branch."""
    if menu is None and has_closed_form(rules):
        return count_nolimit_rounds(rules)
    return TreePlan(rules, menu).round_counts()


def _bluff_size(game: BluffRules) -> GameSize:
    """Count the rounds of Bluff by the dice on the table; each is solved once and serves as leaf values."""
    rounds = []
    for dice in game.stages():
        betting = bluff_round_count(dice)
        seen = [len(rolls(number)) for number in dice]
        half = betting.decisions // 2  # as many sets of bids have an even size as an odd one
        slots = [_bluff_slots(dice, player) for player in (0, 1)]
        rounds.append(
            RoundSize(
                name=f"dice {dice[0]}-{dice[1]}",
                betting=betting,
                boards=1,
                rows=None if seen[0] != seen[1] else seen[0],
                raw_infosets=half * sum(6**number for number in dice),
                canonical_infosets=half * sum(seen),
                canonical_slots=sum(slots[player] * seen[player] for player in (0, 1)),
            )
        )
    return GameSize(game.name, tuple(rounds))


def _bluff_slots(dice: tuple[int, int], player: int) -> int:
    """Return the actions over all decisions of a player.

    An action leads to a challenge, one for each decision but the root, or to a longer bidding: those
    with an odd number of bids were made by the starter, those with an even number by the other.
    """
    decisions = bluff_round_count(dice).decisions
    half = decisions // 2
    bids_made = half if player == 0 else half - 1
    challenges = half - 1 if player == 0 else half
    return bids_made + challenges
