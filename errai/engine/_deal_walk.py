"""The kernel that walks the betting of one deal: the scalar walk.

One loop with a stack of frames. On the way down goes a *weight*, which a gain must be multiplied by: how
likely the opponent gets there by its own choices, where these are not sampled. On the way back comes the
expected value of what is below for the walked player. The variants differ in what a player does at its
decisions:

- it enumerates its actions: the value is the mean of theirs by what is played, and the opponent's choices
  multiply the weight (both players in chance sampling, the walked player in external sampling);
- it samples one action as it is played: the value is that action's, and nothing is multiplied (the opponent
  in external and outcome sampling);
- it samples one action with some exploration: the value and the weight are divided by its chance
  (the walked player in outcome sampling).

A decision of the walked player gains `weight * (value of the action - value of the decision)`, one of the
opponent adds `weight` times what it plays there to its average. So where the opponent never gets, nothing is
gained, and nothing is walked.
"""

import numpy as np

from errai.engine._deals import CHOICES, FIRST, STRIDE
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

WEIGHT, OFTEN, VALUE, ACTION_CHANCE = range(4)
"""Columns of the stack's floats; then come, for each action, how likely it is, its value, and, where low
regrets are pruned, how often what is gained there counts: 0 where it is left out. OFTEN is how often it
counts where it is not."""

NUM_FLOATS = 4


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
    position,  # INOUT int64[2]  the next deal of the batch to walk, and the length of the journal
    last,  # IN   int64  one past the last deal to walk
    num_deals,  # IN   int64  of a player in an iteration
    chance,  # IN   None or bool  given for chance sampling
    outcome_alone,  # IN   None or bool  given for outcome sampling; neither for external sampling
    extras,  # IN   None or Extras  given where there is a journal, or pruning
    weights,  # IN   float64[I, 2]  of regrets and of averages in each iteration
    tree,  # IN   DealArrays
    batch,  # IN   DealBatch  [iteration][player][deal]
    regret,  # INOUT [player] float[slots]
    average,  # INOUT [player] float[slots]
    slots,  # OUT  int64[J]  journal: the slot of a regret, or ~slot of an average
    gains,  # OUT  float64[J]
    frames,  # TMP  int64[depth * FRAME_WIDTH]
    floats,  # TMP  float64[depth * width]
):
    """Walk deals, each for the player that it was dealt for; return the decisions visited.

    It ends early where the journal has no room for the gains of the next deal. Without a journal, tables
    change as they are walked: a deal visits no slot twice.

    Arrays have one axis and are named one by one, and nothing here is a function of its own: a view, an array
    that is chosen by an index, or a call with arrays takes longer than what is done with them.
    """
    one, two = U(1), U(2)
    regret_0, regret_1, average_0, average_1 = regret[0], regret[1], average[0], average[1]
    nodes, payoffs, rows, outcomes, keys = tree.nodes, tree.payoffs, batch.rows, batch.outcomes, batch.keys
    row_width, outcome_width = U(len(rows)) // U(len(keys)), U(len(outcomes)) // U(len(keys))
    num_payoffs, room = U(len(payoffs)) // U(2), U(tree.room)
    node_width, frame_width, width = U(NODE_WIDTH), U(FRAME_WIDTH), U(NUM_FLOATS) + U(3) * room
    number = regret_0.dtype.type
    floor, exploration = number(settings.regret_floor), settings.exploration
    # What is None is known when this is compiled, so each variant has machine code of its own.
    is_chance, is_outcome, gathers, applies, prunes = False, False, False, False, False
    prune_below, prune_probability = 0.0, 0.0
    if chance is not None:
        is_chance = True
    if outcome_alone is not None:
        is_outcome = True
    if extras is not None:
        gathers, applies, prunes = extras.gathers, extras.applies, extras.prunes
        prune_below, prune_probability = settings.prune_below, settings.prune_probability
    visits = 0
    length = position[1]
    # Threads must not write to neighbouring places of memory all the time, so this is written at the end.
    whole_deals, whole_length = position[0], length
    # Counted on from deal to deal: divisions take as long as some decisions.
    lane = position[0] % num_deals
    player = position[0] // num_deals % 2
    i = position[0] // (2 * num_deals)
    for deal in range(position[0], last):
        regret_weight, average_weight = weights[i, 0], weights[i, 1]
        key = keys[deal]
        row_begin, outcome_begin = U(deal) * row_width, U(deal) * outcome_width
        payoff_begin = U(player) * num_payoffs
        counter = CHOICES
        # How often what is below an action of low regret counts; once where one is on the way already.
        often = 1.0
        if prunes:
            often = 0.0
            if draw_unit(key, counter) >= prune_probability:
                often = 1.0 / (1.0 - prune_probability)
            counter += one
        depth, node = U(0), U(0)
        weight, value = 1.0, 0.0
        is_walked = False
        while not is_walked:
            # Down to a leaf.
            while True:
                at = node * node_width
                kind = nodes[at + U(KIND)]
                if kind == CHANCE:
                    node = U(nodes[at + U(CHILD)])
                    continue
                if kind != DECISION:
                    outcome = U(outcomes[outcome_begin + U(nodes[at + U(CHILD)])])
                    value = payoffs[payoff_begin + U(nodes[at + U(SLOT)]) + outcome]
                    break
                if weight == 0.0:
                    value = 0.0  # nothing below is gained, averaged, or counted in a value above
                    break
                visits += 1
                num_actions = U(nodes[at + U(ACTIONS)])
                child = U(nodes[at + U(CHILD)])
                row = row_begin + U(nodes[at + U(ROUND)])
                stride = U(rows[row + U(STRIDE)])
                place = U(rows[row + U(FIRST)]) + U(nodes[at + U(SLOT)]) * stride
                who = nodes[at + U(PLAYER)]
                is_own = who == player
                here = depth * width
                played = here + U(NUM_FLOATS)
                # Regret matching: in proportion to positive regrets, or all alike where there is none. Two or
                # three actions, the rule in limit games, go without loops, whose ends nobody can foresee; of
                # two, the third is the first once more, and counts nothing.
                is_short = num_actions == 2 or num_actions == 3
                is_third = num_actions == 3
                third = place + stride + stride if is_third else place
                total = 0.0
                if is_short:
                    if who == 0:
                        x = np.float64(regret_0[place])
                        y = np.float64(regret_0[place + stride])
                        z = np.float64(regret_0[third])
                    else:
                        x = np.float64(regret_1[place])
                        y = np.float64(regret_1[place + stride])
                        z = np.float64(regret_1[third])
                    x = x if x > 0.0 else 0.0
                    y = y if y > 0.0 else 0.0
                    z = z if is_third and z > 0.0 else 0.0
                    total = x + y + z
                    has_positive = total > 0.0
                    factor = 1.0 / (total if has_positive else np.float64(num_actions))
                    floats[played] = x * factor if has_positive else factor
                    floats[played + one] = y * factor if has_positive else factor
                    floats[played + two] = z * factor if has_positive or not is_third else factor
                else:
                    for a in range(num_actions):
                        k = place + a * stride
                        x = np.float64(regret_0[k] if who == 0 else regret_1[k])
                        x = x if x > 0.0 else 0.0
                        floats[played + a] = x
                        total += x
                    has_positive = total > 0.0
                    factor = 1.0 / (total if has_positive else np.float64(num_actions))
                    for a in range(num_actions):
                        floats[played + a] = floats[played + a] * factor if has_positive else factor
                if not is_own:
                    counts = weight * average_weight
                    if is_short and not gathers:
                        x, y, z = floats[played], floats[played + one], floats[played + two]
                        if who == 0:
                            average_0[place] += number(counts * x)
                            average_0[place + stride] += number(counts * y)
                            average_0[third] += number(counts * z)
                        else:
                            average_1[place] += number(counts * x)
                            average_1[place + stride] += number(counts * y)
                            average_1[third] += number(counts * z)
                    elif counts != 0.0:
                        if gathers and length + np.int64(num_actions) > len(slots):
                            position[0], position[1] = whole_deals, whole_length
                            return visits
                        for a in range(num_actions):
                            gain, k = counts * floats[played + a], place + a * stride
                            if gathers:
                                slots[U(length)], gains[U(length)] = ~np.int64(k), gain
                                length += 1
                            elif who == 0:
                                average_0[k] += number(gain)
                            else:
                                average_1[k] += number(gain)
                if not is_own and not is_chance:
                    drawn = draw_unit(key, counter)
                    counter += one
                    a = U(0)
                    if is_short:
                        x = floats[played]
                        a += one if drawn >= x else U(0)
                        a += one if is_third and drawn >= x + floats[played + one] else U(0)
                    else:
                        so_far = 0.0
                        for b in range(num_actions - one):
                            so_far += floats[played + b]
                            a += one if drawn >= so_far else U(0)
                    # Rounding may leave a rest for an action that is never played.
                    while floats[played + a] == 0.0:
                        a -= one
                    node = child + a
                    continue
                frame = depth * frame_width
                floats[here + U(WEIGHT)] = weight
                floats[here + U(OFTEN)] = often
                floats[here + U(VALUE)] = 0.0
                frames[frame + U(FRAME_CHILD)] = np.int64(child)
                frames[frame + U(FRAME_ACTIONS)] = np.int64(num_actions)
                frames[frame + U(FRAME_PLACE)] = np.int64(place)
                frames[frame + U(FRAME_STRIDE)] = np.int64(stride)
                frames[frame + U(FRAME_OWN)] = 1 if is_own else 0
                depth += one
                a = U(0)
                if is_outcome:
                    even = exploration / np.float64(num_actions)
                    drawn = draw_unit(key, counter)
                    counter += one
                    last = num_actions - one
                    chance = even + (1.0 - exploration) * floats[played]
                    while a < last and drawn >= chance:
                        drawn -= chance
                        a += one
                        chance = even + (1.0 - exploration) * floats[played + a]
                    floats[here + U(ACTION_CHANCE)] = chance
                    for b in range(num_actions):
                        floats[played + room + b] = 0.0
                    weight /= chance
                elif is_own:
                    if prunes:
                        counted = played + room + room
                        for b in range(num_actions):
                            k = place + b * stride
                            x = np.float64(regret_0[k] if player == 0 else regret_1[k])
                            is_low = has_positive and x < prune_below
                            floats[counted + b] = often if is_low else 1.0
                        while floats[counted + a] == 0.0:
                            a += one  # some regret is positive
                        weight *= floats[counted + a]
                        often = often if floats[counted + a] == 1.0 else 1.0
                else:
                    weight *= floats[played + a]
                frames[frame + U(FRAME_ACTION)] = np.int64(a)
                node = child + a
            # Up until an action is left to be walked.
            goes_down = False
            while depth > 0 and not goes_down:
                frame, here = (depth - one) * frame_width, (depth - one) * width
                played = here + U(NUM_FLOATS)
                values = played + room
                counted = values + room
                a, num_actions = U(frames[frame + U(FRAME_ACTION)]), U(frames[frame + U(FRAME_ACTIONS)])
                is_own = frames[frame + U(FRAME_OWN)] == 1
                if is_outcome:
                    value /= floats[here + U(ACTION_CHANCE)]
                    floats[values + a] = value
                    value *= floats[played + a]
                else:
                    child = U(frames[frame + U(FRAME_CHILD)])
                    mean = floats[here + U(VALUE)]
                    while True:
                        floats[values + a] = value
                        mean += floats[played + a] * value
                        a += one
                        if prunes and is_own:
                            while a < num_actions and floats[counted + a] == 0.0:
                                floats[values + a] = 0.0
                                a += one
                        if a == num_actions:
                            break
                        node = child + a
                        at = node * node_width
                        goes_down = nodes[at + U(KIND)] <= CHANCE
                        if goes_down:
                            break
                        outcome = U(outcomes[outcome_begin + U(nodes[at + U(CHILD)])])
                        value = payoffs[payoff_begin + U(nodes[at + U(SLOT)]) + outcome]
                    if goes_down:
                        floats[here + U(VALUE)] = mean
                        frames[frame + U(FRAME_ACTION)] = np.int64(a)
                        weight = floats[here + U(WEIGHT)]
                        often = floats[here + U(OFTEN)]
                        if not is_own:
                            weight *= floats[played + a]
                        elif prunes:
                            weight *= floats[counted + a]
                            often = often if floats[counted + a] == 1.0 else 1.0
                        continue
                    value = mean
                depth -= one
                if not is_own:
                    continue
                place, stride = U(frames[frame + U(FRAME_PLACE)]), U(frames[frame + U(FRAME_STRIDE)])
                if gathers and length + np.int64(num_actions) > len(slots):
                    position[0], position[1] = whole_deals, whole_length
                    return visits
                counts = floats[here + U(WEIGHT)] * regret_weight
                if (num_actions == 2 or num_actions == 3) and not gathers and not prunes:
                    third = place + stride + stride if num_actions == 3 else place
                    x = number(counts * (floats[values] - value))
                    y = number(counts * (floats[values + one] - value))
                    z = number(counts * (floats[values + two] - value) if num_actions == 3 else 0.0)
                    if player == 0:
                        new = regret_0[place] + x
                        regret_0[place] = floor if new < floor else new  # unlike max, it keeps what is none
                        new = regret_0[place + stride] + y
                        regret_0[place + stride] = floor if new < floor else new
                        new = regret_0[third] + z
                        regret_0[third] = floor if new < floor else new
                    else:
                        new = regret_1[place] + x
                        regret_1[place] = floor if new < floor else new
                        new = regret_1[place + stride] + y
                        regret_1[place + stride] = floor if new < floor else new
                        new = regret_1[third] + z
                        regret_1[third] = floor if new < floor else new
                elif counts != 0.0:
                    for b in range(num_actions):
                        gain, k = counts * (floats[values + b] - value), place + b * stride
                        if prunes:
                            gain *= floats[counted + b]
                        if gathers:
                            slots[U(length)], gains[U(length)] = np.int64(k), gain
                            length += 1
                        elif player == 0:
                            new = regret_0[k] + number(gain)
                            regret_0[k] = floor if new < floor else new
                        else:
                            new = regret_1[k] + number(gain)
                            regret_1[k] = floor if new < floor else new
            is_walked = not goes_down
        whole_deals, whole_length = deal + 1, length
        lane += 1
        if lane == num_deals:
            if applies:
                add_journal(slots, gains, length, regret[player], average[1 - player])
                raise_to_floor(slots, length, settings.regret_floor, regret[player])
                length, whole_length = 0, 0
            lane = 0
            i += player
            player = 1 - player
    position[0], position[1] = whole_deals, whole_length
    return visits
