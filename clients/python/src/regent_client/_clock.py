"""The clocks that deadlines are compared with.

An instant is a tuple of readings in nanoseconds. How much time has passed between two instants is the most that any of the clocks says, so a
clock that stands still while the host is suspended, or that a time service slows down, cannot make a leadership seem younger than it is.
"""

from __future__ import annotations

import time
from typing import Protocol, Tuple

Instant = Tuple[int, ...]

SKEW_NS = 1_200_000
"""By how much the lease clocks of two processes of a host may run apart."""


class Clock(Protocol):
    """Two ways to read one clock: a process may be held up between the readings that make an instant."""

    shared: bool
    """Whether the processes of a host share the clock, so that instants which the agent announces can be compared with it."""

    def early(self) -> Instant:
        """An instant that is not after the end of the call."""

    def late(self) -> Instant:
        """An instant that is not before the start of the call."""


class HostClock:
    """The clock that all processes of a Linux host share: raw monotonic time, and the time that the host was suspended."""

    shared = True

    def early(self) -> Instant:
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return (raw + boot - time.clock_gettime_ns(time.CLOCK_MONOTONIC),)

    def late(self) -> Instant:
        mono = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + boot - mono,)


class PairClock:
    """Monotonic and wall time, for systems without the clock of a host. The first may stand still during a suspend, the second may be set."""

    shared = False

    def early(self) -> Instant:
        return (time.monotonic_ns(), time.time_ns())

    def late(self) -> Instant:
        return (time.monotonic_ns(), time.time_ns())


def system() -> Clock:
    """The best clock of this system."""
    if hasattr(time, "CLOCK_MONOTONIC_RAW") and hasattr(time, "CLOCK_BOOTTIME"):
        return HostClock()
    return PairClock()


def elapsed(since: Instant, now: Instant) -> int:
    """The most that may have passed between two instants."""
    return max(0, *(n - s for s, n in zip(since, now)))
