"""The cut of a public tree at a round boundary into a trunk and independent sub-games.

A sub-game is an entry node of the cut's round and a public board. The cut lies either after the cards of its
round are dealt, so that the board is the round's own (limit hold'em before the flop betting: 7 entries x
1,755 flops), or before they are dealt, so that the sub-game begins with the deal and the board is that of
the round before (before the turn: 63 entries x 1,755 flops, as Cepheus was distributed).

Because of the betting tree's order, the nodes of a sub-game are one contiguous block in every round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from errai.errors import UsageError
from errai.games.deals import Deals
from errai.tree.betting_tree import CHANCE, NO_NODE, BettingTree


@dataclass(frozen=True)
class Subgame:
    """One piece below the cut.

    Attributes:
        number: its place among the sub-games, entry-major.
        entry: which entry of the cut's round it hangs from.
        node: the entry's node.
        board_round: the public deal that the board has seen, as in `CanonicalBoards`; -1 for none.
        board_index: the canonical board.
        blocks: [round - cut round] begin and end of its nodes in the betting tree.
    """

    number: int
    entry: int
    node: int
    board_round: int
    board_index: int
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cut:
    """A public tree cut before a round's betting.

    Attributes:
        tree: the betting tree.
        deals: the boards.
        round: the first round below the cut.
        dealt: whether the round's cards are dealt in the trunk (True) or inside the sub-games.
    """

    tree: BettingTree
    deals: Deals
    round: int
    dealt: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.round < self.tree.num_rounds:
            rounds = ", ".join(map(str, range(1, self.tree.num_rounds)))
            raise UsageError(
                f"cannot cut before round {self.round}: "
                + (f"expected one of {rounds} (counted from 0)" if rounds else "the game has one round")
            )

    @property
    def num_entries(self) -> int:
        """Betting sequences that lead over the cut."""
        return len(self.tree.entry_nodes[self.round])

    @property
    def board_round(self) -> int:
        """The public deal that the boards at the cut have seen."""
        return self.deals.board_round(self.round if self.dealt else self.round - 1)

    @property
    def num_boards(self) -> int:
        """Canonical boards at the cut."""
        return self.deals.boards.num_boards(self.board_round)

    @property
    def num_subgames(self) -> int:
        """Number of independent sub-games."""
        return self.num_entries * self.num_boards

    @property
    def trunk_end(self) -> int:
        """The trunk's nodes are those before this one."""
        return int(self.tree.round_begin[self.round])

    def subgame(self, number: int) -> Subgame:
        """Return a sub-game by its number."""
        if not 0 <= number < self.num_subgames:
            raise UsageError(f"sub-game {number} does not exist: expected 0 to {self.num_subgames - 1}")
        entry, board_index = divmod(number, self.num_boards)
        return self._subgame(entry, board_index, self.blocks(entry))

    def subgames(self) -> Iterator[Subgame]:
        """Yield all sub-games, entry-major."""
        for entry in range(self.num_entries):
            blocks = self.blocks(entry)
            for board_index in range(self.num_boards):
                yield self._subgame(entry, board_index, blocks)

    def _subgame(self, entry: int, board_index: int, blocks: tuple[tuple[int, int], ...]) -> Subgame:
        return Subgame(
            number=entry * self.num_boards + board_index,
            entry=entry,
            node=blocks[0][0],
            board_round=self.board_round,
            board_index=board_index,
            blocks=blocks,
        )

    def blocks(self, entry: int) -> tuple[tuple[int, int], ...]:
        """Return begin and end of the nodes below an entry, round by round."""
        blocks = [self.tree.block(self.round, entry)]
        for r in range(self.round + 1, self.tree.num_rounds):
            begin, end = blocks[-1]
            closing = begin + np.flatnonzero(self.tree.kind[begin:end] == CHANCE)
            first, last = self.tree.first_child[closing[[0, -1]]]
            last_entry = int(np.searchsorted(self.tree.entry_nodes[r], last))
            blocks.append((int(first), self.tree.block(r, last_entry)[1]))
        return tuple(blocks)


def betting_below(tree: BettingTree, blocks: Sequence[tuple[int, int]], first_round: int) -> BettingTree:
    """Return the betting of one sub-game as a tree of its own, rounds counted from its first.

    Chips are those of the whole hand. Nodes keep their order: node n of a round becomes n minus the begin of
    the round's block, plus the nodes of the rounds before.

    Args:
        tree: the whole betting.
        blocks: [round] begin and end of the sub-game's nodes, as in `Subgame.blocks`.
        first_round: the round of the first block.
    """
    nodes = np.concatenate([np.arange(begin, end) for begin, end in blocks])
    place = np.full(tree.num_nodes + 1, NO_NODE, dtype=np.int32)  # NO_NODE is the last place
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    sizes = [end - begin for begin, end in blocks]
    return BettingTree(
        parent=place[tree.parent[nodes]],
        first_child=place[tree.first_child[nodes]],
        num_children=tree.num_children[nodes],
        kind=tree.kind[nodes],
        player=tree.player[nodes],
        round=(tree.round[nodes] - first_round).astype(np.int8),
        action=tree.action[nodes],
        chips=tree.chips[nodes],
        round_begin=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )
