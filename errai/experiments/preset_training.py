"""Strategies that an experiment trains for itself: a preset, for as long as the experiment has."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from errai.runs.training import train
from errai.runs.training_file import PRESETS
from errai.strategy.bucketed import BucketStrategy
from errai.strategy.strategy import Strategy


def train_preset(
    preset: str,
    seconds: float,
    seed: int,
    changed: Mapping[str, Any] | None = None,
    out: Path | None = None,
) -> Strategy | BucketStrategy:
    """Train a strategy as a preset says, without measuring it on the way.

    What comes out depends on the machine, since training stops by the clock.

    Args:
        preset: its name.
        seconds: of iterations.
        seed: of what is sampled.
        changed: sections that take the place of the preset's, by name.
        out: a folder that keeps the run, in which one that was interrupted goes on; by default none does.
    """
    with open(PRESETS / f"{preset}.toml", "rb") as file:
        config: dict[str, Any] = tomllib.load(file)
    config |= {"stop": {"seconds": seconds}, "random": {"seed": seed}, **(changed or {})}
    config.pop("evaluation", None)
    strategy = train(config, out, resume=out is not None).strategy
    assert isinstance(strategy, Strategy | BucketStrategy)
    return strategy
