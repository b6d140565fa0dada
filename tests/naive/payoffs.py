"""Slow obvious twin of `errai.games.payoffs`: one leaf, one player, chips moved one after the other."""

from collections.abc import Callable

from errai.games.payoffs import Payoffs


def naive_rake(payoffs: Payoffs, stake: float, dealt: bool) -> float:
    """Return what the house takes from a pot to which both have given the stake."""
    if payoffs.no_flop_no_drop and not dealt:
        return 0.0
    rake = payoffs.rake * (stake + stake)
    if payoffs.rake_cap is not None and rake > payoffs.rake_cap:
        rake = payoffs.rake_cap
    return rake


def naive_pay(payoffs: Payoffs) -> Callable[[int, str, float, bool], float]:
    """Return what players get at leaves, as `NaiveWalk.pay` takes it."""

    def pay(player: int, how: str, stake: float, dealt: bool) -> float:
        pot = stake + stake - naive_rake(payoffs, stake, dealt)
        win_showdown, lose_showdown, fold, win_by_fold = payoffs.tilt[player]
        if how == "tie":
            return pot / 2 - stake
        percent = {
            "win": win_showdown,
            "lose": lose_showdown,
            "fold": fold,
            "opponent folds": win_by_fold,
        }[how]
        net = pot - stake if how in ("win", "opponent folds") else -stake
        return net + net * percent / 100

    return pay


def naive_house(payoffs: Payoffs) -> Callable[[int, str, float, bool], float]:
    """Return what the house gets at leaves: whoever is asked for, and however the leaf ends."""

    def pay(player: int, how: str, stake: float, dealt: bool) -> float:
        return naive_rake(payoffs, stake, dealt)

    return pay
