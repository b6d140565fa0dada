"""Algorithms that find equilibria: the CFR family, matrix games, the sequence-form linear programme."""
