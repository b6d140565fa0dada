"""The client under a dealer that was written from the protocol alone and complains of what is not right."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from acpc_checker import GAMES, WAIT, Checker

FILES = Path(__file__).parent / "game_files"
RunErrai = Callable[..., tuple[int, str, str]]


def check(run_errai: RunErrai, checker: Checker, agent: str, game: str) -> tuple[int, str]:
    """Let an agent play under a checker; returns the exit status and what was said on standard error."""
    port = checker.listen()
    thread = threading.Thread(target=checker.run, daemon=True)
    thread.start()
    status, out, told = run_errai("acpc", agent, "127.0.0.1", str(port), "--game", game, "--timeout", "20s")
    thread.join(WAIT)
    assert not thread.is_alive()
    assert out == ""
    return status, told


@pytest.mark.parametrize("agent", ["random", "always-raise", "always-fold"])
@pytest.mark.parametrize("name", GAMES)
def test_nothing_to_complain_of(run_errai: RunErrai, name: str, agent: str) -> None:
    for seat in range(len(GAMES[name].blinds)):
        checker = Checker(GAMES[name], hands=40, seed=seat, seat=seat)
        status, told = check(run_errai, checker, agent, str(FILES / name))
        assert (checker.complaints, status) == ([], 0)
        assert checker.answers > 0
        assert f"{agent} played 40 hands" in told
        assert f"{checker.answers:,} decisions" in told


WRONG_AGENTS = {
    'return "f"': "a fold without a bet",
    'return "c\\r\\n"': "not a legal action: 'c\\r\\n'",
    'return "r"': "not a legal action: 'r'",
    'return "r2"': "a size in a limit game: 'r2'",
}


def wrong_agent(folder: Path, body: str) -> str:
    source = f"import errai\n\nclass Wrong(errai.Agent):\n    def act(self, state, draws):\n        {body}\n"
    (folder / "wrong.py").write_text(source)
    return str(folder / "wrong.py")


@pytest.mark.parametrize("body", WRONG_AGENTS)
def test_the_checker_notices_actions(
    monkeypatch: pytest.MonkeyPatch, run_errai: RunErrai, tmp_path: Path, body: str
) -> None:
    """With the mending of actions taken out, agents that are not legal are complained of."""
    monkeypatch.setattr("errai.play.acpc_client.mended_action", lambda betting, text: (text, None))
    checker = Checker(GAMES["leduc.limit.2p.game"], hands=10)
    check(run_errai, checker, wrong_agent(tmp_path, body), str(FILES / "leduc.limit.2p.game"))
    assert len(checker.complaints) == 1
    assert checker.complaints[0].startswith(WRONG_AGENTS[body])


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [("LINE_END", b"\n", "no version"), ("VERSION", b"VERSION:1.0.0", "no version")],
)
def test_the_checker_notices_the_frame(
    monkeypatch: pytest.MonkeyPatch, run_errai: RunErrai, name: str, value: bytes, complaint: str
) -> None:
    monkeypatch.setattr(f"errai.play.acpc_client.{name}", value)
    checker = Checker(GAMES["leduc.limit.2p.game"], hands=10)
    check(run_errai, checker, "always-call", "leduc")
    assert checker.complaints[0].startswith(complaint)


def test_an_agent_that_is_not_legal_is_mended_and_told_of(run_errai: RunErrai, tmp_path: Path) -> None:
    checker = Checker(GAMES["leduc.limit.2p.game"], hands=10)
    agent = wrong_agent(tmp_path, 'return "f"')
    status, told = check(run_errai, checker, agent, str(FILES / "leduc.limit.2p.game"))
    assert (status, checker.complaints) == (0, [])
    assert "actions were not legal, the first: 'Wrong' said 'f' after" in told
