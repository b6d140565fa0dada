"""One decorator for every Numba kernel, and one cache that can never hold stale code.

Numba's own cache looks at the file of the function that it compiles and at nothing else: a change
of a jit option, or of a function in another file that the kernel calls, loads old machine code.
Here the cache folder's name is a hash over the sources of *all* kernel files and over the version of
Numba, so any change of any kernel starts an empty cache. Old folders are removed after a month.

The folder is `$ERRAI_CACHE_DIR/kernels-HASH`, by default where the system keeps a user's caches: on Linux
`$XDG_CACHE_HOME/errai` or `~/.cache/errai`. Where it cannot be written, kernels compile anew in each
process, and that is said.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.event
import platformdirs

PACKAGE = Path(__file__).parent

SECONDS_TO_KEEP_OLD_CACHES = 30 * 24 * 3600

# Reordering and fused operations are welcome; assuming that NaN never happens is not: a NaN check
# that the compiler may delete would let a broken table run on.
FASTMATH = frozenset({"reassoc", "nsz", "contract", "arcp"})


def cache_root() -> Path:
    """Return the folder for everything that Errai may rebuild at any time."""
    if configured := os.environ.get("ERRAI_CACHE_DIR"):
        return Path(configured)
    return platformdirs.user_cache_path("errai", appauthor=False)


def kernel_sources() -> list[Path]:
    """Return every file that may hold kernels, this one included, in a fixed order."""
    kernels = [path for path in PACKAGE.rglob("_*.py") if not path.name.startswith("__")]
    return sorted([*kernels, Path(__file__)])


def kernel_hash() -> str:
    """Return a hash of all that decides the machine code: kernel sources and Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in kernel_sources():
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _prepare_cache() -> Path | None:
    """Make the cache folder, drop those unused for a month; None where nothing can be written."""
    folder = cache_root() / f"kernels-{kernel_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
        os.utime(folder)
    except OSError:
        return None
    horizon = time.time() - SECONDS_TO_KEEP_OLD_CACHES
    for old in folder.parent.glob("kernels-*"):
        try:
            if old.stat().st_mtime < horizon:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            continue  # another process removed it first
    return folder


_CACHE = _prepare_cache()


class _SayThatKernelsCompile(numba.core.event.Listener):
    """Tell the user once why the first call takes seconds. Only real compilations reach this."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.said or not function.__module__.startswith("errai."):
            return
        self.said = True
        where = "kept for the next run" if _CACHE else f"{cache_root()} cannot be written: not kept"
        print(f"errai: compiling kernels for this machine ({where})", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to tell: the command's own output follows."""


numba.core.event.register("numba:compile", _SayThatKernelsCompile())  # type: ignore[no-untyped-call]


def kernel(
    *, parallel: bool = False, fastmath: bool = True, inline: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function with Numba, releasing the GIL, into the cache that is never stale.

    Args:
        parallel: use `prange`. Sums must not depend on the number of threads: give each chunk its
            own slice and add the slices in order.
        fastmath: allow reordering of float operations (`FASTMATH`).
        inline: inline into callers at Numba's level, for tiny helpers in hot loops.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "parallel": parallel,
        "fastmath": set(FASTMATH) if fastmath else False,
        "inline": "always" if inline else "never",
    }

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if _CACHE is None:
            return numba.njit(**options)(function)  # type: ignore[no-any-return]
        # Numba reads the folder while it decorates; other users of Numba in this process keep theirs.
        settings: Any = numba.config  # its attributes are made at run time
        theirs = settings.CACHE_DIR
        settings.CACHE_DIR = str(_CACHE)
        try:
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
        finally:
            settings.CACHE_DIR = theirs

    return decorate
