"""A builder of features killed for real at every durable step: python tests/killed_features.py FOLDER.

The process has one thread and forks a child for each step, which is killed there by SIGKILL. Prints, as JSON,
how many steps there are, how often the child was killed, how often it left what `KilledStates` foresaw, and
how often the next build ended with the bytes of an undisturbed one.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from killed_states import InTurn, KilledStates

from errai import workers
from errai.abstraction.features import build, stage
from errai.abstraction.features.features import FeaturePlan
from errai.games.catalogue import load_game

SMALL_STEPS: tuple[tuple[Any, str, Any], ...] = (
    (build, "BOARDS_A_CHUNK", 2),
    (build, "DEALS_A_CHUNK", 10),
    (build, "CLUSTER_RESTARTS", 1),
    (stage, "SECONDS_BETWEEN_NOTES", -1.0),
    (workers, "SECONDS_BETWEEN_REPORTS", 0.0),
    (workers, "ThreadPoolExecutor", InTurn),
)
"""Chunks of a few rows, each noted in the journal, on one thread."""


def main() -> None:
    os.environ["ERRAI_CACHE_DIR"] = sys.argv[1]
    for module, name, value in SMALL_STEPS:
        setattr(module, name, value)
    plan = FeaturePlan(load_game("leduc"), 2)
    build.build_features(plan, 1)  # kernels are compiled and kept before anything is counted
    shutil.rmtree(plan.folder)
    states = KilledStates(Path(plan.folder), lambda: build.build_features(plan, 1))
    steps = states.steps[:-1]  # the last is after the end
    counts = {"steps": len(steps), "killed": 0, "as_foreseen": 0, "same_end": 0}
    for number, foreseen in enumerate(steps):
        shutil.rmtree(plan.folder)
        child = os.fork()
        if child == 0:
            states.kill_at = number
            states.run()
            os._exit(0)
        counts["killed"] += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        counts["as_foreseen"] += states.read() == dict(foreseen)
        build.build_features(plan, 1)
        counts["same_end"] += states.read() == states.finished
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
