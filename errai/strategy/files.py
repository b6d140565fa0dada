"""Strategies on disk: one array file with both positions' tables, whose header names the game."""

import json
from pathlib import Path
from typing import Any

from errai.array_file import (
    ArrayHeader,
    checksum,
    is_array_file,
    read_array,
    read_header,
    write_array,
)
from errai.engine.public_tree import PublicTree
from errai.errors import UsageError
from errai.games.catalogue import Game, describe_rules, restore_rules
from errai.games.deals import Deals
from errai.games.payoffs import PLAIN, Payoffs
from errai.strategy.bucketed import BucketStrategy, find_abstraction
from errai.strategy.strategy import Strategy
from errai.tables.bucket_layout import bucket_layout
from errai.tree.bet_menu import BetMenu
from errai.tree.menu_file import describe_menu, restore_menu

_STRATEGY = "strategy"

LAYOUT = 3
"""Counts the ways in which tables have been laid out."""

LOSSLESS_LAYOUT = 2
"""How tables are laid out that have a row for every hand; only those of buckets have changed since."""


def save_strategy(strategy: Strategy, path: str | Path) -> None:
    """Write a strategy as one file; an existing file is replaced only once the new one is safe.

    An abstracted strategy is written with a row for every hand: whoever reads it needs no abstraction.
    """
    if strategy.tree.weights is not None:
        raise UsageError(
            f"a strategy of '{strategy.game.name}' with given ranges cannot be saved: "
            "expected one of a whole game"
        )
    about = describe_game(strategy.game, strategy.tree.menu, strategy.tree.payoffs)
    about["layout"] = LOSSLESS_LAYOUT
    write_array(
        path,
        strategy.unabstracted().tables,
        name=_STRATEGY,
        units="weight",
        fingerprint=_fingerprint_of(about),
        notes=about,
    )


def save_bucket_strategy(strategy: BucketStrategy, path: str | Path) -> None:
    """Write a strategy of buckets; the abstraction stays where it is and is named."""
    if strategy.saved.folder.is_file():
        raise UsageError(
            f"a strategy whose abstraction is inside '{strategy.saved.folder}' cannot be saved: copy that "
            "file, or export it again"
        )
    tree = strategy.tree
    about = describe_game(strategy.game, tree.menu, tree.payoffs) | {"layout": LAYOUT}
    about["abstraction"] = strategy.describe_abstraction(path)
    write_array(
        path,
        strategy.tables,
        name=_STRATEGY,
        units="weight",
        fingerprint=_fingerprint_of(about),
        notes=about,
    )


def read_strategy(path: str | Path) -> Strategy | BucketStrategy:
    """Read a strategy that its `save` wrote."""
    _verify_array(path)
    header, tables = read_array(path)
    _verify_strategy(header, path)
    game, menu = restore_game(header.notes)
    tree = PublicTree.of(game, menu, restore_payoffs(header.notes))
    if "abstraction" in header.notes:
        saved = find_abstraction(header.notes["abstraction"], path)
        pair = (saved.abstraction, saved.abstraction)
        first, _ = bucket_layout(tree.walk, Deals(tree.rules), pair).num_slots
        return BucketStrategy(tree, saved, (tables[:first], tables[first:]))
    first, second = tree.layout.num_slots
    if header.shape != (first + second,):
        raise UsageError(f"'{path}' has {header.shape} numbers: '{game.name}' needs {first + second:,}")
    return Strategy(tree, (tables[:first], tables[first:]))


def strategy_game(path: str | Path) -> tuple[Game, BetMenu | None]:
    """Return the game and bet sizes of a saved strategy without reading its tables."""
    return restore_game(verify_strategy_header(path).notes)


def verify_strategy_header(path: str | Path) -> ArrayHeader:
    """Return the header of a saved strategy, refusing what is none."""
    _verify_array(path)
    header = read_header(path)
    _verify_strategy(header, path)
    return header


def describe_game(game: Game, menu: BetMenu | None, payoffs: Payoffs = PLAIN) -> dict[str, Any]:
    """Describe a game, bet sizes and payoffs so that nothing else is needed to have them again."""
    about: dict[str, Any] = {"game": describe_rules(game)}
    if menu is not None:
        about["bets"] = describe_menu(menu)
    if not payoffs.is_plain:
        about["payoffs"] = {"text": payoffs.describe()}
    if not game.name.isprintable() or restore_game(about) != (game, menu):
        raise UsageError(
            f"{game.name!r} cannot be saved: expected a game of 'errai games' or of an ACPC game file, "
            "with bet sizes that are text or a file"
        )
    return about


def restore_game(about: dict[str, Any]) -> tuple[Game, BetMenu | None]:
    """Return the game and the bet sizes that `describe_game` described."""
    game = restore_rules(about["game"])
    return game, restore_menu(about["bets"]) if "bets" in about else None


def restore_payoffs(about: dict[str, Any]) -> Payoffs:
    """Return the payoffs that `describe_game` described; plain poker where it said nothing."""
    return Payoffs.parse(about["payoffs"]["text"]) if "payoffs" in about else PLAIN


def _verify_array(path: str | Path) -> None:
    if is_array_file(path):
        return
    if Path(path).exists():
        raise UsageError(f"expected a saved strategy or run: '{path}' is neither")
    raise UsageError(f"'{path}' was not found: expected a saved strategy or run")


def _verify_strategy(header: ArrayHeader, path: str | Path) -> None:
    if header.name != _STRATEGY or header.fingerprint != _fingerprint_of(header.notes):
        raise UsageError(f"'{path}' holds '{header.name}': expected a strategy that Strategy.save wrote")
    expected = LAYOUT if "abstraction" in header.notes else LOSSLESS_LAYOUT
    if header.notes.get("layout") != expected:
        raise UsageError(
            f"'{path}' has tables of layout {header.notes.get('layout', 1)}, which another version saved: "
            f"expected layout {expected}"
        )


def _fingerprint_of(about: dict[str, Any]) -> str:
    return checksum(json.dumps(about, sort_keys=True).encode())
