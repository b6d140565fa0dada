"""Naive twins: a slow, obvious version of every kernel and of whatever else is clever.

One file for each room: `evaluation`, `isomorphism`, `games`, `tree`, `traversal`, `matrix`, `spots`.
"""
