"""What the kernel that makes cells is given: boards, a game's symmetry, lists of hands, and buffers.

Letters: B boards of all rounds, H hands of a player, G permutations of the deck's suits.
"""

from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from errai.cards.deck import NUM_CARDS, SUITS, Deck
from errai.cards.evaluator import EvaluatorTables, evaluator_tables
from errai.games.rules import PokerRules, Showdown
from errai.tree import _cells as kernels
from errai.tree._cells import NO_CARD, PAIRS

Cards = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class BoardList(NamedTuple):
    """Boards of all rounds as the kernel goes through them.

    Attributes:
        card: uint8[B, most cards].
        num_cards: int64[B].
        parent: int64[B] the board before; `AT_ROOT` or `IS_ROOT` for the first ones.
        factor: float64[B].
        with_strength: bool[B] whether hands are shown down there.
    """

    card: Cards
    num_cards: Ints
    parent: Ints
    factor: Floats
    with_strength: npt.NDArray[np.bool_]


class GameCards(NamedTuple):
    """What the kernel knows of a game.

    Attributes:
        symmetry: what makes hands alike.
        is_three_card: whether showdowns are those of Rhode Island hold'em.
        deck_mask: the deck's cards as the evaluator's bits.
        column_round: int64[board cards] the round of each.
        renaming: uint8[G, 53] what each permutation of the deck's suits makes of a card, the identity first.
        evaluator: tables.
    """

    symmetry: int
    is_three_card: bool
    deck_mask: int
    column_round: Ints
    renaming: Cards
    evaluator: EvaluatorTables


class HandList(NamedTuple):
    """The hands that a player may hold.

    Attributes:
        card: uint8[H, 2] `NO_CARD` second where hands have one card.
        mask: int64[H] the cards as the evaluator's bits.
        key: int64[H] what they add to the evaluator's key.
        number: int16[PAIRS * PAIRS] the hand of two cards in any order; -1 for none.
    """

    card: Cards
    mask: Ints
    key: Ints
    number: npt.NDArray[np.int16]


class PlayerBuffers(NamedTuple):
    """What the kernel notes of a player's hands at one board.

    Attributes:
        hand: int32[H] the open hands, class by class.
        class_begin: int32[H + 1] the hands of each class.
        listed: bool[H].
        keys: uint32[2, H] strength above, class below.
        strength: int32[H] of each cell.
        cell: int32[H] the cell of each hand.
        parent: int32[H] the cell of each hand at the board before.
        parent_size: float64[H] hands of each of these cells.
    """

    hand: npt.NDArray[np.int32]
    class_begin: npt.NDArray[np.int32]
    listed: npt.NDArray[np.bool_]
    keys: npt.NDArray[np.uint32]
    strength: npt.NDArray[np.int32]
    cell: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    parent_size: Floats

    @staticmethod
    def of(num_hands: int) -> "PlayerBuffers":
        """Allocate for so many hands."""
        return PlayerBuffers(
            hand=np.empty(num_hands, dtype=np.int32),
            class_begin=np.empty(num_hands + 1, dtype=np.int32),
            listed=np.empty(num_hands, dtype=np.bool_),
            keys=np.empty((2, num_hands), dtype=np.uint32),
            strength=np.empty(num_hands, dtype=np.int32),
            cell=np.empty(num_hands, dtype=np.int32),
            parent=np.empty(num_hands, dtype=np.int32),
            parent_size=np.empty(num_hands, dtype=np.float64),
        )


class SharedBuffers(NamedTuple):
    """What the kernel notes of one board.

    Attributes:
        sets: int64[rounds] the cards of each.
        fixing: int64[G] permutations that fix the board.
        least: uint8[53] the least image of each card.
        tally: int64[2, RADIX].
    """

    sets: Ints
    fixing: Ints
    least: Cards
    tally: Ints

    @staticmethod
    def of(game: GameCards) -> "SharedBuffers":
        """Allocate for a game."""
        return SharedBuffers(
            sets=np.empty(int(game.column_round.max(initial=0)) + 1, dtype=np.int64),
            fixing=np.empty(len(game.renaming), dtype=np.int64),
            least=np.empty(NO_CARD + 1, dtype=np.uint8),
            tally=np.empty((2, kernels.RADIX), dtype=np.int64),
        )


@lru_cache(maxsize=8)
def game_cards(rules: PokerRules, with_symmetry: bool) -> GameCards:
    """Return what the kernel knows of a game; without symmetry, every hand is a class of its own."""
    symmetry = kernels.NO_SYMMETRY
    if with_symmetry:
        symmetry = kernels.SUITS if rules.suits_matter else kernels.RANKS
    return GameCards(
        symmetry=symmetry,
        is_three_card=rules.showdown is Showdown.THREE_CARD,
        deck_mask=_deck_mask(rules.deck),
        column_round=np.repeat(np.arange(rules.num_rounds), rules.num_board_cards),
        renaming=_renamings(rules.deck),
        evaluator=evaluator_tables(),
    )


def _deck_mask(deck: Deck) -> int:
    return int(evaluator_tables().card_mask[list(deck.cards)].sum())


def _renamings(deck: Deck) -> Cards:
    suits = [SUITS.index(letter) for letter in deck.suits]
    renamings = []
    for image in permutations(suits):
        becomes = dict(zip(suits, image, strict=True))
        renamings.append([*((c & 60) + becomes.get(c & 3, c & 3) for c in range(NUM_CARDS)), NO_CARD])
    return np.array(renamings, dtype=np.uint8)


def both_places(hands: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Return where `HandList.number` has each hand, by its cards in the given order and in the other one."""
    first = hands[:, 0].astype(np.int64)
    second = hands[:, 1].astype(np.int64) if hands.shape[1] == 2 else np.full_like(first, NO_CARD)
    return first * PAIRS + second, second * PAIRS + first


def hand_list(hands: Cards) -> HandList:
    """Return a list of hands, uint8[H, 1 or 2], for the kernel."""
    tables = evaluator_tables()
    card = np.full((len(hands), 2), NO_CARD, dtype=np.uint8)
    card[:, : hands.shape[1]] = hands
    number = np.full(PAIRS * PAIRS, -1, dtype=np.int16)
    for places in both_places(hands):
        number[places] = np.arange(len(hands))
    return HandList(card, tables.card_mask[hands].sum(axis=1), tables.card_key[hands].sum(axis=1), number)


@lru_cache(maxsize=8)
def deck_hands(deck: Deck, num_hole_cards: int) -> HandList:
    """Return all hands of a deck for the kernel."""
    return hand_list(deck.hands(num_hole_cards))
