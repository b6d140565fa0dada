"""Slow, obvious twins of hand indexing and canonical boards: try every renaming and keep the smallest."""

from collections.abc import Sequence
from itertools import combinations, permutations, product

from errai.cards.deck import SUITS, Deck


def split_rounds(cards, cards_per_round):
    """Cut a deal into its rounds, each sorted."""
    rounds, begin = [], 0
    for count in cards_per_round:
        rounds.append(tuple(sorted(int(card) for card in cards[begin : begin + count])))
        begin += count
    return tuple(rounds)


def suit_renamings(deck: Deck):
    """Return every permutation of the deck's suits as a dictionary."""
    suits = [SUITS.index(letter) for letter in deck.suits]
    return [dict(zip(suits, image, strict=True)) for image in permutations(suits)]


def renamed(rounds, renaming):
    """Rename the suits of a deal that is cut into rounds."""
    return tuple(tuple(sorted(card // 4 * 4 + renaming[card % 4] for card in part)) for part in rounds)


def canonical_deal(cards, cards_per_round, deck: Deck):
    """Return the smallest deal, as sorted rounds, among all renamings of the suits."""
    rounds = split_rounds(cards, cards_per_round)
    return min(renamed(rounds, renaming) for renaming in suit_renamings(deck))


def orbit(cards, cards_per_round, deck: Deck):
    """Return all deals, as sorted rounds, that differ by a renaming of the suits."""
    rounds = split_rounds(cards, cards_per_round)
    return {renamed(rounds, renaming) for renaming in suit_renamings(deck)}


def canonical_ranks(cards, cards_per_round, deck: Deck):
    """Return the smallest deal when the suits of each rank are renamed on their own."""
    rounds = split_rounds(cards, cards_per_round)
    unused = {card // 4: [c for c in deck.cards if c // 4 == card // 4] for card in deck.cards}
    return tuple(tuple(unused[card // 4].pop(0) for card in part) for part in rounds)


def all_deals(cards_per_round, deck: Deck):
    """Yield every deal once: rounds in order, cards inside a round ascending."""
    if not cards_per_round:
        yield ()
        return
    for earlier in all_deals(cards_per_round[:-1], deck):
        left = [card for card in deck.cards if card not in earlier]
        for last in combinations(left, cards_per_round[-1]):
            yield (*earlier, *last)


def rank_renamings(deck: Deck):
    """Yield every renaming of cards that permutes the suits of each rank on its own, as dictionaries."""
    suits = [SUITS.index(letter) for letter in deck.suits]
    ranks = sorted({card // 4 for card in deck.cards})
    for images in product(permutations(suits), repeat=len(ranks)):
        yield {
            rank * 4 + suit: rank * 4 + image[i]
            for rank, image in zip(ranks, images, strict=True)
            for i, suit in enumerate(suits)
        }


def open_deals(
    hands: Sequence[Sequence[int]], boards: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[int]]:
    """Every hand that shares no card with a board, followed by the board; and board * hands + hand."""
    found = [
        ([*hand, *board], j * len(hands) + number)
        for j, board in enumerate(boards)
        for number, hand in enumerate(hands)
        if not set(hand) & set(board)
    ]
    return [cards for cards, _ in found], [place for _, place in found]
