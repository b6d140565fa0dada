"""One decorator for every Numba kernel, and one cache that can never hold stale code.

Numba's own cache looks at the file of the function that it compiles and at nothing else: a change
of a jit option, or of a function in another file that the kernel calls, loads old machine code.
Here the cache folder's name is a hash over the sources of *all* kernel files and over the version of
Numba, so any change of any kernel starts an empty cache. Old folders are removed after a month.

Two more ways in which Numba's cache gives wrong code, both without a word, are closed here:

- Machine code from several processes meets in one. A function's symbol ends in a number that each process
  counts from 1, so two functions of one name and one signature (made by a factory, say) may have the same
  symbol in code that two processes have saved. Whoever loads both calls one of them for both. Here each
  process counts from a random number.
- Two processes that save overloads of one function at once may write them to one file, and the index then
  names the other's. Here saving is locked, and no file's name is ever given to a second overload.

The folder is `$ERRAI_CACHE_DIR/kernels-HASH`, by default where the system keeps a user's caches: on Linux
`$XDG_CACHE_HOME/errai` or `~/.cache/errai`. Where it cannot be written, kernels compile anew in each
process, and that is said.
"""

import hashlib
import itertools
import os
import secrets
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import numba
import numba.core.bytecode
import numba.core.caching
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


def _number_symbols_apart() -> None:
    """Let this process number its symbols from where no other one does."""
    identity: Any = numba.core.bytecode.FunctionIdentity
    identity._unique_ids = itertools.count(secrets.randbits(60))


_number_symbols_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_symbols_apart)


class _OverloadFiles(numba.core.caching.IndexDataCacheFile):
    """The index and the data files of one kernel's overloads, which several processes may save at once."""

    def save(self, key: Any, data: Any) -> None:
        """Save an overload beside those of others; one that cannot be saved is compiled anew next time."""
        try:
            with filelock.FileLock(f"{self._index_path}.lock"):
                super().save(key, data)  # type: ignore[no-untyped-call]
        except OSError:
            return

    def _data_name(self, number: int) -> str:
        """Name a data file as none was named before, whatever number the index has free."""
        return f"{self._index_name.removesuffix('.nbi')}.{uuid.uuid4().hex}.nbc"


def _save_apart(dispatcher: Any) -> None:
    """Let a kernel keep its overloads in files that several processes may save at once."""
    cache = dispatcher._cache
    numbered = cache._cache_file
    cache._cache_file = _OverloadFiles(  # type: ignore[no-untyped-call]
        cache_path=numbered._cache_path,
        filename_base=numbered._index_name.removesuffix(".nbi"),
        source_stamp=numbered._source_stamp,
    )


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
            compiled = numba.njit(cache=True, **options)(function)
        finally:
            settings.CACHE_DIR = theirs
        if not settings.DISABLE_JIT:
            _save_apart(compiled)
        return compiled  # type: ignore[no-any-return]

    return decorate
