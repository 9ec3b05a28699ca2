"""A program's side of the agent's HTTP interface. The program may run on another host.

A campaign is a stream of server-sent events. Its deadline is always counted from a question (POST .../alive): an event may have been on its
way for any length of time.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from typing import Any, Iterator, Optional

from . import _clock
from ._client import ANSWER_TIMEOUT, Campaigns, Proof, _Unshared
from ._clock import Clock
from ._lease import DEFAULT_HEARTBEAT_NS, Lease
from ._protocol import AgentGone, NoLeader, NotLeader, Refused, RegentError, View, view_of

SLEWING = 12
"""By what part a time service may slow down the clock on which this process counts: chrony's default is 1/12."""


def allowed_ns(valid_for_ns: int, guard_ns: int) -> int:
    """For how long a program leads that counts on a clock of its own, less the guard time, as the agent computes it for its socket."""
    return max(0, valid_for_ns - guard_ns - valid_for_ns // SLEWING - _clock.SKEW_NS)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("agent", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Stream:
    """One campaign: the thread that reads its events, and the thread that asks for its deadline."""

    def __init__(self, client: "HTTPClient", lease: Lease, body: dict[str, object]) -> None:
        self.client, self.lease = client, lease
        self.session = ""
        self.over = threading.Event()
        self._body = body
        self._wake = threading.Condition()
        self._awake = False
        self._connection = client._connection(None)
        self._socket: Optional[socket.socket] = None
        self._closed = False
        for task in (self._read, self._ask):
            threading.Thread(target=task, name="regent", daemon=True).start()

    def _read(self) -> None:
        lease = self.lease
        try:
            path = f"/v1/groups/{urllib.parse.quote(lease.group, safe='')}/campaign"
            self._connection.connect()
            self._socket = self._connection.sock
            if self._closed:
                raise AgentGone("the campaign was cancelled")
            with self.client._answer(self._connection, "POST", path, self._body) as answer:
                for name, data in _events(answer):
                    self.session = data.get("session", self.session)
                    lease.member = data.get("member", lease.member)
                    # Until lines have a length from some moment ago: it does not count.
                    lease.take({**data, "event": "error" if name == "over" and data.get("error") else name, "member": data.get("back", "")})
                    self.wake()
                    if name == "over":
                        return
            raise AgentGone("the agent hung up")
        except RegentError as failed:
            lease.lost_agent(failed)
        except Exception as failed:  # whatever it is, no later deadline comes
            lease.lost_agent(AgentGone(f"the connection to the agent is lost: {failed}"))
        finally:
            self.over.set()
            self.wake()
            self._connection.close()

    def wake(self) -> None:
        with self._wake:
            self._awake = True
            self._wake.notify_all()

    def close(self) -> None:
        """Has the reader find that the connection is closed, and close it."""
        self._closed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _ask(self) -> None:
        """Asks for the deadline as often as it is due, and has the program stop when it is near."""
        lease, clock = self.lease, self.client.clock
        asked = None
        while not self.over.is_set():
            left = lease.look()
            every = lease.question_due_ns()
            wait = left
            if every is not None or lease.unproven:
                age = None if asked is None else _clock.elapsed(asked, clock.late())
                if self.session and (lease.unproven or age is None or age >= (every or 0)):
                    asked = clock.early()
                    self._question(asked, left)
                    continue
                wait = min(x for x in (left, (every or 0) - (age or 0), 500_000_000) if x is not None)
            with self._wake:
                if not self._awake:
                    self._wake.wait(None if wait is None else max(wait, 1_000_000) / 1e9)
                self._awake = False

    def _question(self, asked: _clock.Instant, left: Optional[int]) -> None:
        """Asks once. It waits for the answer no longer than until the program must stop."""
        lease = self.lease
        if not self.session:
            return
        timeout = ANSWER_TIMEOUT if left is None else max(0.01, left / 1e9)
        unproven = lease.unproven
        try:
            data = self.client._ask("POST", f"/v1/sessions/{self.session}/alive", timeout=timeout)
        except AgentGone:
            self.over.wait(0.02)  # the stream finds out whether the agent is gone
            return
        except RegentError:
            return
        lease.answered(asked, allowed_ns(data.get("valid_for_ns", 0), self.client.guard_ns))
        if unproven:
            lease.elect()
        if lease.wants_to_withdraw:
            lease.wants_to_withdraw = False
            with contextlib.suppress(RegentError):
                self.client._ask("POST", f"/v1/sessions/{self.session}/resign")


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    """Cuts a stream into events."""
    name, data = "", ""
    for raw in answer:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and data:
            yield name, json.loads(data)
            name, data = "", ""


class HTTPClient(Campaigns):
    """A client of the agent's HTTP interface. All methods may be called from any thread."""

    def __init__(self, url: str, *, token: str = "", ssl_context: Optional[ssl.SSLContext] = None, timeout: float = ANSWER_TIMEOUT) -> None:
        """Takes http://HOST:PORT, https://HOST:PORT, or unix:PATH. token is a bearer token."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https", "unix"):
            raise ValueError(f"url {url!r}: must begin with http://, https:// or unix:")
        self._parts, self._token, self._ssl, self._timeout = parts, token, ssl_context, timeout
        system = _clock.system()
        self.clock: Clock = _Unshared() if isinstance(system, _clock.HostClock) else system
        self._streams: dict[Lease, _Stream] = {}
        status = self._ask("GET", "/v1/status")
        self.member: str = status.get("self", "") or status.get("name", "") or status.get("member", "")
        timing = status.get("timing") or {}
        self.guard_ns: int = timing.get("guard_ns", 0)
        self._lease_ns: int = timing.get("lease_ns", 0)

    def __enter__(self) -> "HTTPClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Resigns what this program leads, and ends its campaigns."""
        for lease, stream in list(self._streams.items()):
            lease.withdraw()
            with contextlib.suppress(RegentError):
                self.resign(lease)
            stream.close()

    def view(self, group: str) -> View:
        """What the agent believes about a group."""
        return view_of(self._ask("GET", f"/v1/groups/{urllib.parse.quote(group, safe='')}"))

    def verify(self, group: str) -> Proof:
        """Asks who leads a group, with proof."""
        asked = self.clock.early()
        try:
            data = self._ask("GET", f"/v1/groups/{urllib.parse.quote(group, safe='')}/verify")
        except Refused as refused:
            if getattr(refused, "status", 0) == 503:
                raise NoLeader(str(refused)) from None
            raise
        return Proof(self.clock, asked, data, allowed_ns(data.get("valid_for_ns", 0), 0))

    def _enter(self, group: str, mode: str, value: str, lease: float, heartbeat: Optional[float], grace: float, name: str) -> Lease:
        lease_ns = int(lease * 1e9)
        heartbeat_ns = max(DEFAULT_HEARTBEAT_NS, 2 * (lease_ns or self._lease_ns)) if heartbeat is None else int(heartbeat * 1e9)
        entered = Lease(self, group, mode, self.member, self.guard_ns, heartbeat_ns)
        fields = {"mode": mode if mode != "quorum" else "", "value": value, "lease_ns": lease_ns, "heartbeat_ns": heartbeat_ns, "grace_ns": int(grace * 1e9), "name": name}
        self._streams[entered] = _Stream(self, entered, {k: v for k, v in fields.items() if v})
        return entered

    def _withdraw(self, lease: Lease) -> None:
        lease.withdraw()
        stream = self._streams.pop(lease)
        if stream.session:
            with contextlib.suppress(RegentError):
                self._ask("POST", f"/v1/sessions/{stream.session}/resign")
        stream.close()

    # What leases use.

    def resign(self, lease: Lease) -> None:
        stream = self._streams.pop(lease, None)
        if stream is None or stream.over.is_set():
            return
        try:
            self._ask("POST", f"/v1/sessions/{stream.session}/resign")
        except Refused as refused:
            if getattr(refused, "status", 0) != 404:  # it is over already
                raise
        stream.close()

    def ask(self, lease: Lease) -> int:
        asked = self.clock.early()
        data = self._of(lease, "alive")
        remaining = allowed_ns(data.get("valid_for_ns", 0), self.guard_ns)
        lease.answered(asked, remaining)
        return max(0, remaining - _clock.elapsed(asked, self.clock.late()))

    def announce(self, lease: Lease, value: str) -> None:
        self._of(lease, "announce", {"value": value})

    def edict(self, lease: Lease) -> str:
        stamp: str = self._ask("POST", f"/v1/groups/{urllib.parse.quote(lease.group, safe='')}/edict", {"token": lease.token}).get("stamp", "")
        lease.check()
        return stamp

    def transfer(self, lease: Lease, to: str, only_ask: bool) -> None:
        error = Refused("a program hands its group over on the unix socket only (over HTTP an operator orders it)")
        error.begun = False  # type: ignore[attr-defined]
        raise error

    def recovered(self, lease: Lease, token: int, number: int) -> None:
        raise Refused("programs take part in consistent groups on the unix socket only")

    def _of(self, lease: Lease, what: str, body: Optional[dict[str, object]] = None) -> dict[str, Any]:
        stream = self._streams.get(lease)
        if stream is None or stream.over.is_set():
            raise NotLeader("the leadership is over")
        return self._ask("POST", f"/v1/sessions/{stream.session}/{what}", body)

    # Requests.

    def _connection(self, timeout: Optional[float]) -> http.client.HTTPConnection:
        wait: Any = timeout
        if self._parts.scheme == "unix":
            return _UnixConnection(self._parts.path, wait)
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, self._parts.port, timeout=wait, context=self._ssl)
        return http.client.HTTPConnection(host, self._parts.port, timeout=wait)

    @contextlib.contextmanager
    def _answer(self, connection: http.client.HTTPConnection, method: str, path: str, body: Optional[dict[str, object]]) -> Iterator[http.client.HTTPResponse]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise _refusal(answer)
            yield answer

    def _ask(self, method: str, path: str, body: Optional[dict[str, object]] = None, timeout: Optional[float] = None) -> dict[str, Any]:
        connection = self._connection(self._timeout if timeout is None else timeout)
        try:
            with self._answer(connection, method, path, body) as answer:
                data = json.loads(answer.read())
                return data if isinstance(data, dict) else {}
        except (OSError, http.client.HTTPException, ValueError) as failed:
            raise AgentGone(f"agent at {self._parts.geturl()}: {failed}") from failed
        finally:
            connection.close()


def _refusal(answer: http.client.HTTPResponse) -> RegentError:
    try:
        text = json.loads(answer.read()).get("error", "")
    except (ValueError, AttributeError):
        text = ""
    error = Refused(text or f"the agent answers {answer.status} {answer.reason}")
    error.status = answer.status  # type: ignore[attr-defined]
    return error
