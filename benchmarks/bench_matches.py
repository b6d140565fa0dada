"""How many hands a second are played, by a kernel and by asking the agents.

    python benchmarks/bench_matches.py             a strategy of limit hold'em with random weights
    python benchmarks/bench_matches.py RUN         a saved strategy or run of limit hold'em

Rates are for a second of processor time on one core, which a busy machine changes less; compiling, loading
and treating are apart. What is asked for: 5,000 hands a second of two strategies, 50,000 of always-call
against always-raise.

Without RUN the strategy has 169, 5,000, 5,000 and 5,000 buckets, which a hash of the hand's class gives: that
look-up is quicker than that of an abstraction by hand strength, and the tables are as large as real ones. Its
weights are random, so that hands end sooner than between players who know better.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_sampling import HashedBuckets
from errai.engine.public_tree import PublicTree
from errai.games.catalogue import load_card_game
from errai.games.dealer_cards import DealerCards
from errai.games.deals import Deals
from errai.play.agent import Agent
from errai.play.blueprint_agent import BlueprintAgent
from errai.play.match import MatchPlan, play_deals
from errai.play.named import load_agent
from errai.strategy.bucketed import BucketStrategy, SavedAbstraction
from errai.strategy.postprocessing import Treatment
from errai.tables.bucket_layout import bucket_layout

SEED = 1
DEALS = 50_000
DEALS_ASKED = 500

GAME = load_card_game("limit-holdem")


def random_strategy() -> BucketStrategy:
    """Return a strategy of random weights."""
    tree = PublicTree.of(GAME)
    abstraction: Any = HashedBuckets(GAME)
    layout = bucket_layout(tree.walk, Deals(GAME), (abstraction, abstraction))
    rng = np.random.default_rng(SEED)
    first, second = (rng.random(n, dtype=np.float32) for n in layout.num_slots)
    return BucketStrategy(tree, SavedAbstraction(Path("hashed"), "", abstraction), (first, second))


def rate(agents: tuple[Agent, Agent], deals: int, duplicate: bool, asks: bool) -> str:
    """Return the hands a second of a match, and its spread."""
    plan = MatchPlan(agents, SEED, deals, duplicate, asks=asks)
    players = plan.players()
    warm = MatchPlan(agents, SEED, 10, duplicate, asks=asks)
    play_deals(warm, plan.empty_score)
    dealer, score = DealerCards(GAME, SEED), plan.empty_score
    began = time.process_time()
    while score.deals < deals:
        played = players.play(dealer.deal(min(8192, deals - score.deals)), score.deals, score.hands_a_deal)
        score = score.plus(played.chips)
    seconds = time.process_time() - began
    spread = f"{score.hand_standard_deviation:,.0f} mbb of a hand"
    if duplicate:
        spread += f", {score.standard_deviation:,.0f} of a pair's mean"
    return f"{score.hands / seconds:>12,.0f} hands a second, {score.words()}, standard deviation {spread}"


def main() -> None:
    """Measure."""
    path = sys.argv[1] if __name__ == "__main__" and len(sys.argv) > 1 else None
    if path is None:
        strategy = random_strategy()
        plain, treated = (BlueprintAgent(strategy, Treatment.parse(t), name=t) for t in ("none", "purify"))
        blueprints: tuple[Agent, Agent] = (plain, treated)
    else:
        blueprints = (load_agent(path, GAME), load_agent(f"{path}:purify", GAME))
    simple = (load_agent("always-call", GAME), load_agent("always-raise", GAME))
    for name, agents, deals in (
        ("always-call against always-raise", simple, 10 * DEALS),
        ("a strategy against itself purified", blueprints, DEALS),
    ):
        for asks in (False, True):
            for duplicate in (False, True):
                how = ("asked" if asks else "kernel") + (", duplicate" if duplicate else "")
                found = rate(agents, DEALS_ASKED if asks else deals, duplicate, asks)
                print(f"{name:36} {how:18} {found}", flush=True)


if __name__ == "__main__":
    main()
