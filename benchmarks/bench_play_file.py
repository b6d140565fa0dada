"""How soon a play file is open, and how long a decision takes: warm, and with none of the file in memory.

    python benchmarks/bench_play_file.py                 Leduc hold'em, solved and exported first
    python benchmarks/bench_play_file.py FILE            a file of `errai export`

A state is a decision of the betting at random, a hand and a board at random, given as text, as an agent gets
them; its time is that of `probabilities`, wall clock. Warm: all states were asked before. Cold: before each
decision the pages of the file are unmapped and the system is asked to drop them, and the page faults that
went to the disk are counted. A busy machine shows in the wall clock: beside it stand the processor's time
and the wall clock of those decisions in whose midst no other process got the processor.
"""

import argparse
import mmap
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from errai.cards.deck import format_cards
from errai.runs.export import export_strategy
from errai.runs.run import solve
from errai.strategy.information_sets import betting_strings
from errai.strategy.play_file import PlayFile, open_play_file
from errai.tree.betting_tree import DECISION

SEED = 1
WARM, COLD = 20_000, 2_000

State = tuple[str, str, str]


def random_states(opened: PlayFile, number: int) -> list[State]:
    """Return betting, hand and board of decisions at random, rounds alike."""
    rng, tree, game = np.random.default_rng(SEED), opened.tree, opened.game
    texts = betting_strings(tree)
    rounds = [
        np.flatnonzero((tree.betting.kind == DECISION) & (tree.betting.round == r))
        for r in range(game.num_rounds)
    ]
    states = []
    for place in range(number):
        r = place % game.num_rounds
        num_board = game.num_board_cards_by(r)
        cards = rng.permutation(np.array(game.deck.cards))[: game.num_hole_cards + num_board]
        hole, board = cards[: game.num_hole_cards], cards[game.num_hole_cards :]
        states.append((texts[rng.choice(rounds[r])], format_cards(hole), format_cards(board)))
    return states


def drop(opened: PlayFile) -> None:
    """Have none of the file in memory, as far as the system obeys."""
    content: Any = opened.tables[0]
    while not isinstance(content, mmap.mmap):
        content = content.base
    content.madvise(mmap.MADV_DONTNEED)  # pages that are mapped are not dropped
    descriptor = os.open(opened.path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def ask(opened: PlayFile, states: list[State], *, cold: bool) -> None:
    """Tell how long decisions take."""
    times, busy = np.empty(len(states)), np.empty(len(states))
    alone = np.zeros(len(states), dtype=bool)
    faults = 0
    for place, (betting, hand, board) in enumerate(states):
        if cold:
            drop(opened)
        before = resource.getrusage(resource.RUSAGE_SELF)
        began, spent = time.perf_counter(), time.thread_time()
        opened.probabilities(betting, hand, board)
        times[place], busy[place] = time.perf_counter() - began, time.thread_time() - spent
        after = resource.getrusage(resource.RUSAGE_SELF)
        faults += after.ru_majflt - before.ru_majflt
        alone[place] = after.ru_nivcsw == before.ru_nivcsw
    half, most, worst = np.quantile(times, [0.5, 0.99, 1.0]) * 1e6
    print(
        f"{'cold' if cold else 'warm'}: {len(states):,} decisions, median {half:.0f} us, 99th percentile "
        f"{most:.0f} us, longest {worst:.0f} us, {faults / len(states):.1f} faults from disk each; "
        f"processor: median {np.median(busy) * 1e6:.0f} us, 99th percentile "
        f"{np.quantile(busy, 0.99) * 1e6:.0f} us; the {np.mean(alone):.1%} that were alone: 99th percentile "
        f"{np.quantile(times[alone], 0.99) * 1e6:.0f} us",
        flush=True,
    )


def measure(path: Path) -> None:
    """Measure one file."""
    drop(open_play_file(path))
    began = time.perf_counter()
    opened = open_play_file(path)
    took = time.perf_counter() - began
    began = time.perf_counter()
    opened.probabilities("", format_cards(opened.game.deck.cards[: opened.game.num_hole_cards]))
    first = time.perf_counter() - began
    print(
        f"{opened.game.name}, {path.stat().st_size / 2**20:,.1f} MiB, {opened.bits} bits: "
        f"opened cold in {1000 * took:.0f} ms, first decision after {1000 * first:.0f} ms more"
    )
    states = random_states(opened, WARM)
    for betting, hand, board in states:
        opened.probabilities(betting, hand, board)
    ask(opened, states, cold=False)
    ask(opened, states[:COLD], cold=True)


def main() -> None:
    """Measure the file that is given, or Leduc's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    given = parser.parse_args().file
    if given is not None:
        measure(Path(given))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leduc.play"
        export_strategy(solve("leduc", iterations=100).strategy, path)
        measure(path)


if __name__ == "__main__":
    main()
