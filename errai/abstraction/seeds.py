"""What a seed may be, and the random numbers of k-means: one seed, a stream of its own for each part.

Other parts of an abstraction (the seed of each round, the deals that recall samples, public clusters, what
`compare` deals) derive theirs from the same seed where they are used: moving them here would change the bytes
of every abstraction that is saved.
"""

import numpy as np

from errai.errors import verify_whole


def verify_seed(seed: int) -> None:
    """Refuse a seed that no stream of random numbers has."""
    verify_whole("seed", seed, 0)


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """Return a stream of random numbers of its own for each key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
