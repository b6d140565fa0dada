"""The kernel that walks the betting of one deal: the scalar walk.

One loop with a stack of frames. On the way down go two numbers: the *reach* of the walked player by its own
choices, and a *weight*, which is everything else that a gain must be multiplied by. On the way back comes
one, the expected value of what is below for the walked player. The variants differ in what a player does at
its decisions:

- it enumerates its actions: the value is the mean of theirs by what is played. The opponent's choices
  multiply the weight (chance sampling), the walked player's own its reach;
- it samples one action as it is played: the value is that action's, and nothing is multiplied (the opponent
  in external and outcome sampling);
- it samples one action with some exploration: the value and the weight are divided by its chance
  (the walked player in outcome sampling).

A decision of the walked player gains `weight * (value of the action - value of the decision)`.
"""

import numpy as np

from errai.engine._deals import CHOICES, FIRST, ROWS, STRIDE, TIMES
from errai.engine._streams import draw_unit
from errai.kernels import kernel

U = np.uint64

KIND, PLAYER, CHILD, ACTIONS, SLOT, ROUND = range(6)
"""Columns of `DealTree.nodes`, of which there are NODE_WIDTH. ROUND is where the rows of who acts, in the
node's round, stand in those of a deal. A leaf has for CHILD the number of its outcome, and for SLOT where its
payoffs begin."""

NODE_WIDTH = 8

DECISION, CHANCE = 0, 1

CHANCE_SAMPLING, EXTERNAL, OUTCOME = range(3)

FRAME_CHILD, FRAME_ACTIONS, FRAME_ACTION, FRAME_PLACE, FRAME_STRIDE, FRAME_OWN = range(6)
"""Columns of the stack's whole numbers, of which there are FRAME_WIDTH."""

FRAME_WIDTH = 8

WEIGHT, REACH, OFTEN, VALUE, ACTION_CHANCE = range(5)
"""Columns of the stack's floats; then come, for each action, what is played, its value, and whether its
regret is so low that it is left out now and then."""

NUM_FLOATS = 5

IS_FULL = -1
"""Stands for the length of a journal that has no room left."""


@kernel()
def count_depth(
    parent,  # IN   int32[N]  parents come before children
    kind,  # IN   int8[N]
    depth,  # OUT  int32[N]  decisions before each node
):
    """Return the most decisions that a node has before it."""
    most = 0
    depth[0] = 0
    for node in range(1, len(parent)):
        above = parent[node]
        depth[node] = depth[above] + (1 if kind[above] == DECISION else 0)
        most = max(most, depth[node])
    return most


@kernel()
def match_regrets(
    table,  # IN   float[...]
    place,  # IN   uint64  of the first action
    stride,  # IN   uint64
    num_actions,  # IN   uint64
    floats,  # OUT  float64[...]
    begin,  # IN   uint64  where to write
):
    """Write what is played, in proportion to positive regrets; return whether any is positive."""
    total = 0.0
    for a in range(num_actions):
        x = np.float64(table[place + a * stride])
        x = x if x > 0.0 else 0.0
        floats[begin + a] = x
        total += x
    if total > 0.0:
        factor = 1.0 / total
        for a in range(num_actions):
            floats[begin + a] *= factor
        return True
    for a in range(num_actions):
        floats[begin + a] = 1.0 / np.float64(num_actions)
    return False


@kernel()
def walk_deal(
    settings,  # IN   Settings
    player,  # IN   int64  who is walked
    key,  # IN   uint64  of the deal
    regret_weight,  # IN   float64  of this iteration
    average_weight,  # IN   float64
    nodes,  # IN   int32[N * NODE_WIDTH]
    payoffs,  # IN   float64[L * 3]  of the walked player
    rows,  # IN   int64[2 * R * 4]  of the deal
    outcomes,  # IN   int8[K]  of the deal
    own,  # INOUT float[slots]  regrets of the walked player
    other,  # IN   float[slots]  regrets of the opponent
    average,  # INOUT float[slots]  of the walked player in chance sampling, else of the opponent
    gathers,  # IN   bool  whether gains go to the journal, or to the tables at once
    slots,  # OUT  int64[J]  journal: the slot of a regret, or ~slot of an average
    gains,  # OUT  float64[J]
    length,  # IN   int64  of the journal
    frames,  # TMP  int64[depth * FRAME_WIDTH]
    floats,  # TMP  float64[depth * width]
    room,  # IN   uint64  most actions of a decision; the width is NUM_FLOATS + 3 * room
):
    """Walk one deal for a player; return the journal's length, or IS_FULL, and the decisions visited."""
    number = own.dtype.type
    one = U(1)
    sampling, floor = settings.sampling, number(settings.regret_floor)
    has_floor = settings.regret_floor > -np.inf
    node_width, frame_width, width = U(NODE_WIDTH), U(FRAME_WIDTH), U(NUM_FLOATS) + U(3) * room
    prunes = settings.prune_below > -np.inf
    counter = CHOICES
    explores = True
    if prunes:
        explores = draw_unit(key, counter) >= settings.prune_probability
        counter += one
    # What gains below an action of low regret are multiplied by: once, however many of them are on the way.
    often = 1.0 / (1.0 - settings.prune_probability)
    depth, visits, node = U(0), 0, U(0)
    weight, reach, value = 1.0, 1.0, 0.0
    while True:
        # Down to a leaf.
        while True:
            at = node * node_width
            kind = nodes[at + U(KIND)]
            if kind == CHANCE:
                node = U(nodes[at + U(CHILD)])
                continue
            if kind != DECISION:
                value = payoffs[U(nodes[at + U(SLOT)]) + U(outcomes[U(nodes[at + U(CHILD)])])]
                break
            if weight == 0.0 and reach == 0.0:
                value = 0.0  # nothing below is gained, averaged, or counted in a value above
                break
            visits += 1
            num_actions = U(nodes[at + U(ACTIONS)])
            child = U(nodes[at + U(CHILD)])
            row = U(nodes[at + U(ROUND)])
            stride = U(rows[row + U(STRIDE)])
            place = (
                U(rows[row + U(FIRST)])
                + U(nodes[at + U(SLOT)]) * U(rows[row + U(ROWS)])
                + U(rows[row + U(TIMES)]) * num_actions
            )
            is_own = nodes[at + U(PLAYER)] == player
            here = depth * width
            played = here + U(NUM_FLOATS)
            has_positive = match_regrets(own if is_own else other, place, stride, num_actions, floats, played)
            if not is_own and sampling != CHANCE_SAMPLING:
                counts = weight * average_weight
                if counts != 0.0:
                    if gathers:
                        if length + np.int64(num_actions) > len(slots):
                            return IS_FULL, visits
                        for a in range(num_actions):
                            slots[U(length)] = ~np.int64(place + a * stride)
                            gains[U(length)] = counts * floats[played + a]
                            length += 1
                    else:
                        for a in range(num_actions):
                            average[place + a * stride] += number(counts * floats[played + a])
                drawn = draw_unit(key, counter)
                counter += one
                a, last = U(0), num_actions - one
                while a < last and drawn >= floats[played + a]:
                    drawn -= floats[played + a]
                    a += one
                # Rounding may leave a rest for an action that is never played.
                while floats[played + a] == 0.0:
                    a -= one
                node = child + a
                continue
            frame = depth * frame_width
            floats[here + U(WEIGHT)] = weight
            floats[here + U(REACH)] = reach
            floats[here + U(OFTEN)] = often
            floats[here + U(VALUE)] = 0.0
            frames[frame + U(FRAME_CHILD)] = np.int64(child)
            frames[frame + U(FRAME_ACTIONS)] = np.int64(num_actions)
            frames[frame + U(FRAME_PLACE)] = np.int64(place)
            frames[frame + U(FRAME_STRIDE)] = np.int64(stride)
            frames[frame + U(FRAME_OWN)] = 1 if is_own else 0
            depth += one
            if sampling == OUTCOME:
                even = settings.exploration / np.float64(num_actions)
                drawn = draw_unit(key, counter)
                counter += one
                a, last = U(0), num_actions - one
                chance = even + (1.0 - settings.exploration) * floats[played]
                while a < last and drawn >= chance:
                    drawn -= chance
                    a += one
                    chance = even + (1.0 - settings.exploration) * floats[played + a]
                frames[frame + U(FRAME_ACTION)] = np.int64(a)
                floats[here + U(ACTION_CHANCE)] = chance
                for b in range(num_actions):
                    floats[played + room + b] = 0.0
                weight /= chance
                node = child + a
                continue
            a = U(0)
            if prunes:
                low = played + U(2) * room
                for b in range(num_actions):
                    is_low = is_own and has_positive and own[place + b * stride] < settings.prune_below
                    floats[low + b] = 1.0 if is_low else 0.0
                if not explores:
                    while floats[low + a] > 0.0:
                        a += one  # some regret is positive
                if floats[low + a] > 0.0:
                    weight *= often
                    often = 1.0
            frames[frame + U(FRAME_ACTION)] = np.int64(a)
            node = child + a
            if is_own:
                reach *= floats[played + a]
            else:
                weight *= floats[played + a]
        # Up until an action is left to be walked.
        goes_down = False
        while depth > 0 and not goes_down:
            frame, here = (depth - one) * frame_width, (depth - one) * width
            played = here + U(NUM_FLOATS)
            values, low = played + room, played + U(2) * room
            a, num_actions = U(frames[frame + U(FRAME_ACTION)]), U(frames[frame + U(FRAME_ACTIONS)])
            is_own = frames[frame + U(FRAME_OWN)] == 1
            if sampling == OUTCOME:
                value /= floats[here + U(ACTION_CHANCE)]
                floats[values + a] = value
                value *= floats[played + a]
            else:
                floats[values + a] = value
                value = floats[here + U(VALUE)] + floats[played + a] * value
                a += one
                if prunes and not explores:
                    while a < num_actions and floats[low + a] > 0.0:
                        a += one
                if a < num_actions:
                    floats[here + U(VALUE)] = value
                    frames[frame + U(FRAME_ACTION)] = np.int64(a)
                    node = U(frames[frame + U(FRAME_CHILD)]) + a
                    weight, reach = floats[here + U(WEIGHT)], floats[here + U(REACH)]
                    often = floats[here + U(OFTEN)]
                    if is_own:
                        reach *= floats[played + a]
                        if prunes and floats[low + a] > 0.0:
                            weight *= often
                            often = 1.0
                    else:
                        weight *= floats[played + a]
                    goes_down = True
                    continue
            depth -= one
            if not is_own:
                continue
            place, stride = U(frames[frame + U(FRAME_PLACE)]), U(frames[frame + U(FRAME_STRIDE)])
            counts = floats[here + U(WEIGHT)] * regret_weight
            if gathers and length + 2 * np.int64(num_actions) > len(slots):
                return IS_FULL, visits
            if counts != 0.0:
                for b in range(num_actions):
                    gain = counts * (floats[values + b] - value)
                    if prunes and floats[low + b] > 0.0:
                        if not explores:
                            continue
                        gain *= floats[here + U(OFTEN)]
                    k = place + b * stride
                    if gathers:
                        slots[U(length)] = np.int64(k)
                        gains[U(length)] = gain
                        length += 1
                    else:
                        new = own[k] + number(gain)
                        own[k] = floor if has_floor and new < floor else new
            counts = floats[here + U(REACH)] * average_weight
            if sampling == CHANCE_SAMPLING and counts != 0.0:
                for b in range(num_actions):
                    gain = counts * floats[played + b]
                    k = place + b * stride
                    if gathers:
                        slots[U(length)] = ~np.int64(k)
                        gains[U(length)] = gain
                        length += 1
                    else:
                        average[k] += number(gain)
        if not goes_down:
            return length, visits


@kernel()
def add_journal(
    slots,  # IN   int64[J]
    gains,  # IN   float64[J]
    length,  # IN   int64
    regret,  # INOUT float[slots]
    average,  # INOUT float[slots]
):
    """Add what was gathered, in its order."""
    number = regret.dtype.type
    for j in range(U(length)):
        slot = slots[j]
        if slot >= 0:
            regret[U(slot)] += number(gains[j])
        else:
            average[U(~slot)] += number(gains[j])


@kernel()
def raise_to_floor(
    slots,  # IN   int64[J]
    length,  # IN   int64
    floor,  # IN   float64  -inf for none
    regret,  # INOUT float[slots]
):
    """Raise the regrets that were gathered for to the floor."""
    if floor > -np.inf:
        least = regret.dtype.type(floor)
        for j in range(U(length)):
            slot = slots[j]
            if slot >= 0 and regret[U(slot)] < least:
                regret[U(slot)] = least


@kernel()
def walk_deals(
    settings,  # IN   Settings
    player,  # IN   int64
    first,  # IN   int64  deals of the batch
    last,  # IN   int64
    weights,  # IN   float64[2]  of regrets and of averages
    tree,  # IN   DealArrays
    batch,  # IN   DealBatch
    regret,  # IN   [player] float[slots]
    average,  # IN   [player] float[slots]
    slots,  # OUT  int64[J]
    gains,  # OUT  float64[J]
    length,  # IN   int64  of the journal
    frames,  # TMP
    floats,  # TMP
):
    """Gather the gains of some deals; return the first that was not walked, the length and the visits."""
    averaged = player if settings.sampling == CHANCE_SAMPLING else 1 - player
    total = 0
    for deal in range(first, last):
        found, visits = walk_deal(
            settings,
            player,
            batch.keys[deal],
            weights[0],
            weights[1],
            tree.nodes,
            tree.payoffs[player],
            batch.rows[deal],
            batch.outcomes[deal],
            regret[player],
            regret[1 - player],
            average[averaged],
            True,
            slots,
            gains,
            length,
            frames,
            floats,
            U(tree.room),
        )
        if found == IS_FULL:
            return deal, length, total
        length = found
        total += visits
    return last, length, total


@kernel()
def learn(
    settings,  # IN   Settings
    position,  # INOUT int64[4]  iteration, player, deal, journal's length: where to go on
    num_deals,  # IN   int64  of a player in an iteration
    weights,  # IN   float64[I, 2]  of regrets and of averages in each iteration
    tree,  # IN   DealArrays
    batch,  # IN   DealBatch  [iteration][player][deal]
    regret,  # INOUT [player] float[slots]
    average,  # INOUT [player] float[slots]
    slots,  # OUT  int64[J]
    gains,  # OUT  float64[J]
    frames,  # TMP
    floats,  # TMP
):
    """Do iterations, until they are done or the journal is full; return the decisions visited.

    With one deal at a time tables change as they are walked: a deal visits no slot twice.
    """
    gathers = num_deals > 1
    total = 0
    for i in range(position[0], len(weights)):
        for player in range(position[1], 2):
            averaged = player if settings.sampling == CHANCE_SAMPLING else 1 - player
            length = position[3]
            for lane in range(position[2], num_deals):
                deal = (i * 2 + player) * num_deals + lane
                found, visits = walk_deal(
                    settings,
                    player,
                    batch.keys[deal],
                    weights[i, 0],
                    weights[i, 1],
                    tree.nodes,
                    tree.payoffs[player],
                    batch.rows[deal],
                    batch.outcomes[deal],
                    regret[player],
                    regret[1 - player],
                    average[averaged],
                    gathers,
                    slots,
                    gains,
                    length,
                    frames,
                    floats,
                    U(tree.room),
                )
                if found == IS_FULL:
                    position[0], position[1], position[2], position[3] = i, player, lane, length
                    return total
                length = found
                total += visits
            if gathers:
                add_journal(slots, gains, length, regret[player], average[averaged])
                raise_to_floor(slots, length, settings.regret_floor, regret[player])
            position[2], position[3] = 0, 0
        position[1] = 0
    position[0] = len(weights)
    return total
