"""The ways to make a round's buckets, one object each: its rows, how it clusters and refines, what it costs.

- `method.py`: what all share, and how a round that recalls is built with any of them.
- `lossless.py` (C), `percentiles.py` (HS, PHS), `clusters.py` (KE, KO), `potential.py` (PA).

To add one: a class beside them, a name in `Method`, and a line in `find.py`.
"""
