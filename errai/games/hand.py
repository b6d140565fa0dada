"""One hand of a poker game with its cards, step by step.

`HandState` joins the betting (`BettingState`) with the deals: hole cards before the first action, the
board cards of each round before its first action, and, when nobody can act any more, the rest of the
board round by round. It is immutable; each step x comes as `verify_x` (raises `UsageError`), `can_x`
(asks) and `x` (does). At the end `payoffs` compares the hands of those who have not folded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.errors import UsageError
from errai.games.betting import NOBODY, BettingState, is_legal
from errai.games.rules import PokerRules, Showdown

Hole = tuple[int, ...]


def showdown_strengths(rules: PokerRules, holes: Sequence[Sequence[int]], board: Sequence[int]) -> list[int]:
    """Return the strength of each hand on a full board: larger wins, equal ties.

    Args:
        rules: the game, whose deck, numbers of cards and kind of showdown hold.
        holes: [hand] hole cards.
        board: the public cards of all rounds.
    """
    verify_count("board", board, sum(rules.num_board_cards))
    for hole in holes:
        verify_count("hand", hole, rules.num_hole_cards)
        rules.deck.verify((*hole, *board))
    rank = evaluate if rules.showdown is Showdown.POKER else evaluate_three_card
    return [int(strength) for strength in rank([(*hole, *board) for hole in holes])] if holes else []


def showdown_strength(rules: PokerRules, hole: Sequence[int], board: Sequence[int]) -> int:
    """Return the strength of one hand on a full board: larger wins, equal ties."""
    return showdown_strengths(rules, [hole], board)[0]


@dataclass(frozen=True, slots=True)
class HandState:
    """Where one hand stands, every card included.

    Attributes:
        betting: the betting so far.
        holes: [position] hole cards in the order dealt; empty before `deal_hole`.
        board: public cards dealt so far.
    """

    betting: BettingState
    holes: tuple[Hole, ...]
    board: tuple[int, ...]

    @staticmethod
    def start(rules: PokerRules) -> "HandState":
        """Return the hand after the blinds, before any card."""
        return HandState(betting=BettingState.start(rules), holes=(), board=())

    @property
    def rules(self) -> PokerRules:
        """The game."""
        return self.betting.rules

    @property
    def num_board_cards_due(self) -> int:
        """Number of cards of the next deal of public cards; 0 where an action or the hole cards come next."""
        if not self.holes or (self.betting.is_over and not self.betting.is_showdown):
            return 0
        due = (self.rules.num_board_cards_by(r) - len(self.board) for r in range(self.betting.round + 1))
        return next((cards for cards in due if cards > 0), 0)

    @property
    def player(self) -> int:
        """The position to act; `NOBODY` when cards come next or the hand is over."""
        return NOBODY if not self.holes or self.num_board_cards_due else self.betting.player

    @property
    def is_over(self) -> bool:
        """Whether neither an action nor a deal is left."""
        return self.betting.is_over and self.num_board_cards_due == 0

    # Dealing the hole cards

    def verify_deal_hole(self, holes: Sequence[Sequence[int]]) -> None:
        """Refuse hole cards at the wrong time, too many or few, or not in the deck."""
        if self.holes:
            raise UsageError("the hole cards of this hand are dealt already")
        if len(holes) != self.rules.num_players:
            raise UsageError(f"expected hole cards of {self.rules.num_players} players, not {len(holes)}")
        for hole in holes:
            verify_count("hand", hole, self.rules.num_hole_cards)
        self.rules.deck.verify([card for hole in holes for card in hole])

    def can_deal_hole(self, holes: Sequence[Sequence[int]]) -> bool:
        """Return whether these hole cards may be dealt now."""
        return is_legal(lambda: self.verify_deal_hole(holes))

    def deal_hole(self, holes: Sequence[Sequence[int]]) -> "HandState":
        """Deal each position its hole cards."""
        self.verify_deal_hole(holes)
        return replace(self, holes=tuple(tuple(hole) for hole in holes))

    # Dealing the board

    def verify_deal_board(self, cards: Sequence[int]) -> None:
        """Refuse public cards at the wrong time, too many or few, or not in the deck."""
        self._verify_holes_dealt()
        if self.is_over:
            raise UsageError("the hand is over: no public card is dealt any more")
        if self.num_board_cards_due == 0:
            raise UsageError(f"no public cards are due: position {self.player} has to act")
        verify_count("deal of public cards", cards, self.num_board_cards_due)
        self.rules.deck.verify([*(card for hole in self.holes for card in hole), *self.board, *cards])

    def can_deal_board(self, cards: Sequence[int]) -> bool:
        """Return whether these public cards may be dealt now."""
        return is_legal(lambda: self.verify_deal_board(cards))

    def deal_board(self, cards: Sequence[int]) -> "HandState":
        """Deal the public cards of one round."""
        self.verify_deal_board(cards)
        return replace(self, board=(*self.board, *cards))

    # Acting

    def verify_fold(self) -> None:
        """Refuse a fold that is not legal."""
        self._verify_nothing_due()
        self.betting.verify_fold()

    def can_fold(self) -> bool:
        """Return whether the player to act may fold."""
        return is_legal(self.verify_fold)

    def fold(self) -> "HandState":
        """Give up the hand."""
        self.verify_fold()
        return replace(self, betting=self.betting.fold())

    def verify_call(self) -> None:
        """Refuse a check or call while cards are due or after the end of the hand."""
        self._verify_nothing_due()
        self.betting.verify_call()

    def can_call(self) -> bool:
        """Return whether the player to act may check or call."""
        return is_legal(self.verify_call)

    def call(self) -> "HandState":
        """Check, or match the largest total as far as the stack reaches."""
        self.verify_call()
        return replace(self, betting=self.betting.call())

    def verify_raise_to(self, total: int | None = None) -> None:
        """Refuse a raise to `total` chips that is not legal; None stands for the limit game's one size."""
        self._verify_nothing_due()
        self.betting.verify_raise_to(total)

    def can_raise_to(self, total: int | None = None) -> bool:
        """Return whether the player to act may raise to `total` chips."""
        return is_legal(lambda: self.verify_raise_to(total))

    def raise_to(self, total: int | None = None) -> "HandState":
        """Bet or raise to `total` chips over the whole hand; None in a limit game."""
        self.verify_raise_to(total)
        return replace(self, betting=self.betting.raise_to(total))

    def act(self, action: str) -> "HandState":
        """Do one action given as ACPC text: `f`, `c`, `r` in limit games, `rN` in no-limit ones."""
        self._verify_nothing_due()
        return replace(self, betting=self.betting.act(action))

    def _verify_holes_dealt(self) -> None:
        if not self.holes:
            raise UsageError("the hole cards of this hand are not dealt yet")

    def _verify_nothing_due(self) -> None:
        self._verify_holes_dealt()
        if self.num_board_cards_due:
            raise UsageError(f"{self.num_board_cards_due} public cards must be dealt before the next action")

    # The end

    def payoffs(self) -> tuple[Fraction, ...]:
        """Return the net chips of each position at the end of the hand."""
        if not self.is_over:
            raise UsageError(f"the hand is not over after '{self.betting.betting}': it has no payoffs yet")
        if not self.betting.is_showdown:
            return self.betting.payoffs()
        return self.betting.payoffs(showdown_strengths(self.rules, self.holes, self.board))


def verify_count(what: str, cards: Sequence[int], needed: int) -> None:
    """Refuse too many or too few cards."""
    if len(cards) != needed:
        raise UsageError(f"a {what} must have {needed} cards, not {len(cards)}")
