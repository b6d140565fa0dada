"""Slow obvious twins of the scalar walk: one deal walked by recursion over real cards, with dictionaries."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from errai.games.betting import BettingState
from errai.games.hand import showdown_strength
from errai.games.rules import PokerRules
from naive import streams
from naive.games import legal_actions
from naive.traversal import Hand, Pay, Table, plain_pay

CHOICES = 1 << 32

Result = TypeVar("Result")
Choose = Callable[[Sequence[float]], int]
"""Chooses an action, given how likely each is."""


@dataclass(frozen=True)
class Deal:
    """Both hands and the whole board."""

    hands: tuple[Hand, Hand]
    board: Hand


def naive_deal(rules: PokerRules, seed: int, iteration: int, lane: int) -> Deal:
    """Shuffle the first places of the deck."""
    key, deck = streams.stream_key(seed, iteration, lane), list(rules.deck.cards)
    num_cards = 2 * rules.num_hole_cards + sum(rules.num_board_cards)
    for k in range(num_cards):
        other = k + streams.draw_below(key, k, len(deck) - k)
        deck[k], deck[other] = deck[other], deck[k]
    cards = deck[:num_cards]
    n = rules.num_hole_cards
    return Deal((tuple(cards[:n]), tuple(cards[n : 2 * n])), tuple(cards[2 * n :]))


def all_deals(rules: PokerRules) -> Iterator[Deal]:
    """Yield every deal; all are alike."""

    def boards(left: list[int], rounds: Sequence[int]) -> Iterator[Hand]:
        if not rounds:
            yield ()
            return
        for cards in combinations(left, rounds[0]):
            for later in boards([card for card in left if card not in cards], rounds[1:]):
                yield (*cards, *later)

    for first in combinations(rules.deck.cards, rules.num_hole_cards):
        left = [card for card in rules.deck.cards if card not in first]
        for second in combinations(left, rules.num_hole_cards):
            rest = [card for card in left if card not in second]
            for board in boards(rest, rules.num_board_cards):
                yield Deal((first, second), board)


def from_stream(seed: int, iteration: int, lane: int) -> Choose:
    """Choose by the numbers of a deal's stream."""
    key = streams.stream_key(seed, iteration, lane)
    drawn = 0

    def choose(chances: Sequence[float]) -> int:
        nonlocal drawn
        u = streams.draw_unit(key, CHOICES + drawn)
        drawn += 1
        for action, chance in enumerate(chances[:-1]):
            if u < chance:
                return action
            u -= chance
        return max(action for action, chance in enumerate(chances) if chance > 0)

    return choose


def every_choice(walk: Callable[[Choose], Result]) -> Iterator[tuple[float, Result]]:
    """Call `walk` once for each way in which its choices may fall; yields its chance and result."""
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        taken: list[int] = []
        chance_of_all = 1.0

        def choose(
            chances: Sequence[float], script: tuple[int, ...] = script, taken: list[int] = taken
        ) -> int:
            nonlocal chance_of_all
            possible = [action for action, chance in enumerate(chances) if chance > 0]
            if len(taken) < len(script):
                action = script[len(taken)]
            else:
                action = possible[0]
                scripts.extend((*taken, other) for other in possible[1:])
            taken.append(action)
            chance_of_all *= chances[action]
            return action

        result = walk(choose)
        yield chance_of_all, result


@dataclass
class NaiveSampler:
    """One deal at a time.

    Attributes:
        rules: the game.
        sampling: "chance", "external" or "outcome".
        see: what a player sees of (player, round, hand, board).
        regrets: what is played, in proportion to the positive part; what `learn` adds to.
        averages: the same for the average strategy.
        exploration: of outcome sampling.
        floor: of regrets.
        prune_below: regrets of actions that are left out now and then.
        prune_probability: how often.
        pay: what players get at leaves.
    """

    rules: PokerRules
    sampling: str
    see: Callable[[int, int, Hand, Hand], Hashable]
    regrets: Table = field(default_factory=dict)
    averages: Table = field(default_factory=dict)
    exploration: float = 0.6
    floor: float = float("-inf")
    prune_below: float = float("-inf")
    prune_probability: float = 0.95
    pay: Pay = plain_pay

    def gains(self, player: int, deal: Deal, choose: Choose) -> tuple[Table, Table]:
        """Walk a deal for a player; returns what regrets and averages gain."""
        self._player, self._deal, self._choose = player, deal, choose
        self._gained: Table = {}
        self._played: Table = {}
        self._explores = True
        if self.prune_below > float("-inf"):
            p = self.prune_probability
            self._explores = choose([p, 1 - p]) == 1
        self._value(BettingState.start(self.rules), 1.0, False)
        return self._gained, self._played

    def iterate(self, seed: int, iteration: int, deals: int, weights: tuple[float, float]) -> None:
        """Do one iteration; the gains of a player's deals are added up before tables change."""
        for player in (0, 1):
            found = []
            for lane in range(player * deals, (player + 1) * deals):
                deal = naive_deal(self.rules, seed, iteration, lane)
                found.append(self.gains(player, deal, from_stream(seed, iteration, lane)))
            for gained, played in found:
                add(self.regrets, gained, weights[0])
                add(self.averages, played, weights[1])
            for gained, _ in found:
                for infoset in gained:
                    self.regrets[infoset] = [max(x, self.floor) for x in self.regrets[infoset]]

    def _value(self, state: BettingState, weight: float, is_below_low: bool) -> float:
        """Return what the rest is worth.

        Args:
            state: where the hand stands.
            weight: what gains count.
            is_below_low: whether a walk that explores alone gets here, which the weight minds already.
        """
        player, hands = self._player, self._deal.hands
        if state.is_over:
            return self._leaf(state)
        actor, actions = state.player, legal_actions(state)
        board = self._deal.board[: self.rules.num_board_cards_by(state.round)]
        infoset = (actor, state.betting, self.see(actor, state.round, hands[actor], board))
        regrets = self.regrets.get(infoset, [0.0] * len(actions))
        total = sum(max(x, 0.0) for x in regrets)
        sigma = [max(x, 0.0) / total if total > 0 else 1 / len(actions) for x in regrets]

        def below(a: int, counts: float, is_low: bool = False) -> float:
            return self._value(state.act(actions[a]), counts, is_below_low or is_low)

        if actor != player:
            add(self._played, {infoset: sigma}, weight)
            if self.sampling == "chance":
                return sum(p * below(a, weight * p) for a, p in enumerate(sigma))
            return below(self._choose(sigma), weight)
        if self.sampling == "outcome":
            chances = [self.exploration / len(actions) + (1 - self.exploration) * p for p in sigma]
            taken = self._choose(chances)
            values = [0.0] * len(actions)
            values[taken] = below(taken, weight / chances[taken]) / chances[taken]
            counts = [1.0] * len(actions)
        else:
            low = [total > 0 and x < self.prune_below for x in regrets]
            often = 1.0 if is_below_low else 1 / (1 - self.prune_probability)
            counts = [(often if self._explores else 0.0) if is_low else 1.0 for is_low in low]
            values = [
                below(a, weight * count, low[a]) if count > 0 else 0.0 for a, count in enumerate(counts)
            ]
        value = sum(p * x for p, x in zip(sigma, values, strict=True))
        gained = [weight * count * (x - value) for count, x in zip(counts, values, strict=True)]
        add(self._gained, {infoset: gained}, 1.0)
        return value

    def _leaf(self, state: BettingState) -> float:
        player, hands = self._player, self._deal.hands
        if not state.is_showdown:
            how = "fold" if state.folded[player] else "opponent folds"
            board = self._deal.board[: self.rules.num_board_cards_by(state.round)]
            dealt = len(board) > 0 or not self._deal.board
            return self.pay(player, how, float(abs(state.payoffs()[player])), dealt)
        mine, theirs = (
            showdown_strength(self.rules, hands[who], self._deal.board) for who in (player, 1 - player)
        )
        how = "tie" if mine == theirs else "win" if mine > theirs else "lose"
        return self.pay(player, how, float(min(state.spent)), True)


def add(table: Table, gains: Table, weight: float) -> None:
    """Add to the entries of a table."""
    for infoset, gained in gains.items():
        entry: list[float] = table.setdefault(infoset, [0.0] * len(gained))
        for a, x in enumerate(gained):
            entry[a] += weight * x
