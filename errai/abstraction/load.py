"""`errai.load_abstraction`: open what `errai abstract` has saved, whichever kind it is."""

import reprlib
from pathlib import Path
from typing import Any

from errai.abstraction.abstraction import (
    Abstraction,
    Array,
    ReadTable,
    array_names,
    read_abstraction,
    read_manifest,
    restore_abstraction,
)
from errai.abstraction.public.abstraction import (
    KIND,
    PublicAbstraction,
    load_public_abstraction,
    public_array_names,
    restore_public_abstraction,
)
from errai.array_file import ArrayHeader, map_verified_array
from errai.errors import UsageError


def load_abstraction(path: str | Path, *, whole: bool = False) -> Abstraction | PublicAbstraction:
    """Open a saved abstraction.

    Args:
        path: its folder.
        whole: read its tables into memory rather than map them; public abstractions are always read.
            Every bit of a table is verified in any case, about a second for each GB.
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"expected the folder of an abstraction, not {reprlib.repr(path)}")
    folder = Path(path)
    if not folder.is_dir():
        raise UsageError(f"'{path}' is not an abstraction: expected a folder of 'errai abstract build'")
    if read_manifest(folder)["kind"] == KIND:
        return load_public_abstraction(folder)
    return read_abstraction(folder, whole=whole)


def map_saved_arrays(folder: Path) -> tuple[dict[str, Any], dict[str, tuple[ArrayHeader, Array]]]:
    """Return the manifest of a saved abstraction and all its arrays by name, mapped and verified.

    This is all that there is to know of it: `restore_saved` makes the abstraction again.
    """
    manifest = read_manifest(folder)
    names = public_array_names(manifest) if manifest["kind"] == KIND else array_names(manifest)
    mark = manifest["fingerprint"]
    return manifest, {
        name: map_verified_array(folder / f"{name}.array", fingerprint=mark, expected_checksum=checksum)
        for name, checksum in names.items()
    }


def restore_saved(manifest: dict[str, Any], read: ReadTable) -> Abstraction | PublicAbstraction:
    """Return the abstraction of either kind that a manifest describes; arguments as `restore_abstraction`."""
    if manifest["kind"] == KIND:
        return restore_public_abstraction(manifest, read)
    return restore_abstraction(manifest, read)
