"""A program's connection to the agent of its host, on the unix socket."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import selectors
import socket
import threading
import time
from typing import Any, Callable, Iterator, Optional

from . import _clock
from ._clock import Clock, Instant
from ._lease import DEFAULT_HEARTBEAT_NS, VIEWS_KEPT, Lease
from ._protocol import AgentGone, Lines, NotLeader, RegentError, View, check_hello, encode, failure_of, view_of

DEFAULT_SOCKET = "/run/regent/regent.sock"
ANSWER_TIMEOUT = 15.0
BYE_TIMEOUT = 2.0


class Proof:
    """A proof of who leads a group."""

    def __init__(self, clock: Clock, asked: Instant, event: dict[str, Any], valid_ns: int) -> None:
        self.group: str = event.get("group", "")
        self.leader: str = event.get("leader", "")
        self.token: int = event.get("token", 0)
        self.value: str = event.get("value", "")
        self._clock, self._asked, self._valid_ns = clock, asked, valid_ns

    @property
    def valid(self) -> bool:
        """Whether the proof holds now."""
        return self.remaining > 0

    @property
    def remaining(self) -> float:
        """For how many seconds it holds, counted from the question."""
        return max(0, self._valid_ns - _clock.elapsed(self._asked, self._clock.late())) / 1e9


class _Question:
    def __init__(self) -> None:
        self.answered = threading.Event()
        self.event: dict[str, Any] = {}
        self.error: Optional[Exception] = None


class Campaigns:
    """What clients over every transport have in common."""

    def _enter(self, group: str, mode: str, value: str, lease: float, heartbeat: Optional[float], grace: float, name: str) -> Lease:
        raise NotImplementedError

    def _withdraw(self, lease: Lease) -> None:
        raise NotImplementedError

    def campaign(self, group: str, *, mode: str = "quorum", value: str = "", lease: float = 0, heartbeat: Optional[float] = None, grace: float = 0,
                 name: str = "", timeout: Optional[float] = None) -> Lease:
        """Waits until this program leads. Lengths are in seconds; 0: as the agent is configured.

        heartbeat is how long this process may be silent before the agent takes the group from it; None: two leases, at least 6 s; 0: any time.
        TimeoutError is raised if the program does not lead in time.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            won = self._enter(group, mode, value, lease, heartbeat, grace, name)
            try:
                settled = won.await_settled(None if until is None else max(0, until - time.monotonic()))
            except BaseException:
                self._withdraw(won)
                raise
            if not settled:
                self._withdraw(won)
                raise TimeoutError(f"the program does not lead {group} after {timeout} s")
            if won.outcome() is not None:
                return won

    @contextlib.contextmanager
    def lead(self, group: str, **options: Any) -> Iterator[Lease]:
        """Waits until this program leads, and resigns at the end. It takes what campaign takes."""
        lease = self.campaign(group, **options)
        try:
            yield lease
        finally:
            lease.resign()


class Client(Campaigns):
    """A connection to the agent. All methods may be called from any thread."""

    def __init__(self, path: Optional[str] = None, *, timeout: float = 10, share_clock: bool = True) -> None:
        """Connects. share_clock=False has deadlines asked for, as on systems where the clock of the host cannot be read."""
        path = path or os.environ.get("REGENT_SOCKET") or DEFAULT_SOCKET
        self._lines = Lines()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
            self.clock: Clock = _clock.system()
            early = self.clock.early()
            with contextlib.suppress(BrokenPipeError):  # an agent that refuses says why before it hangs up
                self._socket.sendall(encode("hello"))
            self.hello, rest = self._greeting()
            check_hello(self.hello)
        except OSError as failed:
            self._socket.close()
            raise AgentGone(f"agent at {path}: {failed}") from failed
        except BaseException:
            self._socket.close()
            raise
        if not share_clock or not self._same_clock(early):
            self.clock = _clock.PairClock() if not isinstance(self.clock, _clock.HostClock) else _Unshared()
        self._socket.settimeout(None)
        self.member: str = self.hello.get("member", "")
        self._mutex = threading.Lock()
        self._writing = threading.Lock()
        self._next = 0
        self._questions: dict[int, _Question] = {}
        self._leases: dict[int, Lease] = {}
        self._ids: dict[Lease, int] = {}
        self._about: dict[int, tuple[Lease, Instant]] = {}  # questions about deadlines, and from when their answers count
        self._due: dict[Lease, int] = {}  # when the next one is due
        self._watches: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._gone: Optional[Exception] = None
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._reader = threading.Thread(target=self._run, args=(rest,), name="regent", daemon=True)
        self._reader.start()

    def _greeting(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        while True:
            data = self._socket.recv(1 << 16)
            if not data:
                raise AgentGone("the agent hung up")
            events = self._lines.feed(data)
            if events:
                return events[0], events[1:]

    def _same_clock(self, early: Instant) -> bool:
        """Whether the agent reads the clock that this process reads: in another time namespace it has another one."""
        now = self.hello.get("now_ns")
        return self.clock.shared and isinstance(now, int) and early[0] - _clock.SKEW_NS <= now <= self.clock.late()[0] + _clock.SKEW_NS

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Says that all that was begun here has stopped, and closes the connection: what was led is given up."""
        for lease in list(self._ids):
            lease.withdraw()
        try:
            self._send("bye")
        except RegentError:
            pass
        self._reader.join(BYE_TIMEOUT)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        for s in (self._socket, self._wake, self._waker):
            s.close()

    # Requests.

    def view(self, group: str) -> View:
        """What the agent believes about a group."""
        return view_of(self._ask("view", group=group).get("view"))

    def verify(self, group: str) -> Proof:
        """Asks who leads a group, with proof."""
        asked = self.clock.early()
        event = self._ask("verify", group=group)
        if self.clock.shared:
            return Proof(self.clock, asked, event, event.get("until_ns", 0) - asked[0])
        return Proof(self.clock, asked, event, event.get("remaining_ns", 0))

    def watch(self, group: str, timeout: Optional[float] = None) -> Iterator[View]:
        """Yields the view of a group, and every change of it, until none comes in time. Many views can wait for a slow reader."""
        changed = threading.Condition()
        events: collections.deque[dict[str, Any]] = collections.deque()
        lost = 0

        def take(event: dict[str, Any]) -> None:
            nonlocal lost
            with changed:
                if len(events) == VIEWS_KEPT:
                    events.popleft()
                    lost += 1
                events.append(event)
                changed.notify_all()

        number = self._subscribe(group, take)
        try:
            while True:
                with changed:
                    if not changed.wait_for(lambda: events, timeout):
                        return
                    event = events.popleft()
                    missed, lost = lost, 0
                if event["event"] == "gone":
                    raise AgentGone(str(self._gone))
                error = failure_of(event)
                if error is not None:
                    raise error
                view = view_of(event.get("view"))
                yield dataclasses.replace(view, missed=view.missed + missed)
        finally:
            self._unsubscribe(number)

    def _subscribe(self, group: str, take: Callable[[dict[str, Any]], None]) -> int:
        with self._mutex:
            self._check_open()
            number = self._number()
            self._watches[number] = take
        self._send("watch", id=number, group=group)
        return number

    def _unsubscribe(self, number: int) -> None:
        with self._mutex:
            self._watches.pop(number, None)
            unwatch = self._number()
        with contextlib.suppress(RegentError):
            self._send("unwatch", id=unwatch, of=number)

    def _enter(self, group: str, mode: str, value: str, lease: float, heartbeat: Optional[float], grace: float, name: str) -> Lease:
        lease_ns = int(lease * 1e9)
        if heartbeat is None:
            heartbeat_ns = max(DEFAULT_HEARTBEAT_NS, 2 * (lease_ns or self.hello.get("lease_ns", 0)))
        else:
            heartbeat_ns = int(heartbeat * 1e9)
        entered = Lease(self, group, mode, self.member, self.hello.get("guard_ns", 0), heartbeat_ns)
        with self._mutex:
            self._check_open()
            number = self._number()
            self._leases[number], self._ids[entered] = entered, number
        self._send("campaign", id=number, group=group, mode=mode if mode != "quorum" else "", value=value, lease_ns=lease_ns,
                   heartbeat_ns=heartbeat_ns, grace_ns=int(grace * 1e9), name=name)
        self._wake_up()
        return entered

    def _withdraw(self, lease: Lease) -> None:
        lease.withdraw()
        with contextlib.suppress(RegentError):
            self._of("resign", lease, wait=False)

    # What leases use.

    def resign(self, lease: Lease) -> None:
        self._of("resign", lease)

    def ask(self, lease: Lease) -> int:
        asked = self.clock.early()
        remaining = self._of("alive", lease).get("remaining_ns", 0)
        lease.answered(asked, remaining)
        return max(0, remaining - _clock.elapsed(asked, self.clock.late()))

    def announce(self, lease: Lease, value: str) -> None:
        self._of("announce", lease, value=value)

    def edict(self, lease: Lease) -> str:
        stamp: str = self._of("edict", lease).get("stamp", "")
        lease.check()
        return stamp

    def transfer(self, lease: Lease, to: str, only_ask: bool) -> None:
        self._of("transfer", lease, to=to, ask=only_ask)

    def recovered(self, lease: Lease, token: int, number: int) -> None:
        self._of("recovered", lease, token=token, number=number)

    # Lines.

    def _check_open(self) -> None:
        if self._gone is not None:
            raise AgentGone(str(self._gone))

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _send(self, do: str, **fields: object) -> None:
        self._check_open()
        try:
            with self._writing:
                self._socket.sendall(encode(do, **fields))
        except OSError as failed:
            raise AgentGone(f"the connection to the agent is lost: {failed}") from failed

    def _of(self, do: str, lease: Lease, wait: bool = True, **fields: object) -> dict[str, Any]:
        with self._mutex:
            number = self._ids.get(lease)
        if number is None:
            if do == "resign":
                return {}  # it is over already
            raise NotLeader("the leadership is over")
        return self._ask(do, wait, of=number, **fields)

    def _ask(self, do: str, wait: bool = True, **fields: object) -> dict[str, Any]:
        question = _Question()
        with self._mutex:
            self._check_open()
            number = self._number()
            self._questions[number] = question
        try:
            self._send(do, id=number, **fields)
            if not wait:
                return {}
            if not question.answered.wait(ANSWER_TIMEOUT):
                raise RegentError(f"the agent does not answer {do} within {ANSWER_TIMEOUT:g} s")
        finally:
            with self._mutex:
                self._questions.pop(number, None)
        error = question.error or failure_of(question.event)
        if error is not None:
            error.begun = bool(question.event.get("begun"))  # type: ignore[attr-defined]
            if isinstance(error, AgentGone):
                error.begun = True  # type: ignore[attr-defined]
            raise error
        return question.event

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    # The thread that reads.

    def _run(self, events: list[dict[str, Any]]) -> None:
        error: Exception = AgentGone("the agent hung up")
        try:
            with selectors.DefaultSelector() as ready:
                ready.register(self._socket, selectors.EVENT_READ)
                ready.register(self._wake, selectors.EVENT_READ)
                while True:
                    for event in events:
                        self._dispatch(event)
                    events = []
                    # What the agent has written by now counts before a deadline does.
                    files = [key.fileobj for key, _ in ready.select(0)]
                    if not files:
                        files = [key.fileobj for key, _ in ready.select(self._tick())]
                    if self._wake in files:
                        self._wake.recv(1 << 10)
                    if self._socket in files:
                        data = self._socket.recv(1 << 16)
                        if not data:
                            break
                        events = self._lines.feed(data)
        except Exception as failed:  # whatever it is, no later deadline comes
            error = failed if isinstance(failed, AgentGone) else AgentGone(f"the connection to the agent is lost: {failed}")
        with self._mutex:
            self._gone = error
            leases, questions, watches = list(self._leases.values()), list(self._questions.values()), list(self._watches.values())
            self._leases, self._ids, self._questions = {}, {}, {}
        for lease in leases:
            lease.lost_agent(error)
        for question in questions:
            question.error = AgentGone(str(error))
            question.answered.set()
        for take in watches:
            take({"event": "gone"})

    def _tick(self) -> Optional[float]:
        """Does what is due for all leases. Returns in how many seconds something is due again."""
        with self._mutex:
            leases = list(self._ids)
        now = self.clock.late()[0]
        due: list[int] = []
        for lease in leases:
            left = lease.look()
            if left is not None:
                due.append(left)
            every = lease.question_due_ns()
            if every is None:
                continue
            at = min(self._due.get(lease, now), now + every)
            if at <= now:
                self._question(lease)
                at = now + every
            self._due[lease] = at
            due.append(at - now)
        # A suspend of the host is no part of this time: look again soon.
        return min(min(due), 500_000_000) / 1e9 if due else None

    def _question(self, lease: Lease) -> None:
        """Asks for a deadline, unless a question waits for its answer."""
        if lease.asking:
            return
        with self._mutex:
            of = self._ids.get(lease)
            if of is None:
                return
            number = self._number()
        lease.asking = True
        self._about[number] = (lease, self.clock.early())
        self._send("alive", id=number, of=of)

    def _dispatch(self, event: dict[str, Any]) -> None:
        number = event.get("id", 0)
        about = self._about.pop(number, None)
        if about is not None:
            self._answered(*about, event)
        if not number and event.get("event") == "error":
            raise AgentGone(event.get("error", ""))
        with self._mutex:
            question, watch = self._questions.get(number), self._watches.get(number)
            numbers = {*event.get("ids", ()), number}
            leases = [self._leases[n] for n in numbers if n in self._leases]
        for lease in leases:
            lease.take(event)
            if event.get("event") == "leads" and not self.clock.shared:
                lease.asking = False  # one that was asked before does not delay this one
                self._question(lease)
            self._give_back(lease)
            if event.get("event") in ("over", "error") and number == self._ids.get(lease):
                self._forget(lease)
        if watch is not None:
            watch(event)
        if question is not None:
            question.event = event
            question.answered.set()

    def _answered(self, lease: Lease, asked: Instant, event: dict[str, Any]) -> None:
        lease.asking = False
        if event.get("event") != "until":
            return
        lease.answered(asked, event.get("remaining_ns", 0))
        if not self.clock.shared and lease.unproven:
            lease.elect()
            self._give_back(lease)

    def _give_back(self, lease: Lease) -> None:
        """Gives back what came too late to be of use."""
        if not lease.wants_to_withdraw:
            return
        lease.wants_to_withdraw = False
        with self._mutex:
            of = self._ids.get(lease)
            number = self._number()
        if of is not None:
            self._send("resign", id=number, of=of)

    def _forget(self, lease: Lease) -> None:
        with self._mutex:
            number = self._ids.pop(lease, 0)
            self._leases.pop(number, None)
            self._due.pop(lease, None)


class _Unshared(_clock.HostClock):
    """The clock of the host, for lengths only: the agent's is another one, or the program wants to ask."""

    shared = False


def connect(path: Optional[str] = None, *, timeout: float = 10, share_clock: bool = True) -> Client:
    """Connects to the agent of this host. Without a path: $REGENT_SOCKET, or /run/regent/regent.sock."""
    return Client(path, timeout=timeout, share_clock=share_clock)
