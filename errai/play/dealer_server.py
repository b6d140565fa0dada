"""A dealer's table over TCP: one port a seat, time limits, and a verdict whatever the players do.

1. Listen on a port for each seat, tell the ports, start the programs that are to be started.
2. Wait until every seat has said `VERSION:2.0.0`, within a limit; no other clock runs before.
3. Send what `Dealer` says, give it what the acting seat answers, within three limits: of a response, of a
   seat's responses in a hand together, and in the match together.
4. Close the connections; programs that were started here and do not leave by themselves are ended.

A seat that does not answer, leaves, sends too much or something else, or does not read ends the match with a
`Verdict`. Memory is bounded: of each seat, one partial line and the lines of `MAX_UNANSWERED_BYTES` are held,
and `MAX_UNSENT_BYTES` that it has not read.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from errai.errors import UsageError
from errai.play.acpc_client import VERSION
from errai.play.dealer import Dealer, Kind, MisbehaviourError, Verdict
from errai.play.lines import LineBuffer, LineTooLongError, is_comment, shown_line

MAX_UNANSWERED_BYTES = 65_536
"""A seat may send so many bytes, comments included, between two answers that were played."""
MAX_UNSENT_BYTES = 65_536
GRACE_SECONDS = 5.0
"""After the match: to close the connections, and for programs to leave, once by themselves and once told."""

TellPort = Callable[[int, str, int], None]


@dataclass(frozen=True)
class Limits:
    """Seconds that a seat may take.

    Attributes:
        start: until it has connected and sent its version.
        response: for one answer.
        hand: for all its answers in a hand.
        match: for all its answers in the match; None for `SECONDS_A_HAND` a hand.
    """

    start: float = 60.0
    response: float = 60.0
    hand: float = 600.0
    match: float | None = None


SECONDS_A_HAND = 7.0


@dataclass
class Outcome:
    """What became of a match; `Dealer` has the chips and the warnings.

    Attributes:
        verdict: how it ended.
        seconds: [seat] taken for all answers.
        longest: [seat] the longest answer, in seconds.
        statuses: [seat] with which a program that was started here has left; None for others.
    """

    verdict: Verdict
    seconds: list[float]
    longest: list[float]
    statuses: list[int | None]


class _Seat(asyncio.Protocol):
    """The connection of one seat: what comes is put into the table's queue, in order."""

    def __init__(self, number: int, events: "asyncio.Queue[_Event]") -> None:
        self.number = number
        self.closed = asyncio.Event()
        self.unanswered = 0
        self.transport: asyncio.Transport | None = None
        self._events = events
        self._buffer = LineBuffer()
        self._at_fault = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)

    def data_received(self, data: bytes) -> None:
        if self._at_fault:
            return
        self.unanswered += len(data)
        try:
            for line in self._buffer.feed(data):
                if not is_comment(line):
                    self._events.put_nowait((self.number, line))
        except LineTooLongError as error:
            self.fail(Kind.FLOODING, f"sent {error}, which begins with {shown_line(error.beginning)}")
        if self.unanswered > MAX_UNANSWERED_BYTES:
            self.fail(Kind.FLOODING, f"sent more than {MAX_UNANSWERED_BYTES:,} bytes without being asked")

    def eof_received(self) -> bool:
        self.fail(Kind.DISCONNECTED, "left")
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.fail(Kind.DISCONNECTED, "left")
        self.closed.set()

    def pause_writing(self) -> None:
        self.fail(Kind.NOT_READING, "does not read what it is told")

    def fail(self, kind: Kind, sentence: str) -> None:
        """Let the table know what ends the match; of one seat the first thing counts."""
        if self._at_fault:
            return
        self._at_fault = True
        self._events.put_nowait((self.number, MisbehaviourError(kind, self.number, sentence)))
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def send(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    async def close(self) -> None:
        """Send what is unsent, then hang up; at once where that takes too long."""
        if self.transport is None:
            return
        self._at_fault = True
        self.transport.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self.closed.wait()
        except TimeoutError:
            self.transport.abort()


_Event = tuple[int, bytes | MisbehaviourError]


@dataclass
class Table:
    """A table for one match.

    Attributes:
        dealer: the match.
        commands: [seat] the program to start, followed by host and port; None where somebody connects.
        limits: of time.
        host: address to listen at.
        ports: [seat] to listen at; 0 for any that is free.
        tell_port: called with seat, host and port of each seat once it can be connected to.
        tell_hand: called after each hand.
    """

    dealer: Dealer
    commands: Sequence[Sequence[str] | None]
    limits: Limits = field(default_factory=Limits)
    host: str = "127.0.0.1"
    ports: Sequence[int] | None = None
    tell_port: TellPort | None = None
    tell_hand: Callable[[], None] | None = None

    def run(self) -> Outcome:
        """Play the match to its end, whatever that is."""
        return asyncio.run(self.play())

    async def play(self) -> Outcome:
        """Do the same in a loop that runs already."""
        self._events: asyncio.Queue[_Event] = asyncio.Queue()
        self._seats: list[_Seat] = [_Seat(i, self._events) for i in range(len(self.dealer.names))]
        self._servers: list[asyncio.Server] = []
        self._programs: dict[int, asyncio.subprocess.Process] = {}
        self._watchers: list[asyncio.Task[None]] = []
        outcome = Outcome(
            self.dealer.verdict(),
            seconds=[0.0] * len(self._seats),
            longest=[0.0] * len(self._seats),
            statuses=[None] * len(self._seats),
        )
        try:
            try:
                await self._open()
                await self._greet()
                await self._deal(outcome)
                outcome.verdict = self.dealer.verdict()
            except MisbehaviourError as error:
                await self._name_status(error)
                outcome.verdict = self.dealer.fault(error)
        finally:
            await self._close()
        for seat, program in self._programs.items():
            outcome.statuses[seat] = program.returncode
        return outcome

    # Before the first hand

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        ports = []
        for seat, wanted in zip(self._seats, self.ports or [0] * len(self._seats), strict=True):
            try:
                server = await loop.create_server(self._taking(seat), self.host, wanted)
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise UsageError(f"cannot listen at {self.host} port {wanted}: {reason}") from None
            self._servers.append(server)
            ports.append(server.sockets[0].getsockname()[1])
        for number, port in enumerate(ports):
            if self.tell_port is not None:
                self.tell_port(number, self.host, port)
        for number, (command, port) in enumerate(zip(self.commands, ports, strict=True)):
            if command is not None:
                await self._start(number, [*command, self.host, str(port)])

    def _taking(self, seat: _Seat) -> Callable[[], asyncio.Protocol]:
        """Return what gives a seat to the first who comes; later ones are hung up on."""
        taken = False

        def take() -> asyncio.Protocol:
            nonlocal taken
            if taken:
                return _Refused()
            taken = True
            return seat

        return take

    async def _start(self, number: int, words: list[str]) -> None:
        try:
            # A session of its own: a signal for the dealer is the dealer's, which then ends its programs.
            program = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot start '{words[0]}' for {self.dealer.names[number]}: {reason}") from None
        self._programs[number] = program
        self._watchers.append(asyncio.create_task(self._watch(number, program)))

    async def _watch(self, number: int, program: asyncio.subprocess.Process) -> None:
        """Notice a program that leaves without ever having connected."""
        await program.wait()
        if self._seats[number].transport is None:
            self._seats[number].fail(Kind.DISCONNECTED, "left without connecting")

    async def _greet(self) -> None:
        """Wait for the version of every seat."""
        missing = set(range(len(self._seats)))
        try:
            async with asyncio.timeout(self.limits.start):
                while missing:
                    number, line = await self._next()
                    if number not in missing:
                        raise MisbehaviourError(
                            Kind.OUT_OF_TURN, number, f"sent {shown_line(line)} before it was asked"
                        )
                    if line != VERSION:
                        raise MisbehaviourError(
                            Kind.WRONG_VERSION,
                            number,
                            f"sent {shown_line(line)} where '{VERSION.decode()}' was expected",
                        )
                    missing.remove(number)
        except TimeoutError:
            late = min(missing)
            missed = "send its version" if self._seats[late].transport else "connect"
            raise MisbehaviourError(
                Kind.NEVER_CAME, late, f"did not {missed} within {self.limits.start:g} s"
            ) from None

    async def _next(self) -> tuple[int, bytes]:
        """Return the next line of any seat."""
        number, event = await self._events.get()
        if isinstance(event, MisbehaviourError):
            raise event
        return number, event

    # The hands

    async def _deal(self, outcome: Outcome) -> None:
        dealer, limits = self.dealer, self.limits
        match_limit = limits.match if limits.match is not None else SECONDS_A_HAND * dealer.num_hands
        in_hand = [0.0] * len(self._seats)
        clock = asyncio.get_running_loop().time
        messages = dealer.begin()
        while True:
            for seat, message in zip(self._seats, messages, strict=True):
                seat.send(message)
            if dealer.is_over:
                return
            acting, hand = dealer.acting_seat, dealer.num_played
            seconds, of_what = min(
                (limits.response, f"{limits.response:g} s of a response"),
                (limits.hand - in_hand[acting], f"{limits.hand:g} s of its responses in a hand"),
                (match_limit - outcome.seconds[acting], f"{match_limit:g} s of its responses in the match"),
            )
            began = clock()
            try:
                async with asyncio.timeout(max(seconds, 0.0)):
                    number, line = await self._next()
            except TimeoutError:
                raise MisbehaviourError(
                    Kind.TIMEOUT, acting, f"did not answer within the {of_what}"
                ) from None
            took = clock() - began
            messages = dealer.answer(number, line)
            self._seats[acting].unanswered = 0
            outcome.seconds[acting] += took
            outcome.longest[acting] = max(outcome.longest[acting], took)
            in_hand[acting] += took
            if dealer.num_played > hand:
                in_hand = [0.0] * len(self._seats)
                if self.tell_hand is not None:
                    self.tell_hand()

    # After the last hand

    async def _name_status(self, error: MisbehaviourError) -> None:
        """Add to a verdict the status with which a program has left that was started here."""
        program = self._programs.get(error.seat)
        if program is None or error.kind is not Kind.DISCONNECTED:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                error.sentence += f" with status {await program.wait()}"

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        await asyncio.gather(*(seat.close() for seat in self._seats))
        await asyncio.gather(*(self._end(program) for program in self._programs.values()))
        for watcher in self._watchers:
            watcher.cancel()

    async def _end(self, program: asyncio.subprocess.Process) -> None:
        """Wait for a program that was started here to leave; tell it to, then make it."""
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                with suppress(ProcessLookupError):
                    os.killpg(program.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await program.wait()
                    return


class _Refused(asyncio.Protocol):
    """A connection to a seat that is taken."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
