"""What a hierarchical public abstraction takes, known before anything of it is computed.

Boards are clustered by all their distances, so memory grows with the square of their number: 59 MB for the
flops of hold'em, far more than a machine has for its turns. After that each thread holds the hands of one
cluster at a time, and the tables of all clusters stay in memory until the end.
"""

from math import ceil, comb

from errai.abstraction.clustering.kmeans import bytes_to_train
from errai.abstraction.features.features import NUM_BINS, FeaturePlan
from errai.abstraction.public.build import BOARDS_A_SWEEP, SAMPLE_BOARDS, SAMPLE_ROWS_PER_BUCKET
from errai.games.deals import Deals

# Differences, the distances made of them, those inside clusters, and which boards share one.
BYTES_A_PAIR_OF_BOARDS = 2 + 8 + 8 + 1
# Counts of hands, board by board and then in one table.
BYTES_A_BOARD_AND_BUCKET = 2 + 2
# The class of a hand on a board and whether it is open; what telling the open ones apart takes besides.
BYTES_A_PLACE = 8 + 1
BYTES_TO_TELL_HANDS_APART = 8 + 8 + 8 + 8 + 8 + 8 + 1
BYTES_TO_NUMBER_ROWS = 8 + 8 + 8 + 8 + 8 + 4 + 1
# Strength, its square and whether it is kept, and the random numbers of a sample and their order.
BYTES_A_HAND_SWEPT = 4 + 2 + 1 + 8 + 8 + 8

LARGEST_CLUSTER = 4
"""The most boards of a cluster, in multiples of their mean: 2.7 was seen on the flops of hold'em."""


def table_bytes(
    plan: FeaturePlan, special_round: int, num_clusters: int, buckets: tuple[int, ...]
) -> tuple[int, ...]:
    """Return how large the tables of each round from the special one on will be, of all clusters together.

    Args:
        plan: of the features.
        special_round: the round whose boards are clustered.
        num_clusters: of public boards.
        buckets: of a cluster in each of these rounds.
    """
    rules = plan.rules
    num_hands = Deals(rules).num_boards(special_round) * rules.num_hands()
    later = [2 * num_hands * rules.deck.size] * (plan.last_round - special_round - 1)
    before_last = [2 * num_hands, *later] if special_round < plan.last_round else []
    return *before_last, 2 * num_clusters * buckets[-1] * plan.num_clusters


def memory_needed(
    plan: FeaturePlan,
    special_round: int,
    num_clusters: int,
    buckets: tuple[int, ...],
    num_base_buckets: int,
    num_threads: int,
) -> int:
    """Return about how many bytes of memory a build takes at most, features aside, which are mapped.

    Args:
        plan: of the features.
        special_round: the round whose boards are clustered.
        num_clusters: of public boards.
        buckets: of a cluster in each round from the special one on.
        num_base_buckets: of the base in the special round.
        num_threads: clusters that are built at a time.
    """
    num_boards = Deals(plan.rules).num_boards(special_round)
    to_cluster = num_boards * (
        BYTES_A_PAIR_OF_BOARDS * num_boards + BYTES_A_BOARD_AND_BUCKET * num_base_buckets
    )
    largest = min(num_boards - num_clusters + 1, LARGEST_CLUSTER * ceil(num_boards / num_clusters))
    of_rounds = [
        _table_working_bytes(plan, special_round, r, buckets[r - special_round], largest)
        for r in range(special_round, plan.last_round)
    ]
    of_a_cluster = max(*of_rounds, _centres_working_bytes(plan, special_round, buckets[-1], largest), 0)
    in_all = sum(table_bytes(plan, special_round, num_clusters, buckets))
    return max(to_cluster, in_all + min(num_threads, num_clusters) * of_a_cluster)


def _table_working_bytes(
    plan: FeaturePlan, special_round: int, r: int, num_buckets: int, num_boards: int
) -> int:
    """Return what one cluster takes in a round before the last."""
    rules = plan.rules
    num_dealt = rules.num_board_cards_by(r)
    num_after = num_boards * (1 if r == special_round else rules.deck.size - num_dealt + 1)
    num_open = num_after * comb(rules.deck.size - num_dealt, rules.num_hole_cards)
    num_places = num_boards * rules.num_hands() * (1 if r == special_round else rules.deck.size)
    num_classes = min(num_open, plan.classes.size(r))
    num_buckets = min(num_buckets, num_classes)
    num_trained = min(SAMPLE_ROWS_PER_BUCKET * num_buckets, num_classes)
    # The class of each hand; numbers, weights and labels of the classes; the list that a sample is drawn of.
    to_cluster = 8 * num_open + (8 + 8 + 4 + 8) * num_classes
    to_cluster += bytes_to_train(NUM_BINS, num_trained, num_buckets, 1)
    return BYTES_A_PLACE * num_places + max(BYTES_TO_TELL_HANDS_APART * num_open, to_cluster)


def _centres_working_bytes(plan: FeaturePlan, special_round: int, num_buckets: int, num_boards: int) -> int:
    """Return what one cluster takes in the last round."""
    rules, width = plan.rules, 2 * plan.num_clusters
    num_dealt, num_in_all = (rules.num_board_cards_by(r) for r in (special_round, plan.last_round))
    num_open = comb(rules.deck.size - num_in_all, rules.num_hole_cards)
    ends_a_board = comb(rules.deck.size - num_dealt, num_in_all - num_dealt)
    # All hands of all ends, in clusters of so few boards that no sample is drawn; else a sample of both.
    num_whole = min(num_boards, SAMPLE_BOARDS // ends_a_board)
    num_rows = num_whole * ends_a_board * num_open
    if num_boards > num_whole:
        num_kept = max(1, ceil(SAMPLE_ROWS_PER_BUCKET * num_buckets / SAMPLE_BOARDS))
        num_rows = max(num_rows, SAMPLE_BOARDS * min(num_kept, num_open))
    swept = BOARDS_A_SWEEP * rules.num_hands() * (BYTES_A_HAND_SWEPT + width)
    # Rows in parts, in one piece and sorted, the weight of each and its number.
    told_apart = num_rows * (4 * width + BYTES_TO_NUMBER_ROWS)
    trained = bytes_to_train(plan.num_clusters, num_rows, min(num_buckets, num_rows), 1)
    return swept + max(told_apart, num_rows * (3 * width + 16) + trained)
