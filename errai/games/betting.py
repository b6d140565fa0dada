"""The betting of one hand, step by step, without cards.

`BettingState` is immutable; `fold()`, `call()` and `raise_to()` return the next state. Each action x
comes as `verify_x` (raises `UsageError`), `can_x` (asks) and `x` (does). A state knows its betting
string in the ACPC's form, and `replay` turns such a string into a state.

The rules are those of the ACPC dealer:
- `c` checks or calls and is always legal; `f` is legal only when facing a bet.
- In a no-limit game a raise names the total that the player has put in over the whole hand. The
  least raise is one big blind more than the largest total at the start of a round, and after a
  raise from m to N it is N + (N - m). All-in for less is legal.
- Nobody raises when no opponent could answer; once at most one player can still act, the remaining
  rounds are dealt without betting.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from errai.errors import UsageError
from errai.games.rules import MAX_ACTIONS_A_ROUND, PokerRules

T = TypeVar("T")

NOBODY = -1

# Ten digits hold every stack; leading zeros would make two strings of one hand.
_RAISE_TO = re.compile(r"r[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class BettingState:
    """Where the betting of one hand stands.

    Attributes:
        rules: the game.
        round: the current round, from 0; the last round reached when the hand is over.
        player: the position to act; `NOBODY` when the hand is over.
        spent: [position] chips put in so far, blinds included.
        folded: [position] whether the player has folded.
        pending: [position] whether the player has still to act before the round can end.
        num_raises: bets and raises in this round.
        num_actions: actions in this round.
        min_raise_to: least total of a full raise in a no-limit game.
        betting: the actions so far as an ACPC betting string.
    """

    rules: PokerRules
    round: int
    player: int
    spent: tuple[int, ...]
    folded: tuple[bool, ...]
    pending: tuple[bool, ...]
    num_raises: int
    num_actions: int
    min_raise_to: int
    betting: str

    @staticmethod
    def start(rules: PokerRules) -> "BettingState":
        """Return the state after the blinds, before the first action."""
        return BettingState(
            rules=rules,
            round=0,
            player=rules.first_player[0],
            spent=rules.blinds,
            folded=(False,) * rules.num_players,
            pending=(True,) * rules.num_players,
            num_raises=0,
            num_actions=0,
            min_raise_to=2 * rules.big_blind,
            betting="",
        )

    @property
    def is_over(self) -> bool:
        """Whether no more action is possible in this hand."""
        return self.player == NOBODY

    @property
    def is_showdown(self) -> bool:
        """Whether the hand is over with at least two players left."""
        return self.is_over and self.folded.count(False) > 1

    @property
    def largest(self) -> int:
        """The largest total put in by any player."""
        return max(self.spent)

    @property
    def to_call(self) -> int:
        """Chips that the player to act must add to call, as far as the stack reaches; 0 when over."""
        if self.is_over:
            return 0
        return min(self.largest, self.stack_of(self.player)) - self.spent[self.player]

    def stack_of(self, player: int) -> int:
        """Return the most that a player can put in over the hand (unbounded without stacks)."""
        return self.rules.stacks[player] if self.rules.stacks is not None else 2**62

    def is_all_in(self, player: int) -> bool:
        """Return whether a player has put in the whole stack."""
        return self.spent[player] >= self.stack_of(player)

    # Folding

    def verify_fold(self) -> None:
        """Refuse a fold that is not legal."""
        self._verify_in_play()
        if self.to_call == 0:
            raise UsageError("a fold is legal only when facing a bet")

    def can_fold(self) -> bool:
        """Return whether the player to act may fold."""
        return is_legal(self.verify_fold)

    def fold(self) -> "BettingState":
        """Give up the hand."""
        self.verify_fold()
        folded = _with(self.folded, self.player, True)
        return self._advance("f", folded=folded, pending=_with(self.pending, self.player, False))

    # Checking and calling

    def verify_call(self) -> None:
        """Refuse a check or call after the end of the hand."""
        self._verify_in_play()

    def can_call(self) -> bool:
        """Return whether the player to act may check or call."""
        return is_legal(self.verify_call)

    def call(self) -> "BettingState":
        """Check, or match the largest total as far as the stack reaches."""
        self.verify_call()
        spent = _with(self.spent, self.player, self.spent[self.player] + self.to_call)
        return self._advance("c", spent=spent, pending=_with(self.pending, self.player, False))

    # Betting and raising

    def raise_bounds(self) -> tuple[int, int] | None:
        """Return the least and greatest total that a raise may name; None where no raise is legal."""
        if self.is_over or self._no_raise_because() is not None:
            return None
        stack = self.stack_of(self.player)
        if self.rules.raise_sizes is not None:
            only = min(self.largest + self.rules.raise_sizes[self.round], stack)
            return only, only
        return min(self.min_raise_to, stack), stack

    def verify_raise_to(self, total: int | None = None) -> None:
        """Refuse a raise to `total` chips that is not legal; None stands for the limit game's one size."""
        self._verify_in_play()
        reason = self._no_raise_because()
        if reason is not None:
            raise UsageError(f"no raise is legal here: {reason}")
        bounds = self.raise_bounds()
        assert bounds is not None
        if total is None:
            if not self.rules.is_limit:
                raise UsageError(
                    f"a raise in a no-limit game names its total, from {bounds[0]} to {bounds[1]}"
                )
        elif self.rules.is_limit and total != bounds[0]:
            raise UsageError(
                f"a raise to {total} is not legal in a limit game: the only raise here is to {bounds[0]}"
            )
        elif not bounds[0] <= total <= bounds[1]:
            raise UsageError(f"a raise to {total} is not legal: expected {bounds[0]} to {bounds[1]} here")

    def can_raise_to(self, total: int | None = None) -> bool:
        """Return whether the player to act may raise to `total` chips."""
        return is_legal(lambda: self.verify_raise_to(total))

    def raise_to(self, total: int | None = None) -> "BettingState":
        """Bet or raise to `total` chips over the whole hand; None in a limit game."""
        self.verify_raise_to(total)
        bounds = self.raise_bounds()
        assert bounds is not None
        size = bounds[0] if total is None else total
        spent = _with(self.spent, self.player, size)
        pending = tuple(
            player != self.player and not self.folded[player] and not self.is_all_in(player)
            for player in range(self.rules.num_players)
        )
        return self._advance(
            "r" if self.rules.is_limit else f"r{size}",
            spent=spent,
            pending=pending,
            num_raises=self.num_raises + 1,
            min_raise_to=max(self.min_raise_to, 2 * size - self.largest),
        )

    def _no_raise_because(self) -> str | None:
        rules = self.rules
        if self.num_raises >= rules.max_raises[self.round]:
            return f"a round has at most {rules.max_raises[self.round]} raises"
        if self.num_actions + rules.num_players > MAX_ACTIONS_A_ROUND:
            return f"a round has at most {MAX_ACTIONS_A_ROUND} actions"
        if self.stack_of(self.player) <= self.largest:
            stack = self.stack_of(self.player)
            return f"the player's stack of {stack} does not exceed the bet of {self.largest}"
        others = (p for p in range(rules.num_players) if p != self.player)
        if all(self.folded[p] or self.is_all_in(p) for p in others):
            return "every opponent is all-in"
        return None

    # Actions as text

    def act(self, action: str) -> "BettingState":
        """Do one action given as ACPC text: `f`, `c`, `r` in limit games, `rN` in no-limit ones."""
        if action == "f":
            return self.fold()
        if action == "c":
            return self.call()
        if action == "r":
            return self.raise_to(None)
        if not self.rules.is_limit and _RAISE_TO.fullmatch(action):
            return self.raise_to(int(action[1:]))
        actions = (
            "'f', 'c' or 'r'" if self.rules.is_limit else "'f', 'c' or 'rN' with N chips of 1 to 10 digits"
        )
        raise UsageError(f"'{action}' is not an action: expected {actions}")

    def _verify_in_play(self) -> None:
        if self.is_over:
            raise UsageError("the hand is over: no action is legal any more")

    def _advance(self, action: str, **changes: object) -> "BettingState":
        """Apply the changes of an action, then find who is next or end the round or the hand."""
        after = replace(
            self,
            betting=self.betting + action,
            num_actions=self.num_actions + 1,
            **changes,  # type: ignore[arg-type]
        )
        if after.folded.count(False) == 1:
            return replace(after, player=NOBODY)
        if any(after.pending):
            return replace(after, player=after._next_pending(self.player + 1))
        return after._end_round()

    def _next_pending(self, first: int) -> int:
        players = self.rules.num_players
        return next(p % players for p in range(first, first + players) if self.pending[p % players])

    def _end_round(self) -> "BettingState":
        rules = self.rules
        rounds_left = rules.num_rounds - 1 - self.round
        can_act = tuple(not self.folded[p] and not self.is_all_in(p) for p in range(rules.num_players))
        if rounds_left == 0 or can_act.count(True) < 2:
            return replace(
                self, player=NOBODY, round=rules.num_rounds - 1, betting=self.betting + "/" * rounds_left
            )
        fresh = replace(
            self,
            round=self.round + 1,
            pending=can_act,
            num_raises=0,
            num_actions=0,
            min_raise_to=self.largest + rules.big_blind,
            betting=self.betting + "/",
        )
        return replace(fresh, player=fresh._next_pending(rules.first_player[fresh.round]))

    # The end

    def payoffs(self, strengths: Sequence[int] | None = None) -> tuple[Fraction, ...]:
        """Return the net chips of each position at the end of the hand.

        Args:
            strengths: [position] showdown strengths, larger wins; needed at a showdown only.
        """
        if not self.is_over:
            raise UsageError(f"the hand is not over after '{self.betting}': it has no payoffs yet")
        if self.is_showdown and strengths is None:
            raise UsageError(f"'{self.betting}' ends in a showdown: expected the strengths of the hands")
        if strengths is not None and len(strengths) != self.rules.num_players:
            raise UsageError(f"expected {self.rules.num_players} strengths, not {len(strengths)}")
        net = [Fraction(-chips) for chips in self.spent]
        # One pot for each distinct total: those who reached it share it, an uncalled part returns.
        for below, level in pairwise([0, *sorted(set(self.spent) - {0})]):
            payers = [p for p in range(self.rules.num_players) if self.spent[p] >= level]
            pot = (level - below) * len(payers)
            rivals = [p for p in payers if not self.folded[p]]
            if len(rivals) > 1:
                assert strengths is not None
                best = max(strengths[p] for p in rivals)
                rivals = [p for p in rivals if strengths[p] == best]
            for p in rivals:
                net[p] += Fraction(pot, len(rivals))
        return tuple(net)


def replay(rules: PokerRules, betting: str) -> BettingState:
    """Turn an ACPC betting string into a state; an illegal action is named with its position.

    A `/` must stand exactly where a round ends; the final ones may be left out.
    """
    state = BettingState.start(rules)
    i = 0
    while i < len(betting):
        if betting[i] == "/":
            # Ending a round writes its slashes; the string must show the same one here.
            if state.betting[i : i + 1] != "/":
                raise UsageError(f"'{betting}' is illegal at position {i}: a '/' stands where no round ends")
            i += 1
            continue
        if len(state.betting) > i:
            raise UsageError(f"'{betting}' is illegal at position {i}: a '/' is missing where the round ends")
        end = i + 1
        while betting[i] == "r" and end < len(betting) and betting[end].isdigit():
            end += 1
        try:
            state = state.act(betting[i:end])
        except UsageError as error:
            raise UsageError(
                f"'{betting}' is illegal at position {i}, action '{betting[i:end]}': {error}"
            ) from None
        i = end
    return state


def is_legal(verify: Callable[[], None]) -> bool:
    """Return whether a `verify_x` passes: this is what every `can_x` asks."""
    try:
        verify()
    except UsageError:
        return False
    return True


def _with(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])
