"""Any subtree of a game's betting, as text that a person can read."""

from collections.abc import Iterator

from errai.errors import UsageError
from errai.games.betting import BettingState, replay
from errai.games.bluff import CALL_BLUFF, BluffRules, format_bid, num_bids, replay_bids
from errai.games.catalogue import Game
from errai.games.rules import PokerRules
from errai.tree.bet_menu import BetMenu, raise_totals

INDENT = "  "


def show_subtree(game: Game, betting: str = "", depth: int = 4, menu: BetMenu | None = None) -> Iterator[str]:
    """Yield the lines of the subtree below a betting string.

    Args:
        game: any game.
        betting: where to start, as an ACPC betting string (in Bluff, bids such as `1-2,1-5`).
        depth: how many actions to follow.
        menu: bet sizes of a no-limit game.
    """
    if depth < 0:
        raise UsageError(f"a depth of {depth} is impossible: 0 or more is allowed")
    if isinstance(game, BluffRules):
        if menu is not None:
            raise UsageError(f"'{game.name}' is a dice game: bet menus do not apply to it")
        yield from _bluff_lines(game, replay_bids(game.dice, betting), 0, depth)
        return
    if game.is_limit and menu is not None:
        raise UsageError(f"'{game.name}' is a limit game: its bet sizes are fixed and take no menu")
    if not game.is_limit and menu is None:
        raise UsageError(f"'{game.name}' has a branch for every chip: give the bet sizes to show with --bets")
    yield from _poker_lines(game, replay(game, betting), "", 0, depth, menu)


def _poker_lines(
    rules: PokerRules, state: BettingState, action: str, level: int, depth: int, menu: BetMenu | None
) -> Iterator[str]:
    label = action or state.betting or "(start)"
    yield f"{INDENT * level}{label:<8} {_describe(state)}"
    if state.is_over:
        return
    if level == depth:
        yield f"{INDENT * (level + 1)}..."
        return
    children = [("f", state.fold())] if state.can_fold() else []
    children.append(("c", state.call()))
    for total in raise_totals(state, menu):
        children.append(("r" if rules.is_limit else f"r{total}", state.raise_to(total)))
    for text, child in children:
        yield from _poker_lines(rules, child, text, level + 1, depth, menu)


def _describe(state: BettingState) -> str:
    chips = "+".join(map(str, state.spent))
    if state.is_showdown:
        return f"showdown, chips {chips}"
    if state.is_over:
        winner = state.folded.index(False)
        return f"player {winner} wins {state.payoffs()[winner]}"
    return f"player {state.player} acts, round {state.round + 1}, chips {chips}"


def _bluff_lines(rules: BluffRules, bids: tuple[int, ...], level: int, depth: int) -> Iterator[str]:
    label = format_bid(bids[-1]) if bids else "(start)"
    player = len(bids) % 2
    yield f"{INDENT * level}{label:<8} player {player} acts, {rules.dice[0]}+{rules.dice[1]} dice"
    if level == depth:
        yield f"{INDENT * (level + 1)}..."
        return
    if bids:
        yield f"{INDENT * (level + 1)}{CALL_BLUFF:<8} player {player} challenges {label}"
    for bid in range(bids[-1] + 1 if bids else 0, num_bids(rules.dice)):
        yield from _bluff_lines(rules, (*bids, bid), level + 1, depth)
