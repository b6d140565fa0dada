"""Hands between two strategies of buckets, played in one process: the material of tables about estimators."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from errai.evaluation.hand_chances import Ints64
from errai.games.betting import BettingState
from errai.games.dealer_cards import DealerCards
from errai.games.deals import Deals
from errai.games.hand import HandState
from errai.games.match_state import HandRecord
from errai.play.draws import Draws
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.information_sets import action_names, normalised
from errai.tree.betting_tree import CHANCE, DECISION
from errai.tree.cells import cells_below


class _Seat:
    """A strategy with the rows of many deals looked up at once."""

    def __init__(self, strategy: BucketStrategy, cards: npt.NDArray[np.uint8]) -> None:
        """Look up where the hands stand.

        Args:
            strategy: of the seat.
            cards: uint8[N, 4 + board] hole cards by position, then the board.
        """
        self._strategy = strategy
        rules, hole = strategy.game, strategy.game.num_hole_cards
        self._rows: dict[tuple[int, int], Ints64] = {}
        for position in (0, 1):
            own, public = cards[:, hole * position : hole * (position + 1)], cards[:, 2 * hole :]
            for r in range(rules.num_rounds):
                seen = np.concatenate([own, public[:, : rules.num_board_cards_by(r)]], axis=1)
                if strategy.layout.bucketed[position, r]:
                    rows = strategy.saved.abstraction.buckets(seen, r, position).astype(np.int64)
                else:
                    first = cells_below(Deals(rules), 0, 0, last_round=0)
                    rows = first.cells_of_hands(position, 0, own).astype(np.int64)
                self._rows[position, r] = rows

    def chances(self, node: int, deal: int) -> list[float]:
        """Return the probability of each action at a node in a deal."""
        tree, layout = self._strategy.tree, self._strategy.layout
        player, r = int(tree.betting.player[node]), int(tree.betting.round[node])
        slot, num_actions = int(tree.walk.slot[node]), int(tree.walk.num_children[node])
        weights = layout.decision(self._strategy.tables[player], player, r, slot, num_actions)
        weights = weights[:, int(self._rows[player, r][deal])]
        chances: list[float] = normalised(weights).tolist()
        return chances


def play_hands(
    strategies: tuple[BucketStrategy, BucketStrategy], names: Sequence[str], num_hands: int, seed: int
) -> list[HandRecord]:
    """Play a match; seats change positions every hand.

    Args:
        strategies: by seat, of one game and its betting.
        names: by seat.
        num_hands: how many.
        seed: of the cards, which are the competition dealer's, and of the players' draws.
    """
    tree, rules = strategies[0].tree, strategies[0].game
    cards = DealerCards(rules, seed).deal(num_hands)
    seats = [_Seat(strategy, cards) for strategy in strategies]
    betting = tree.betting
    actions = {node: action_names(tree, node) for node in np.flatnonzero(betting.kind == DECISION).tolist()}
    records = []
    hole = rules.num_hole_cards
    for number, dealt in enumerate(cards.tolist()):
        at_position = (0, 1) if number % 2 == 0 else (1, 0)
        draws = [Draws(seed, number, seat) for seat in (0, 1)]
        node, state = 0, BettingState.start(rules)
        while betting.kind[node] == DECISION:
            seat = at_position[state.player]
            chances = dict(zip(actions[node], seats[seat].chances(node, number), strict=True))
            action = draws[seat].choose(chances)
            state = state.act(action)
            node = int(betting.first_child[node]) + actions[node].index(action)
            while betting.kind[node] == CHANCE:
                node = int(betting.first_child[node])
        board = dealt[2 * hole : 2 * hole + rules.num_board_cards_by(state.round)]
        holes = (tuple(dealt[:hole]), tuple(dealt[hole : 2 * hole]))
        hand = HandState(betting=state, holes=holes, board=tuple(board))
        records.append(HandRecord.of(hand, number, [names[seat] for seat in at_position]))
    return records
