"""A solved spot: what both positions play, asked by betting string, hand and board.

Position 0 (OOP) acts first in every round, position 1 (IP) second.

Conventions: the pot counts as still to be won, so the expected values of both ranges sum to the pot; chips
that a player puts in later are his cost, chips put in before a decision are not, so at any decision a
fold is worth 0. Betting strings are the ACPC's, counted from the start of the spot: `c` checks or calls,
`f` folds, `r` bets or raises, in a no-limit spot to a total of `rN` chips put in since the spot began;
rounds are joined by `/`.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from errai.cards.deck import format_cards, parse_cards
from errai.engine.public_tree import PublicTree
from errai.engine.section import PLAY
from errai.engine.traversal import Traversal
from errai.errors import UsageError
from errai.strategy.spot_tree import POSITIONS, SpotBetting, SpotTree, meeting_weight
from errai.tables.layout import Floats
from errai.tree.betting_tree import ACTION_CALL, ACTION_FOLD, CHANCE, DECISION, TreePlan
from errai.tree.walk import walk_tree

_TOKEN = re.compile(r"/|f|c|r[0-9]*\.?[0-9]*")
_NO_STEP = np.zeros(5)


@dataclass(frozen=True)
class SpotMeasurement:
    """One point of a convergence curve.

    Attributes:
        iteration: iterations done.
        seconds: time spent on iterations, measurements apart.
        exploitability: of the average strategy, in chips.
        exploitability_percent: the same in percent of the pot.
    """

    iteration: int
    seconds: float
    exploitability: float
    exploitability_percent: float


@dataclass(frozen=True, eq=False)
class SpotTable:
    """What a position plays at one decision, hand by hand.

    Attributes:
        betting: the betting that leads here.
        board: all cards on the table.
        position: who acts.
        actions: as in betting strings.
        hands: [hand] the hands that are possible here, as text, in the hand order.
        weights: float64[hands] range weight times the probability of the player's own earlier actions.
        frequencies: float64[hands] how often each hand is held here, given both ranges; the sum is 1.
        probabilities: float64[hands, actions].
        expected_values: float64[hands] in chips, NaN where no opponent's hand is possible; None after
            the first round.
        equities: float64[hands] share of the pot if all betting stopped; None after the first round.
    """

    betting: str
    board: str
    position: int
    actions: tuple[str, ...]
    hands: tuple[str, ...]
    weights: npt.NDArray[np.float64]
    frequencies: npt.NDArray[np.float64]
    probabilities: npt.NDArray[np.float64]
    expected_values: npt.NDArray[np.float64] | None
    equities: npt.NDArray[np.float64] | None

    def by_class(self) -> dict[str, tuple[float, tuple[float, ...]]]:
        """Return for each class of hands (`AKs`, `77`) its frequency and its mean probabilities."""
        classes: dict[str, list[int]] = {}
        for i, hand in enumerate(self.hands):
            high, low = hand[0], hand[2]
            kind = "" if high == low else "s" if hand[1] == hand[3] else "o"
            classes.setdefault(high + low + kind, []).append(i)
        result = {}
        for name, places in classes.items():
            share = self.frequencies[places]
            total = float(share.sum())
            mean = share @ self.probabilities[places] / total if total else self.probabilities[places].mean(0)
            result[name] = (total, tuple(mean.tolist()))
        return result

    @property
    def mean_probabilities(self) -> npt.NDArray[np.float64]:
        """Probability of each action over the whole range: float64[actions]."""
        return self.frequencies @ self.probabilities


@dataclass(frozen=True, eq=False)
class SpotResult:
    """A solved spot.

    Attributes:
        spot: board, ranges, sizes and tree.
        algorithm: which was used.
        tables: [position] float[slots] the average strategy, played in proportion to the positive part.
        expected_values: [position] chips of both ranges, summing to the pot.
        measurements: convergence.
    """

    spot: SpotTree
    algorithm: str
    tables: tuple[Floats, Floats]
    expected_values: tuple[float, float]
    measurements: tuple[SpotMeasurement, ...]

    @property
    def exploitability(self) -> float:
        """Mean over the positions of what a best response gains, in chips."""
        return self.measurements[-1].exploitability

    @property
    def exploitability_percent(self) -> float:
        """Exploitability in percent of the pot."""
        return self.measurements[-1].exploitability_percent

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return self.measurements[-1].iteration

    def probabilities(self, betting: str, hand: str, board: str = "") -> dict[str, float]:
        """Return the probability of each action of the player to act.

        Args:
            betting: such as `cr25` or `cc/`.
            hand: the player's two cards.
            board: the cards dealt since the spot began; the spot's own may stand before them.
        """
        node = self._find_node(betting)
        player, numbers = self._player(node), self._board_numbers(node, board)
        cards = sorted(parse_cards(hand))
        held = self.spot.hands[player].tolist()
        number = held.index(cards) if cards in held else -1
        if number not in self._rows(player, numbers[-1]):
            raise UsageError(
                f"{POSITIONS[player]} cannot hold '{hand}' on '{self._board_text(numbers)}': "
                "expected a hand of the range that shares no card with the board"
            )
        row = self._probabilities(node, numbers[-1])[number]
        return dict(zip(self._actions(node), row.tolist(), strict=True))

    def strategy(self, betting: str = "", board: str = "") -> SpotTable:
        """Return what the player to act plays at a decision, hand by hand.

        Args:
            betting: such as `cr25` or `cc/`; empty for the first decision.
            board: the cards dealt since the spot began; the spot's own may stand before them.
        """
        node = self._find_node(betting)
        player, numbers = self._player(node), self._board_numbers(node, board)
        reaches = self._reaches(node, numbers)
        hands, others = self.spot.hands[player], self.spot.hands[1 - player]
        shares = reaches[player] * meeting_weight(hands, others, reaches[1 - player])
        total = shares.sum()
        rows = np.sort(self._rows(player, numbers[-1]))
        values = equities = None
        if len(numbers) == 1:
            values, equities = self._values(node, reaches)
        return SpotTable(
            betting=betting,
            board=self._board_text(numbers),
            position=player,
            actions=tuple(self._actions(node)),
            hands=tuple(format_cards(hand[::-1]) for hand in hands[rows]),
            weights=reaches[player][rows],
            frequencies=(shares / total if total > 0 else shares)[rows],
            probabilities=self._probabilities(node, numbers[-1])[rows],
            expected_values=None if values is None else values[rows],
            equities=None if equities is None else equities[rows],
        )

    # Where things are

    @property
    def _tree(self) -> PublicTree:
        return self.spot.tree

    def _player(self, node: int) -> int:
        return int(self._tree.betting.player[node])

    def _actions(self, node: int) -> list[str]:
        """Return the actions at a decision as text, raises in chips since the spot began."""
        betting, spot = self._tree.betting, self.spot.betting
        half = int(betting.chips[0, 0])
        names = []
        for child in betting.children(node):
            action = int(betting.action[child])
            if action in (ACTION_FOLD, ACTION_CALL):
                names.append("f" if action == ACTION_FOLD else "c")
            else:
                names.append("r" if spot.limit else f"r{format_chips((action - half) * float(spot.unit))}")
        return names

    def _find_node(self, text: str) -> int:
        """Return the decision that a betting string leads to; what leaves the tree is named."""
        betting = self._tree.betting
        node, position = 0, 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            names = ["/"] if betting.kind[node] == CHANCE else self._actions(node)
            given = token.group() if token else text[position]
            choice = _matching(given, names)
            if choice is None:
                raise UsageError(
                    f"'{text}' leaves the spot's tree at position {position}, '{given}': "
                    f"expected {', '.join(names) or 'nothing more'}"
                )
            node = betting.children(node)[choice]
            position += len(given)
        while betting.kind[node] == CHANCE:
            node = betting.children(node)[0]
        if betting.kind[node] != DECISION:
            raise UsageError(f"the hand is over after '{text}': nobody acts there")
        return node

    def _board_numbers(self, node: int, board: str) -> list[int]:
        """Return the number of the board in each round up to a node's, the cards being named in order."""
        links, round_index = self._tree.cells.links, int(self._tree.betting.round[node])
        own = self.spot.board
        cards = parse_cards(board)
        if cards[: len(own)] == own:
            cards = cards[len(own) :]
        numbers = [0]
        if len(cards) == round_index:
            for r in range(1, round_index + 1):
                same = (self._tree.cells.boards[r] == np.array([*own, *cards[:r]])).all(axis=1)
                numbers += (int(links.round_board[r]) + np.flatnonzero(same)).tolist()
        if len(cards) != round_index or len(numbers) != round_index + 1:
            raise UsageError(
                f"'{board}' is not a board of the {self.spot.rounds[round_index]}: "
                f"expected {round_index} new cards after '{format_cards(own)}'"
            )
        return numbers

    def _board_text(self, numbers: list[int]) -> str:
        cells, r = self._tree.cells, len(numbers) - 1
        return format_cards(cells.boards[r][numbers[-1] - int(cells.links.round_board[r])])

    def _rows(self, player: int, board: int) -> npt.NDArray[np.int64]:
        """Return which hand each row of a player's tables at a board belongs to."""
        return self._tree.cells.hand_numbers(player, board)

    def _slots(self, node: int, board: int) -> slice:
        player, layout = self._player(node), self._tree.layout
        rows = int(layout.rows[player, board])
        begin = int(layout.begin[player, board]) + int(walk_tree(self._tree.betting).slot[node]) * rows
        return slice(begin, begin + int(self._tree.betting.num_children[node]) * rows)

    def _probabilities(self, node: int, board: int) -> npt.NDArray[np.float64]:
        """Return float64[hands of the player, actions]; zeros for hands that the board blocks."""
        player, actions = self._player(node), int(self._tree.betting.num_children[node])
        slots = self.tables[player][self._slots(node, board)].reshape(actions, -1)
        positive = np.maximum(slots.astype(np.float64), 0)
        totals = positive.sum(axis=0)
        known = totals > 0
        result = np.zeros((len(self.spot.hands[player]), actions))
        played = np.where(known, positive / np.where(known, totals, 1), 1 / actions)
        result[self._rows(player, board)] = played.T
        return result

    def _path(self, node: int) -> list[tuple[int, int]]:
        """Return the decisions above a node, each with the number of the action that leads on."""
        betting, path = self._tree.betting, []
        while node:
            parent = int(betting.parent[node])
            if betting.kind[parent] == DECISION:
                path.append((parent, node - int(betting.first_child[parent])))
            node = parent
        return path[::-1]

    def _reaches(self, node: int, boards: list[int]) -> list[npt.NDArray[np.float64]]:
        """Return [position] float64[hands]: range weight times the probability of own actions."""
        reaches = []
        for q, weights in enumerate(self.spot.weights):
            reach = np.zeros_like(weights)
            rows = self._rows(q, boards[-1])
            reach[rows] = weights[rows]
            reaches.append(reach)
        for above, action in self._path(node):
            board = boards[int(self._tree.betting.round[above])]
            reaches[self._player(above)] *= self._probabilities(above, board)[:, action]
        return reaches

    # Values of hands

    def _values(
        self, node: int, reaches: list[npt.NDArray[np.float64]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return expected value and equity of each hand of the player at a decision of the first round.

        Everybody is led to the decision with certainty, holding the hands that get there.
        """
        tables, path = self.tables, self._path(node)
        if path:
            tables = (tables[0].copy(), tables[1].copy())
        for above, action in path:
            actor = self._player(above)
            slots = tables[actor][self._slots(above, 0)].reshape(
                int(self._tree.betting.num_children[above]), -1
            )
            slots[:] = 0
            slots[action] = 1
        player = self._player(node)
        met = meeting_weight(self.spot.hands[player], self.spot.hands[1 - player], reaches[1 - player])
        if not (reaches[player] * met).any():
            nowhere = np.full(len(met), np.nan)
            return nowhere, nowhere
        unit = float(self.spot.betting.unit)
        chips = int(self._tree.betting.chips[node, player])
        values = _hand_values(self._tree, tables, player, reaches, met) + chips
        check_down = _check_down(self.spot)
        dealt = _hand_values(check_down, check_down.layout.zeros(tables[0].dtype), player, reaches, met)
        half = int(check_down.betting.chips[0, 0])
        return values * unit, (dealt / half + 1) / 2


def _hand_values(
    tree: PublicTree,
    tables: tuple[Floats, Floats],
    player: int,
    reaches: list[npt.NDArray[np.float64]],
    met: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the net units that each hand wins from the hands it can meet; NaN where there are none."""
    order = [tree.cells.hand_numbers(q, 0) for q in range(2)]
    initial = (reaches[0][order[0]], reaches[1][order[1]])
    walk = Traversal(tree.betting, tree.cells, tables[0].dtype, 1, initial)
    values = walk.walk_once(player, PLAY, tree.layout.tables(tables, tables, tables), _NO_STEP)
    result = np.empty(len(met))
    result[order[player]] = values
    # The walk scales by the mean opponent; each hand meets its own.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(met > 0, result * walk.root.num_pairs / (reaches[player].sum() * met), np.nan)


def _check_down(spot: SpotTree) -> PublicTree:
    """Return the same spot without bets: its values are equities."""
    betting = SpotBetting(spot.betting.pot, spot.betting.pot, ("none", "none"), ("none", "none"))
    rules = betting.rules(len(spot.board))
    nodes = TreePlan(rules, betting.menu(), betting.start(rules)).build()
    return PublicTree(rules, betting.menu(), nodes, spot.tree.source, spot.tree.weights)


def _matching(given: str, names: list[str]) -> int | None:
    """Return which action a token names; amounts may be written with fewer or more decimals."""
    if given in names:
        return names.index(given)
    if len(given) > 1 and given[1:] != ".":
        for i, name in enumerate(names):
            if len(name) > 1 and name == f"r{format_chips(float(given[1:]))}":
                return i
    return None


def format_chips(chips: float) -> str:
    """Write an amount with at most four decimals and no zeros at the end.

    >>> format_chips(12.50)
    '12.5'
    """
    return f"{chips:.4f}".rstrip("0").rstrip(".")


def verify_decision(spot: SpotTree, betting: str, board: str) -> None:
    """Refuse a decision that is not in a spot's tree, before it is solved; arguments as for `strategy`."""
    nothing = np.zeros(0, dtype=np.float32)
    unsolved = SpotResult(spot, "", (nothing, nothing), (0.0, 0.0), ())
    unsolved._board_numbers(unsolved._find_node(betting), board)
