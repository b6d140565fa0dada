"""How much work the build of an abstraction puts in."""

from dataclasses import dataclass

from errai.abstraction.clustering.lloyd import Effort
from errai.abstraction.seeds import verify_seed
from errai.errors import verify_whole

SEED, RESTARTS, ITERATIONS = "seed", "restarts", "max_iterations"
SAMPLE, PASSES = "sample_size", "full_passes"


@dataclass(frozen=True)
class BuildOptions:
    """How much work a build puts in; what a recipe makes use of is part of its fingerprint.

    Attributes:
        seed: of everything random.
        restarts: independent k-means runs, of which the best is kept.
        max_iterations: Lloyd steps of a run.
        sample_size: rows that k-means trains on before it sees all; by the number of buckets without it.
        full_passes: Lloyd steps over all rows after that.
        num_threads: all cores without it; the result does not depend on it.
    """

    seed: int = 0
    restarts: int = 2
    max_iterations: int = 50
    sample_size: int | None = None
    full_passes: int = 1
    num_threads: int | None = None

    def __post_init__(self) -> None:
        verify_seed(self.seed)
        for name, value, least in (
            (RESTARTS, self.restarts, 1),
            (ITERATIONS, self.max_iterations, 1),
            (SAMPLE, self.sample_size, 1),
            (PASSES, self.full_passes, 0),
            ("num_threads", self.num_threads, 1),
        ):
            if value is not None or name not in (SAMPLE, "num_threads"):
                verify_whole(name, value, least)

    def effort(self, seed: int) -> Effort:
        """Return what k-means is told, with a seed of the round's own."""
        return Effort(
            seed, self.restarts, self.max_iterations, self.sample_size, self.full_passes, self.num_threads
        )
