"""Shards of a table as files: neighbouring shards together, so that thousands of sub-games are a few files.

A table of one group keeps its name; the groups of a larger one are `NAME.0000`, `NAME.0001` and so on, in the
order of slots. Which shards are in which group follows from their sizes alone, so a run that goes on
finds the groups of its last checkpoint again.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from errai.array_file import Array

GROUP_BYTES = 1 << 26
"""A group ends before the shard that would make it larger. This is part of the checkpoint's format."""


def group_edges(
    shard_begin: npt.NDArray[np.int64], itemsize: int, most_bytes: int = GROUP_BYTES
) -> npt.NDArray[np.int64]:
    """Return the first shard of each group and, last, the number of shards: int64[groups + 1].

    Args:
        shard_begin: int64[shards + 1] as `SubgameLayout.shard_begin` gives it.
        itemsize: bytes of a slot.
        most_bytes: of a group; a shard that is larger is a group of its own.
    """
    num_shards = len(shard_begin) - 1
    edges = [0]
    while edges[-1] < num_shards:
        limit = shard_begin[edges[-1]] + most_bytes // itemsize
        end = int(np.searchsorted(shard_begin, limit, side="right")) - 1
        edges.append(min(max(end, edges[-1] + 1), num_shards))
    return np.array(edges, dtype=np.int64)


def group_names(name: str, num_groups: int) -> list[str]:
    """Return the names of a table's groups, in the order of slots."""
    return [name] if num_groups == 1 else [f"{name}.{number:04d}" for number in range(num_groups)]


def grouped(
    name: str, table: Array, shard_begin: npt.NDArray[np.int64], most_bytes: int = GROUP_BYTES
) -> dict[str, Array]:
    """Return views of a table's groups by name.

    Args:
        name: of the table, such as `regrets-0`.
        table: number[slots].
        shard_begin: int64[shards + 1].
        most_bytes: as in `group_edges`.
    """
    assert shard_begin[-1] == len(table), "shards cover the table"
    edges = shard_begin[group_edges(shard_begin, table.itemsize, most_bytes)].tolist()
    names = group_names(name, len(edges) - 1)
    return {group: table[begin:end] for group, begin, end in zip(names, edges[:-1], edges[1:], strict=True)}


def groups_of(name: str, arrays: Mapping[str, object]) -> list[str]:
    """Return which of a checkpoint's arrays are the groups of a table, if any, in the order of slots."""
    if name in arrays:
        return [name]
    numbers = [other.removeprefix(f"{name}.") for other in arrays if other.startswith(f"{name}.")]
    return [f"{name}.{number}" for number in sorted(numbers, key=int)]
