"""`errai.abstraction_from_function`: an abstraction of one's own, described by a Python function.

The function says the bucket of a hand on a board. It is asked beforehand, so that a mistake in it is found
before a solver starts, and the answers are kept in one table a round, a number for each canonical deal.
Two deals are one canonical deal where the game's symmetry turns one into the other (renaming of suits, or of
the cards of each rank where no flush can decide), so a table cannot tell them apart, and a function that does
is refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from errai.abstraction.features.hands import HandClasses
from errai.abstraction.protocol import bucket_of_text, verify_cards, verify_player
from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.catalogue import Game, load_card_game
from errai.games.deals import Deals
from errai.games.rounds import round_of_game
from errai.games.rules import PokerRules

ChooseBucket = Callable[[str, str, int], int]
"""`choose(hand, board, round_index)`: the bucket of a hand, from 0."""

MAX_DEALS_TO_ASK = 5_000_000
"""Deals of a round that a Python function is asked for at most: about ten seconds' worth."""

ROWS_A_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class FunctionAbstraction:
    """Buckets that a function has chosen; both players see alike.

    Attributes:
        game: the game that it was made for.
        name: what reports call it.
        tables: [round] int32[canonical deals] the bucket of each.
    """

    game: PokerRules
    name: str
    tables: tuple[npt.NDArray[np.int32], ...]

    num_players_described = 1

    def num_buckets(self, round_index: int, player: int = 0) -> int:
        """Return the buckets of a round: one more than the largest number that the function gave."""
        verify_player(player)
        self._classes.num_board_cards(round_index)  # refuses rounds that do not exist
        return int(self.tables[round_index].max()) + 1

    def bucket(self, hand: str, board: str = "", player: int = 0) -> int:
        """Return the bucket of a hand, given as text, the board in the order of its deals."""
        return bucket_of_text(self, hand, board, player)

    def buckets(
        self, cards: npt.NDArray[np.uint8], round_index: int, player: int = 0
    ) -> npt.NDArray[np.int32]:
        """Return the bucket of each deal: int32[N].

        Args:
            cards: uint8[N, hole + board], hole cards first, the board in the order of its deals.
            round_index: from 0.
            player: both see alike.
        """
        verify_player(player)
        verify_cards(cards, self._classes, round_index)
        return self.tables[round_index][self._deals.rows.index(cards, self._deals.row_round(round_index))]

    @cached_property
    def _classes(self) -> HandClasses:
        return HandClasses(self.game)

    @cached_property
    def _deals(self) -> Deals:
        return Deals(self.game)


def abstraction_from_function(
    game: Game | str | Path, choose: ChooseBucket, name: str = "own", *, check_suits: bool = True
) -> FunctionAbstraction:
    """Return the abstraction that a function describes, verified for every hand of the game.

    Args:
        game: from `errai.load_game`, or what it takes: a name or the path of an ACPC game file.
        choose: `choose(hand, board, round_index)` returns the bucket of a hand, a whole number from 0.
            Cards are text such as `AsKd`, the high card first among those that are dealt together; the board
            is in the order of its deals, and empty where nothing is dealt yet. Rounds are counted from 0.
        name: what reports call it.
        check_suits: ask for every deal, and refuse a function that tells apart deals which differ in the
            names of their suits alone. Without it each canonical deal is asked for once, in suits of Errai's
            choice: up to 24 times faster.

    >>> pairs = abstraction_from_function("leduc", lambda hand, board, r: int(hand[:1] == board[:1]), "pairs")
    >>> pairs.bucket("Kh", "Ks"), pairs.bucket("Kh", "Qs"), pairs.num_buckets(1)
    (1, 0, 2)
    """
    rules = load_card_game(game)
    HandClasses(rules)  # refuses hands of more cards than abstractions know
    deals = Deals(rules)
    for r in range(rules.num_rounds):
        _verify_number(rules, deals, r, check_suits)
    tables = tuple(_asked(choose, rules, deals, r, check_suits) for r in range(rules.num_rounds))
    return FunctionAbstraction(rules, name, tables)


def _verify_number(rules: PokerRules, deals: Deals, r: int, check_suits: bool) -> None:
    """Refuse a round with more deals than a function can be asked for."""
    where = round_of_game(rules, r)
    if (num_rows := deals.num_rows(r)) > MAX_DEALS_TO_ASK:
        raise UsageError(
            f"{where} has {num_rows:,} canonical deals: a function can be asked for at most "
            f"{MAX_DEALS_TO_ASK:,}"
        )
    if check_suits and (num_deals := rules.num_deals(r)) > MAX_DEALS_TO_ASK:
        raise UsageError(
            f"{where} has {num_deals:,} deals, and suits can be checked for at most {MAX_DEALS_TO_ASK:,}: "
            f"check_suits=False asks once for each of its {num_rows:,} canonical deals"
        )


def _asked(
    choose: ChooseBucket, rules: PokerRules, deals: Deals, r: int, check_suits: bool
) -> npt.NDArray[np.int32]:
    """Ask for all deals of a round: int32[canonical deals]."""
    num_rows, row_round = deals.num_rows(r), deals.row_round(r)
    table = np.full(num_rows, -1, dtype=np.int32)
    ends = [rules.num_hole_cards + rules.num_board_cards_by(one) for one in range(-1, r + 1)]
    groups = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if begin < end]
    for cards in _all_deals(rules, r) if check_suits else _canonical_deals(deals, r):
        rows = deals.rows.index(cards, row_round)
        for row, deal in zip(rows.tolist(), cards.tolist(), strict=True):
            hole, *board = (_high_first(deal[group]) for group in groups)
            bucket = _verified(choose(hole, "".join(board), r), num_rows, hole, "".join(board), r)
            if table[row] not in (-1, bucket):
                raise UsageError(
                    f"buckets must not depend on the names of suits: '{hole}' on board '{''.join(board)}' "
                    f"has bucket {bucket} in round {r}, and the same hand in other suits has {table[row]}"
                )
            table[row] = bucket
    return table


def _high_first(cards: list[int]) -> str:
    return format_cards(sorted(cards, reverse=True))


def _verified(answer: Any, num_rows: int, hole: str, board: str, r: int) -> int:
    """Return a bucket, or say what is wrong with it."""
    try:
        bucket = index(answer)
    except TypeError:
        bucket = -1
    if not 0 <= bucket < num_rows:
        raise UsageError(
            f"the bucket of '{hole}' on board '{board}' in round {r} must be a whole number from 0 to "
            f"{num_rows - 1:,}, not {answer!r}"
        )
    return bucket


def _canonical_deals(deals: Deals, r: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield one deal of each canonical deal, chunk by chunk."""
    for begin in range(0, deals.num_rows(r), ROWS_A_CHUNK):
        rows = np.arange(begin, min(begin + ROWS_A_CHUNK, deals.num_rows(r)))
        yield deals.rows.unindex(rows, deals.row_round(r))


def _all_deals(rules: PokerRules, r: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield every deal of a round, chunk by chunk; cards that are dealt together have no order."""

    def extended(dealt: tuple[int, ...], left: list[int]) -> Iterator[list[int]]:
        if not left:
            yield list(dealt)
            return
        for more in rules.deck.hands(left[0]).tolist():
            if not set(more) & set(dealt):
                yield from extended((*dealt, *more), left[1:])

    together = [rules.num_hole_cards, *(num for num in rules.num_board_cards[: r + 1] if num > 0)]
    everything = extended((), together)
    while chunk := list(islice(everything, ROWS_A_CHUNK)):
        yield np.array(chunk, dtype=np.uint8)
