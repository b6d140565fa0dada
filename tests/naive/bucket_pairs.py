"""How often buckets meet, deal by deal."""

from itertools import permutations

import numpy as np

from errai.abstraction.protocol import CardAbstraction
from errai.cards.evaluator import evaluate, evaluate_three_card
from errai.games.rules import PokerRules, Showdown


def bucket_pairs(rules: PokerRules, abstraction: CardAbstraction) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely buckets of the last round meet, and how likely position 0 wins less position 1."""
    hole, last = rules.num_hole_cards, rules.num_rounds - 1
    sizes = [abstraction.num_buckets(last, q) for q in (0, 1)]
    together, ahead = np.zeros(sizes), np.zeros(sizes)
    rank = evaluate if rules.showdown is Showdown.POKER else evaluate_three_card
    deals = 0
    for dealt in permutations(rules.deck.cards, 2 * hole + sum(rules.num_board_cards)):
        board = dealt[2 * hole :]
        hands = [np.array([[*dealt[q * hole : (q + 1) * hole], *board]], dtype=np.uint8) for q in (0, 1)]
        rows = tuple(int(abstraction.buckets(hands[q], last, q)[0]) for q in (0, 1))
        together[rows] += 1
        ahead[rows] += np.sign(int(rank(hands[0])[0]) - int(rank(hands[1])[0]))
        deals += 1
    return together / deals, ahead / deals
