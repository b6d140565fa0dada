"""The linear programme of a game in sequence form, solved by HiGHS, here or in a process of its own.

Maximise f v over x and v, subject to E x = e and F' v <= P' x: x is a player's realisation plan, v holds the
values of the opponent's information sets, and the prices of the inequalities are the opponent's plan.

HiGHS does not hear an interrupt: it answers no signal before it is done. So a programme that may take
minutes is solved in a child process (`solve_in_child`). The parent waits for its answer and kills it when it
is interrupted itself; a parent that is killed closes the pipe to the child, which then ends.
"""

import io
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from errai.errors import UsageError
from errai.memory import format_bytes

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-10

PROCESS_BYTES = 80 << 20
BYTES_A_NONZERO = 500
BYTES_A_LINE = 2000
"""Memory of the child, of each nonzero, and of each row or column.

Twice what the peaks of four games of cards with 22,000 to 226,000 nonzeros come to: a factorisation may fill
in more than theirs did.
"""

_MATRICES = ("payoffs", "own", "other")
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class ProgrammeSize:
    """How large a linear programme is.

    Attributes:
        num_rows: equations and inequalities.
        num_columns: variables.
        num_nonzeros: numbers in both that are not zero.
    """

    num_rows: int
    num_columns: int
    num_nonzeros: int

    @property
    def memory_bytes(self) -> int:
        """What solving it takes at most, as far as it was measured."""
        lines = self.num_rows + self.num_columns
        return PROCESS_BYTES + BYTES_A_NONZERO * self.num_nonzeros + BYTES_A_LINE * lines

    def __str__(self) -> str:
        return (
            f"{self.num_rows:,} rows, {self.num_columns:,} columns, {self.num_nonzeros:,} nonzeros, "
            f"about {format_bytes(self.memory_bytes)} of memory"
        )


@dataclass(frozen=True, eq=False)
class Programme:
    """A game in sequence form.

    Attributes:
        payoffs: sparse[own sequences, other sequences] P.
        own: sparse[1 + infosets, own sequences] E, the empty sequence first.
        other: sparse[1 + infosets, other sequences] F.
    """

    payoffs: Any
    own: Any
    other: Any

    @property
    def size(self) -> ProgrammeSize:
        """Rows, columns and nonzeros."""
        num_own, num_other = self.payoffs.shape
        return ProgrammeSize(
            num_other + self.own.shape[0],
            num_own + self.other.shape[0],
            self.payoffs.nnz + self.own.nnz + self.other.nnz,
        )


def solve_programme(programme: Programme) -> tuple[float, Floats, Floats]:
    """Solve max x P y over both plans; returns the value and the plans with their empty sequences."""
    payoffs, own, other = programme.payoffs, programme.own, programme.other
    num_own, num_other = payoffs.shape
    # Tolerances of the solver are absolute, and it drops entries below 1e-9: bring payoffs to about 1.
    scale = float(np.abs(payoffs.data).mean()) if payoffs.nnz else 1.0
    num_infosets = other.shape[0]
    result = linprog(
        c=np.concatenate([np.zeros(num_own), [-1.0], np.zeros(num_infosets - 1)]),
        A_ub=sparse.hstack([-payoffs.T / scale, other.T]).tocsr(),
        b_ub=np.zeros(num_other),
        A_eq=sparse.hstack([own, sparse.csr_array((own.shape[0], num_infosets))]).tocsr(),
        b_eq=np.append(1.0, np.zeros(own.shape[0] - 1)),
        bounds=[(0, None)] * num_own + [(None, None)] * num_infosets,
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if result.status != 0:
        raise UsageError(f"the linear programme of this game failed: {result.message}")
    plans = np.maximum(result.x[:num_own], 0), np.maximum(-result.ineqlin.marginals, 0)
    return float(plans[0] @ (payoffs @ plans[1])), *plans


def solve_in_child(programme: Programme) -> tuple[float, Floats, Floats]:
    """Do as `solve_programme` does, in a child process that ends with this one's interest in it."""
    # Not `multiprocessing`, which would run the caller's script once more; a session of its own, so that
    # Ctrl-C comes to the parent alone.
    child = subprocess.Popen(
        [sys.executable, "-c", "from errai.solvers.linear_programme import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        _send(child.stdin, {f"{name}_{part}": of for name, part, of in _parts(programme)})
        answer = _receive(child.stdout)
    except (BrokenPipeError, EOFError):
        raise UsageError(
            "the linear programme of this game failed: the process that solved it was killed, "
            "perhaps because the memory was used up"
        ) from None
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):
                pipe.close()
    if "error" in answer:
        raise UsageError(str(answer["error"]))
    return float(answer["value"]), answer["first"], answer["second"]


def serve() -> None:
    """Be the child: solve the programme that comes in, send the plans out, end when the parent does."""
    try:
        received = _receive(sys.stdin.buffer)
    except EOFError:
        sys.exit(1)  # the parent ended before it had sent everything; nobody is there to be told
    threading.Thread(target=_end_with_parent, daemon=True).start()
    matrices = (
        sparse.csr_array(
            tuple(received[f"{name}_{part}"] for part in ("data", "indices", "indptr")),
            shape=tuple(received[f"{name}_shape"]),
        )
        for name in _MATRICES
    )
    answer: dict[str, Any]
    try:
        value, first, second = solve_programme(Programme(*matrices))
        answer = {"value": np.float64(value), "first": first, "second": second}
    except UsageError as error:
        answer = {"error": np.array(str(error))}
    _send(sys.stdout.buffer, answer)


def _end_with_parent() -> None:
    """Wait for the parent's end of the pipe to close; HiGHS lets other threads run."""
    sys.stdin.buffer.read(1)
    os._exit(1)


def _parts(programme: Programme) -> list[tuple[str, str, Any]]:
    matrices = [(name, getattr(programme, name)) for name in _MATRICES]
    return [
        (name, part, np.asarray(getattr(matrix, part)))
        for name, matrix in matrices
        for part in ("data", "indices", "indptr", "shape")
    ]


def _send(pipe: IO[bytes], arrays: dict[str, Any]) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)
    pipe.write(len(content.getbuffer()).to_bytes(_LENGTH_BYTES, "little"))
    pipe.write(content.getbuffer())
    pipe.flush()


def _receive(pipe: IO[bytes]) -> dict[str, Any]:
    length = int.from_bytes(_exactly(pipe, _LENGTH_BYTES), "little")
    with np.load(io.BytesIO(_exactly(pipe, length)), allow_pickle=False) as arrays:
        return dict(arrays)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    content = pipe.read(length)
    if len(content) < length:
        raise EOFError
    return content
