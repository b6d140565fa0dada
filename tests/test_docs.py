"""What the documentation says is run and built: examples, links, names, the site."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doc_examples import (
    ROOT,
    Example,
    ExampleError,
    Session,
    agrees,
    blocks,
    documents,
    explain,
    find_examples,
    run_document,
    updated,
)

import errai

DOCUMENTS = {str(path.relative_to(ROOT)): path for path in documents()}
WITH_EXAMPLES = [
    name for name, path in DOCUMENTS.items() if find_examples(path.read_text()) or "![" in path.read_text()
]
GUIDES = ["researcher", "bot_builder", "student", "large_machine"]

# The documents


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_is_shown(name: str) -> None:
    complaints = [explain(*output) for output in run_document(DOCUMENTS[name])]
    assert not any(complaints), "\n".join(filter(None, complaints)) + "make docs-update writes them anew"


def test_there_are_examples() -> None:
    assert {"README.md", *(f"docs/guides/{guide}.md" for guide in GUIDES)} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_command_hides_in_another_kind_of_block(name: str) -> None:
    lines = DOCUMENTS[name].read_text().splitlines()
    for language, begin, end in blocks(lines):
        assert language in ("console", "python", "text", "sh", "toml", ""), f"line {begin}: '{language}'"
        if language in ("sh", ""):  # what sets the project up; it is not run here
            assert not [line for line in lines[begin:end] if line.startswith("errai ")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    page = DOCUMENTS[name]
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert "://" not in link, link
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`make ([\w-]+)|^make ([\w-]+)", DOCUMENTS[name].read_text(), flags=re.MULTILINE)
    assert targets
    for target in ("".join(pair) for pair in targets):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_readme_shows_every_command() -> None:
    from typer.main import get_command

    from errai.cli.main import app

    shown = [example.source for example in find_examples(DOCUMENTS["README.md"].read_text())]
    names = list(_command_names(get_command(app), "errai"))
    assert {"errai solve", "errai abstract build"} <= set(names)
    for name in names:
        assert [source for source in shown if f"{source} ".startswith(f"{name} ")], name


def _command_names(command: Any, name: str) -> Iterator[str]:
    """Yield what is typed for each command below a group, or for the command itself."""
    if not hasattr(command, "commands"):
        yield name
    else:
        for word, inner in command.commands.items():
            yield from _command_names(inner, f"{name} {word}")


def test_reference_has_every_public_name() -> None:
    page = DOCUMENTS["docs/api.md"].read_text()
    for name in errai.__all__:
        assert name == "__version__" or f"::: errai.{name}\n" in page, name


def test_files_of_algorithms_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)`", DOCUMENTS["docs/algorithms.md"].read_text())
    assert len(named) > 40
    for file in named:
        assert (ROOT / "errai" / file).is_file(), file


def test_navigation_has_every_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in navigation, page


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs the extra docs")
def test_site_builds_without_warnings_and_fetches_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        assert not re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', page.read_text()), page
    assert "Return the probability of each action" in (tmp_path / "site" / "api.html").read_text()


def test_docstrings_become_markdown() -> None:
    pytest.importorskip("griffe")
    spec = importlib.util.spec_from_file_location("docstrings", ROOT / "docs" / "_site" / "docstrings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "Sum.\n\nArgs:\n    x: [a][b], `[c][d]`.\n\n>>> x[0][1]\n3\n\nMore."
    assert module.as_markdown(text) == (
        "Sum.\n\nArgs:\n    x: [a]\\[b], `[c][d]`.\n\n\n```pycon\n>>> x[0][1]\n3\n```\n\nMore."
    )
    assert module.as_markdown("    >>> 1\n    1") == "\n    ```pycon\n    >>> 1\n    1\n    ```"


# The tool


@pytest.mark.parametrize(
    ("shown", "actual", "same"),
    [
        ("one", "one", True),
        ("one", "two", False),
        ("one", "one more", False),
        ("a ... z", "a b\nc z", True),
        ("a\n...", "a\nb\nc", True),
        ("...\nc", "a\nb\nd", False),
        ("12 rows", "12 rows", True),
        ("12 rows", "13 rows", False),
        ("1,200", "1,201", False),
        ("0.500", "0.524", True),
        ("0.500", "0.530", False),
        ("100 iterations", "104 iterations", True),
        ("100 iterations", "110 iterations", False),
        ("0.3", "0.4", True),
        ("0.3", "0.5", False),
        ("1.5e-07", "1.51e-07", True),
        ("1.5e-07", "1.6e-07", False),
        ("-0.5", "0.5", False),
        ("in 1.5 s", "in 2 min 3.5 s", True),
        ("in 1.5 s", "in 1.5 x", False),
        ("1 thread", "16 threads", True),
        ("needs 1.5 GiB, 3.0 GiB are free", "needs 1.5 GiB, 9.0 GiB are free", True),
        ("needs 1.5 GiB, 3.0 GiB are free", "needs 2.5 GiB, 3.0 GiB are free", False),
        ("a  b", "a   b", True),
        ("a b", "a\nb", False),
        ("a\n\nb", "a\nb", True),
        ("a+b", "aab", False),
        ("n  seconds\n-  -------\n1      0.1", "n  seconds\n-  -------\n1     25.0", True),
        ("n  seconds\n-  -------\n1      0.1", "n  seconds\n-  -------\n2      0.1", False),
        ("n  seconds\n-  -------\n1      0.1\nno x12", "n  seconds\n-  -------\n1      0.1\nno x13", False),
        ("n  distance\n-  --------\n1       0.1", "n  distance\n-  --------\n1      25.0", False),
    ],
)
def test_what_agrees(shown: str, actual: str, same: bool) -> None:
    assert agrees(shown, actual) is same


PAGE = """\
# A page

```console
$ echo one \\
  two
one two
$ true
$ printf 'a\\nb\\nc\\n'
a
...
```

```python
x = 1
```

```python
print(x + 1)
```

```text
2
```

```text
No output of a program.
```
"""


def test_examples_of_a_page() -> None:
    assert find_examples(PAGE) == [
        Example("console", "echo one two", "one two", 5, 6),
        Example("console", "true", "", 7, 7),
        Example("console", "printf 'a\\nb\\nc\\n'", "a\n...", 8, 10),
        Example("python", "x = 1", None, 14, 14),
        Example("python", "print(x + 1)", "2", 21, 22),
    ]


def test_a_page_that_is_right_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    outputs = list(run_document(page))
    assert [output for _, output in outputs] == ["one two", "", "a\nb\nc", "", "2"]
    assert updated(PAGE, outputs) == PAGE


def test_wrong_outputs_are_replaced_and_short_ones_stay_short(tmp_path: Path) -> None:
    wrong = (
        PAGE.replace("\none two\n", "\nthree\nfour\n").replace("\na\n...", "\nx\n...").replace("\n2\n", "\n")
    )
    page = tmp_path / "page.md"
    page.write_text(wrong)
    assert updated(wrong, list(run_document(page))) == PAGE


def test_a_command_must_end_as_shown(tmp_path: Path) -> None:
    session = Session(tmp_path)
    with pytest.raises(ExampleError, match="ends with status 3"):
        session.run(Example("console", "exit 3", "", 0, 0))
    refusal = Example("console", "errai size nowhere", "errai: ...", 0, 0)
    assert session.run(refusal).startswith("errai: ")
    with pytest.raises(ExampleError, match="ends with status 0"):
        session.run(Example("console", "errai --version", "errai: ...", 0, 0))


def test_pictures_are_drawn_by_examples(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ mkdir x; echo new > x/one.png\n```\n![One](one.png)\n")
    (tmp_path / "one.png").write_text("old\n")
    list(run_document(page))
    assert (tmp_path / "one.png").read_text() == "old\n"
    list(run_document(page, keep_pictures=True))
    assert (tmp_path / "one.png").read_text() == "new\n"
    page.write_text("![Two](two.png)\n")
    with pytest.raises(ExampleError, match=r"draws the picture two\.png"):
        list(run_document(page))


def test_names_of_folders_are_not_shown(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.run(Example("console", "pwd; echo $ERRAI_CACHE_DIR/x", "", 0, 0)) == ".\n~/.cache/errai/x"


def test_examples_have_a_cache_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users"
    (users / "features-0123456789abcdef").mkdir(parents=True)
    (users / "kernels-0123456789abcdef").mkdir()
    monkeypatch.setenv("ERRAI_CACHE_DIR", str(users))
    (tmp_path / "page").mkdir()
    session = Session(tmp_path / "page")
    listed = session.run(Example("console", "errai cache", "", 0, 0))
    assert "machine code" in listed
    assert "0123456789abcdef" not in listed
    assert "nothing to remove" in session.run(Example("console", "errai cache --clear old", "", 0, 0))
    program = "import errai.kernels; print(errai.kernels.cache_root())"
    assert session.run(Example("python", program, "", 0, 0)) == "~/.cache/errai"
    assert os.environ["ERRAI_CACHE_DIR"] == str(users)
    assert len(list(users.iterdir())) == 2 + 1  # this version's kernels are shared
