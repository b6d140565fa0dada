"""THESIS table 4.1: memory of the hybrid agent of CFR-BR in heads-up limit hold'em, by rounds of the trunk.

THESIS: Johanson, "Robust Strategies and Counter-Strategies: from Superhuman to Optimal Play" (2016), chapter
4, which says only that "isomorphic information sets that differ only by a rotation of the cards' suits" are
merged. The printed numbers are met by these assumptions, in units of 1,024:

- The trunk has one number of 4 bytes for each legal action of each information set.
- Suits are merged while nobody has seen them: a suit that has been dealt keeps its name in all later rounds.
  So the two suits of a pair in the hand are told apart after the flop, which a form that merges all it can
  does not do.
- A sub-game's best response has one byte for each decision of one player with each of the 1,326 hands, at
  every turn and river card.

Both numbers of a few kilobytes are larger in print, by 4.7% and 1.0%; what is added there is too small to be
seen in the others.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations, product
from math import comb

from errai.experiments.table import Entry, Table
from errai.games.catalogue import load_card_game
from errai.games.rules import PokerRules
from errai.tree.size import GameSize, game_size

GAME = "limit-holdem"
NUM_SUITS = 4
UNITS = ("KB", "MB", "GB", "TB")

TRUNKS = ((14.52, "KB"), (936.33, "MB"), (359.54, "GB"), (140.26, "TB"))
"""By rounds of the trunk; all four are the whole game."""

SUBGAMES = ((1.18, "GB"), (2.74, "MB"), (6.54, "KB"))
"""Below trunks of 1, 2 and 3 rounds."""

KEPT = "dealt suits keep their names"
CANONICAL = "all isomorphic hands merged"
TWO_NUMBERS = "all isomorphic hands merged, two numbers an action"
UNMERGED = "no hands merged"
ONE_BYTE = "a byte for each decision and hand"


def make() -> Sequence[Entry]:
    """Return the trunks under several assumptions, the best first, then the sub-games."""
    rules = load_card_game(GAME)
    size = game_size(rules)
    canonical = [one.rows or 0 for one in size.rounds]
    unmerged = [rules.num_deals(r) for r in range(rules.num_rounds)]
    entries: list[Entry] = []
    for form, rows, width in (
        (KEPT, kept_name_rows(rules.deck.num_ranks), 4),
        (CANONICAL, canonical, 4),
        (TWO_NUMBERS, canonical, 8),
        (UNMERGED, unmerged, 4),
    ):
        memory = 0
        for r, (published, unit) in enumerate(TRUNKS):
            memory += width * size.rounds[r].betting.slots * rows[r]
            entries.append(_entry(f"trunk of {_rounds(r + 1)}", form, memory, unit, published))
    for r, (published, unit) in enumerate(SUBGAMES):
        memory = subgame_bytes(rules, size, r + 1)
        entries.append(_entry(f"sub-game below {_rounds(r + 1)}", ONE_BYTE, memory, unit, published))
    return entries


def _rounds(number: int) -> str:
    return f"{number} round{'s' if number > 1 else ''}"


def _entry(row: str, form: str, memory: int, unit: str, published: float) -> Entry:
    return Entry(row, form, memory, memory / 1024 ** (UNITS.index(unit) + 1), unit, published)


def kept_name_rows(num_ranks: int) -> tuple[int, ...]:
    """Return the hands of hold'em's four rounds, where suits keep their names once they are dealt.

    Args:
        num_ranks: of the deck, with four suits.
    """
    pairs, others = num_ranks, comb(num_ranks, 2)
    hands = ((pairs, ((0, 0), (0, 1))), (others, ((0, 0), (1, 0))), (others, ((0, 0), (1, 1))))
    by_suits = Counter[int]()  # forms by the number of suits that have been dealt
    for number, hand in hands:
        for suits, forms in _flops(hand, num_ranks).items():
            by_suits[suits] += number * forms
    rounds = [pairs + 2 * others, by_suits.total()]
    for num_dealt in (5, 6):
        following = Counter[int]()
        for suits, forms in by_suits.items():
            following[suits] += forms * (num_ranks * suits - num_dealt)
            if suits < NUM_SUITS:  # the suits that nobody has seen are alike
                following[suits + 1] += forms * num_ranks
        by_suits = following
        rounds.append(by_suits.total())
    return tuple(rounds)


def _flops(hand: tuple[tuple[int, int], ...], num_ranks: int) -> Counter[int]:
    """Return the flops that a hand (rank, suit) can tell apart, by the number of suits dealt."""
    dealt = {suit for _, suit in hand}
    unseen = [suit for suit in range(NUM_SUITS) if suit not in dealt]
    names = [dict(zip(unseen, order, strict=True)) for order in permutations(unseen)]
    cards = [card for card in product(range(num_ranks), range(NUM_SUITS)) if card not in hand]
    forms = {
        min(tuple(sorted((rank, name.get(suit, suit)) for rank, suit in flop)) for name in names)
        for flop in combinations(cards, 3)
    }
    return Counter(len(dealt | {suit for _, suit in form}) for form in forms)


def subgame_bytes(rules: PokerRules, size: GameSize, first_round: int) -> int:
    """Return the bytes of a pure strategy of one player below one entry, with one board in `first_round`."""
    total, boards = 0, 1
    before = size.rounds[first_round - 1].betting.continuing
    num_seen = sum(rules.num_board_cards[: first_round + 1])
    for r in range(first_round, rules.num_rounds):
        total += boards * size.rounds[r].betting.decisions // before // 2
        boards *= rules.deck.size - num_seen
        num_seen += 1
    return total * rules.num_deals(0)


TABLE = Table("memory of CFR-BR's hybrid agent in heads-up limit hold'em", make)
