"""Public trees: the betting tree as flat arrays, boards, the cut into trunk and sub-games, counts."""
