"""The demonstration of `make demo`: a game counted, solved, measured and asked, in a minute or two."""

import subprocess
import sys
import tempfile
import time

STEPS = [
    ("Every game, with its size", ["games"]),
    (
        "Leduc hold'em, solved with CFR+ to a thousandth of an ante",
        ["solve", "leduc", "--until", "1mbb", "--out", "runs/leduc"],
    ),
    ("How much a perfect opponent wins from it, exactly", ["exploit", "runs/leduc"]),
    ("What it plays after check, raise", ["show", "runs/leduc", "cr"]),
    ("What it plays after a call, with a queen on the table", ["show", "runs/leduc", "crc/", "--board", "Q"]),
    (
        "It plays 20,000 deals against one who calls or raises at random, each deal twice",
        ["match", "runs/leduc", "half", "--hands", "20000", "--duplicate"],
    ),
    ("The same measure for one who always calls", ["exploit", "always-call", "--game", "leduc"]),
    (
        "What the measure would take in all of limit hold'em",
        ["exploit", "always-call", "--game", "limit-holdem", "--estimate"],
    ),
    (
        "Limit hold'em, round by round, in an abstraction of 57 million",
        ["size", "limit-holdem", "--buckets", "IR 169-9000-9000-9000"],
    ),
    (
        "Rhode Island hold'em's hands in buckets, by k-means and with perfect recall",
        ["abstract", "build", "PR-KE-KO 5-4-3", "--game", "rhode-island", "--out", "abstractions/ri"],
    ),
    (
        "The bucket of an ace with a king on the table, and what may come of it",
        ["abstract", "show", "abstractions/ri", "--hand", "As", "--board", "Kd"],
    ),
    (
        "What it costs in Leduc not to tell jacks from queens, measured in the real game",
        ["solve", "leduc", "--abstraction", "[JQ.K]", "--iterations", "500"],
    ),
    ("Ace-king suited against queens and better, exactly", ["equity", "AsKs", "QQ+", "--board", "Js7d2s"]),
]


def main() -> None:
    """Run each step as a user would type it."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:  # a second demonstration starts afresh
        for title, arguments in STEPS:
            shown = " ".join(f'"{word}"' if set(word) & set(" ,+") else word for word in arguments)
            print(f"\n== {title}\n$ errai {shown}", flush=True)
            subprocess.run([sys.executable, "-m", "errai", *arguments], check=True, cwd=folder)
    print(
        f"\nDone in {time.perf_counter() - began:.0f} s. Next:\n"
        "  .venv/bin/errai --help                      every command\n"
        "  .venv/bin/errai solve GAME --out runs/mine  solve a game and keep it\n"
        "  .venv/bin/errai train --preset limit-quick  a strategy of limit hold'em in three minutes\n"
        "  .venv/bin/errai match --help                agents against each other; docs/agents.md\n"
        "  .venv/bin/errai abstract build --help       abstractions, of the full deck too\n"
        "  README.md                                   the same from Python\n"
        "  docs/algorithms.md                          what is verified, against what"
    )


if __name__ == "__main__":
    main()
