"""Exact counts of the betting of heads-up no-limit games with every size of bet.

The tree of the ACPC's game has more than 10^150 betting sequences on the river and cannot be walked.
But inside a round the raises are increments that never shrink, except for a last one that goes all-in.
So raise sequences that lift the bet by T chips are partitions of T into parts of at least one big blind, and
rounds chain by convolution over the level at which they start. Python's integers keep it exact.

Steps:
1. p[K][T]: partitions of T into at most K parts, each at least the big blind. K is the number of
   raises that fit into the dealer's limit of actions a round (one fewer after an opening check).
2. A round that starts with R chips behind: A = sum of p[T] over T < R raise sequences short of
   all-in, each a decision; each may be followed by going all-in, again a decision. An opening check
   gives a second copy of everything.
3. Sequences that continue at level T: p[T] for both copies, except that checking it through is one.
4. Rounds: convolve step 3's counts. Long decimals multiply in O(n log n), long integers do not.

The number of such sequences without the limit of actions is what Johanson, "Measuring the Size of
Large No-Limit Poker Games" (2013) counts.
"""

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import accumulate

from errai.errors import UsageError
from errai.games.rules import MAX_ACTIONS_A_ROUND, PokerRules
from errai.tree.betting_tree import RoundCount

MAX_CHIPS_BEHIND = 100_000
"""Time and memory grow a little faster than the chips: the ACPC's 20,000 take a second or two."""


def has_closed_form(rules: PokerRules) -> bool:
    """Return whether the counts below hold: heads-up, no-limit, equal stacks, raises without a cap."""
    return (
        not rules.is_limit
        and rules.num_players == 2
        and rules.stacks is not None
        and rules.stacks[0] == rules.stacks[1]
        and min(rules.max_raises) >= MAX_ACTIONS_A_ROUND
    )


def count_nolimit_rounds(rules: PokerRules, max_actions: int = MAX_ACTIONS_A_ROUND) -> tuple[RoundCount, ...]:
    """Return the betting nodes of each round with every legal size as a branch."""
    assert rules.stacks is not None
    behind = rules.stacks[0] - rules.big_blind  # chips above the level at which the first round starts
    if behind > MAX_CHIPS_BEHIND:
        raise UsageError(
            f"stacks of {rules.stacks[0]:,} chips in '{rules.name}' are too large to count every bet size: "
            f"give a menu of bet sizes (--bets), or at most {MAX_CHIPS_BEHIND:,} chips above the big blind"
        )
    if max_actions < 2:
        raise UsageError(f"the limit of actions a round must be 2 or more, not {max_actions}")
    # The last of a round's actions answers a raise; an opening check takes one more from the raises.
    most = max_actions - 1
    one_less, after_check, plain = _partitions(behind, rules.big_blind, (most - 2, most - 1, most))

    # [R]: with R chips behind, decisions short of all-in, ways to go all-in, calls that are not all-in.
    short = _sums_below([a + b for a, b in zip(plain, after_check, strict=True)])
    jams = _sums_below([a + b for a, b in zip(after_check, one_less, strict=True)])
    continuing = [1] + [a + b for a, b in zip(plain[1:behind], after_check[1:behind], strict=True)]
    calls = _sums_below(continuing)

    result: list[RoundCount] = []
    starts = [1] + [0] * (behind - 1)  # betting sequences that start the round so many chips up
    all_in_before = 0
    for r in range(rules.num_rounds):
        last = r == rules.num_rounds - 1
        all_in_calls = _total(starts, jams)
        decisions = _total(starts, short) + all_in_calls
        facing_a_bet = decisions - 2 * sum(starts)  # all but the opening decision and the one after a check
        # The smaller blind may fold before any raise: at the root or, acting second, after a check.
        blind_folds = int(r == 0 and min(rules.blinds) < rules.big_blind)
        ending = _total(starts, calls) + all_in_calls + all_in_before
        result.append(
            RoundCount(
                decisions=decisions,
                continuing=0 if last else ending,
                folds=facing_a_bet + blind_folds,
                showdowns=ending if last else 0,
                # Every decision may call; one that faces a bet may fold, and some raise led to it.
                slots=decisions + 2 * facing_a_bet + blind_folds,
            )
        )
        all_in_before += all_in_calls
        if not last:
            starts = _convolve(starts, continuing)
    return tuple(result)


def _partitions(total: int, least_part: int, max_parts: Sequence[int]) -> list[list[int]]:
    """Return, for each ascending cap K, the partitions of T <= total into at most K parts >= least_part."""
    counts = [1] + [0] * total
    spread = [1] + [0] * total  # partitions of n into at most k parts, k growing
    result = [[0] * (total + 1) for most in max_parts if most < 0]
    if 0 in max_parts:
        result.append(counts.copy())
    for k in range(1, max_parts[-1] + 1):
        room = total - k * least_part  # what k parts of the least size leave to share out
        for n in range(k, room + 1):
            spread[n] += spread[n - k]
        for n in range(room + 1):
            counts[k * least_part + n] += spread[n]
        if k in max_parts:
            result.append(counts.copy())
    return result


def _sums_below(values: list[int]) -> list[int]:
    """Return [R] the sum of the values before R."""
    return [0, *accumulate(values)]


def _total(starts: list[int], by_room: list[int]) -> int:
    """Add up a quantity that depends on the chips behind over all starts of a round."""
    behind = len(starts)
    return sum(times * by_room[behind - level] for level, times in enumerate(starts) if times)


def _convolve(a: list[int], b: list[int]) -> list[int]:
    """Return the first len(a) coefficients of a product of polynomials, none of them negative."""
    length = len(a)
    width = len(str(max(a))) + len(str(max(b))) + len(str(length))
    context = Context(prec=2 * width * length, Emax=MAX_EMAX, Emin=MIN_EMIN)
    packed = (Decimal("".join(f"{value:0{width}d}" for value in reversed(values))) for values in (a, b))
    digits = f"{context.multiply(*packed):0{2 * width * length}f}"
    return [int(digits[len(digits) - (i + 1) * width : len(digits) - i * width]) for i in range(length)]
