"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """Let tests interrupt the programs they start, even where this one was started with interrupts ignored.

    A shell starts its background jobs so, and programs hand the setting down to those that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
