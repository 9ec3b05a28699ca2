"""When a leadership ends, as far as this process can know. The machine has no clock of its own: every instant is an argument.

It knows a deadline in one of two ways, never by the time at which a line was read: the line may have waited for long.

* Shared: the agent announces instants of a clock that this process reads as well.
* Counted: the agent answers a question, and its answer is a length of time, counted from when the question was sent. It counts for at most
  MAX_AGE_NS.
"""

from __future__ import annotations

from ._clock import Instant, elapsed

MAX_AGE_NS = 1_000_000_000
"""For how long an answer counts, from when the question was sent."""


class Deadline:
    def __init__(self, shared: bool, guard_ns: int) -> None:
        self.shared = shared
        self._guard = guard_ns
        # Each is replaced as a whole: threads read them without a lock.
        self._until = 0
        self._answer: tuple[Instant, int] | None = None
        self._frozen = False
        self._ended = False

    def announce(self, until_ns: int) -> None:
        """Takes an instant of the shared clock that the agent announced. A deadline moves only forward."""
        if self.shared and not self._frozen:
            self._until = max(self._until, until_ns)

    def answer(self, asked: Instant, remaining_ns: int) -> None:
        """Takes the answer to a question that was sent at an instant, or after it. The answer to the last question counts."""
        if self.shared or self._frozen or self._answer is not None and asked[0] < self._answer[0][0]:
            return
        self._answer = (asked, remaining_ns)

    def freeze(self) -> None:
        """No later deadline counts: the program was asked to stop because none came."""
        self._frozen = True

    def end(self) -> None:
        """The leadership is over."""
        self._frozen = self._ended = True

    @property
    def granted_ns(self) -> int:
        """What the last answer granted."""
        return self._answer[1] if self._answer is not None else 0

    def remaining_ns(self, now: Instant) -> int:
        """For how long the leadership is known to last; 0 if it is not known to last now."""
        if self._ended:
            return 0
        if self.shared:
            return max(0, self._until - now[0])
        if self._answer is None:
            return 0
        asked, granted = self._answer
        return max(0, min(granted, MAX_AGE_NS) - elapsed(asked, now))

    def until_stop_ns(self, now: Instant) -> int:
        """How far the instant is off at which the program must be asked to stop; 0 if it is past. Counted lengths are less the guard time."""
        if self._ended:
            return 0
        if self.shared:
            return max(0, self._until - self._guard - now[0])
        if self._answer is None:
            return 0
        asked, granted = self._answer
        return max(0, granted - elapsed(asked, now))
