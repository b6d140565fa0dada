"""Any subtree of a game's betting, node by node or as text that a person can read."""

from collections.abc import Iterator
from dataclasses import dataclass

from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.bluff import CALL_BLUFF, BluffRules, format_bid, num_bids, replay_bids
from errai.games.catalogue import Game
from errai.games.rounds import round_name
from errai.games.rules import PokerRules
from errai.tree.bet_menu import BetMenu, raise_totals

INDENT = "  "

DECISION, FOLD, SHOWDOWN, CHALLENGE, MORE = "decision", "fold", "showdown", "challenge", "more"
"""Kinds of nodes; `MORE` stands for those that lie deeper than was asked for."""


@dataclass(frozen=True)
class BettingNode:
    """A node of the betting as it is shown.

    Attributes:
        depth: actions from where the subtree begins.
        label: the action that leads here; where the subtree begins, all of the betting.
        kind: one of those above.
        player: who acts or, after a fold, who wins; None at a showdown.
        round: counted from 0; None in dice games.
        chips: [player] chips in the middle, or dice.
        won: chips that the winner gets from the other after a fold.
        text: the node in words.
    """

    depth: int
    label: str
    kind: str
    player: int | None = None
    round: int | None = None
    chips: tuple[int, ...] = ()
    won: int | None = None
    text: str = ""


def show_subtree(game: Game, betting: str = "", depth: int = 4, menu: BetMenu | None = None) -> Iterator[str]:
    """Yield the lines of the subtree below a betting string; arguments as for `betting_nodes`."""
    for node in betting_nodes(game, betting, depth, menu):
        label = "..." if node.kind == MORE else f"{node.label:<8} {node.text}"
        yield f"{INDENT * node.depth}{label}"


def betting_nodes(
    game: Game, betting: str = "", depth: int = 4, menu: BetMenu | None = None
) -> Iterator[BettingNode]:
    """Yield the nodes of the subtree below a betting string, a node before those below it.

    Args:
        game: any game.
        betting: where to start, as an ACPC betting string (in Bluff, bids such as `1-2,1-5`).
        depth: how many actions to follow.
        menu: bet sizes of a no-limit game.
    """
    if depth < 0:
        raise UsageError(f"the depth must be 0 or more, not {depth}")
    if isinstance(game, BluffRules):
        if menu is not None:
            raise UsageError(f"'{game.name}' is a dice game: bet menus do not apply to it")
        yield from _bluff_nodes(game, replay_bids(game.dice, betting), 0, depth)
        return
    if game.is_limit and menu is not None:
        raise UsageError(f"'{game.name}' is a limit game: its bet sizes are fixed and take no menu")
    if not game.is_limit and menu is None:
        raise UsageError(f"'{game.name}' has a branch for every chip: give the bet sizes to show with --bets")
    if menu is not None:
        menu.verify(game)
    yield from _poker_nodes(game, replay(game, betting), "", 0, depth, menu)


def _poker_nodes(
    rules: PokerRules, state: BettingState, action: str, level: int, depth: int, menu: BetMenu | None
) -> Iterator[BettingNode]:
    yield _poker_node(rules, state, action or state.betting or "(start)", level)
    if state.is_over:
        return
    if level == depth:
        yield BettingNode(level + 1, "", MORE)
        return
    children = [("f", state.fold())] if state.can_fold() else []
    children.append(("c", state.call()))
    for total in raise_totals(state, menu):
        children.append(("r" if rules.is_limit else f"r{total}", state.raise_to(total)))
    for text, child in children:
        yield from _poker_nodes(rules, child, text, level + 1, depth, menu)


def _poker_node(rules: PokerRules, state: BettingState, label: str, level: int) -> BettingNode:
    spent = tuple(state.spent)
    chips = "+".join(map(str, spent))
    if state.is_showdown:
        return BettingNode(level, label, SHOWDOWN, None, state.round, spent, None, f"showdown, chips {chips}")
    if state.is_over:
        winner = state.folded.index(False)
        won = int(state.payoffs()[winner])  # whole: what the other has put in
        text = f"player {winner} wins {won}"
        return BettingNode(level, label, FOLD, winner, state.round, spent, won, text)
    text = f"player {state.player} acts, {round_name(rules, state.round)}, chips {chips}"
    return BettingNode(level, label, DECISION, state.player, state.round, spent, None, text)


def _bluff_nodes(rules: BluffRules, bids: tuple[int, ...], level: int, depth: int) -> Iterator[BettingNode]:
    label = format_bid(bids[-1]) if bids else "(start)"
    player, dice = len(bids) % 2, tuple(rules.dice)
    text = f"player {player} acts, {dice[0]}+{dice[1]} dice"
    yield BettingNode(level, label, DECISION, player, None, dice, None, text)
    if level == depth:
        yield BettingNode(level + 1, "", MORE)
        return
    if bids:
        text = f"player {player} challenges {label}"
        yield BettingNode(level + 1, CALL_BLUFF, CHALLENGE, player, None, dice, None, text)
    for bid in range(bids[-1] + 1 if bids else 0, num_bids(rules.dice)):
        yield from _bluff_nodes(rules, (*bids, bid), level + 1, depth)
