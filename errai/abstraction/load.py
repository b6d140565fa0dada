"""`errai.load_abstraction`: open what `errai abstract` has saved, whichever kind it is."""

import reprlib
from pathlib import Path

from errai.abstraction.abstraction import Abstraction, read_abstraction, read_manifest
from errai.abstraction.public.abstraction import KIND, PublicAbstraction, load_public_abstraction
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
