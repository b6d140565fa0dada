"""Cards: deck, evaluator, suit isomorphism, boards, ranges, equity. Names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from errai.cards.evaluator import evaluate as evaluate
    from errai.cards.isomorphism import HandIndexer as HandIndexer

_HOMES = {
    "evaluate": "errai.cards.evaluator",
    "HandIndexer": "errai.cards.isomorphism",
}

__all__ = ["HandIndexer", "evaluate"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'errai.cards' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
