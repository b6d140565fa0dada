"""How often one hand wins against every other hand, if nobody bets any more.

Run-outs of the board are all taken where there are few (on hold'em's turn and river), and otherwise drawn,
the same for every opposing hand (on its flop and before it). One list of equities serves every range that
the opponent may have: what a hand wins against a range is a sum of products.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from errai.cards import _evaluator
from errai.cards.evaluator import evaluate_three_card, evaluator_tables
from errai.errors import verify_whole
from errai.evaluation import _hand_equity
from errai.games.rules import PokerRules, Showdown

Floats = npt.NDArray[np.float64]
Cards = npt.NDArray[np.uint8]

DEFAULT_RUN_OUTS = 300

MORE_BEFORE_BOARDS = 5
"""Before there is a board, so many times more are drawn: what they say of a hand is kept."""


class HandEquities:
    """Equities of one hand against every other, in one game.

    Attributes:
        rules: the game.
        max_run_outs: boards that have more of them are completed by so many, drawn by chance.
        seed: of those draws, which depend on nothing else but the cards.
    """

    def __init__(self, rules: PokerRules, max_run_outs: int = DEFAULT_RUN_OUTS, seed: int = 0) -> None:
        """Get ready; `rules` may be any game's with cards."""
        verify_whole("run-outs", max_run_outs, 1)
        self.rules, self.max_run_outs, self.seed = rules, max_run_outs, seed
        self.hands: Cards = rules.deck.hands(rules.num_hole_cards)
        self._tables = evaluator_tables()
        self._keys = np.empty(len(self.hands), dtype=np.int64)
        self._masks = np.empty(len(self.hands), dtype=np.int64)
        _evaluator.pack_rows(self.hands, self._tables, self._keys, self._masks)
        self._kept = lru_cache(maxsize=4 * len(self.hands))(self._against_each)

    def against_each(self, hand: int, board: Sequence[int]) -> Floats:
        """Return how often a hand wins against each, ties counting half: float64[hands], not to be changed.

        Hands that share a card with it or with the board have 0.

        Args:
            hand: its number in the deck's order of hands.
            board: the public cards so far.
        """
        if board:
            return self._kept(hand, tuple(sorted(board)))
        # Before the board suits are alike: hold'em's 1,326 hands have 169 lists of equities.
        first_like, renamed = self._suits_in_order(hand)
        return np.asarray(self._kept(first_like, ())[renamed])

    def open_hands(self, cards: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which hands share no card with some cards: bool[hands]."""
        return np.asarray(np.logical_not(np.isin(self.hands, np.array(cards, dtype=np.uint8)).any(axis=1)))

    def _suits_in_order(self, hand: int) -> tuple[int, npt.NDArray[np.int64]]:
        """Return the hand that is this one but for names of suits, and what every hand is called then."""
        cards = self.hands[hand].tolist()
        deck = self.rules.deck
        suits = sorted({card & 3 for card in deck.cards})
        held = list(dict.fromkeys(card & 3 for card in cards))
        names = np.zeros(4, dtype=np.uint8)
        names[[*held, *(suit for suit in suits if suit not in held)]] = suits
        if len(deck.cards) != len(suits) * len({card >> 2 for card in deck.cards}):
            return hand, np.arange(len(self.hands))  # suits of different ranks are not alike
        renamed = deck.hand_indices((self.hands & 0xFC) | names[self.hands & 3])
        return int(renamed[hand]), renamed

    def _against_each(self, hand: int, board: tuple[int, ...]) -> Floats:
        won = np.zeros(len(self.hands))
        met = np.zeros(len(self.hands), dtype=np.int64)
        run_outs = self._run_outs(self.hands[hand].tolist(), board)
        if self.rules.showdown is Showdown.POKER:
            tables = self._tables
            _hand_equity.meet_every_hand(
                self._keys[hand],
                self._masks[hand],
                np.int64(_evaluator.EMPTY_KEY) + tables.card_key[list(board)].sum(),
                tables.card_mask[list(board)].sum(),
                run_outs,
                self._keys,
                self._masks,
                tables,
                won,
                met,
            )
        else:
            own = self.hands[hand].tolist()
            for run_out in run_outs:
                public = [*board, *run_out.tolist()]
                meets = np.flatnonzero(self.open_hands([*own, *public]))
                rows = np.hstack(
                    [self.hands[meets], np.tile(np.array(public, dtype=np.uint8), (len(meets), 1))]
                )
                difference = int(evaluate_three_card([[*own, *public]])[0]) - evaluate_three_card(rows)
                won[meets] += (np.sign(difference) + 1) / 2
                met[meets] += 1
        found = np.divide(won, met, out=np.zeros(len(won)), where=met > 0)
        if len(board) < sum(self.rules.num_board_cards):
            # A few draws may have hit a hand every time: nothing is known of it.
            found[self.open_hands([*self.hands[hand].tolist(), *board]) & (met == 0)] = 0.5
        found.flags.writeable = False
        return found

    def _run_outs(self, own: list[int], board: tuple[int, ...]) -> Cards:
        """Return ways to complete a board: uint8[N, cards to come]."""
        missing = sum(self.rules.num_board_cards) - len(board)
        stub = [card for card in self.rules.deck.cards if card not in own and card not in board]
        most = self.max_run_outs * (1 if board else MORE_BEFORE_BOARDS)
        if comb(len(stub), missing) <= most:
            rows = list(combinations(stub, missing))
            return np.array(rows, dtype=np.uint8).reshape(len(rows), missing)
        generator = np.random.default_rng([self.seed, *sorted(own), *board])
        order = generator.random((most, len(stub))).argpartition(missing - 1, axis=1)[:, :missing]
        return np.array(stub, dtype=np.uint8)[order]
