"""Kernels that deal: cards or dice of both players, and the row of a table that each has in each round.

A deal is one hand for each player and one board for each round. Everything random about deal number n of
an iteration follows from the key of (seed, iteration, n): the cards are its first numbers, and whoever walks
the deal draws choices from the later ones (`CHOICES`).
"""

import numpy as np

from errai.engine._streams import draw_below, draw_unit, stream_key
from errai.kernels import kernel

U = np.uint64

FIRST, STRIDE = range(2)
"""Columns of a deal's rows, of which there are ROW_WIDTH: slot s is at `FIRST + s * STRIDE`."""

ROW_WIDTH = 2

FIRST_WINS, TIE, SECOND_WINS = range(3)
"""Outcomes of a showdown. In Bluff a bid holds (the first) or not (the last)."""

CHOICES = U(1 << 32)
"""Numbers of a deal's stream from here on are not used to deal."""

BELOW, UP_TO = 0, 1
"""Columns of `PlayerCells.order`."""

NUM_FACES = 6


@kernel()
def deal_cards(
    seed,  # IN   int64
    first_deal,  # IN   int64  counted through all iterations
    num_lanes,  # IN   int64  deals of an iteration
    deck,  # INOUT uint8[D]  shuffled, and put in order again
    places,  # TMP  uint64[K]
    keys,  # OUT  uint64[N]  of the deals, iteration by iteration
    cards,  # OUT  uint8[N, K]  dealt without replacement
):
    """Draw the cards of each deal: card k changes places with one of those that are left, which is dealt."""
    num_cards, size = U(cards.shape[1]), U(len(deck))
    iteration, lane = first_deal // num_lanes, first_deal % num_lanes
    for i in range(U(len(keys))):
        key = stream_key(seed, iteration, lane)
        keys[i] = key
        lane += 1
        if lane == num_lanes:
            iteration, lane = iteration + 1, 0
        for k in range(num_cards):
            other = k + draw_below(key, k, size - k)
            places[k] = other
            card = deck[other]
            deck[other] = deck[k]
            deck[k] = card
            cards[i, k] = card
        for k in range(num_cards):  # undone from the last to the first
            last = num_cards - U(1) - k
            other = places[last]
            card = deck[other]
            deck[other] = deck[last]
            deck[last] = card


@kernel(inline=True)
def hand_number(
    first,  # IN   int64  place of a card in the deck
    second,  # IN   int64  of the other one, or -1
):
    """Return the number of a hand of one or two cards in the one order of hands."""
    high, low = max(first, second), min(first, second)
    return high if low < 0 else high * (high - 1) // 2 + low


@kernel()
def number_hands(
    cell_begin,  # IN   int64[B + 1]  cells of the boards to number
    hand_begin,  # IN   int64[C + 1]
    hand_card,  # IN   uint8[H, 2]
    num_hole,  # IN   int64  hole cards
    place,  # IN   uint8[256]  of each card in the deck
    cells,  # OUT  int16[B, hands]  cell of each hand, counted from the board's first; the rest is left alone
):
    """Write down which cell each hand of a board is in."""
    for board in range(len(cell_begin) - 1):
        for cell in range(cell_begin[board], cell_begin[board + 1]):
            for h in range(hand_begin[cell], hand_begin[cell + 1]):
                second = np.int64(place[hand_card[h, 1]]) if num_hole > 1 else np.int64(-1)
                number = hand_number(np.int64(place[hand_card[h, 0]]), second)
                cells[board, number] = cell - cell_begin[board]


@kernel(inline=True)
def extend_number(
    number,  # IN   int64  of the board so far
    cards,  # IN   uint8[N, K]
    i,  # IN   int64  which row
    first,  # IN   int64  columns of the new cards, whose order does not count
    last,  # IN   int64
    place,  # IN   uint8[256]
    binomial,  # IN   int64[53, 8]
    size,  # IN   int64  sets of so many cards in the deck
):
    """Return the number of a board that is dealt some more cards."""
    index = np.int64(0)
    for k in range(first, last):
        order = 1
        for other in range(first, last):
            if place[cards[i, other]] < place[cards[i, k]]:
                order += 1
        index += binomial[place[cards[i, k]], order]
    return number * size + index


@kernel()
def number_boards(
    cards,  # IN   uint8[N, K]  boards
    board_begin,  # IN   int64[R + 1]  columns of each round
    place,  # IN   uint8[256]
    binomial,  # IN   int64[53, 8]
    num_sets,  # IN   int64[R]
    numbers,  # OUT  int64[N]
):
    """Number dealt boards of the first R rounds."""
    for i in range(len(numbers)):
        number = np.int64(0)
        for r in range(len(num_sets)):
            number = extend_number(
                number, cards, i, board_begin[r], board_begin[r + 1], place, binomial, num_sets[r]
            )
        numbers[i] = number


@kernel()
def place_deals(
    cards,  # IN   uint8[N, K]  hole cards of the first player, of the second, then the board
    num_hole,  # IN   int64
    finder,  # IN   CellFinder
    bucket,  # IN   [player] int32[C]  or empty
    bucketed,  # IN   bool[2, R]
    begin,  # IN   int64[2, B]
    stride,  # IN   int64[2, B]
    out,  # OUT  int64[N * 2 * R * ROW_WIDTH]
    outcomes,  # OUT  int8[N]
):
    """Find the row of each player in each round, and who wins."""
    num_rounds = len(finder.num_sets)
    # Taken out of the tuple once: that costs more than reading them.
    place, binomial, num_sets, board_begin = (
        finder.place,
        finder.binomial,
        finder.num_sets,
        finder.board_begin,
    )
    canonical, renamings, renamed = finder.board, finder.renaming, finder.renamed
    number_begin, round_board, cell_begin = finder.number_begin, finder.round_board, finder.cell_begin
    cell_of, cell_table, num_hands, order = finder.cell, finder.cell_table, finder.num_hands, finder.order
    bucket_0, bucket_1 = bucket[0], bucket[1]
    cell = np.int64(0)
    other = np.int64(0)
    for i in range(len(cards)):
        number = np.int64(0)
        for r in range(num_rounds):
            # As `extend_number` says.
            begin_card, end_card = 2 * num_hole + board_begin[r], 2 * num_hole + board_begin[r + 1]
            index = np.int64(0)
            for k in range(begin_card, end_card):
                smaller = 1
                for earlier in range(begin_card, end_card):
                    smaller += 1 if place[cards[i, earlier]] < place[cards[i, k]] else 0
                index += binomial[place[cards[i, k]], smaller]
            number = number * num_sets[r] + index
            where = number_begin[r] + number
            index, renaming = np.int64(canonical[where]), np.int64(renamings[where])
            board = round_board[r] + index
            first_cell = cell_begin[board]
            for q in range(2):
                at = U(((i * 2 + q) * num_rounds + r) * ROW_WIDTH)
                hole = q * num_hole
                second = np.int64(-1)
                if num_hole > 1:
                    second = np.int64(renamed[renaming, cards[i, hole + 1]])
                hand = hand_number(np.int64(renamed[renaming, cards[i, hole]]), second)
                cell = np.int64(cell_of[cell_table[r] + index * num_hands + hand])
                if q == 0:
                    other = cell
                if bucketed[q, r]:
                    row = np.int64(bucket_0[first_cell + cell] if q == 0 else bucket_1[first_cell + cell])
                    out[at + U(FIRST)] = begin[q, board] + row * stride[q, board]
                    out[at + U(STRIDE)] = 1
                else:
                    out[at + U(FIRST)] = begin[q, board] + cell
                    out[at + U(STRIDE)] = stride[q, board]
            if r == num_rounds - 1:
                # Both players' cells are the same, sorted by strength.
                if cell < order[first_cell + other, BELOW]:
                    outcomes[i] = FIRST_WINS
                elif cell < order[first_cell + other, UP_TO]:
                    outcomes[i] = TIE
                else:
                    outcomes[i] = SECOND_WINS


@kernel()
def deal_dice(
    seed,  # IN   int64
    first_deal,  # IN   int64  counted through all iterations
    num_lanes,  # IN   int64  deals of an iteration
    chances,  # IN   [player] float64[rolls]  cumulative
    matches,  # IN   [player] uint8[rolls, NUM_FACES]
    begin,  # IN   int64[2, R]
    stride,  # IN   int64[2, R]
    keys,  # OUT  uint64[N]
    out,  # OUT  int64[N, 2, R, ROW_WIDTH]
    outcomes,  # OUT  int8[N, bids]
):
    """Roll both players' dice, and say of each bid whether it holds."""
    for i in range(len(keys)):
        key = stream_key(seed, (first_deal + i) // num_lanes, (first_deal + i) % num_lanes)
        keys[i] = key
        first, second = 0, 0
        for q in range(2):
            drawn = draw_unit(key, U(q))
            roll = 0
            while roll < len(chances[q]) - 1 and chances[q][roll] <= drawn:
                roll += 1
            if q == 0:
                first = roll
            else:
                second = roll
            for r in range(out.shape[2]):
                out[i, q, r, FIRST] = begin[q, r] + roll
                out[i, q, r, STRIDE] = stride[q, r]
        for bid in range(outcomes.shape[1]):
            face = bid % NUM_FACES
            found = matches[0][first, face] + matches[1][second, face]
            outcomes[i, bid] = FIRST_WINS if found > bid // NUM_FACES else SECOND_WINS
