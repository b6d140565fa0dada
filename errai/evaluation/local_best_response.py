"""Local best response: a lower bound on what a best response wins from an agent, in games of any size.

Lisy and Bowling, "Equilibrium Approximation Quality of Current No-Limit Poker Bots" (2017).

Local best response (LBR) knows the agent's probabilities. At each of its decisions it

1. knows the agent's range: every hand that the agent may hold, weighted by Bayes' rule with the probability
   of all that the agent has done;
2. values a call as if both checked and called to the end: with w the chance to win against the range, LBR's
   chips s, and t chips of each player in the pot, that is (2w - 1) t + s more than folding;
3. values a bet as if the agent either folded, by its range's probability to fold, or called and both checked
   to the end: w is then the chance against those hands that do not fold;
4. does what is worth most, and folds where nothing is worth more than 0.

What LBR wins is what some strategy wins, so its expectation is never above that of a best response. Small
games are enumerated: every deal, every action of the agent, no chance at all. Elsewhere hands are played with
the cards of the competition's dealer, each deal twice: LBR sits in one position, then in the other. The
interval is over such pairs.

A hand that was played is worth what LBR expects at its end over the agent's range there, instead of what the
agent's very cards paid, which has the same mean. Then the luck of the cards is taken off: how much more than
half of all hands LBR's would beat on the whole board, which is nothing on average, by as much as fits
the deals best (a control variate). In limit hold'em the interval is about half as wide for both. They need
the agent's exact probabilities; where those are not known (`HandPolicy.is_exact`), what was paid counts.
Both are reported.

The 56 bets of the paper's largest set are all-in and 55 fractions of the pot, of which the smallest is 0.05
and each next one 1.15 times as large: so the heads of its published match logs list them. Those that the
rules do not allow are left out. In rounds in which it does not act, LBR checks and calls, as in the paper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError, verify_whole
from errai.evaluation.hand_equity import DEFAULT_RUN_OUTS, HandEquities
from errai.evaluation.hand_policy import HandPolicy, seen_by_player, verify_two_players
from errai.evaluation.kept_hands import KeptHands
from errai.games.betting import BettingState
from errai.games.catalogue import describe_rules, load_card_game
from errai.games.dealer_cards import DealerCards
from errai.games.hand import HandState
from errai.games.match_state import MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.draws import Draws
from errai.play.match_results import agent_fingerprint
from errai.play.named import load_agent

Floats = npt.NDArray[np.float64]
Report = Callable[[int, int], None]

FOLD_CALL, POT_ALL_IN, MANY = "fc", "fcpa", "56bets"
BET_SETS = (FOLD_CALL, POT_ALL_IN, MANY)
"""Fold and call alone; the pot and all-in as well; 55 fractions of the pot and all-in as well. In limit games
the last two raise."""

POT_FRACTIONS = tuple(0.05 * 1.15**k for k in range(55))
MAX_ENUMERATED = 20_000
"""Hands of LBR times boards of a game that is enumerated."""
NORMAL_95 = 1.959964
LEAST_WEIGHT = 1e-300


@dataclass(frozen=True)
class LocalBestResponse:
    """What local best response wins from an agent.

    Attributes:
        values: [position] chips a game that LBR wins there.
        interval: 95% interval of their mean, in chips; the same number twice where deals were enumerated.
        num_hands: hands played; None where deals were enumerated.
        money: mean over the positions of what was paid, in chips a game.
        money_interval: 95% interval of it.
        is_expected: whether `values` are expected over the agent's range, less luck, and not what was paid.
        big_blind: the unit of `mbb_per_game`.
    """

    values: tuple[float, float]
    interval: tuple[float, float]
    num_hands: int | None
    money: float
    money_interval: tuple[float, float]
    is_expected: bool
    big_blind: int

    @property
    def chips(self) -> float:
        """Mean over the positions, in chips a game: at most what a best response wins."""
        return sum(self.values) / 2

    @property
    def mbb_per_game(self) -> float:
        """Mean over the positions, in thousandths of a big blind a game."""
        return self.in_mbb(self.chips)

    @property
    def interval_mbb_per_game(self) -> tuple[float, float]:
        """The interval in thousandths of a big blind a game."""
        return self.in_mbb(self.interval[0]), self.in_mbb(self.interval[1])

    def in_mbb(self, chips: float) -> float:
        """Turn chips into thousandths of a big blind."""
        return chips / self.big_blind * 1000


class LocalBestResponder:
    """Plays local best response against one agent.

    Attributes:
        rules: the game.
        bets: one of `BET_SETS`.
        first_round: the first round, from 0, in which it acts; before, it checks and calls.
        equities: what hands win at showdown.
        policy: what the agent does with each hand.
    """

    def __init__(
        self,
        agent: Agent,
        bets: str = POT_ALL_IN,
        first_round: int = 0,
        run_outs: int = DEFAULT_RUN_OUTS,
        seed: int = 0,
    ) -> None:
        """Get ready to play; arguments as for `local_best_response`."""
        self.rules = agent.game
        verify_two_players(self.rules)
        if bets not in BET_SETS:
            raise UsageError(f"unknown bet set '{bets}': expected {', '.join(BET_SETS)}")
        if not 0 <= first_round < self.rules.num_rounds:
            raise UsageError(
                f"the first round must be 0 to {self.rules.num_rounds - 1} in '{self.rules.name}', "
                f"not {first_round}"
            )
        self.bets, self.first_round = bets, first_round
        self.equities = HandEquities(self.rules, run_outs, seed)
        self.policy = HandPolicy(agent, self.equities.hands, seed)

    def decide(
        self,
        betting: BettingState,
        hand: int,
        board: tuple[int, ...],
        weights: Floats,
        hand_number: int = 0,
    ) -> str:
        """Return what LBR does, as ACPC text.

        Args:
            betting: LBR has to act.
            hand: its own, by number.
            board: the public cards.
            weights: float64[hands] the agent's range, 0 for hands that it cannot hold.
            hand_number: of the match.
        """
        if betting.round < self.first_round:
            return "c"
        own, other = betting.player, 1 - betting.player
        equities = self.equities.against_each(hand, board)
        spent, total_weight = betting.spent, weights.sum()
        total = min(betting.largest, betting.stack_of(own))
        best, most = "c", (2 * (weights @ equities) / total_weight - 1) * total + spent[own]
        if betting.can_fold() and most < 0:
            best, most = "f", 0.0
        for size in self._sizes(betting):
            action = "r" if self.rules.is_limit else f"r{size}"
            after = betting.act(action)
            folds = self.policy.chances(after, board, weights > 0, hand_number).get("f")
            staying = weights if folds is None else weights * (1 - folds)
            stays = staying.sum() / total_weight
            worth = (1 - stays) * (spent[other] + spent[own])
            if stays > 0:
                matched = min(size, betting.stack_of(other))
                wins = (staying @ equities) / staying.sum()
                worth += stays * ((2 * wins - 1) * matched + spent[own])
            if worth > most:
                best, most = action, worth
        return best

    def _sizes(self, betting: BettingState) -> list[int]:
        """Return the totals that LBR thinks of raising to."""
        bounds = betting.raise_bounds()
        if bounds is None or self.bets == FOLD_CALL:
            return []
        least, greatest = bounds
        pot = sum(betting.spent) + betting.to_call
        if self.bets == POT_ALL_IN:
            return sorted({min(max(betting.largest + pot, least), greatest), greatest})
        sizes = [betting.largest + round(fraction * pot) for fraction in POT_FRACTIONS]
        return sorted({size for size in [*sizes, greatest] if least <= size <= greatest})

    # Enumerating small games

    def enumerate_value(self, position: int) -> float:
        """Return what LBR wins in a position, in chips a game, over all deals."""
        rules, hands = self.rules, self.equities.hands
        if self.policy.translates_by_chance:
            raise UsageError(
                f"'{self.policy.agent.name}' translates bets by chance, which cannot be enumerated: give a "
                "number of hands to play, or a translation that leaves nothing to chance"
            )
        num_boards = comb(rules.deck.size - rules.num_hole_cards, sum(rules.num_board_cards))
        if len(hands) * num_boards > MAX_ENUMERATED:
            raise UsageError(
                f"'{rules.name}' has {len(hands) * num_boards:,} deals of a hand and a board: "
                f"enumerating takes at most {MAX_ENUMERATED:,}, so give a number of hands to play"
            )
        total, num_pairs = 0.0, 0.0
        for hand, cards in enumerate(hands.tolist()):
            weights = self.equities.open_hands(cards).astype(np.float64)
            num_pairs += weights.sum()
            total += self._worth(BettingState.start(rules), position, hand, (), weights)
        return float(total / num_pairs)

    def _worth(
        self, betting: BettingState, position: int, hand: int, board: tuple[int, ...], weights: Floats
    ) -> float:
        """Return what LBR wins from here, summed over the agent's range."""
        rules = self.rules
        if betting.is_over and not betting.is_showdown:
            return float(betting.payoffs()[position]) * float(weights.sum())
        due = rules.num_board_cards_by(betting.round) - len(board)
        if due > 0:
            seen = [*self.equities.hands[hand].tolist(), *board]
            num_unseen = rules.deck.size - len(seen) - rules.num_hole_cards
            chance = 1 / comb(num_unseen, due)
            stub = [card for card in rules.deck.cards if card not in seen]
            return chance * sum(
                self._worth(
                    betting, position, hand, (*board, *cards), weights * self.equities.open_hands(cards)
                )
                for cards in combinations(stub, due)
            )
        if betting.is_showdown:
            shares = 2 * self.equities.against_each(hand, board) - 1
            return float(weights @ shares) * min(betting.spent)
        if not weights.any():
            return 0.0
        if betting.player == position:
            action = self.decide(betting, hand, board, weights)
            return self._worth(betting.act(action), position, hand, board, weights)
        chances = self.policy.chances(betting, board, weights > 0)
        return sum(
            self._worth(betting.act(action), position, hand, board, weights * chance)
            for action, chance in chances.items()
            if (weights * chance).any()
        )

    # Playing

    def play_hand(self, cards: list[int], position: int, hand_number: int, seed: int) -> tuple[float, float]:
        """Play a hand; return what LBR expects at its end over the agent's range, and what it is paid.

        Args:
            cards: hole cards by position, then the board.
            position: of LBR.
            hand_number: of the match.
            seed: of what the agent draws.
        """
        rules, agent = self.rules, self.policy.agent
        size = rules.num_hole_cards
        holes, board = (cards[:size], cards[size : 2 * size]), cards[2 * size :]
        hand = rules.deck.hand_index(holes[position])
        weights = self.equities.open_hands(holes[position]).astype(np.float64)
        state = HandState.start(rules).deal_hole(holes)
        draws = Draws(seed, hand_number, 1)
        while not state.is_over:
            if due := state.num_board_cards_due:
                dealt = board[len(state.board) : len(state.board) + due]
                state = state.deal_board(dealt)
                weights *= self.equities.open_hands(dealt)
            elif state.player == position:
                state = state.act(self.decide(state.betting, hand, state.board, weights, hand_number))
            else:
                chances = self.policy.chances(state.betting, state.board, weights > 0, hand_number)
                seen = seen_by_player(state.betting, list(holes[1 - position]), state.board, hand_number)
                action = agent.act(seen, draws)
                state = state.act(action)
                weights = self._after(weights, chances.get(action))
        agent.end_hand(_end_of_hand(state, 1 - position, hand_number))
        paid = float(state.payoffs()[position])
        if not state.betting.is_showdown:
            return paid, paid
        shares = 2 * self.equities.against_each(hand, state.board) - 1
        return float(weights @ shares / weights.sum()) * min(state.betting.spent), paid

    def luck(self, cards: list[int]) -> float:
        """Return how lucky a deal is for LBR in both positions, from -1 to 1; 0 on average over all deals."""
        size = self.rules.num_hole_cards
        total, board = 0.0, cards[2 * size :]
        for hole in (cards[:size], cards[size : 2 * size]):
            shares = self.equities.against_each(self.rules.deck.hand_index(hole), board)
            total += 2 * float(shares[self.equities.open_hands([*hole, *board])].mean()) - 1
        return total / 2

    def _after(self, weights: Floats, chance: Floats | None) -> Floats:
        """Return the range after an action; as it was where no hand would have done it, as was thought."""
        if chance is None:
            return weights
        after = weights * chance
        total = after.sum()
        return after / total if total > LEAST_WEIGHT else weights


def _end_of_hand(state: HandState, position: int, hand_number: int) -> MatchState:
    """Return what a seat is told at the end: at a showdown all hands."""
    shown = state.betting.is_showdown
    holes = tuple(hole if shown or q == position else None for q, hole in enumerate(state.holes))
    return MatchState(position, hand_number, state.betting, holes, state.board)


def local_best_response(
    agent: Agent | str,
    game: PokerRules | str | None = None,
    hands: int | None = None,
    *,
    bets: str = POT_ALL_IN,
    first_round: int = 0,
    run_outs: int = DEFAULT_RUN_OUTS,
    seed: int = 0,
    keep_in: str | Path | None = None,
    report: Report | None = None,
) -> LocalBestResponse:
    """Return what local best response wins from an agent: a lower bound on what a best response wins.

    Args:
        agent: an agent, or its text as for `errai.load_agent`.
        game: what is played; an agent that is loaded already has its own.
        hands: how many to play, two on each deal; None enumerates all deals, which only small games allow.
        bets: `fc` (fold and call), `fcpa` (pot and all-in as well; the raise in limit games) or `56bets`.
        first_round: the first round, from 0, in which LBR acts; before, it checks and calls.
        run_outs: boards that have more of them are valued by so many, drawn by chance.
        seed: of the cards, of what the agent draws and of run-outs.
        keep_in: a file in which hands are kept and found again, where `agent` is text; by default none are.
        report: called with hands played and hands in all.

    >>> round(local_best_response("always-call", "leduc").mbb_per_game, 3)
    1466.667
    """
    what: dict[str, object] | None = None
    if keep_in is not None:
        if not isinstance(agent, str) or hands is None:
            raise UsageError(
                "hands can be kept where the agent is given as text, and a number of hands is played"
            )
        what = {"agent": agent, "agent_fingerprint": agent_fingerprint(agent)}
    if isinstance(agent, str):
        if game is None:
            raise UsageError(f"the agent '{agent}' needs a game to play")
        agent = load_agent(agent, load_card_game(game), seed)
    responder = LocalBestResponder(agent, bets, first_round, run_outs, seed)
    if hands is None:
        values = responder.enumerate_value(0), responder.enumerate_value(1)
        mean = sum(values) / 2
        return LocalBestResponse(
            values, (mean, mean), None, mean, (mean, mean), True, responder.rules.big_blind
        )
    verify_whole("hands", hands, 4)
    if hands % 2:
        raise UsageError(f"hands must be even, because each deal is played in both positions, not {hands}")
    if what is not None:
        what |= {"game": describe_rules(responder.rules), "bets": bets, "first_round": first_round}
        what |= {"run_outs": run_outs, "seed": seed}
    kept = KeptHands(hands // 2, keep_in, what)
    try:
        _play_deals(responder, seed, kept, report)
    finally:
        kept.save()
    won, luck = kept.rows[:, :4].reshape(-1, 2, 2), kept.rows[:, 4]  # [deal, expected or paid, position]
    expected, money = _summed(_without_luck(won[:, 0], luck)), _summed(won[:, 1])
    is_expected = responder.policy.is_exact
    values, interval = expected if is_expected else money
    return LocalBestResponse(
        values, interval, hands, sum(money[0]) / 2, money[1], is_expected, responder.rules.big_blind
    )


def _play_deals(responder: LocalBestResponder, seed: int, kept: KeptHands, report: Report | None) -> None:
    """Play the deals that are not known yet."""
    dealer, num_deals = DealerCards(responder.rules, seed), len(kept.rows)
    dealer.skip(kept.done)
    for deal in range(kept.done, num_deals):
        cards = dealer.deal(1)[0].tolist()
        won = np.empty((2, 2))  # [expected or paid, position]
        for position in (0, 1):
            won[:, position] = responder.play_hand(cards, position, 2 * deal + position, seed)
            if report is not None:
                report(2 * deal + position + 1, 2 * num_deals)
        kept.add(np.append(won.ravel(), responder.luck(cards)))


def _without_luck(won: Floats, luck: Floats) -> Floats:
    """Return what was won on deals of average luck, which is 0: float64[deals, 2]."""
    spread = luck - luck.mean()
    variance = float(spread @ spread)
    slope = float(spread @ won.mean(axis=1)) / variance if variance > 0 else 0.0
    return won - slope * luck[:, np.newaxis]


def _summed(won: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the mean in each position, and the 95% interval of their mean: float64[deals, 2] was won."""
    first, second = won.mean(axis=0).tolist()
    of_deals = won.mean(axis=1)
    mean, error = float(of_deals.mean()), float(of_deals.std(ddof=1)) / len(won) ** 0.5
    return (first, second), (mean - NORMAL_95 * error, mean + NORMAL_95 * error)
