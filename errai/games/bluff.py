"""Bluff(D1, D2), also known as liar's dice: rules and a game played step by step.

Each player rolls dice with the faces 1 to 5 and a star and looks at them alone. In turn the players
bid a quantity and a face, claiming that at least so many dice of all show that face or a star. A new
bid raises the quantity (with any face) or keeps the quantity and raises the face; the star is the
highest face. Instead of bidding, a player may call bluff: the caller wins the round if the last bid
does not hold and loses it otherwise. The loser of a round drops a die and the winner starts the
next. Who has no dice left has lost the game: +1 for the winner, -1 for the loser.

(Johanson, "Robust Strategies and Counter-Strategies", 2016, chapter 3, which does not say where the star
stands among the faces: here it is the highest.) Bids are numbered in the order in which they may follow
each other, so a round's bidding is an ascending sequence of numbers. As text a bid is `2-5` or `2-*`,
calling bluff is `b`, actions are joined by `,` and rounds by `/`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import factorial

from errai.errors import UsageError
from errai.games.betting import is_legal

FACES = "12345*"
STAR = 5
MAX_DICE = 4
CALL_BLUFF = "b"

_BID = re.compile(r"([1-9])-([1-5*])")


@dataclass(frozen=True)
class BluffRules:
    """Bluff with `dice[player]` dice; player 0 starts.

    Attributes:
        name: as given to `load_game`.
        dice: [player] dice at the start.
    """

    name: str
    dice: tuple[int, int]

    def __post_init__(self) -> None:
        if min(self.dice) < 1 or max(self.dice) > MAX_DICE:
            raise UsageError(f"each player of Bluff must have 1 to {MAX_DICE} dice, not {self.dice}")

    @property
    def num_players(self) -> int:
        """Bluff is a game for two."""
        return 2

    @property
    def big_blind(self) -> int:
        """The unit of `mbb_per_game`: winning the game counts 1."""
        return 1

    def stages(self) -> tuple[tuple[int, int], ...]:
        """Return the dice counts that a round can start with, starting player first, largest first.

        The winner of a round starts the next, so after (2, 2) comes (2, 1): the winner keeps two dice.
        """
        found: list[tuple[int, int]] = [self.dice]
        for starter, other in found:
            # The starter wins: the other drops a die. The other wins, starts, and the starter drops one.
            for after in ((starter, other - 1), (other, starter - 1)):
                if min(after) > 0 and after not in found:
                    found.append(after)
        return tuple(sorted(found, key=lambda dice: (-sum(dice), -dice[0])))


def num_bids(dice: Sequence[int]) -> int:
    """Return the number of bids with so many dice on the table."""
    return sum(dice) * len(FACES)


def parse_bid(text: str, dice: Sequence[int]) -> int:
    """Read a bid such as `2-5` or `1-*` as its number."""
    if (match := _BID.fullmatch(text)) and int(match[1]) <= sum(dice):
        return (int(match[1]) - 1) * len(FACES) + FACES.index(match[2])
    raise UsageError(
        f"'{text}' is not a bid: expected a quantity from 1 to {sum(dice)}, '-' and a face of {FACES}, "
        "as in '1-5'"
    )


def format_bid(bid: int) -> str:
    """Write the number of a bid as text."""
    return f"{bid // len(FACES) + 1}-{FACES[bid % len(FACES)]}"


def rolls(num_dice: int) -> tuple[tuple[int, ...], ...]:
    """Return the distinguishable rolls of some dice, faces ascending: 6 for one die, 21 for two."""
    return tuple(combinations_with_replacement(range(len(FACES)), num_dice))


def roll_probability(roll: Sequence[int]) -> float:
    """Return how likely the dice fall so, in any order."""
    ways = factorial(len(roll))
    for face in set(roll):
        ways //= factorial(list(roll).count(face))
    return float(ways / len(FACES) ** len(roll))


def parse_roll(text: str) -> tuple[int, ...]:
    """Read a roll such as `3*` as ascending face numbers."""
    faces = [FACES.find(letter) for letter in text]
    if not faces or min(faces) < 0:
        raise UsageError(f"'{text}' is not a roll: expected one face of {FACES} for each die, as in '3*'")
    return tuple(sorted(faces))


def format_roll(roll: Sequence[int]) -> str:
    """Write a roll, faces ascending."""
    return "".join(FACES[face] for face in sorted(roll))


def bid_holds(bid: int, *all_rolls: Sequence[int]) -> bool:
    """Return whether at least the quantity of dice shows the bid's face or a star."""
    quantity, face = bid // len(FACES) + 1, bid % len(FACES)
    return sum(die in (face, STAR) for roll in all_rolls for die in roll) >= quantity


@dataclass(frozen=True, slots=True)
class BluffState:
    """A game of Bluff in play. The dice of a round are rolled with `roll` before its bidding.

    Attributes:
        rules: the game.
        dice: [player] dice left.
        rolls: [player] this round's rolls; None before they are rolled.
        bids: this round's bids, ascending.
        player: who acts, or would act once the dice are rolled; -1 when the game is over.
        history: finished rounds and the current one as text.
    """

    rules: BluffRules
    dice: tuple[int, int]
    rolls: tuple[tuple[int, ...], tuple[int, ...]] | None
    bids: tuple[int, ...]
    player: int
    history: str

    @staticmethod
    def start(rules: BluffRules) -> "BluffState":
        """Return the game before the first roll."""
        return BluffState(rules=rules, dice=rules.dice, rolls=None, bids=(), player=0, history="")

    @property
    def is_over(self) -> bool:
        """Whether a player has lost all dice."""
        return min(self.dice) == 0

    def payoffs(self) -> tuple[int, int]:
        """Return +1 for the winner and -1 for the loser of the finished game."""
        if not self.is_over:
            raise UsageError(f"the game is not over after '{self.history}': it has no payoffs yet")
        return (1, -1) if self.dice[1] == 0 else (-1, 1)

    # Rolling the dice

    def verify_roll(self, rolled: tuple[Sequence[int], Sequence[int]]) -> None:
        """Refuse a roll at the wrong time or of the wrong number of dice."""
        if self.is_over:
            raise UsageError("the game is over: no dice are rolled any more")
        if self.rolls is not None:
            raise UsageError("the dice of this round are rolled already")
        for player, faces in enumerate(rolled):
            if len(faces) != self.dice[player] or not all(0 <= face < len(FACES) for face in faces):
                raise UsageError(
                    f"{list(faces)} is not a roll of player {player}: "
                    f"expected {self.dice[player]} faces from 0 to 5"
                )

    def can_roll(self, rolled: tuple[Sequence[int], Sequence[int]]) -> bool:
        """Return whether the round's dice may fall so now."""
        return is_legal(lambda: self.verify_roll(rolled))

    def roll(self, rolled: tuple[Sequence[int], Sequence[int]]) -> "BluffState":
        """Let the dice of both players fall."""
        self.verify_roll(rolled)
        first, second = (tuple(sorted(faces)) for faces in rolled)
        return replace(self, rolls=(first, second))

    # Bidding

    def verify_bid(self, bid: int) -> None:
        """Refuse a bid that does not exceed the last one, or one that cannot exist."""
        self._verify_rolled()
        if not 0 <= bid < num_bids(self.dice):
            raise UsageError(f"bid number {bid} is not legal: 0 to {num_bids(self.dice) - 1} exist here")
        if self.bids and bid <= self.bids[-1]:
            raise UsageError(
                f"the bid {format_bid(bid)} does not exceed the last bid {format_bid(self.bids[-1])}"
            )

    def can_bid(self, bid: int) -> bool:
        """Return whether the player to act may make this bid."""
        return is_legal(lambda: self.verify_bid(bid))

    def bid(self, bid: int) -> "BluffState":
        """Make a bid."""
        self.verify_bid(bid)
        joint = "," if self.bids else ""
        return replace(
            self,
            bids=(*self.bids, bid),
            player=1 - self.player,
            history=f"{self.history}{joint}{format_bid(bid)}",
        )

    # Calling bluff

    def verify_call_bluff(self) -> None:
        """Refuse to call bluff before any bid."""
        self._verify_rolled()
        if not self.bids:
            raise UsageError("bluff cannot be called before the first bid")

    def can_call_bluff(self) -> bool:
        """Return whether the player to act may call bluff."""
        return is_legal(self.verify_call_bluff)

    def call_bluff(self) -> "BluffState":
        """Challenge the last bid; the round's loser drops a die and the winner starts the next round."""
        self.verify_call_bluff()
        assert self.rolls is not None
        caller = self.player
        winner = 1 - caller if bid_holds(self.bids[-1], *self.rolls) else caller
        loser = 1 - winner
        dice = (self.dice[0] - (loser == 0), self.dice[1] - (loser == 1))
        over = min(dice) == 0
        history = f"{self.history},{CALL_BLUFF}" + ("" if over else "/")
        return replace(self, dice=dice, rolls=None, bids=(), player=-1 if over else winner, history=history)

    def act(self, action: str) -> "BluffState":
        """Do one action given as text: a bid such as `2-5`, or `b`."""
        return self.call_bluff() if action == CALL_BLUFF else self.bid(parse_bid(action, self.dice))

    def _verify_rolled(self) -> None:
        if self.is_over:
            raise UsageError("the game is over: no action is legal any more")
        if self.rolls is None:
            raise UsageError("the dice of this round are not rolled yet")


def replay_bids(dice: Sequence[int], bidding: str) -> tuple[int, ...]:
    """Turn one round's bidding such as `1-2,1-5` into ascending bid numbers; errors name the position."""
    bids: list[int] = []
    position = 0
    for text in bidding.split(",") if bidding else []:
        try:
            bid = parse_bid(text, dice)
            if bids and bid <= bids[-1]:
                raise UsageError(f"it does not exceed the last bid {format_bid(bids[-1])}")
        except UsageError as error:
            raise UsageError(
                f"'{bidding}' is illegal at position {position}, action '{text}': {error}"
            ) from None
        bids.append(bid)
        position += len(text) + 1
    return tuple(bids)
