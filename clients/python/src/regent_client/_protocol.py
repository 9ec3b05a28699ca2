"""The lines between a program and its agent, and what is in them. docs/session.md of Regent specifies them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Mapping, Optional, Tuple

VERSION = 1
"""The version of the lines that this client speaks."""

MAX_LINE = 1 << 20
"""The longest line that an agent may write, in bytes."""

MODES = ("quorum", "local", "eventual", "consistent")

NOT_LEADER = "not the leader: the lease is over"


class RegentError(Exception):
    """What goes wrong between a program and its agent."""


class AgentGone(RegentError):
    """The connection to the agent is lost, or the agent is stopping."""


class Refused(RegentError):
    """The agent refuses a request. Its text says why."""


class NotLeader(RegentError):
    """The leadership is over, or was never won."""


class NoLeader(RegentError):
    """The agent could not prove that anyone leads the group now. Asking again may help."""


class LeadershipLost(RegentError):
    """The program must stop leading."""

    def __init__(self, cause: "Cause") -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclasses.dataclass(frozen=True)
class Cause:
    """Why a leader changed, or a leadership ended."""

    why: str = "unexplained"
    member: str = ""
    bound_ns: int = 0

    def __str__(self) -> str:
        return f"{self.why} {self.member}".strip()


@dataclasses.dataclass(frozen=True)
class Agreement:
    """What the members of a consistent group agree on."""

    number: int = 0
    members: Tuple[str, ...] = ()
    failed: Tuple[str, ...] = ()
    joined: Tuple[str, ...] = ()
    unfinished: Tuple[str, ...] = ()
    recover: bool = False
    """Asks this program to recover what was lost, and to report that with Lease.recovered."""
    stalled: str = ""


@dataclasses.dataclass(frozen=True)
class View:
    """What the agent believes about a group. It is knowledge, not proof: see Client.verify."""

    group: str = ""
    mode: str = ""
    leader: str = ""
    """The member that leads; empty: none does, as far as the agent knows."""
    token: int = 0
    lease_ns: int = 0
    value: str = ""
    mine: bool = False
    stopping: bool = False
    support: Tuple[str, ...] = ()
    round: int = 0
    agreement: Optional[Agreement] = None
    cause: Cause = Cause()
    at: str = ""
    missed: int = 0
    """How many views between the one before and this one were lost to a slow reader."""


def _fill(kind: type, data: object) -> Any:
    """Makes a dataclass of an object in JSON. Fields that this client does not know are left out."""
    if not isinstance(data, Mapping):
        return kind()
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known})


def cause_of(data: object) -> Cause:
    return _fill(Cause, data)


def view_of(data: object) -> View:
    view = _fill(View, data)
    agreement = view.agreement
    return dataclasses.replace(view, cause=cause_of(view.cause), agreement=_fill(Agreement, agreement) if agreement is not None else None)


def failure_of(event: Mapping[str, Any]) -> Optional[RegentError]:
    """The error that an event bears, if it bears one."""
    if event.get("event") != "error":
        return None
    text = event.get("error", "")
    if text == NOT_LEADER:
        return NotLeader(text)
    if event.get("no_leader"):
        return NoLeader(text)
    return Refused(text)


def encode(do: str, **fields: object) -> bytes:
    """Writes a request. Fields that are None, zero, empty or false are left out, as the agent takes them for absent."""
    line = {"do": do, **{k: v for k, v in fields.items() if v}}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Lines:
    """Cuts what comes from the agent into lines, and reads them."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Returns the events that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if any(len(line) > MAX_LINE for line in (*lines, self._rest)):
            raise AgentGone(f"the agent wrote a line of more than {MAX_LINE} bytes")
        events = []
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError as wrong:
                raise AgentGone(f"is no agent: it wrote {line[:60]!r}") from wrong
            if not isinstance(event, dict):
                raise AgentGone(f"is no agent: it wrote {line[:60]!r}")
            events.append(event)
        return events


def check_hello(event: Mapping[str, Any]) -> None:
    """Raises an error if this client cannot speak with the agent."""
    if event.get("event") == "error":
        raise Refused(event.get("error", ""))
    if event.get("event") != "hello":
        raise AgentGone(f"is no agent: it began with {event.get('event')!r}")
    if event.get("version") != VERSION:
        raise RegentError(f"the agent speaks version {event.get('version')}, this program {VERSION}: upgrade the older of the two")
