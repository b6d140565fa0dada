"""A match of two agents in one process: cards of the competition's dealer, positions that rotate.

Steps for each deal: seat the agents; ask whoever is to act, with what that seat may see; turn an illegal
action into a legal one as the competition's dealer does, and count it; tell both how the hand ended. A
duplicate match plays every deal again with the seats swapped.

Agents that are tables over one betting tree are not asked: a kernel plays them, with the same draws and the
same result (`table_match.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from errai.errors import UsageError, verify_whole
from errai.games.betting import BettingState
from errai.games.dealer_cards import DealerCards
from errai.games.hand import HandState
from errai.games.match_state import MAX_HAND_NUMBER, MatchState
from errai.games.rules import PokerRules
from errai.play.agent import Agent
from errai.play.draws import Draws
from errai.play.match_score import Score, is_narrow, next_look
from errai.play.mended_action import mended_action
from errai.play.played_hands import SWAPPED_HANDS, PlayedHands, position_of
from errai.play.table_match import TableMatch

DEALS_ASKED = 100
"""Deals of a batch of agents that are asked; what is kept is kept after each."""

DEALS_OF_TABLES = 8192
"""Deals of a batch that a kernel plays."""


Report = Callable[[Score], None]


class AgentFailedError(UsageError):
    """An agent has raised an exception; what was played before is in `score`."""

    def __init__(self, sentence: str, score: Score) -> None:
        super().__init__(sentence)
        self.score = score


class HandFailedError(Exception):
    """An agent has raised an exception in a hand.

    Attributes:
        agent: whose.
        number: of the hand.
        error: what it raised.
        played: the deals of the batch that were played before it.
    """

    def __init__(self, agent: Agent, number: int, error: Exception) -> None:
        super().__init__()
        self.agent, self.number, self.error = agent, number, error
        self.played: PlayedHands | None = None

    def before(self) -> PlayedHands:
        """Return the deals of the batch that were played before."""
        assert self.played is not None, "whoever plays a batch notes it"
        return self.played

    def __str__(self) -> str:
        said = " ".join(str(self.error).split())
        return f"the agent '{self.agent.name}' failed in hand {self.number}: {type(self.error).__name__}" + (
            f": {said}" if said else ""
        )


class Players(Protocol):
    """Two agents that play deals."""

    def play(self, cards: npt.NDArray[np.uint8], first_deal: int, hands_a_deal: int) -> PlayedHands:
        """Play some deals.

        Args:
            cards: uint8[D, cards] hole cards by position, then the whole board.
            first_deal: number of the first of them.
            hands_a_deal: 1, or 2 to play each again with the seats swapped.
        """


def legal_action(state: BettingState, action: object) -> tuple[str, bool]:
    """Return what an agent's answer comes to, and whether it was legal as it was.

    As the competition's dealer has it: the size of a raise is moved to the nearest legal one, and whatever
    else is not legal becomes a check or call.

    Args:
        state: the betting; somebody is to act.
        action: what the agent answered, be it what it may.
    """
    mended = mended_action(state, action) if isinstance(action, str) else None
    return ("c", False) if mended is None else (mended[0], mended[1] is None)


def play_hand(
    agents: tuple[Agent, Agent],
    draws: tuple[Draws, Draws],
    number: int,
    cards: list[int],
    rules: PokerRules,
) -> tuple[HandState, list[int]]:
    """Play one hand; return its end and the illegal actions by position.

    Args:
        agents: [position].
        draws: [position].
        number: of the hand.
        cards: hole cards by position, then the whole board.
        rules: the game.
    """
    hole = rules.num_hole_cards
    hand = HandState.start(rules).deal_hole([cards[:hole], cards[hole : 2 * hole]])
    board, illegal = cards[2 * hole :], [0, 0]
    while not hand.is_over:
        if due := hand.num_board_cards_due:
            hand = hand.deal_board(board[len(hand.board) :][:due])
            continue
        position = hand.player
        state = MatchState(position, number, hand.betting, _seen(hand, position), hand.board)
        try:
            answer: object = agents[position].act(state, draws[position])
        except Exception as error:
            raise HandFailedError(agents[position], number, error) from error
        action, was_legal = legal_action(hand.betting, answer)
        illegal[position] += not was_legal
        hand = hand.act(action)
    for position, agent in enumerate(agents):
        holes = hand.holes if hand.betting.is_showdown else _seen(hand, position)
        try:
            agent.end_hand(MatchState(position, number, hand.betting, holes, hand.board))
        except Exception as error:
            raise HandFailedError(agent, number, error) from error
    return hand, illegal


def _seen(hand: HandState, position: int) -> tuple[tuple[int, ...] | None, ...]:
    """Return the hole cards that a position sees before the showdown."""
    return tuple(hole if p == position else None for p, hole in enumerate(hand.holes))


class AgentMatch:
    """Two agents that are asked."""

    def __init__(self, first: Agent, second: Agent, seed: int) -> None:
        """Seat two agents of one game.

        Args:
            first: an agent.
            second: another.
            seed: of their draws.
        """
        self.rules = first.game
        self._agents, self._seed = (first, second), seed

    def play(self, cards: npt.NDArray[np.uint8], first_deal: int, hands_a_deal: int) -> PlayedHands:
        """Play some deals; see `Players`. An agent's exception is a `HandFailedError`."""
        chips = np.zeros((hands_a_deal, len(cards)), dtype=np.int64)
        bettings: list[list[str]] = [[] for _ in range(hands_a_deal)]
        illegal = [0, 0]
        for d, dealt in enumerate(cards.tolist()):
            ends, wrong = [], [0, 0]
            for swapped in range(hands_a_deal):
                seat = position_of(0, first_deal + d, swapped)  # who sits in position 0
                try:
                    hand, of_position = self._play_seated(seat, first_deal + d, swapped, dealt)
                except HandFailedError as failure:
                    # A deal that was played in half is no pair: it does not count.
                    failure.played = _played(cards[:d], chips[:, :d], illegal, bettings)
                    raise
                chips[swapped, d] = hand.payoffs()[seat]
                ends.append(hand.betting.betting)
                for position, number in enumerate(of_position):
                    wrong[(position + seat) % 2] += number
            for texts, end in zip(bettings, ends, strict=True):
                texts.append(end)
            illegal = [a + b for a, b in zip(illegal, wrong, strict=True)]
        return _played(cards, chips, illegal, bettings)

    def _play_seated(
        self, seat: int, number: int, swapped: int, cards: list[int]
    ) -> tuple[HandState, list[int]]:
        drawn_from = number + swapped * SWAPPED_HANDS
        first, second = (Draws(self._seed, drawn_from, agent) for agent in (seat, 1 - seat))
        seated = (self._agents[seat], self._agents[1 - seat])
        return play_hand(seated, (first, second), number, cards, self.rules)


def _played(
    cards: npt.NDArray[np.uint8],
    chips: npt.NDArray[np.int64],
    illegal: list[int],
    bettings: list[list[str]],
) -> PlayedHands:
    return PlayedHands(cards, chips, (illegal[0], illegal[1]), lambda: bettings)


class Keeper(Protocol):
    """Writes what was played: logs, results."""

    def keep(self, played: PlayedHands, first_deal: int, score: Score) -> None:
        """Keep a batch.

        Args:
            played: its deals.
            first_deal: number of the first of them.
            score: of these deals alone.
        """


@dataclass(frozen=True, eq=False)
class MatchPlan:
    """What is to be played.

    Attributes:
        agents: both, of one game.
        seed: of cards and draws.
        deals: how many at most.
        duplicate: whether every deal is played twice, with the seats swapped.
        half_width: stop when the 95% interval is as narrow as this to either side, in mbb/g; None for never.
        asks: ask the agents even where a kernel could play them.
    """

    agents: tuple[Agent, Agent]
    seed: int
    deals: int
    duplicate: bool = False
    half_width: float | None = None
    asks: bool = False

    def __post_init__(self) -> None:
        first, second = self.agents
        if first.game.num_players != 2:
            raise UsageError(
                f"'{first.game.name}' has {first.game.num_players} players: expected a game of 2 for a match"
            )
        assert first.game == second.game, "both agents were loaded for one game"
        verify_whole("hands", self.deals, 1)
        if self.deals > MAX_HAND_NUMBER:
            raise UsageError(f"hands must be at most {MAX_HAND_NUMBER:,}, not {self.deals:,}")

    @property
    def rules(self) -> PokerRules:
        """The game."""
        return self.agents[0].game

    @property
    def empty_score(self) -> Score:
        """The score before the first deal."""
        return Score(self.rules.big_blind, 2 if self.duplicate else 1)

    def players(self) -> Players:
        """Return what plays the deals, as fast as these agents can be played."""
        tables = None if self.asks else TableMatch.of(*self.agents, self.seed)
        return tables or AgentMatch(*self.agents, self.seed)


def play_deals(
    plan: MatchPlan,
    score: Score,
    keepers: tuple[Keeper, ...] = (),
    report: Report | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Score:
    """Play a match from where its score stands to its end; return the score.

    Args:
        plan: what is to be played.
        score: of the deals that were played before.
        keepers: are given every batch, in order.
        report: called after every batch.
        is_stopped: asked after every batch whether to stop early.
    """
    dealer = DealerCards(plan.rules, plan.seed)
    dealer.skip(score.deals)
    players: Players | None = None
    while score.deals < plan.deals and not (plan.half_width and is_narrow(score, plan.half_width)):
        players = players or plan.players()
        most = DEALS_OF_TABLES if isinstance(players, TableMatch) else DEALS_ASKED
        stops = (plan.deals, score.deals + most, next_look(score.deals) if plan.half_width else plan.deals)
        failure = None
        try:
            played = players.play(dealer.deal(min(stops) - score.deals), score.deals, score.hands_a_deal)
        except HandFailedError as failed:
            played, failure = failed.before(), failed
        batch = plan.empty_score.plus(played.chips, played.illegal_actions)
        for keeper in keepers if batch.deals else ():
            keeper.keep(played, score.deals, batch)
        score = score.joined(batch)
        if failure is not None:
            raise AgentFailedError(str(failure), score) from failure.error
        if report is not None:
            report(score)
        if is_stopped():
            break
    return score
