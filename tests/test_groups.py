"""Groups of shards: every slot in one file, the naive grouping, and only changed groups written."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from killed_checkpoints import opened
from naive.tables import naive_groups

from errai.tables.checkpoint import read_arrays, read_checkpoint
from errai.tables.groups import GROUP_BYTES, group_edges, group_names, grouped, groups_of

SIZES = st.lists(st.integers(0, 12), min_size=1, max_size=30)


def begins(sizes: list[int]) -> np.ndarray:
    return np.cumsum([0, *sizes]).astype(np.int64)


@given(SIZES, st.integers(1, 30), st.sampled_from((np.float32, np.float64, np.int32)))
def test_groups_are_the_naive_ones(sizes: list[int], most: int, dtype: type) -> None:
    itemsize = np.dtype(dtype).itemsize
    edges = group_edges(begins(sizes), itemsize, most * itemsize + itemsize - 1).tolist()
    assert [list(range(a, b)) for a, b in pairwise(edges)] == naive_groups(sizes, most)


@given(SIZES, st.integers(1, 30), st.data())
def test_views_by_name_are_the_table(sizes: list[int], most: int, data: st.DataObject) -> None:
    begin = begins(sizes)
    table = np.arange(begin[-1], dtype=np.float64)
    views = grouped("regrets-1", table, begin, 8 * most)
    expected = naive_groups(sizes, most)
    assert [len(view) for view in views.values()] == [sum(sizes[s] for s in group) for group in expected]
    assert np.array_equal(np.concatenate(list(views.values())), table)
    assert all(view.base is table for view in views.values())
    shuffled = data.draw(st.permutations(list(views)))
    assert groups_of("regrets-1", dict.fromkeys([*shuffled, "regrets-10", "regrets-11.0000"])) == list(views)


def test_names() -> None:
    assert group_names("regrets-0", 1) == ["regrets-0"]
    assert group_names("regrets-0", 3) == ["regrets-0.0000", "regrets-0.0001", "regrets-0.0002"]
    assert groups_of("regrets-0", {"regrets-0": 1, "regrets-1": 2}) == ["regrets-0"]
    assert groups_of("averages-0", {"regrets-0": 1}) == []
    many = group_names("a", 10_002)
    assert groups_of("a", dict.fromkeys(reversed(many))) == many


def test_a_group_is_64_mebibytes_at_most() -> None:
    assert GROUP_BYTES == 64 * 2**20
    begin = np.arange(0, 12_286) * 10_000  # as many sub-games as limit hold'em has before the flop betting
    edges = group_edges(begin, 4)
    assert len(edges) - 1 == 8
    assert np.diff(begin[edges]).max() * 4 <= GROUP_BYTES
    # A shard that fits exactly ends a group; a larger one is a group of its own.
    assert group_edges(np.array([0, 2**24, 2**24 + 1]), 4).tolist() == [0, 1, 2]
    assert group_edges(np.array([0, 1, 2**24, 2**24 + 1]), 4).tolist() == [0, 2, 3]
    assert group_edges(np.array([0, 1, 2**25, 2**25 + 1]), 4).tolist() == [0, 1, 2, 3]


def test_a_table_that_its_shards_do_not_cover_is_refused() -> None:
    with pytest.raises(AssertionError, match="shards cover the table"):
        grouped("regrets-0", np.zeros(5), np.array([0, 4]))


def test_only_changed_groups_are_written(tmp_path: Path) -> None:
    begin = begins([3, 3, 3, 3, 3])
    table = np.arange(15, dtype=np.float32)
    with opened(tmp_path) as writer:
        views = grouped("regrets-0", table, begin, 24)
        assert list(views) == ["regrets-0.0000", "regrets-0.0001", "regrets-0.0002"]
        writer.write({}, {name: (view, "chips") for name, view in views.items()})
        table[7] = -1
        unchanged = writer.find_unchanged(views)
        assert unchanged == {"regrets-0.0000", "regrets-0.0002"}
        changed = {name: (view, "chips") for name, view in views.items() if name not in unchanged}
        writer.write({}, changed, unchanged)
    found = read_checkpoint(tmp_path)
    assert {name: file for name, (file, _) in found.arrays.items()} == {
        "regrets-0.0000": "regrets-0.0000-000000.array",
        "regrets-0.0001": "regrets-0.0001-000001.array",
        "regrets-0.0002": "regrets-0.0002-000000.array",
    }
    _, (read,) = read_arrays(tmp_path, ["regrets-0"], "mark")
    assert np.array_equal(read, table)
