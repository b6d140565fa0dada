"""Slow obvious twins of the traversal: leaves by pairs of hands, the walk by recursion over real cards."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

from errai.games.betting import BettingState
from errai.games.hand import showdown_strength
from errai.games.rules import PokerRules
from naive.games import legal_actions

Hand = tuple[int, ...]
Vector = dict[Hand, float]
InfoSet = tuple[int, str, Hashable]
"""Who acts, the betting, and what it sees of its hand and the board."""

Table = dict[InfoSet, list[float]]


def naive_fold_values(own: Sequence[Hand], reach: Vector) -> Vector:
    """Return for each own hand the reach of the opponent's hands that share no card with it."""
    values = {}
    for mine in own:
        values[mine] = sum(x for theirs, x in reach.items() if not set(mine) & set(theirs))
    return values


def naive_showdown_payoffs(
    rules: PokerRules, board: Hand, own: Sequence[Hand], reach: Vector, win: float, tie: float, lose: float
) -> Vector:
    """Return what each own hand gets from the hands that it beats, ties with and loses to."""
    strength = {hand: showdown_strength(rules, hand, board) for hand in {*own, *reach}}
    values = dict.fromkeys(own, 0.0)
    for mine in own:
        for theirs, x in reach.items():
            if set(mine) & set(theirs):
                continue
            if strength[mine] == strength[theirs]:
                values[mine] += x * tie
            else:
                values[mine] += x * (win if strength[mine] > strength[theirs] else lose)
    return values


Pay = Callable[[int, str, float, bool], float]
"""What a player gets: who, "win", "tie", "lose", "fold" or "opponent folds", the stake, and whether public
cards were dealt by then."""


def plain_pay(player: int, how: str, stake: float, dealt: bool) -> float:
    """Plain poker."""
    return {"win": stake, "tie": 0.0, "lose": -stake, "fold": -stake, "opponent folds": stake}[how]


@dataclass
class NaiveWalk:
    """A two-player game walked hand by hand, with dictionaries for tables.

    Attributes:
        rules: the game; of no-limit raises the least and the largest are possible.
        weights: [player] how likely each hand is, not yet minding that cards are dealt once.
        board: cards on the table from the start.
        source: what is played, in proportion to the positive part; uniformly where there is none.
        regrets: what "learn" adds to.
        averages: the same for the average strategy.
        see: what a player sees of (player, round, hand, board): everything, or a bucket. Where several hands
            or boards look alike, each counts as often as chance deals it.
        merges: whether `see` makes hands look alike, everywhere or for (player, round).
        pay: what players get at leaves.
    """

    rules: PokerRules
    weights: tuple[Vector, Vector]
    board: Hand = ()
    source: Table = field(default_factory=dict)
    regrets: Table = field(default_factory=dict)
    averages: Table = field(default_factory=dict)
    see: Callable[[int, int, Hand, Hand], Hashable] = lambda player, round_index, hand, board: (hand, board)
    merges: bool | Callable[[int, int], bool] = False
    pay: Pay = plain_pay

    def values(self, player: int, mode: str, step: Sequence[float] = (1, 1, 0, 1, 0)) -> Vector:
        """Return what each hand of a player is worth at the root, in chips against the range it meets."""
        pairs = sum(
            x * y
            for mine, x in self.weights[0].items()
            for theirs, y in self.weights[1].items()
            if not set(mine) & set(theirs)
        )
        scale = sum(self.weights[player].values()) / pairs
        reach = [dict(weights) for weights in self.weights]
        reach[1 - player] = {hand: x * scale for hand, x in reach[1 - player].items()}
        start = BettingState.start(self.rules)
        if self.rules.num_board_cards[0] > 0 and not self.board:
            return self._deal(start, 0, (), (reach[0], reach[1]), player, mode, step, 1.0)
        return self._walk(start, 0, self.board, (reach[0], reach[1]), player, mode, step, 1.0)

    def mean_value(self, player: int, values: Vector) -> float:
        """Average root values over the player's hands."""
        weights = self.weights[player]
        return sum(weights[hand] * values[hand] for hand in weights) / sum(weights.values())

    def strategy(self, infoset: InfoSet, num_actions: int) -> list[float]:
        """Return what is played at an information set."""
        positive = [max(x, 0.0) for x in self.source.get(infoset, [0.0] * num_actions)]
        total = sum(positive)
        return [x / total for x in positive] if total > 0 else [1 / num_actions] * num_actions

    def _walk(
        self,
        state: BettingState,
        round_index: int,
        board: Hand,
        reach: tuple[Vector, Vector],
        player: int,
        mode: str,
        step: Sequence[float],
        chance: float,
    ) -> Vector:
        own, other = reach[player], reach[1 - player]
        if state.is_over and not state.is_showdown:
            how = "fold" if state.folded[player] else "opponent folds"
            chips = self.pay(player, how, float(abs(state.payoffs()[player])), self._is_dealt(board))
            return {hand: chips * x for hand, x in naive_fold_values(list(own), other).items()}
        last_round = self.rules.num_rounds - 1
        if round_index < (last_round if state.is_over else state.round):
            return self._deal(state, round_index + 1, board, reach, player, mode, step, chance)
        if state.is_over:
            stake, dealt = float(min(state.spent)), self._is_dealt(board)
            win, tie, lose = (self.pay(player, how, stake, dealt) for how in ("win", "tie", "lose"))
            return naive_showdown_payoffs(self.rules_at_showdown, board, list(own), other, win, tie, lose)
        actor, actions = state.player, legal_actions(state)
        seen = {
            hand: (actor, state.betting, self.see(actor, round_index, hand, board)) for hand in reach[actor]
        }
        sigma = {hand: self.strategy(infoset, len(actions)) for hand, infoset in seen.items()}
        children = []
        for a, action in enumerate(actions):
            below = list(reach)
            below[actor] = {hand: x * sigma[hand][a] for hand, x in reach[actor].items()}
            after = state.act(action)
            children.append(
                self._walk(after, round_index, board, (below[0], below[1]), player, mode, step, chance)
            )
        if actor != player:
            return {hand: sum(child[hand] for child in children) for hand in own}
        if mode == "best":
            return {hand: max(child[hand] for child in children) for hand in own}
        values = {
            hand: sum(p * child[hand] for p, child in zip(sigma[hand], children, strict=True)) for hand in own
        }
        if mode == "learn":
            merges = self.merges(player, round_index) if callable(self.merges) else self.merges
            weight = chance if merges else 1.0
            for hand in own:
                gains = [weight * (child[hand] - values[hand]) for child in children]
                self._update(seen[hand], gains, [weight * own[hand] * p for p in sigma[hand]], step)
        return values

    @property
    def rules_at_showdown(self) -> PokerRules:
        """The rules with the cards of the starting board counted in."""
        first, *later = self.rules.num_board_cards
        return replace(self.rules, num_board_cards=(first + len(self.board), *later))

    def _is_dealt(self, board: Hand) -> bool:
        """Whether public cards lie on the table, or the game has none to wait for."""
        return len(board) > 0 or sum(self.rules.num_board_cards) == 0

    def _update(
        self, infoset: InfoSet, gains: list[float], played: list[float], step: Sequence[float]
    ) -> None:
        positive, negative, floor, keep, weight = step
        regrets = self.regrets.setdefault(infoset, [0.0] * len(gains))
        averages = self.averages.setdefault(infoset, [0.0] * len(gains))
        for a, gain in enumerate(gains):
            regrets[a] = regrets[a] * (positive if regrets[a] > 0 else negative) + gain
            if floor:
                regrets[a] = max(regrets[a], 0.0)
            averages[a] = averages[a] * keep + weight * played[a]

    def _deal(
        self,
        state: BettingState,
        round_index: int,
        board: Hand,
        reach: tuple[Vector, Vector],
        player: int,
        mode: str,
        step: Sequence[float],
        chance: float,
    ) -> Vector:
        dealt = self.rules.num_board_cards[round_index]
        unseen = [card for card in self.rules.deck.cards if card not in board]
        deal = 1 / comb(len(unseen) - 2 * self.rules.num_hole_cards, dealt)
        values = dict.fromkeys(reach[player], 0.0)
        for cards in combinations(unseen, dealt):
            left = [{hand: x for hand, x in vector.items() if not set(hand) & set(cards)} for vector in reach]
            longer = (*board, *cards)
            below = self._walk(
                state, round_index, longer, (left[0], left[1]), player, mode, step, chance * deal
            )
            for hand, value in below.items():
                values[hand] += deal * value
        return values
