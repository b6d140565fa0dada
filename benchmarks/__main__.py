"""`make bench`: run every benchmark of this folder, one after the other."""

import importlib
from pathlib import Path


def main() -> None:
    """Run the `main` of every `bench_*.py`."""
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"== {path.stem}", flush=True)
        importlib.import_module(f"benchmarks.{path.stem}").main()


if __name__ == "__main__":
    main()
