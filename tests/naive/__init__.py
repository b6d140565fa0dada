"""Naive twins: a slow, obvious version of every kernel and of whatever else is clever.

One file for each room: `evaluation`, `isomorphism`, `games`, `tree`, `cells`, `payoffs`, `tables`,
`traversal`, `update_rules`, `matrix`, `spots`; and for each part of abstraction: `abstraction_features`,
`_buckets`, `_kmeans`, `_potential`, `_public`, `_describe`, `_solving`.
"""
