"""Random numbers of an abstraction's parts: one seed, and a stream of its own for each part."""

import numpy as np

from errai.errors import UsageError


def verify_seed(seed: int) -> None:
    """Refuse a seed that no stream of random numbers has."""
    if seed < 0:
        raise UsageError(f"seed must be 0 or more, not {seed}")


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """Return a stream of random numbers of its own for each key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
