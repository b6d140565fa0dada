"""The demonstration of `make demo`: what Errai knows about games, in a minute or two."""

import subprocess
import sys
import time

STEPS = [
    ("Every game, with its size", ["games"]),
    (
        "Limit hold'em, round by round, in an abstraction of 57 million",
        ["size", "limit-holdem", "--buckets", "IR 169-9000-9000-9000"],
    ),
    (
        "No-limit hold'em with a menu of three bet sizes",
        ["size", "nolimit-holdem", "--bets", "0.5p,1p,all-in", "--max-raises", "4"],
    ),
    ("Leduc hold'em after check, raise", ["show", "leduc", "cr", "--depth", "2"]),
    ("Ace-king suited against queens and better, exactly", ["equity", "AsKs", "QQ+", "--board", "Js7d2s"]),
]


def main() -> None:
    """Run each step as a user would type it."""
    began = time.perf_counter()
    for title, arguments in STEPS:
        shown = " ".join(f'"{word}"' if set(word) & set(" ,+") else word for word in arguments)
        print(f"\n== {title}\n$ errai {shown}", flush=True)
        subprocess.run([sys.executable, "-m", "errai", *arguments], check=True)
    print(
        f"\nDone in {time.perf_counter() - began:.0f} s. Next:\n"
        "  .venv/bin/errai --help              every command\n"
        "  .venv/bin/errai show GAME BETTING   walk any game's betting\n"
        "  README.md                           the same from Python\n"
        "  docs/algorithms.md                  what is verified, against what"
    )


if __name__ == "__main__":
    main()
