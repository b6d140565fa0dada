"""The examples of README.md and docs/: run, compared with the output that is shown, and written anew.

    python -m tests.doc_examples [--update] [--pictures] [FILE ...]

What is an example:

- In a block marked `console`, a line that begins with `$ ` is a command for the shell, and the lines below it
  are its standard output. A command must succeed; if the first line shown begins with `errai: `, it must fail
  with status 2 instead, and that line is what it says on standard error.
- A block marked `python` is a program; a block marked `text` right below it is its standard output. The
  programs of a document share their variables.

All examples of a document run in order in one temporary folder, with a cache of their own: what the cache of
a user holds is neither shown nor touched, compiled kernels apart. What is shown agrees with what comes out if

- `...` stands for any text, several lines of it, too, as in doctest;
- a number with a decimal point, or of iterations, is within 5% (processors add in different orders), other
  integers are exact;
- times (`1.5 s`, `2.5 hours`, a table's column `seconds`), numbers of threads and what is free of memory or
  disk (`9.5 GiB are free`) are whatever they are;
- runs of spaces have any length.

`--update` replaces the outputs that no longer agree and leaves the others alone. An output whose last line is
`...` stays as short as it was.

A picture that a document shows must have been drawn by its examples, under the same name in any folder;
`--pictures` puts what they draw in the place of the old ones.
"""

import argparse
import contextlib
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from errai.kernels import cache_root, kernel_hash

ROOT = Path(__file__).parent.parent
ANYTHING = "..."
FENCE = "```"
PROMPT = "$ "
RELATIVE_TOLERANCE = 0.05

_UNIT = r"(?:ns|µs|ms|s|min|h|d|minutes?|hours?|days?|years?)\b"
_TIME = rf"\d[\d.,]* ?{_UNIT}(?: \d[\d.,]* ?{_UNIT})*"
_FREE = r"\d[\d.,]* (?:bytes|[KMGTP]iB)(?= (?:(?:that )?(?:are|is) )?(?:free|available))"
_THREADS = r"\d+ threads?\b"
_ROUGH = r"\d[\d,]*\.\d+(?:[eE][-+]?\d+)?|\d[\d,]*(?= iterations)"
_SPECIAL = re.compile(
    rf"(?P<any>\.\.\.)|(?P<time>{_TIME})|(?P<free>{_FREE})|(?P<threads>{_THREADS})|(?P<rough>{_ROUGH})|(?P<space>\s+)"
)
_ANY_NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"


@dataclass(frozen=True)
class Example:
    """A command or a program, and what is shown as its output.

    Attributes:
        kind: "console" or "python".
        source: the command without its prompt, or the program.
        shown: the output; None for a program that is shown without any.
        begin: the line of the document, from 0, where the output begins.
        end: the line after the output.
    """

    kind: str
    source: str
    shown: str | None
    begin: int
    end: int


def documents() -> list[Path]:
    """Return every document that may hold examples."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the language of each fenced block, the line where its content begins, and the line of its end."""
    number = 0
    while number < len(lines):
        if lines[number].startswith(FENCE):
            end = number + 1
            while lines[end].rstrip() != FENCE:
                end += 1
            yield lines[number][len(FENCE) :].strip(), number + 1, end
            number = end
        number += 1


def find_examples(text: str) -> list[Example]:
    """Return the examples of a document in order."""
    lines = text.splitlines()
    found: list[Example] = []
    for language, begin, end in blocks(lines):
        if language == "console":
            found.extend(_commands(lines, begin, end))
        elif language == "python":
            found.append(Example("python", "\n".join(lines[begin:end]), None, end, end))
        elif language == "text" and found and found[-1].kind == "python" and found[-1].shown is None:
            between = lines[found[-1].end + 1 : begin - 1]
            if not "".join(between).strip():
                found[-1] = Example("python", found[-1].source, "\n".join(lines[begin:end]), begin, end)
    return found


def _commands(lines: list[str], begin: int, end: int) -> Iterator[Example]:
    number = begin
    while number < end:
        if not lines[number].startswith(PROMPT):
            raise ValueError(f"line {number + 1}: expected a command after '{PROMPT}', not '{lines[number]}'")
        source = lines[number][len(PROMPT) :]
        number += 1
        while source.endswith("\\"):
            source = source[:-1] + lines[number].strip()
            number += 1
        output = number
        while number < end and not lines[number].startswith(PROMPT):
            number += 1
        yield Example("console", source, "\n".join(lines[output:number]).rstrip(), output, number)


def agrees(shown: str, actual: str) -> bool:
    """Tell whether an output is what is shown, by the rules of this module."""
    pattern, numbers, last = [], [], 0
    shown, actual = _without_seconds(shown).strip(), _without_seconds(actual).strip()
    for special in _SPECIAL.finditer(shown):
        pattern.append(re.escape(shown[last : special.start()]))
        last = special.end()
        if special["any"]:
            pattern.append(r"[\s\S]*?")
        elif special["time"]:
            pattern.append(_TIME)
        elif special["free"]:
            pattern.append(_FREE)
        elif special["threads"]:
            pattern.append(_THREADS)
        elif special["rough"]:
            pattern.append(_ANY_NUMBER)
            numbers.append(special["rough"])
        else:
            pattern.append(r"\s*\n\s*" if "\n" in special["space"] else " +")
    pattern.append(re.escape(shown[last:]))
    match = re.fullmatch("".join(pattern), actual)
    return match is not None and all(
        _near(number, found) for number, found in zip(numbers, match.groups(), strict=True)
    )


def _without_seconds(text: str) -> str:
    """Blank the column `seconds` of every table, which a line of dashes parts from its titles."""
    lines = text.splitlines()
    column: slice | None = None
    for number, line in enumerate(lines[1:], 1):
        if line.strip() and not set(line) - set(" -"):
            titles = lines[number - 1]
            spans = [slice(*match.span()) for match in re.finditer("-+", line)]
            column = next((span for span in spans if titles[span].strip() == "seconds"), None)
        elif column and not re.fullmatch(r" *[0-9.,]+| *-", line[column]):
            column = None  # the table is over
        if column:
            lines[number] = line[: column.start] + "#" + line[column.stop :]
    return "\n".join(lines)


def _near(shown: str, actual: str) -> bool:
    one, other = (float(text.replace(",", "")) for text in (shown, actual))
    last_digit = 0.0 if "e" in shown else 10.0 ** -len(shown.partition(".")[2])
    return math.isclose(one, other, rel_tol=RELATIVE_TOLERANCE) or abs(one - other) < 1.5 * last_digit


class ExampleError(Exception):
    """An example that does not do what it should."""


class Session:
    """One document's folder, shell and variables."""

    def __init__(self, folder: Path) -> None:
        """Make the command `errai` of this source tree available in a folder."""
        self.folder = folder
        self.variables: dict[str, Any] = {"__name__": "example"}
        self.tools = folder / ".tools"
        self.tools.mkdir()
        self.cache = folder / ".cache"
        self.cache.mkdir()
        kernels = cache_root() / f"kernels-{kernel_hash()}"
        kernels.mkdir(parents=True, exist_ok=True)
        (self.cache / kernels.name).symlink_to(kernels)
        program = self.tools / "errai"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m errai "$@"\n')
        program.chmod(0o755)

    def run(self, example: Example) -> str:
        """Return the output of an example."""
        output = self._run_program(example) if example.kind == "python" else self._run_command(example)
        output = output.replace(str(self.cache), "~/.cache/errai").replace(str(self.folder), ".")
        return "\n".join(line.rstrip() for line in output.strip("\n").splitlines())

    def _run_command(self, example: Example) -> str:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            ["sh", "-c", example.source],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "ERRAI_CACHE_DIR": str(self.cache),
                "PATH": os.pathsep.join([str(self.tools), os.environ["PATH"]]),
                "PYTHONPATH": os.pathsep.join(paths),
                "COLUMNS": "100",
            },
        )
        is_refusal = (example.shown or "").startswith("errai: ")
        if done.returncode != (2 if is_refusal else 0):
            raise ExampleError(f"$ {example.source}\nends with status {done.returncode}: {done.stderr}")
        return done.stderr if is_refusal else done.stdout

    def _run_program(self, example: Example) -> str:
        printed = io.StringIO()
        cache = mock.patch.dict(os.environ, ERRAI_CACHE_DIR=str(self.cache))
        with cache, contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(compile(example.source, "example", "exec"), self.variables)
        return printed.getvalue()


def run_document(path: Path, keep_pictures: bool = False) -> Iterator[tuple[Example, str]]:
    """Run the examples of a document in order; yield each with its output."""
    text = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        for example in find_examples(text):
            yield example, session.run(example)
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
            drawn = list(Path(folder).rglob(Path(picture).name))
            if not drawn:
                raise ExampleError(f"no example of {path.name} draws the picture {picture}")
            if keep_pictures:
                shutil.copyfile(drawn[0], path.parent / picture)


def explain(example: Example, actual: str) -> str | None:
    """Return what is wrong with an example, None if it is right."""
    if example.shown is None or agrees(example.shown, actual):
        return None
    prompt = PROMPT if example.kind == "console" else ""
    return f"{prompt}{example.source}\nshown:\n{example.shown}\nnow:\n{actual}\n"


def updated(text: str, outputs: list[tuple[Example, str]]) -> str:
    """Return a document with the outputs replaced that no longer agree."""
    lines = text.splitlines()
    for example, actual in reversed(outputs):
        if example.shown is None or explain(example, actual) is None:
            continue
        new, old = actual.splitlines(), example.shown.splitlines()
        if old and old[-1] == ANYTHING:
            new = [*new[: len(old) - 1], ANYTHING]
        gap = [""] if lines[example.end - 1] == "" and example.kind == "console" else []
        lines[example.begin : example.end] = [*new, *gap]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Compare or update documents from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.doc_examples", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the outputs that no longer agree anew")
    parser.add_argument("--pictures", action="store_true", help="put new pictures in the place of the old")
    parser.add_argument("files", nargs="*", type=Path, help="documents; all without it")
    options = parser.parse_args()
    wrong = 0
    for path in options.files or documents():
        outputs: list[tuple[Example, str]] = []
        try:
            outputs.extend(run_document(path, options.pictures))
        except Exception as error:  # of any program of a document
            wrong += 1
            print(f"{path}: {error}", file=sys.stderr)
            continue
        complaints = [text for text in (explain(*output) for output in outputs) if text]
        print(f"{path}: {len(outputs)} examples, {len(complaints)} differ")
        if options.update and complaints:
            path.write_text(updated(path.read_text(), outputs))
        elif complaints:
            wrong += 1
            print("\n".join(complaints))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
