"""The public tree of a spot: one hold'em sub-game from a board, two ranges, a pot and a stack.

Steps: read board and ranges, drop the hands that the board blocks; choose a unit of chips so fine that no bet
size is bent by rounding; start the betting rules in the middle of a hand, with half the pot put in
by each player; build the betting tree and the cells of every hand and run-out.

Bet sizes. `bets` are the sizes of the first bet of a round, `raises` those of every raise after it.
Sizes are joined by `,`: `50%` or `0.5p` of the pot (a raise is a call plus that part of the pot after
calling), `min` for the least legal raise, `a` for all-in, or `none` alone for no bet. Rounds are joined
by `/`, counted from the spot's own first round, and the last one given serves all later rounds; in `raises`,
`|` parts the first raise from the second and so on. A pair of texts gives each position its own.
A raise is at least as large as the one before it. A size that would leave less than `force_all_in` of
the pot after a call becomes all-in.
"""

import math
import reprlib
from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from errai.cards.deck import FULL_DECK, format_cards, parse_cards
from errai.cards.ranges import parse_range, relative_weights, remove_blocked, verify_weights
from errai.engine.public_tree import CellSource, PublicTree
from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.rules import MAX_CHIPS, UNLIMITED_RAISES, PokerRules
from errai.tree.bet_menu import BetMenu
from errai.tree.betting_tree import TreePlan
from errai.tree.cells import spot_cells

POSITIONS = ("OOP", "IP")
ROUNDS = {3: ("flop", "turn", "river"), 4: ("turn", "river"), 5: ("river",)}
"""The rounds of a spot by the number of cards on its board."""

DEFAULT_BETS = "50%, a"
DEFAULT_RAISES = "60%, a"
DEFAULT_LIMIT_RAISES = 4

UNITS_A_POT = 10**6
LEAST_UNITS_A_POT = 10**3
"""A pot has at least so many units of chips: as many as fit, so that rounding is never felt."""

Texts = str | Sequence[str]
"""One text for both positions, or one for each."""


@dataclass(frozen=True)
class SpotBetting:
    """What may be bet in a spot.

    Attributes:
        pot: chips in the middle at the start.
        stack: chips behind of each player; None in a limit spot where they cannot run out.
        bets: [position] sizes of the first bet of a round; ignored in a limit spot.
        raises: [position] sizes of later raises.
        force_all_in: a bet that would leave less than this part of the pot after a call becomes all-in.
        limit: [round] size of bets and raises in a limit spot, in chips, the last one serving all later
            rounds; empty in a no-limit spot.
        max_raises: bets and raises allowed in a round; None for no bound.
        chip: the least bet, to multiples of which bets are rounded; None leaves them as they are.
    """

    pot: Fraction
    stack: Fraction | None
    bets: tuple[str, str] = (DEFAULT_BETS, DEFAULT_BETS)
    raises: tuple[str, str] = (DEFAULT_RAISES, DEFAULT_RAISES)
    force_all_in: float = 0.0
    limit: tuple[Fraction, ...] = ()
    max_raises: int | None = None
    chip: Fraction | None = None

    @staticmethod
    def of(
        pot: float,
        stack: float | None,
        bets: Texts | None = None,
        raises: Texts | None = None,
        force_all_in: float = 0.0,
        limit: float | Sequence[float] | None = None,
        max_raises: int | None = None,
        chip: float | None = None,
    ) -> "SpotBetting":
        """Check what a user gives, and fill in what is left out."""
        if limit is not None and (bets is not None or raises is not None):
            raise UsageError("a limit spot has one bet size: 'bets' and 'raises' go with no-limit spots only")
        if limit is None and stack is None:
            raise UsageError("the stack is missing: a no-limit spot needs the chips behind")
        if max_raises is not None and not 0 <= max_raises < UNLIMITED_RAISES:
            raise UsageError(f"the raises of a round must be 0 to {UNLIMITED_RAISES - 1}, not {max_raises}")
        if chip is not None and stack is not None and chip > stack:
            raise UsageError(f"the smallest chip must be at most the stack of {stack}, not {chip}")
        sizes = [] if limit is None else list(limit) if isinstance(limit, Sequence) else [limit]
        if limit is not None and not sizes:
            raise UsageError("the limit has no bet size: expected one for all rounds, or one for each")
        return SpotBetting(
            pot=_positive(pot, "pot"),
            stack=None if stack is None else _positive(stack, "stack"),
            bets=_pair(DEFAULT_BETS if bets is None else bets, "bets"),
            raises=_pair(DEFAULT_RAISES if raises is None else raises, "raises"),
            force_all_in=force_all_in,
            limit=tuple(_positive(size, "limit bet") for size in sizes),
            max_raises=DEFAULT_LIMIT_RAISES if limit is not None and max_raises is None else max_raises,
            chip=None if chip is None else _positive(chip, "smallest chip"),
        )

    @property
    def unit(self) -> Fraction:
        """Chips of one unit of the tree's whole numbers: a power of ten."""
        deepest = self.pot + (self.stack or 1000 * max(self.limit, default=Fraction(0)))
        unit = Fraction(10) ** (math.floor(math.log10(self.pot)) - round(math.log10(UNITS_A_POT)))
        while deepest / unit > MAX_CHIPS // 2:
            unit *= 10
        if self.pot / unit < LEAST_UNITS_A_POT:
            raise UsageError(
                f"a stack of {_text(deepest - self.pot)} is too deep for a pot of {_text(self.pot)}: "
                f"expected at most {MAX_CHIPS // LEAST_UNITS_A_POT // 20:,} pots"
            )
        return unit

    def units(self, chips: Fraction) -> int:
        """Return chips in units, rounded."""
        return max(1, round(chips / self.unit))

    def rules(self, num_board_cards: int) -> PokerRules:
        """Return the rules of the sub-game, whose first round deals the whole board."""
        num_rounds = len(ROUNDS[num_board_cards])
        cap = UNLIMITED_RAISES if self.max_raises is None else self.max_raises
        half = self.units(self.pot / 2)
        limits = [self.limit[min(r, len(self.limit) - 1)] for r in range(num_rounds)] if self.limit else None
        return PokerRules(
            name="spot",
            deck=FULL_DECK,
            num_hole_cards=2,
            num_board_cards=(num_board_cards, *(1,) * (num_rounds - 1)),
            # The least bet. What lies in the pot was put in before the spot begins.
            blinds=(self._least_bet, self._least_bet),
            raise_sizes=None if limits is None else tuple(self.units(size) for size in limits),
            max_raises=(cap,) * num_rounds,
            first_player=(0,) * num_rounds,
            stacks=None if self.stack is None else (half + self.units(self.stack),) * 2,
        )

    def menu(self) -> BetMenu | None:
        """Return the bet sizes; None in a limit spot."""
        if self.limit:
            return None
        menus = [self._menu(bets, raises) for bets, raises in zip(self.bets, self.raises, strict=True)]
        return menus[0] if menus[0] == menus[1] else replace(menus[0], by_position=tuple(menus))

    def _menu(self, bets: str, raises: str) -> BetMenu:
        if "|" in bets:
            raise UsageError(
                f"'{bets}' is not a menu of first bets: '|' separates a round's first raise from its second, "
                "among raises only"
            )
        first, later = BetMenu.parse(bets, force_all_in=self.force_all_in), BetMenu.parse(raises)
        num_rounds = max(len(first.sizes), len(later.sizes))
        sizes = tuple(
            (
                first.sizes[min(r, len(first.sizes) - 1)][0],
                *later.sizes[min(r, len(later.sizes) - 1)],
            )
            for r in range(num_rounds)
        )
        return replace(first, sizes=sizes, text=f"{bets}; raises {raises}", chip=self._least_bet)

    @property
    def _least_bet(self) -> int:
        """Units of the smallest chip."""
        return 1 if self.chip is None else self.units(self.chip)

    def start(self, rules: PokerRules) -> BettingState:
        """Return the betting at the start: half the pot put in by each, nothing bet yet."""
        half = self.units(self.pot / 2)
        return replace(BettingState.start(rules), spent=(half, half), min_raise_to=half + rules.big_blind)


@dataclass(frozen=True, eq=False)
class SpotTree:
    """A spot ready to be solved.

    Attributes:
        board: the cards on the table.
        betting: pot, stack and sizes.
        hands: [position] uint8[hands, 2] the hands of each range, in the hand order.
        weights: [position] float64[hands] relative to the largest of the range, which is 1.
        tree: the public tree; chips are in units of `betting.unit`.
    """

    board: tuple[int, ...]
    betting: SpotBetting
    hands: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
    weights: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    tree: PublicTree

    @property
    def rounds(self) -> tuple[str, ...]:
        """The names of the rounds."""
        return ROUNDS[len(self.board)]


def build_spot_tree(
    board: str,
    ranges: Sequence[str | npt.ArrayLike],
    betting: SpotBetting,
) -> SpotTree:
    """Build the tree of a spot.

    Args:
        board: 3 to 5 cards.
        ranges: of the first to act and of the other, as text or as float[1326].
        betting: pot, stack and sizes.
    """
    if not isinstance(board, str):
        raise UsageError(f"the board must be text such as 'QsJh2h', not {reprlib.repr(board)}")
    cards = parse_cards(board)
    if len(cards) not in ROUNDS:
        raise UsageError(f"the board '{board}' must have 3, 4 or 5 cards, not {len(cards)}")
    if isinstance(ranges, str | bytes) or not isinstance(ranges, Sized) or len(ranges) != 2:
        raise UsageError(f"expected 2 ranges, the first to act first, not {reprlib.repr(ranges)}")
    weights = [_open_weights(given, cards, name) for given, name in zip(ranges, POSITIONS, strict=True)]
    held = [np.flatnonzero(own) for own in weights]
    hands = (FULL_DECK.hands(2)[held[0]], FULL_DECK.hands(2)[held[1]])
    own_weights = (weights[0][held[0]], weights[1][held[1]])
    if not (meeting_weight(hands[0], hands[1], own_weights[1]) > 0).any():
        raise UsageError(
            "every hand of OOP shares a card with every hand of IP: at least one pair must be possible"
        )
    rules, menu = betting.rules(len(cards)), betting.menu()
    nodes = TreePlan(rules, menu, betting.start(rules)).build()
    cells = spot_cells(rules, np.array(cards, dtype=np.uint8), hands)
    at_root = tuple(own_weights[q][cells.hand_numbers(q, 0)] for q in range(2))
    tree = PublicTree(rules, menu, nodes, CellSource.of(cells), (at_root[0], at_root[1]))
    return SpotTree(cards, betting, hands, own_weights, tree)


def meeting_weight(
    hands: npt.NDArray[np.uint8], others: npt.NDArray[np.uint8], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return for each hand the weight of the other hands that share no card with it: float64[hands]."""
    disjoint = (hands[:, :, None, None] != others.T[None, None, :, :]).all(axis=(1, 2))
    met: npt.NDArray[np.float64] = disjoint @ weights
    return met


def _open_weights(
    given: str | npt.ArrayLike, board: tuple[int, ...], position: str
) -> npt.NDArray[np.float64]:
    weights = parse_range(given) if isinstance(given, str) else verify_weights(given)
    if not weights.any():
        raise UsageError(
            f"the range of {position} is empty: expected at least one hand with a weight above 0"
        )
    left = remove_blocked(weights, board)
    if not left.any():
        raise UsageError(
            f"the range of {position} has no hand left on the board '{format_cards(board)}': "
            "at least one must share no card with it"
        )
    return relative_weights(left, position)


def _positive(number: float, what: str) -> Fraction:
    try:
        # As written in decimals: 0.1 is a tenth. Infinity and NaN are no fractions.
        value = Fraction(str(float(number)))
    except (TypeError, ValueError, OverflowError):
        value = Fraction(0)
    if not 0 < value <= MAX_CHIPS:
        raise UsageError(f"the {what} must be a number of chips above 0, up to {MAX_CHIPS:,}, not {number}")
    return value


def _pair(texts: Texts, what: str) -> tuple[str, str]:
    if isinstance(texts, str):
        return texts, texts
    if not isinstance(texts, Sized) or len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        raise UsageError(
            f"invalid {what} {reprlib.repr(texts)}: expected one text, or one for each of two positions"
        )
    return texts[0], texts[1]


def _text(chips: Fraction) -> str:
    return f"{float(chips):g}"
