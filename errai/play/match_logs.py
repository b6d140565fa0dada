"""Hands written to files as they are played: the competition's logs, and PHH through PokerKit.

A duplicate match writes two files, `x.log` and `x.swapped.log`: each is a log as the competition's dealer
would write it, with the same cards and the seats swapped. A file that is there already is never written over.
A match that goes on cuts its files where the last kept batch ended, and goes on from there.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from errai.cards.deck import format_cards
from errai.errors import UsageError
from errai.games.betting import BettingState
from errai.games.catalogue import HOLDEM_BOARD
from errai.games.match_state import ScoreRecord
from errai.games.rules import PokerRules
from errai.play.match_score import Score
from errai.play.played_hands import PlayedHand, PlayedHands, hands_of, state_line

ACPC, PHH = "log", "phh"
"""Kinds of files, named as the options."""

STACK_IN_BLINDS = 100
"""Stacks in big blinds that a hand history names where the game has none."""

_NOT_IN_NAMES = re.compile(r"[\s:|\x00-\x1f\x7f]+")


def log_names(first: str, second: str) -> tuple[str, str]:
    """Return the names of two agents as logs can hold them, told apart where they are the same.

    >>> log_names("runs/x:purify", "half")
    ('runs/x_purify', 'half')
    """
    names = [_NOT_IN_NAMES.sub("_", name) or "_" for name in (first, second)]
    return (names[0], names[1]) if names[0] != names[1] else (names[0], f"{names[1]}-2")


class HandFile:
    """A file of one playing of a match.

    Attributes:
        path: of the file.
        kind: `ACPC` or `PHH`.
        size: bytes that are complete batches.
    """

    def __init__(
        self, path: Path, kind: str, rules: PokerRules, names: tuple[str, str], swapped: int, seed: int
    ) -> None:
        """Prepare; nothing is written before `open`.

        Args:
            path: of the file.
            kind: `ACPC` or `PHH`.
            rules: the game.
            names: [agent].
            swapped: 1 for the second playing of a duplicate match, else 0.
            seed: of the match.
        """
        self.path, self.kind, self.size = path, kind, 0
        self._rules, self._names, self._swapped, self._seed = rules, names, swapped, seed
        self._history = PhhHistory(rules) if kind == PHH else None
        self._file: IO[bytes] | None = None

    def verify(self, size: int) -> None:
        """Refuse to begin a file that is there, or to go on with one that has fewer bytes than it should."""
        there = self.path.stat().st_size if self.path.is_file() else 0
        if size and there < size:
            raise UsageError(
                f"'{self.path}' has {there:,} bytes of the {size:,} that the match has written to it: "
                "expected the file as it was left"
            )
        if not size and self.path.exists():
            raise UsageError(f"'{self.path}' is there already: expected a new file")

    def open(self, size: int) -> None:
        """Begin the file, or go on after so many bytes of complete batches."""
        if size:
            self._file = open(self.path, "r+b")  # noqa: SIM115  # until `close`
            self._file.truncate(size)
            self._file.seek(size)
            self.size = size
            return
        self._file = open(self.path, "xb")  # noqa: SIM115  # until `close`
        if self.kind == ACPC:
            seats = ", seats swapped" if self._swapped else ""
            self._write(f"# game {self._rules.name}, seed {self._seed}{seats}\n")

    def add(self, played: PlayedHands, first_deal: int) -> None:
        """Write a batch and have the system keep it."""
        hands = hands_of(self._rules, played, first_deal, self._swapped, self._names)
        self._write("".join(map(self._text, hands)))
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())

    def _text(self, hand: PlayedHand) -> str:
        if self._history is None:
            return state_line(self._rules, hand) + "\n"
        return self._history.text(hand)

    def _write(self, text: str) -> None:
        assert self._file is not None
        self.size += self._file.write(text.encode())

    def close(self, score: Score | None) -> None:
        """Write the last line, with the score, and close; None where there is no score to be written."""
        if self._file is None:
            return
        if score is not None and self.kind == ACPC:
            total = score.totals[self._swapped]
            # By seat: in the second playing the second agent has the first seat.
            totals, names = (total, -total), self._names
            if self._swapped:
                totals, names = (-total, total), (names[1], names[0])
            self._file.write(f"{ScoreRecord(totals, names)}\n".encode())  # type: ignore[arg-type]
        self._file.close()
        self._file = None


def hand_files(
    path: str | Path | None, kind: str, rules: PokerRules, names: tuple[str, str], duplicate: bool, seed: int
) -> list[HandFile]:
    """Return the files of a kind that a match writes; none without a path."""
    if path is None:
        return []
    first = Path(path)
    if not first.absolute().parent.is_dir():
        raise UsageError(f"'{first}' cannot be written: its folder does not exist")
    paths = [first, first.with_suffix(f".swapped{first.suffix}")] if duplicate else [first]
    return [HandFile(one, kind, rules, names, swapped, seed) for swapped, one in enumerate(paths)]


class PhhHistory:
    """Hands in the PHH format, played again by PokerKit, which must come to the same chips."""

    def __init__(self, rules: PokerRules) -> None:
        """Prepare for a game; PokerKit must be installed and know it."""
        if find_spec("pokerkit") is None:
            raise UsageError(
                "hand histories in PHH need PokerKit, which is not installed: pip install pokerkit"
            )
        sizes = rules.raise_sizes
        if (
            (rules.deck.size, rules.num_hole_cards, rules.num_board_cards) != (52, 2, HOLDEM_BOARD)
            or rules.num_players != 2
            or rules.blinds[0] <= rules.blinds[1]
            or (sizes is not None and (sizes[0] != sizes[1] or sizes[2] != sizes[3]))
        ):
            raise UsageError(
                f"'{rules.name}' has no name in PHH: expected limit or no-limit hold'em of two players"
            )
        from pokerkit import Automation, FixedLimitTexasHoldem, NoLimitTexasHoldem

        automations = (
            Automation.ANTE_POSTING,
            Automation.BET_COLLECTION,
            Automation.BLIND_OR_STRADDLE_POSTING,
            Automation.RUNOUT_COUNT_SELECTION,
            Automation.HAND_KILLING,
            Automation.CHIPS_PUSHING,
            Automation.CHIPS_PULLING,
        )
        big, small = rules.blinds
        self._rules = rules
        self._game: Any = (
            NoLimitTexasHoldem(automations, True, 0, (small, big), big)
            if sizes is None
            else FixedLimitTexasHoldem(automations, True, 0, (small, big), sizes[0], sizes[3])
        )
        deepest = big + sum(size * most for size, most in zip(sizes or (), rules.max_raises, strict=False))
        plenty = max(STACK_IN_BLINDS * big, 2 * deepest)
        self._stacks = rules.stacks or (plenty, plenty)

    def text(self, hand: PlayedHand) -> str:
        """Return a hand as a section of a PHH file of many hands."""
        from pokerkit import HandHistory

        state = self._replay(hand)
        won = tuple(now - then for now, then in zip(state.stacks, self._stacks, strict=True))
        assert won == hand.chips, f"PokerKit pays {won} in hand {hand.number}, and the match {hand.chips}"
        history = HandHistory.from_game_state(self._game, state, players=list(hand.names), hand=hand.number)
        return f"[{hand.number + 1}]\n{history.dumps()}\n\n"

    def _replay(self, hand: PlayedHand) -> Any:
        """Play a hand again; its positions are PokerKit's, its bets are counted within a round."""
        theirs, ours = self._game(self._stacks, 2), BettingState.start(self._rules)
        for hole in hand.holes:
            theirs.deal_hole(format_cards(hole))
        before: tuple[int, ...] = (0, 0)
        for r, texts in enumerate(hand.betting.split("/")):
            if r:
                begin, end = (self._rules.num_board_cards_by(k) for k in (r - 1, r))
                theirs.burn_card("??")
                theirs.deal_board(format_cards(hand.board[begin:end]))
                before = ours.spent
            for action in re.findall(r"f|c|r[0-9]*", texts):
                position = ours.player
                ours = ours.act(action)
                if action == "f":
                    theirs.fold()
                elif action == "c":
                    theirs.check_or_call()
                else:
                    theirs.complete_bet_or_raise_to(ours.spent[position] - before[position])
                while ours.is_showdown and theirs.can_show_or_muck_hole_cards():
                    theirs.show_or_muck_hole_cards(True)
        return theirs
