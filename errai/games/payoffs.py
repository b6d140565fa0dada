"""What a player gets at the end of a hand, as data: plain poker, raked poker, tilted games.

At a leaf a stake is at issue: what the folder had put in, or at a showdown the lesser of what both have
put in. A bet that nobody called goes back and is no part of the pot, which is twice the stake.

- Plain poker: the winner gets the stake from the loser, a tie gets nothing.
- Rake: a part of the pot, up to a cap in chips, goes to the house. The winner pays it; in a tie each pays
  half. By default a hand that ends before the first public card pays none ("no flop, no drop"); in a game
  that deals no public cards at all that exception has no meaning, and every hand pays.
- Tilt: percent added to a player's own payoff for winning a showdown, losing one, folding, and winning by
  the opponent's fold (Johanson's thesis 2016, table 2.3). A payoff p becomes p (1 + t / 100), so a negative
  tilt of a loss makes the loss smaller: the thesis calls its tilts games that "increased the payoff for
  the winner or decreased the penalty for the loser", and Red, (0, -7, 0, 0), is of the second kind: it
  believes that a lost showdown costs 7% less. A tilt comes after the rake and leaves ties alone. One
  tilt serves both players, as in the thesis; a pair gives each position its own.

As text: `plain`, `rake 5%`, `rake 5% cap 3`, `rake 5% cap 3 always` (also before the first public card),
`tilt 7,0,0,7`, `tilt 7,0,0,7 / 0,0,0,0` (by position), and a rake and a tilt joined by `;`.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, NoReturn, Union

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from errai.errors import UsageError

Floats = npt.NDArray[np.float64]
Percent = Annotated[float, Field(ge=-100, le=100)]
Tilt = tuple[Percent, Percent, Percent, Percent]
"""Percent added to a payoff: win a showdown, lose one, fold, win by a fold."""

WIN_SHOWDOWN, LOSE_SHOWDOWN, FOLD, WIN_BY_FOLD = range(4)
"""Places of a `Tilt`."""

NO_TILT = (0.0, 0.0, 0.0, 0.0)

_RAKE = re.compile(r"rake\s+(\S+?)\s*%(?:\s+cap\s+(\S+))?(\s+always)?")
_TILT = re.compile(r"tilt\s+(.+)")
_TEXTS = "'plain', 'rake 5% cap 3', 'tilt 7,0,0,7' and the like"
_EXPECTED = {
    "rake": "a part of the pot from 0 to below 1, such as 0.05",
    "rake_cap": "a number of chips above 0, or none",
    "no_flop_no_drop": "true or false",
    "tilt": "four percentages from -100 to 100 (win a showdown, lose one, fold, win by a fold), or two such "
    "fours, one for each position",
}


class Payoffs(BaseModel):
    """What each player gets for winning, tying or losing a showdown, for folding, and for an opponent's fold.

    Attributes:
        rake: part of the pot that the house takes.
        rake_cap: the most that it takes, in chips; None for no bound.
        no_flop_no_drop: whether a hand that ends before the first public card pays no rake.
        tilt: [position] percent added to that player's payoffs; one tilt may be given for both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    rake: float = Field(default=0.0, ge=0, lt=1)
    rake_cap: float | None = Field(default=None, gt=0)
    no_flop_no_drop: bool = True
    tilt: tuple[Tilt, Tilt] = (NO_TILT, NO_TILT)

    def __init__(self, **values: Any) -> None:
        """Check the values; what is wrong is told in one sentence."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            _refuse(error)
        if self.rake == 0 and (self.rake_cap is not None or not self.no_flop_no_drop):
            raise UsageError(
                "payoffs without a rake have a cap or a rule for it: those go with a rake above 0"
            )

    @field_validator("tilt", mode="before")
    @classmethod
    def _for_both(cls, tilt: Any) -> Any:
        """Give both positions the one tilt, and take lists, as files have them, for tuples."""
        if isinstance(tilt, list | tuple):
            is_pair = all(isinstance(one, list | tuple) for one in tilt)
            pair = tilt if is_pair else (tilt, tilt)
            return tuple(tuple(one) for one in pair)
        return tilt

    @staticmethod
    def of(given: Union["Payoffs", str, None]) -> "Payoffs":
        """Return payoffs that were given as such, as text, or not at all, which is plain poker."""
        if given is None:
            return PLAIN
        if not isinstance(given, Payoffs | str):
            raise UsageError(f"payoffs must be Payoffs or text such as 'rake 5% cap 3', not {given!r}")
        return given if isinstance(given, Payoffs) else Payoffs.parse(given)

    @staticmethod
    def parse(text: str) -> "Payoffs":
        """Read the text form.

        >>> Payoffs.parse("rake 5% cap 3") == Payoffs(rake=0.05, rake_cap=3)
        True
        """
        values: dict[str, Any] = {}
        for part in [] if text.strip().lower() == "plain" else text.lower().split(";"):
            found: dict[str, Any] = {}
            if match := _RAKE.fullmatch(part.strip()):
                found["rake"] = _number(match[1], text, percent=True)
                if match[2] is not None:
                    found["rake_cap"] = _number(match[2], text)
                if match[3] is not None:
                    found["no_flop_no_drop"] = False
            elif match := _TILT.fullmatch(part.strip()):
                tilts = [[_number(one, text) for one in tilt.split(",")] for tilt in match[1].split("/")]
                found["tilt"] = tilts[0] if len(tilts) == 1 else tilts
            if not found or found.keys() & values.keys():
                raise UsageError(
                    f"'{text}' are not payoffs: expected {_TEXTS}, one rake and one tilt at most"
                )
            values |= found
        return Payoffs(**values)

    def describe(self) -> str:
        """Return the text form, which `parse` reads.

        >>> Payoffs(rake=0.05, rake_cap=3, no_flop_no_drop=False).describe()
        'rake 5% cap 3 always'
        """
        parts = []
        if self.rake > 0:
            cap = "" if self.rake_cap is None else f" cap {_text(self.rake_cap)}"
            parts.append(f"rake {_text(self.rake, 100)}%{cap}{'' if self.no_flop_no_drop else ' always'}")
        if self.is_tilted:
            tilts = self.tilt[:1] if self.tilt[0] == self.tilt[1] else self.tilt
            parts.append("tilt " + " / ".join(",".join(_text(one) for one in tilt) for tilt in tilts))
        return "; ".join(parts) or "plain"

    @property
    def is_tilted(self) -> bool:
        """Whether anybody's payoffs are tilted."""
        return any(any(tilt) for tilt in self.tilt)

    @property
    def is_plain(self) -> bool:
        """Whether this is plain poker."""
        return self.rake == 0 and not self.is_tilted

    @property
    def is_zero_sum(self) -> bool:
        """Whether what one player gets is what the other loses at every leaf of any game."""
        first, second = self.tilt
        opposite = (LOSE_SHOWDOWN, WIN_SHOWDOWN, WIN_BY_FOLD, FOLD)
        return self.rake == 0 and all(first[i] == second[opposite[i]] for i in range(4))

    def rakes(self, stakes: Floats, dealt: npt.NDArray[np.bool_]) -> Floats:
        """Return what the house takes at leaves: float64[L].

        Args:
            stakes: float64[L] chips that are at issue.
            dealt: bool[L] whether a public card was dealt before the end.
        """
        cap = np.inf if self.rake_cap is None else self.rake_cap
        taken = np.minimum(2 * stakes * self.rake, cap)
        return np.where(dealt, taken, 0.0) if self.no_flop_no_drop else taken

    def showdown_values(self, player: int, stakes: Floats, dealt: npt.NDArray[np.bool_]) -> Floats:
        """Return what a player gets for winning, tying and losing showdowns: float64[L, 3]; see `rakes`."""
        rakes = self.rakes(stakes, dealt)
        return np.stack(
            [
                (stakes - rakes) * self._factor(player, WIN_SHOWDOWN),
                rakes / -2,
                -stakes * self._factor(player, LOSE_SHOWDOWN),
            ],
            axis=1,
        )

    def fold_values(
        self, player: int, stakes: Floats, dealt: npt.NDArray[np.bool_], folded: npt.NDArray[np.bool_]
    ) -> Floats:
        """Return what a player gets at folds, where `folded` says whether it is the one: float64[L]."""
        won = (stakes - self.rakes(stakes, dealt)) * self._factor(player, WIN_BY_FOLD)
        return np.where(folded, -stakes * self._factor(player, FOLD), won)

    def _factor(self, player: int, how: int) -> float:
        return 1 + self.tilt[player][how] / 100


def _refuse(error: ValidationError) -> NoReturn:
    """Tell the first thing that is wrong."""
    first = error.errors()[0]
    name = str(first["loc"][0])
    if name not in _EXPECTED:
        raise UsageError(f"unknown key '{name}' of payoffs: expected {', '.join(_EXPECTED)}") from None
    raise UsageError(f"{name} of payoffs must be {_EXPECTED[name]}, not {first['input']!r}") from None


def _number(text: str, whole: str, percent: bool = False) -> float:
    """Read a number exactly as written in decimals: 7% is 0.07."""
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text.strip()):
        return float(Decimal(text.strip()) / (100 if percent else 1))
    raise UsageError(f"'{whole}' are not payoffs: '{text.strip()}' is not a number, expected {_TEXTS}")


def _text(number: float, times: int = 1) -> str:
    """Write a number in decimals so that `_number` reads the same one."""
    return f"{(Decimal(repr(float(number))) * times).normalize():f}"


PLAIN = Payoffs()
"""The winner gets the stake, and nothing else happens."""
