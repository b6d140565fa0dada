"""Kernels of `cells.py`: the cells of public boards, made board by board.

For each board: list the open hands in classes (`list_classes`), evaluate one hand of each class where there
is a showdown, sort the classes by strength (a stable radix sort, so equal ones stay in the order of their
least hand), write them as cells, and relate the players' cells to each other. Nothing is allocated; a board
of hold'em is some thousand steps over buffers that stay in a core's cache.

Letters: B boards, C cells, H hands of a player, G permutations of the suits.
"""

import numpy as np

from errai.cards._evaluator import EMPTY_KEY, strength_of, three_card_strength
from errai.kernels import kernel

U = np.uint64

NO_CARD = 52
NO_CELL = -1
PAIRS = NO_CARD + 1
"""Hands are looked up by first card * PAIRS + second card."""

NO_SYMMETRY, SUITS, RANKS = range(3)
"""What makes hands alike: nothing, renaming suits, renaming the cards of each rank."""

AT_ROOT, IS_ROOT = -1, -2
"""Parents of the first boards: the root, or the board itself where nothing was dealt to get there."""

BELOW, UP_TO, TIED_UP_TO, TWIN = range(4)
"""Columns of `PlayerCells.order`."""

RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
"""Strengths have two digits of this many bits."""


@kernel()
def fixing_permutations(
    board,  # IN   uint8[K]
    num_cards,  # IN   int64
    column_round,  # IN   int64[K]  round of each column
    renaming,  # IN   uint8[G, 53]  what each permutation makes of a card, the identity first
    sets,  # TMP  int64[rounds]
    fixing,  # OUT  int64[G]  permutations that fix the cards of each round as a set
):
    """Find the symmetry of a board; returns the number of permutations, the identity included."""
    one = np.int64(1)
    for r in range(sets.size):
        sets[r] = 0
    for k in range(num_cards):
        sets[column_round[k]] |= one << np.int64(board[k])
    number = 0
    for g in range(renaming.shape[0]):
        k = 0
        while k < num_cards and (sets[column_round[k]] >> np.int64(renaming[g, board[k]])) & one:
            k += 1
        if k == num_cards:
            fixing[number] = g
            number += 1
    return number


@kernel()
def sort_hands(
    first,  # IN   int64
    last,  # IN   int64
    hand,  # INOUT int32[H]
):
    """Sort the few hands of a class."""
    for i in range(first + 1, last):
        moved = hand[i]
        j = i
        while j > first and hand[j - 1] > moved:
            hand[j] = hand[j - 1]
            j -= 1
        hand[j] = moved


@kernel()
def list_classes(
    symmetry,  # IN   int64
    board_mask,  # IN   int64  the board's cards as the evaluator's bits
    hands,  # IN   HandList
    renaming,  # IN   uint8[G, 53]
    fixing,  # IN   int64[G]
    num_fixing,  # IN   int64
    buffers,  # OUT  PlayerBuffers  `hand` and `class_begin`
):
    """List the open hands class by class, classes by their least hand; returns classes and hands."""
    card, mask, number = hands.card, hands.mask, hands.number
    hand, begin, listed = buffers.hand, buffers.class_begin, buffers.listed
    num_hands = num_classes = 0
    if symmetry == NO_SYMMETRY or (symmetry == SUITS and num_fixing == 1):
        for h in range(mask.size):
            hand[num_hands] = h
            begin[num_hands] = num_hands
            num_hands += int(mask[h] & board_mask == 0)
        begin[num_hands] = num_hands
        return num_hands, num_hands
    for h in range(mask.size):
        listed[h] = mask[h] & board_mask != 0
    for h in range(mask.size):
        if listed[h]:
            continue
        begin[num_classes] = num_hands
        first = num_hands
        a, b = np.int64(card[h, 0]), np.int64(card[h, 1])
        if symmetry == SUITS:
            for i in range(num_fixing):
                g = fixing[i]
                image = number[np.int64(renaming[g, a]) * PAIRS + np.int64(renaming[g, b])]
                if not listed[image]:
                    listed[image] = True
                    hand[num_hands] = image
                    num_hands += 1
        else:
            for first_suit in range(4):
                for second_suit in range(4 if b != NO_CARD else 1):
                    image = number[((a & 60) + first_suit) * PAIRS + ((b & 60) + second_suit)]
                    if image >= 0 and not listed[image]:
                        listed[image] = True
                        hand[num_hands] = image
                        num_hands += 1
        sort_hands(first, num_hands, hand)
        num_classes += 1
    begin[num_classes] = num_hands
    return num_classes, num_hands


@kernel()
def least_images(
    symmetry,  # IN   int64
    open_mask,  # IN   int64  cards of the deck that are not on the board, as the evaluator's bits
    card_mask,  # IN   int64[256]
    renaming,  # IN   uint8[G, 53]
    fixing,  # IN   int64[G]
    num_fixing,  # IN   int64
    least,  # OUT  uint8[53]  the least of the open cards that the symmetry maps each open card onto
):
    """Find one card for all that the board's symmetry makes alike."""
    for c in range(NO_CARD + 1):
        least[c] = c
    if symmetry == SUITS and num_fixing > 1:
        for c in range(NO_CARD):
            for i in range(1, num_fixing):
                least[c] = min(least[c], renaming[fixing[i], c])
    elif symmetry == RANKS:
        for c in range(NO_CARD - 1, -1, -1):
            for image in range(c & 60, c):
                if open_mask & card_mask[image] != 0:
                    least[c] = image
                    break


@kernel()
def evaluate_classes(
    is_three_card,  # IN   bool
    board,  # IN   uint8[K]
    num_cards,  # IN   int64
    board_mask,  # IN   int64
    hands,  # IN   HandList
    evaluator,  # IN   EvaluatorTables
    num_classes,  # IN   int64
    buffers,  # OUT  PlayerBuffers  `keys[0]`: strength, then the class
):
    """Evaluate the first hand of each class at a showdown."""
    keys, hand, begin = buffers.keys[0], buffers.hand, buffers.class_begin
    card, hand_key, hand_mask = hands.card, hands.key, hands.mask
    if is_three_card:
        for i in range(num_classes):
            h = hand[begin[i]]
            last = card[h, 1] if num_cards == 1 else board[1]
            keys[i] = (np.int64(three_card_strength(card[h, 0], board[0], last)) << 16) + i
        return
    board_key = np.int64(EMPTY_KEY)
    for k in range(num_cards):
        board_key += evaluator.card_key[board[k]]
    for i in range(num_classes):
        h = hand[begin[i]]
        strength = strength_of(board_key + hand_key[h], board_mask | hand_mask[h], evaluator)
        keys[i] = (np.int64(strength) << 16) + i


@kernel()
def sort_keys(
    num_keys,  # IN   int64
    keys,  # INOUT uint32[2, H]  the first row is sorted by its upper half, equal ones stay in order
    tally,  # TMP  int64[2, RADIX]
):
    """Sort keys by the two digits of their upper halves, the lower digit first."""
    given, moved, low, high = keys[0], keys[1], tally[0], tally[1]
    low[:] = 0
    high[:] = 0
    for i in range(num_keys):
        key = U(given[i])
        low[(key >> U(16)) & U(RADIX - 1)] += 1
        high[key >> U(16 + RADIX_BITS)] += 1
    low_place, high_place = np.int64(0), np.int64(0)
    for t in range(RADIX):
        low_here, high_here = low[t], high[t]
        low[t], high[t] = low_place, high_place
        low_place += low_here
        high_place += high_here
    for i in range(num_keys):
        t = (U(given[i]) >> U(16)) & U(RADIX - 1)
        moved[U(low[t])] = given[i]
        low[t] += 1
    for i in range(num_keys):
        t = U(moved[i]) >> U(16 + RADIX_BITS)
        given[U(high[t])] = moved[i]
        high[t] += 1


@kernel()
def load_parents(
    first,  # IN   int64  the parent board's cells
    last,  # IN   int64
    hand_begin,  # IN   int64[...]  of the parent's cells
    hand_card,  # IN   uint8[..., 2]
    number,  # IN   int16[PAIRS * PAIRS]
    parent,  # OUT  int32[H]  cell of each of the parent's hands, counted from the board's first
    parent_size,  # OUT  float64[H]  hands of each of these cells
):
    """Note in which cell each hand was at the board before."""
    for cell in range(first, last):
        begin, end = hand_begin[cell], hand_begin[cell + 1]
        parent_size[cell - first] = end - begin
        for i in range(begin, end):
            place = U(hand_card[i, 0]) * U(PAIRS) + U(hand_card[i, 1])
            parent[U(number[place])] = cell - first


@kernel()
def write_cells(
    parent_board,  # IN   int64
    factor,  # IN   float64  chance of the deal
    board_number,  # IN   int64
    first_hand,  # IN   int64
    num_classes,  # IN   int64
    with_strength,  # IN   bool
    least,  # IN   uint8[53]
    hands,  # IN   HandList
    buffers,  # INOUT PlayerBuffers
    cells,  # OUT  PlayerCells  all but `order`
):
    """Write the sorted classes of a board as cells; returns where the next board's hands begin."""
    # Taken out of their tuples here: inside the loop each would cost a reference count.
    keys, hand, begin = buffers.keys[0], buffers.hand, buffers.class_begin
    strength, cell_of = buffers.strength, buffers.cell
    parents, parent_size, held = buffers.parent, buffers.parent_size, hands.card
    hand_card, hand_begin = cells.hand_card, cells.hand_begin
    card, counts = cells.card, cells.counts
    parent_cell, deal_weight = cells.parent_cell, cells.deal_weight
    first_cell, is_root = U(cells.cell_begin[board_number]), parent_board == IS_ROOT
    place = U(first_hand)
    for i in range(U(num_classes)):
        which = i
        strength[i] = 0
        if with_strength:
            which = U(keys[i]) & U(0xFFFF)
            strength[i] = keys[i] >> 16
        first, last = U(begin[which]), U(begin[which + U(1)])
        size = last - first
        cell = first_cell + i
        hand_begin[cell] = place
        least_hand = U(hand[first])
        a, b = least[held[least_hand, U(0)]], least[held[least_hand, U(1)]]
        with_a = with_b = 0
        for k in range(first, last):
            h = U(hand[k])
            x, y = held[h, U(0)], held[h, U(1)]
            hand_card[place, U(0)] = x
            hand_card[place, U(1)] = y
            with_a += int((x == a) | (y == a))
            with_b += int((x == b) | (y == b))
            cell_of[h] = i
            place += U(1)
        card[cell, U(0)], card[cell, U(1)] = a, b
        counts[cell, U(0)] = with_a
        counts[cell, U(1)] = 0 if b == NO_CARD or a == b else with_b
        counts[cell, U(2)] = size
        if is_root:
            parent_cell[cell] = i
            deal_weight[cell] = factor
        else:
            parent = U(parents[least_hand])
            parent_cell[cell] = parent
            deal_weight[cell] = factor * size / parent_size[parent]
    hand_begin[first_cell + U(num_classes)] = place
    return np.int64(place)


@kernel()
def relate_cells(
    board_number,  # IN   int64
    own_cells,  # INOUT PlayerCells  `order` is written
    own_strength,  # IN   int32[...]  ascending
    other_cells,  # IN   PlayerCells
    other_strength,  # IN   int32[...]  ascending
    other_number,  # IN   int16[PAIRS * PAIRS]
    other_cell,  # IN   int32[H]  cell of each of the opponent's hands at this board
):
    """Count for each cell of a board the cells that it beats or ties with, and find its own cards' cell."""
    order, hand_card, hand_begin = own_cells.order, own_cells.hand_card, own_cells.hand_begin
    first = U(own_cells.cell_begin[board_number])
    num_own = U(own_cells.cell_begin[board_number + 1]) - first
    num_other = U(other_cells.cell_begin[board_number + 1] - other_cells.cell_begin[board_number])
    weaker = not_stronger = tied = U(0)
    for i in range(num_own):
        strength = own_strength[i]
        while weaker < num_other and other_strength[weaker] < strength:
            weaker += U(1)
        while not_stronger < num_other and other_strength[not_stronger] <= strength:
            not_stronger += U(1)
        while tied < num_own and own_strength[tied] <= strength:
            tied += U(1)
        h = U(hand_begin[first + i])
        same = -1
        if hand_card[h, U(1)] != NO_CARD:
            same = other_number[U(hand_card[h, U(0)]) * U(PAIRS) + U(hand_card[h, U(1)])]
        order[first + i, U(BELOW)] = weaker
        order[first + i, U(UP_TO)] = not_stronger
        order[first + i, U(TIED_UP_TO)] = tied
        order[first + i, U(TWIN)] = other_cell[U(same)] if same >= 0 else NO_CELL


@kernel()
def count_cells(
    boards,  # IN   BoardList
    game,  # IN   GameCards
    hands,  # IN   HandList
    scratch,  # TMP  SharedBuffers
    buffers,  # TMP  PlayerBuffers
    num_cells,  # OUT  int64[B]
    num_hands,  # OUT  int64[B]
):
    """Count the cells and the open hands of each board."""
    for n in range(boards.num_cards.size):
        board, num_cards = boards.card[n], boards.num_cards[n]
        board_mask = np.int64(0)
        for k in range(num_cards):
            board_mask |= game.evaluator.card_mask[board[k]]
        num_fixing = 1
        if game.symmetry == SUITS:
            num_fixing = fixing_permutations(
                board, num_cards, game.column_round, game.renaming, scratch.sets, scratch.fixing
            )
        num_cells[n], num_hands[n] = list_classes(
            game.symmetry, board_mask, hands, game.renaming, scratch.fixing, num_fixing, buffers
        )


@kernel()
def make_player_cells(
    n,  # IN   int64  the board
    board_mask,  # IN   int64
    num_fixing,  # IN   int64
    first_hand,  # IN   int64
    with_parents,  # IN   bool  whether the parent is another than that of the board before
    boards,  # IN   BoardList
    game,  # IN   GameCards
    hands,  # IN   HandList
    root,  # IN   RootCells
    scratch,  # TMP  SharedBuffers
    buffers,  # INOUT PlayerBuffers
    cells,  # INOUT PlayerCells
):
    """Make a player's cells at one board; returns where the next board's hands begin."""
    parent = boards.parent[n]
    if with_parents and parent == AT_ROOT:
        load_parents(
            0,
            root.hand_begin.size - 1,
            root.hand_begin,
            root.hand_card,
            hands.number,
            buffers.parent,
            buffers.parent_size,
        )
    elif with_parents and parent >= 0:
        load_parents(
            cells.cell_begin[parent],
            cells.cell_begin[parent + 1],
            cells.hand_begin,
            cells.hand_card,
            hands.number,
            buffers.parent,
            buffers.parent_size,
        )
    num_classes, _ = list_classes(
        game.symmetry, board_mask, hands, game.renaming, scratch.fixing, num_fixing, buffers
    )
    with_strength = boards.with_strength[n]
    if with_strength:
        evaluate_classes(
            game.is_three_card,
            boards.card[n],
            boards.num_cards[n],
            board_mask,
            hands,
            game.evaluator,
            num_classes,
            buffers,
        )
        sort_keys(num_classes, buffers.keys, scratch.tally)
    return write_cells(
        parent,
        boards.factor[n],
        n,
        first_hand,
        num_classes,
        with_strength,
        scratch.least,
        hands,
        buffers,
        cells,
    )


@kernel()
def make_cells(
    boards,  # IN   BoardList  of all rounds; children after parents, those of one parent together
    game,  # IN   GameCards
    are_alike,  # IN   bool  then both players' arguments are the same objects
    first_hands,  # IN   HandList
    second_hands,  # IN   HandList
    first_root,  # IN   RootCells
    second_root,  # IN   RootCells
    scratch,  # TMP  SharedBuffers
    first_buffers,  # TMP  PlayerBuffers
    second_buffers,  # TMP  PlayerBuffers
    first_cells,  # OUT  PlayerCells  `cell_begin` is given
    second_cells,  # OUT  PlayerCells  `cell_begin` is given
):
    """Make the cells of both players at every board."""
    first_hand = second_hand = np.int64(0)
    for n in range(boards.num_cards.size):
        board, num_cards = boards.card[n], boards.num_cards[n]
        board_mask = np.int64(0)
        for k in range(num_cards):
            board_mask |= game.evaluator.card_mask[board[k]]
        num_fixing = 1
        if game.symmetry == SUITS:
            num_fixing = fixing_permutations(
                board, num_cards, game.column_round, game.renaming, scratch.sets, scratch.fixing
            )
        least_images(
            game.symmetry,
            game.deck_mask & ~board_mask,
            game.evaluator.card_mask,
            game.renaming,
            scratch.fixing,
            num_fixing,
            scratch.least,
        )
        with_parents = n == 0 or boards.parent[n] != boards.parent[n - 1]
        first_hand = make_player_cells(
            n,
            board_mask,
            num_fixing,
            first_hand,
            with_parents,
            boards,
            game,
            first_hands,
            first_root,
            scratch,
            first_buffers,
            first_cells,
        )
        if not are_alike:
            second_hand = make_player_cells(
                n,
                board_mask,
                num_fixing,
                second_hand,
                with_parents,
                boards,
                game,
                second_hands,
                second_root,
                scratch,
                second_buffers,
                second_cells,
            )
        relate_cells(
            n,
            first_cells,
            first_buffers.strength,
            second_cells,
            second_buffers.strength,
            second_hands.number,
            second_buffers.cell,
        )
        if not are_alike:
            relate_cells(
                n,
                second_cells,
                second_buffers.strength,
                first_cells,
                first_buffers.strength,
                first_hands.number,
                first_buffers.cell,
            )
