"""What `errai cache` tells of folders of every kind, as text and with `--json`."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from errai.abstraction.features import cache
from errai.cli import cache as cache_command

RunErrai = Callable[..., tuple[int, str, str]]


def test_the_cache_as_text_and_json(
    run_errai: RunErrai, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    when = datetime(2026, 3, 4, 23, 30, 5).timestamp()
    folders = [
        cache.CachedFolder(
            tmp_path / "features-1", "features", "leduc", {}, ("deals", "ochs of 8"), 2, False, 1536, when
        ),
        cache.CachedFolder(tmp_path / "features-0", "features", "", {}, (), 1, True, 512, when),
        cache.CachedFolder(tmp_path / "features-x", "features", "", {}, (), None, True, 1, when),
        cache.CachedFolder(
            tmp_path / "kernels-2", "kernels", "", {}, ("machine code",), 7, False, 2048, when
        ),
        cache.CachedFolder(
            tmp_path / "kernels-1", "kernels", "", {}, ("machine code",), None, True, 1024, when
        ),
    ]
    damaged = {folders[1].path: ["'x' is damaged", "'y' is damaged", "'z' is damaged"]}
    cleared: list[Path] = []
    monkeypatch.setattr("errai.kernels.cache_root", lambda: tmp_path)
    monkeypatch.setattr(cache, "cached_folders", lambda: folders)
    monkeypatch.setattr(cache, "damages", lambda one: iter(damaged.get(one.path, [])))
    monkeypatch.setattr(cache, "clear", lambda one: cleared.append(one.path))
    written = datetime(2026, 3, 4, 23, 30, 5).astimezone().isoformat()
    listed = [
        {
            "path": str(one.path),
            "kind": one.kind,
            "game": one.game or None,
            "contents": list(one.what),
            "format": one.format,
            "old": one.is_old,
            "disk_bytes": one.num_bytes,
            "written": written,
        }
        for one in folders
    ]
    assert json.loads(run_errai("cache", "--json")[1]) == {"path": str(tmp_path), "folders": listed}
    status, out, err = run_errai("cache", "--verify", "--json")
    assert (status, json.loads(out)) == (
        2,
        {
            "path": str(tmp_path),
            "folders": [
                entry | {"damaged": damaged.get(one.path, [])}
                for entry, one in zip(listed, folders, strict=True)
            ],
        },
    )
    assert err.startswith("errai: 'x' is damaged; 2 more files are damaged; 'errai cache --clear features'")
    assert run_errai("cache")[1] == (
        f"{tmp_path}: 5.0 KiB\n"
        "  folder       game             holds   format       size     written\n"
        "  ----------  -----  ----------------  -------  ---------  ----------\n"
        "  features-1  leduc  deals, ochs of 8        2    1.5 KiB  2026-03-04\n"
        "  features-0      -           nothing  1 (old)  512 bytes  2026-03-04\n"
        "  features-x      -           nothing    (old)    1 bytes  2026-03-04\n"
        "  kernels-2       -      machine code        -    2.0 KiB  2026-03-04\n"
        "  kernels-1       -      machine code    (old)    1.0 KiB  2026-03-04\n"
        "  old: this version does not read it; 'errai cache --clear old' removes it\n"
    )
    out = run_errai("cache", "--verify")[1]
    assert [line.split()[-1] for line in out.splitlines()[1:-1]] == [
        *("files", "---------", "whole", "damaged", "whole", "-", "-")
    ]
    assert " 3 damaged\n" in out
    damaged[folders[1].path] = ["'x' is damaged"]
    assert run_errai("cache", "--verify")[2].startswith("errai: 'x' is damaged; 'errai cache --clear")
    assert json.loads(run_errai("cache", "--clear", "kernels", "--json")[1]) == {
        "cleared": [str(one.path) for one in folders[3:]],
        "disk_bytes": 3072,
    }
    assert cleared == [one.path for one in folders[3:]]
    assert run_errai("cache", "--clear", "kernels") == (0, "removed 2 folders, 3.0 KiB\n", "")
    cache_command._tell_cleared(folders[:1], "x", False)
    assert run_errai("cache", "--clear", "rhode-island")[1] == (
        "removed 1 folder, 1.5 KiB\nnothing to remove: the cache holds nothing of 'rhode-island'\n"
    )
    assert json.loads(run_errai("cache", "--clear", "rhode-island", "--json")[1]) == {
        "cleared": [],
        "disk_bytes": 0,
    }
