"""Logs of matches: read as they are, broken lines by number."""

from fractions import Fraction
from pathlib import Path

import pytest

from errai.errors import UsageError
from errai.games.catalogue import load_card_game
from errai.play.logs import read_log

LIMIT = load_card_game("limit-holdem")

# As the competition's dealer wrote them with seed 42.
HANDS = [
    "STATE:0:rc/crrc/crc/rrc:7d3d|2hAc/5sKs7s/9s/6h:100|-100:A|B",
    "STATE:1:cc/rc/rc/crrrrc:9h6s|3d3h/5s3s8h/9d/5c:-120|120:B|A",
    "STATE:2:cc/rc/rrc/rc:4d6c|QsJh/3c9sJc/2d/Ts:-80|80:A|B",
]
SCORE = "SCORE:140|-140:A|B"


def written(folder: Path, lines: list[str], end: str = "\n") -> Path:
    path = folder / "match.log"
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_dealers_log(tmp_path: Path, end: str) -> None:
    found = read_log(written(tmp_path, ["# name/game/hands/seed", ";", "", *HANDS, SCORE], end), LIMIT)
    assert [str(hand) for hand in found.hands] == HANDS
    assert [str(score) for score in found.scores] == [SCORE]
    assert found.broken == ()
    assert found.names == ("A", "B")
    seen = found.of_player("A")
    assert [position for _, position in seen] == [0, 1, 0]
    assert sum((hand.values[position] for hand, position in seen), Fraction()) == 140


def test_broken_lines_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = [
        "rubbish",
        HANDS[0],
        HANDS[1].replace("-120|120", "120|-120"),
        HANDS[1][:30],
        HANDS[2].replace(":A|B", ":A|A"),
        "SCORE:1:2:3",
        HANDS[2],
    ]
    found = read_log(written(tmp_path, lines), LIMIT)
    assert [str(hand) for hand in found.hands] == [HANDS[0], HANDS[2]]
    assert [line.number for line in found.broken] == [1, 3, 4, 5, 6]
    assert str(found.broken[1]) == (
        "line 3 was passed over: the values 120|-120 are not what the hand pays: expected -120|120"
    )
    assert "the names A|A are not of different players" in found.broken[3].reason


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "match.log"
    path.write_bytes(b"\xff\xfe\x00\n" + HANDS[0].encode() + b"\nSTATE:\x80\n")
    found = read_log(path, LIMIT)
    assert len(found.hands) == 1
    assert [line.number for line in found.broken] == [1, 3]


def test_what_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the log '.*none' cannot be read: No such file or directory"):
        read_log(tmp_path / "none", LIMIT)
    found = read_log(written(tmp_path, HANDS), LIMIT)
    with pytest.raises(UsageError, match="'C' is not a player of this log: expected one of A, B"):
        found.of_player("C")
