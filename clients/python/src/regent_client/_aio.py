"""The same for programs with asyncio. Lines are read and deadlines are asked for on threads of their own, so a loop that is busy delays neither."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any, AsyncIterator, Awaitable, Callable, Optional, TypeVar

from ._client import Client, Proof
from ._http import HTTPClient
from ._lease import Lease
from ._protocol import AgentGone, Cause, LeadershipLost, View, failure_of, view_of

T = TypeVar("T")


class AsyncLease:
    """A leadership. Act only while `valid` is true, and send the token along with every order."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self.done = asyncio.Event()
        """Set when the program must stop. It is set by the loop: a loop that is busy sets it late, and `valid` is never late."""
        loop = asyncio.get_running_loop()
        lease.on_done(lambda: _post(loop, self.done.set))

    group = property(lambda self: self._lease.group, doc="The group that is led.")
    mode = property(lambda self: self._lease.mode, doc="Its mode.")
    member = property(lambda self: self._lease.member, doc="The agent's member, which leads on behalf of this program.")
    first = property(lambda self: self._lease.first, doc="The agreement of a consistent group that took this host in.")

    @property
    def token(self) -> int:
        """Grows with every leadership of a quorum group; 0 in groups that hosts lead."""
        return self._lease.token

    @property
    def turn(self) -> int:
        """Numbers the turns of programs of this host in a group that hosts lead; 0 in other groups."""
        return self._lease.turn

    @property
    def valid(self) -> bool:
        """Whether the leadership is known to have lasted at an instant during the call."""
        return self._lease.valid

    @property
    def remaining(self) -> float:
        """For how many seconds it is known to last."""
        return self._lease.remaining

    @property
    def cause(self) -> Cause:
        """Why the program must stop."""
        return self._lease.cause

    def check(self) -> int:
        """Returns the token while the leadership is valid, and raises LeadershipLost otherwise."""
        return self._lease.check()

    def on_healed(self, call: Callable[[str], None]) -> None:
        """Has a function called, on the loop, with the name of a member that is back."""
        loop = asyncio.get_running_loop()
        self._lease.on_healed(lambda member: _post(loop, call, member))

    async def resign(self) -> None:
        """Reports that the program has stopped, and waits until the group is given up."""
        await asyncio.to_thread(self._lease.resign)

    async def confirm(self) -> float:
        """Asks the agent for how many seconds the leadership lasts, counted from the call."""
        return await asyncio.to_thread(self._lease.confirm)

    async def announce(self, value: str) -> None:
        """Changes the value that this leadership bears: at most 256 bytes."""
        await asyncio.to_thread(self._lease.announce, value)

    async def edict(self) -> str:
        """Returns the stamp of an order that is made now."""
        return await asyncio.to_thread(self._lease.edict)

    async def transfer(self, to: str) -> None:
        """Reports that the program has stopped, and hands the group over to a member."""
        await asyncio.to_thread(self._lease.transfer, to)

    async def can_transfer(self, to: str) -> None:
        """Raises the error with which a transfer would be refused now."""
        await asyncio.to_thread(self._lease.can_transfer, to)

    async def recovered(self, view: View) -> None:
        """Reports that the program has recovered what an agreement asks for."""
        await asyncio.to_thread(self._lease.recovered, view)

    async def agreements(self) -> AsyncIterator[View]:
        """Yields the present agreement of a consistent group and every later one, until the program must stop."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Optional[View]] = asyncio.Queue()
        self._lease.on_agreed(lambda view: _post(loop, queue.put_nowait, view))
        self._lease.on_done(lambda: _post(loop, queue.put_nowait, None))
        while True:
            view = await queue.get()
            if view is None:
                return
            yield view


class AsyncClient:
    """A client of the agent for programs with asyncio: see connect_async and connect_http_async."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def member(self) -> str:
        """The name of the agent's member."""
        member: str = self._client.member
        return member

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Gives up all that was begun here."""
        await asyncio.to_thread(self._client.close)

    async def campaign(self, group: str, *, mode: str = "quorum", value: str = "", lease: float = 0, heartbeat: Optional[float] = None,
                       grace: float = 0, name: str = "") -> AsyncLease:
        """Waits until this program leads. A task that is cancelled campaigns no more."""
        loop = asyncio.get_running_loop()
        while True:
            won = await asyncio.to_thread(self._client._enter, group, mode, value, lease, heartbeat, grace, name)
            settled = asyncio.Event()
            won.on_settled(lambda: _post(loop, settled.set))
            try:
                await settled.wait()
            except BaseException:
                await _unbroken(asyncio.to_thread(self._client._withdraw, won))
                raise
            if won.outcome() is not None:
                return AsyncLease(won)

    @contextlib.asynccontextmanager
    async def lead(self, group: str, **options: Any) -> AsyncIterator[AsyncLease]:
        """Waits until this program leads, and resigns at the end. It takes what campaign takes.

        When the program must stop, the body is cancelled, and LeadershipLost is raised once it has ended.
        """
        lease = await self.campaign(group, **options)
        task = asyncio.current_task()
        assert task is not None
        cancelled, raised, inside = False, False, True

        def stop() -> None:
            nonlocal cancelled
            if inside and not cancelled:
                cancelled = True
                task.cancel()

        loop = asyncio.get_running_loop()
        lease._lease.on_done(lambda: _post(loop, stop))
        try:
            yield lease
        except asyncio.CancelledError:
            raised = True
            if cancelled and task.uncancel() == 0:
                raise LeadershipLost(lease.cause) from None
            raise
        finally:
            inside = False
            if cancelled and not raised:  # the body has ended in another way
                task.uncancel()
            await _unbroken(lease.resign())

    async def view(self, group: str) -> View:
        """What the agent believes about a group."""
        return await asyncio.to_thread(self._client.view, group)

    async def verify(self, group: str) -> Proof:
        """Asks who leads a group, with proof."""
        return await asyncio.to_thread(self._client.verify, group)

    async def watch(self, group: str) -> AsyncIterator[View]:
        """Yields the view of a group, and every change of it. It needs the unix socket."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        number = self._client._subscribe(group, lambda event: _post(loop, queue.put_nowait, event))
        try:
            while True:
                event = await queue.get()
                if event["event"] == "gone":
                    raise AgentGone("the connection to the agent is lost")
                error = failure_of(event)
                if error is not None:
                    raise error
                yield view_of(event.get("view"))
        finally:
            self._client._unsubscribe(number)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(call, *args)


async def _unbroken(what: Awaitable[T]) -> T:
    """Waits for the end of something, also while the task is being cancelled."""
    task = asyncio.ensure_future(what)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


async def connect_async(path: Optional[str] = None, *, timeout: float = 10, share_clock: bool = True) -> AsyncClient:
    """Connects to the agent of this host. Without a path: $REGENT_SOCKET, or /run/regent/regent.sock."""
    return AsyncClient(await asyncio.to_thread(Client, path, timeout=timeout, share_clock=share_clock))


async def connect_http_async(url: str, *, token: str = "", ssl_context: Optional[ssl.SSLContext] = None) -> AsyncClient:
    """Connects to an agent over HTTP, also of another host."""
    return AsyncClient(await asyncio.to_thread(HTTPClient, url, token=token, ssl_context=ssl_context))
