"""Naive twins: a slow, obvious version of every kernel and of whatever else is clever.

One file for each room: `evaluation`, `isomorphism`, `games`, `tree`, `cells`, `payoffs`, `tables`,
`traversal`, `bucket_pairs`, `update_rules`, `sampling`, `paths`, `streams`, `matrix`, `spots`, `quantise`,
`postprocessing`, `matches`, `edges`, `local_best_response`; and for each part of abstraction:
`abstraction_features`, `_buckets`, `_kmeans`, `_potential`, `_public`, `_describe`, `_solving`.
"""

import numba

WITHOUT_JIT = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # it is made at run time
"""Whether kernels run as plain Python, too slow for millions of hands."""
