"""What holds for every test, and saved abstractions of small games that several test files look at."""

import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import errai

if TYPE_CHECKING:
    from errai.abstraction.features.features import Features

IMPERFECT = "IR-KE-KO 5-20-10"
PERFECT = "PR-KE-HS 4-3-2"
ASYMMETRIC = "IR-HS-HS 5-20-10 / PR-KE-HS 4-3-2"


def pytest_configure() -> None:
    """Let tests interrupt the programs they start, even where this one was started with interrupts ignored.

    A shell starts its background jobs so, and programs hand the setting down to those that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def run_errai(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Type a command in a folder of its own; returns status, standard output, standard error.

    What a slow machine says besides is left out: that kernels are compiled, and how far the work has got.
    """
    monkeypatch.chdir(tmp_path)
    for gap in ("FIRST_GAP", "LONGEST_GAP"):
        monkeypatch.setattr(f"errai.cli.progress.{gap}", 3600.0)

    def run(*arguments: str) -> tuple[int, str, str]:
        from errai.cli.main import main

        monkeypatch.setattr(sys, "argv", ["errai", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        told = capsys.readouterr()
        return int(left.value.code or 0), told.out, re.sub(r"errai: compiling kernels .*\n", "", told.err)

    return run


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A feature cache of a test file's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("ERRAI_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def features(cache: Path) -> "Features":
    """The features of Rhode Island hold'em; those of Leduc are in the cache, too."""
    from errai.abstraction.features.build import build_features
    from errai.abstraction.features.features import FeaturePlan

    build_features(FeaturePlan(errai.load_game("leduc"), 3), num_threads=1)
    return build_features(FeaturePlan(errai.load_game("rhode-island")), num_threads=1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, features: "Features") -> Path:
    """A folder with saved abstractions: imperfect, perfect, asymmetric, refined, leduc."""
    from errai.abstraction import build
    from errai.abstraction.features.features import FeaturePlan, Features
    from errai.abstraction.methods import method
    from errai.abstraction.recipe import parse_recipes

    home = tmp_path_factory.mktemp("abstractions")
    rules = features.plan.rules
    for folder, name in (("imperfect", IMPERFECT), ("perfect", PERFECT), ("asymmetric", ASYMMETRIC)):
        build.build_abstraction(parse_recipes(name, rules), features, out=home / folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "MAX_DEALS_IN_A_TABLE", 1000)
        patch.setattr(method, "MIN_DEALS_SAMPLED", 10_000)
        patch.setattr(method, "MAX_DEALS_SAMPLED", 10_000)
        build.build_abstraction(parse_recipes("IIP-KE-KO 5-6-3", rules), features, out=home / "refined")
    leduc = Features(FeaturePlan(errai.load_game("leduc"), 3))
    build.build_abstraction(parse_recipes("PR-HS-HS 2-2", leduc.plan.rules), leduc, out=home / "leduc")
    return home
