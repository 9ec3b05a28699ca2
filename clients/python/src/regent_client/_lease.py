"""One leadership of this program, over whatever transport."""

from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Iterator, Optional, Protocol

from ._clock import Clock, Instant
from ._deadline import Deadline
from ._protocol import Cause, LeadershipLost, NotLeader, View, cause_of, failure_of, view_of, AgentGone, RegentError

ASK_EVERY_NS = 400_000_000
"""How often a deadline is asked for that is counted from the question. An answer counts for one second."""

ASK_AT_LEAST_NS = 10_000_000

VIEWS_KEPT = 256

DEFAULT_HEARTBEAT_NS = 6_000_000_000


class Transport(Protocol):
    """What a leadership needs of the connection on which it was won."""

    clock: Clock

    def resign(self, lease: "Lease") -> None: ...
    def ask(self, lease: "Lease") -> int: ...
    def announce(self, lease: "Lease", value: str) -> None: ...
    def edict(self, lease: "Lease") -> str: ...
    def transfer(self, lease: "Lease", to: str, only_ask: bool) -> None: ...
    def recovered(self, lease: "Lease", token: int, number: int) -> None: ...


class Lease:
    """A leadership. All members may be used from any thread.

    Act only while `valid` is true, and send the token along with every order, so that others can refuse the orders of an earlier leader.
    """

    def __init__(self, transport: Transport, group: str, mode: str, member: str, guard_ns: int, heartbeat_ns: int) -> None:
        self._transport = transport
        self._clock = transport.clock
        self._deadline = Deadline(self._clock.shared, guard_ns)
        self.group = group
        self.mode = mode
        self.member = member
        """The name of the agent's member, which leads on behalf of this program."""
        self.token = 0
        """Grows with every leadership of a quorum group; 0 in groups that hosts lead."""
        self.turn = 0
        """Numbers the turns of programs of this host in a group that hosts lead; 0 in other groups."""
        self.first: Optional[View] = None
        """The agreement of a consistent group that took this host in."""
        self.done = threading.Event()
        """Set when the program must stop."""
        self._mutex = threading.RLock()
        self._changed = threading.Condition(self._mutex)
        self._settled = False  # elected, or never will be
        self._leads = False  # as the agent reports
        self.elected = False  # and the deadline is known
        self._failure: Optional[Exception] = None
        self._again = False  # the candidacy ended, and another one may win
        self._over = False
        self._yielding = False
        self._cause = Cause()
        self._on_done: list[Callable[[], None]] = []
        self._on_settled: list[Callable[[], None]] = []
        self._on_healed: list[Callable[[str], None]] = []
        self._on_agreed: list[Callable[[View], None]] = []
        self._views: collections.deque[View] = collections.deque(maxlen=VIEWS_KEPT)
        self._count = 0
        self._heartbeat_ns = heartbeat_ns
        self.asking = False  # a question about the deadline waits for its answer
        self.wants_to_withdraw = False

    # What a program uses.

    @property
    def valid(self) -> bool:
        """Whether the leadership is known to have lasted at an instant during the call."""
        return self.remaining > 0

    @property
    def remaining(self) -> float:
        """For how many seconds the leadership is known to last; 0 if it is not known to last now."""
        now = self._clock.late()
        if self._yielding or not self.elected:
            return 0.0
        return self._deadline.remaining_ns(now) / 1e9

    @property
    def cause(self) -> Cause:
        """Why the program must stop."""
        return self._cause

    def check(self) -> int:
        """Returns the token while the leadership is valid, and raises LeadershipLost otherwise."""
        if not self.valid:
            raise LeadershipLost(self._cause)
        return self.token

    def on_done(self, call: Callable[[], None]) -> None:
        """Has a function called, on another thread, when the program must stop; at once if it must already. It must not wait."""
        with self._mutex:
            if not self.done.is_set():
                self._on_done.append(call)
                return
        call()

    def on_healed(self, call: Callable[[str], None]) -> None:
        """Has a function called, on another thread, with the name of a member that is back. It must not wait."""
        with self._mutex:
            self._on_healed.append(call)

    def resign(self) -> None:
        """Reports that the program has stopped, and waits until the group is given up."""
        self._end(Cause("resigned", self.member))
        try:
            self._transport.resign(self)
        except AgentGone:
            pass  # nothing is renewed any more

    def confirm(self) -> float:
        """Asks the agent for how many seconds the leadership lasts, counted from the call."""
        if not self.elected:
            raise NotLeader("not the leader yet")
        return self._transport.ask(self) / 1e9

    def announce(self, value: str) -> None:
        """Changes the value that this leadership bears: at most 256 bytes."""
        self._must_lead()
        self._transport.announce(self, value)

    def edict(self) -> str:
        """Returns the stamp of an order that is made now. Without a stamp the program must not give the order."""
        self._must_lead()
        return self._transport.edict(self)

    def transfer(self, to: str) -> None:
        """Reports that the program has stopped, and hands the group over to a member. If the agent refuses, the program leads on."""
        self._must_lead()
        self._yielding = True
        try:
            self._transport.transfer(self, to, False)
        except RegentError as refusal:
            if getattr(refusal, "begun", True):
                self._end(Cause("transferred", to))
            else:
                self._yielding = False
            raise
        self._end(Cause("transferred", to))

    def can_transfer(self, to: str) -> None:
        """Raises the error with which a transfer would be refused now."""
        self._transport.transfer(self, to, True)

    def on_agreed(self, call: Callable[[View], None]) -> None:
        """Has a function called, on another thread, with the present agreement of a consistent group and every later one. It must not wait."""
        with self._mutex:
            self._on_agreed.append(call)
            view = self._views[-1] if self._views else None
        if view is not None:
            call(view)

    def agreements(self, timeout: Optional[float] = None) -> Iterator[View]:
        """Yields the present agreement of a consistent group and every later one, until the program must stop, or none comes in time."""
        seen = max(0, self._count - 1)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._count > seen or self.done.is_set(), timeout)
                if self._count == seen:
                    return
                first = max(seen, self._count - len(self._views))
                view, seen = self._views[first - self._count], first + 1
            yield view

    def recovered(self, view: View) -> None:
        """Reports that the program has recovered what an agreement asks for."""
        if view.agreement is None:
            raise ValueError("the view has no agreement")
        self._transport.recovered(self, view.token, view.agreement.number)

    # What the transport uses.

    def _must_lead(self) -> None:
        if not self.valid:
            raise NotLeader(str(self._cause))

    def question_due_ns(self) -> Optional[int]:
        """How often the deadline is asked for, or a sign of life given; None: never."""
        every = []
        if self._heartbeat_ns:
            every.append(self._heartbeat_ns // 3)
        if self.elected and not self._clock.shared:
            # Deadlines in local and consistent groups are shorter than the leases of programs.
            every.append(max(ASK_AT_LEAST_NS, min(ASK_EVERY_NS, self._deadline.granted_ns // 4)))
        return min(every) if every else None

    def take(self, event: dict[str, Any]) -> None:
        """Acts on an event of the agent about this candidacy."""
        name = event.get("event")
        if name == "leads":
            self._leads = True
            self.token, self.turn = event.get("token", 0), event.get("turn", 0)
            self.first = view_of(event["view"]) if event.get("view") else None
            self._announced(event)
            if self._clock.shared:
                self.elect()
        elif name == "until":
            self._announced(event)
        elif name == "stop":
            self._announced(event)
            self.must_stop(cause_of(event.get("cause")))
        elif name == "agreed":
            view = view_of(event.get("view"))
            with self._changed:
                self._views.append(view)
                self._count += 1
                self._changed.notify_all()
                calls = list(self._on_agreed)
            for agreed in calls:
                agreed(view)
        elif name == "healed":
            for call in list(self._on_healed):
                call(event.get("member", ""))
        elif name in ("over", "error"):
            self._is_over(cause_of(event.get("cause")), failure_of(event))

    def _announced(self, event: dict[str, Any]) -> None:
        self._deadline.announce(event.get("until_ns", 0))

    def answered(self, asked: Instant, remaining_ns: int) -> None:
        """Takes the answer to a question about the deadline."""
        self._deadline.answer(asked, remaining_ns)

    def elect(self) -> None:
        """The agent says that the program leads, and the deadline is known. A lease that came too late is given back."""
        if self._settled or self._again:
            return
        if self._deadline.until_stop_ns(self._clock.late()) > 0:
            self.elected = True
            self._settle()
        else:
            self._deadline.end()
            self._again = self.wants_to_withdraw = True

    @property
    def unproven(self) -> bool:
        """The agent says that the program leads, and the deadline is not known yet."""
        return self._leads and not (self._settled or self._again)

    def look(self) -> Optional[int]:
        """Asks the program to stop if its deadline is near. Returns in how many nanoseconds to look again; None: the deadline does not matter."""
        if not self.elected or self.done.is_set():
            return None
        left = self._deadline.until_stop_ns(self._clock.late())
        if left == 0:
            self._deadline.freeze()
            self.must_stop(Cause("lease expired", self.member))
            return None
        return left

    def must_stop(self, cause: Cause) -> None:
        with self._changed:
            if self.done.is_set():
                return
            self._cause = cause
            self.done.set()
            calls, self._on_done = self._on_done, []
            self._changed.notify_all()
        for call in calls:
            call()

    def lost_agent(self, error: Exception) -> None:
        """The connection is lost: no agent moves the deadline any more."""
        self._deadline.freeze()
        with self._mutex:
            self._over = True
            self._again = False
            self._failure = self._failure or error
        self.must_stop(Cause("agent gone", self.member))
        self._settle()

    def _is_over(self, cause: Cause, failure: Optional[Exception]) -> None:
        self._deadline.end()
        with self._mutex:
            self._over = True
            if failure is not None:
                self._failure = failure
            elif cause.why == "closed":
                self._failure = AgentGone("the agent is stopping")
            elif self._again or cause.why == "unhealthy" and not self.elected:
                self._again = True
            else:
                self._failure = NotLeader(f"the agent ended the candidacy: {cause}")
        self.must_stop(cause)
        self._settle()

    def _end(self, cause: Cause) -> None:
        """The program has stopped."""
        self._deadline.end()
        self.must_stop(cause)

    def withdraw(self) -> None:
        """The program campaigns no more, or has stopped before it began."""
        self._end(Cause("resigned", self.member))
        with self._mutex:
            self._failure = self._failure or NotLeader("the campaign was cancelled")
        self._settle()

    def _settle(self) -> None:
        with self._changed:
            if self._settled:
                return
            self._settled = True
            calls, self._on_settled = self._on_settled, []
            self._changed.notify_all()
        for call in calls:
            call()

    def on_settled(self, call: Callable[[], None]) -> None:
        with self._mutex:
            if not self._settled:
                self._on_settled.append(call)
                return
        call()

    def await_settled(self, timeout: Optional[float]) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._settled, timeout)

    def outcome(self) -> Optional["Lease"]:
        """Returns itself if it was won, None if the program should campaign again, and raises the error otherwise."""
        if self.elected:
            return self
        if self._again:
            return None
        raise self._failure or NotLeader("the candidacy is over")
