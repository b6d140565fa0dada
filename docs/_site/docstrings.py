"""Docstrings as Markdown, for the reference of the site.

Our docstrings are plain text: examples begin with `>>>` without a fence, and `[player][round]` says how a
nested value is indexed, which Markdown would take for a link.
"""

import re
from typing import Any

import griffe

PROMPT = ">>> "


class PlainDocstrings(griffe.Extension):
    """Makes Markdown of every docstring as it is read."""

    def on_instance(self, *, obj: Any, **others: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with its examples fenced and its brackets kept from being links."""
    lines: list[str] = []
    indent = None
    for line in [*text.splitlines(), ""]:
        if indent is None and line.lstrip().startswith(PROMPT):
            indent = line[: len(line) - len(line.lstrip())]
            lines += ["", f"{indent}```pycon"]
        elif indent is not None and not line.strip():
            lines.append(f"{indent}```")
            indent = None
        lines.append(_without_links(line) if indent is None else line)
    return "\n".join(lines).rstrip()


def _without_links(line: str) -> str:
    """Escape `][` outside of code."""
    parts = re.split("(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else part.replace("][", "]\\[") for part in parts)
