"""Lines out of a stream of bytes: partial ones, several in one read, ended by CRLF or a bare LF.

Both ends of the ACPC protocol read through `LineBuffer`. What it holds is bounded: a line longer than any
that the protocol can need is refused, whether its end has come or not.
"""

from collections.abc import Iterator

MAX_LINE_BYTES = 8192
"""Four rounds of 64 raises with ten digits, ten hands, a board and an answer take less than half of it."""

LINE_END = b"\r\n"


class LineTooLongError(Exception):
    """A line has more bytes than any of the protocol's.

    Attributes:
        beginning: its first bytes.
    """

    def __init__(self, beginning: bytes) -> None:
        """Keep how the line begins, and no more of it."""
        super().__init__(f"a line of more than {MAX_LINE_BYTES} bytes")
        self.beginning = bytes(beginning[:60])


class LineBuffer:
    """The bytes of a line whose end has not come yet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._partial = b""

    @property
    def partial(self) -> bytes:
        """What has come of a line without its end."""
        return self._partial

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take what was read and yield the lines that it ends, without their ends.

        A line that is too long raises `LineTooLongError` after the lines before it.
        """
        # All is kept before anything is yielded, so that a caller who stops in the middle loses only lines.
        *lines, self._partial = (self._partial + data).split(b"\n")
        too_long = self._partial[:-1] if self._partial.endswith(b"\r") else self._partial
        if len(too_long) > MAX_LINE_BYTES:
            self._partial = b""
        for ended in lines:
            line = ended.removesuffix(b"\r")
            if len(line) > MAX_LINE_BYTES:
                raise LineTooLongError(line)
            yield line
        if len(too_long) > MAX_LINE_BYTES:
            raise LineTooLongError(too_long)


def is_comment(line: bytes) -> bool:
    """Return whether a line says nothing: a comment, or empty."""
    return not line or line[:1] in b"#;"


def shown_line(line: bytes) -> str:
    """Return a line as an error quotes it: printable and short."""
    text = line.decode("latin-1")
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")
