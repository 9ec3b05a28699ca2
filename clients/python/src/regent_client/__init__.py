"""Leader election for programs in Python, through the Regent agent of the host.

    import regent_client

    with regent_client.connect() as agent:
        with agent.lead("billing") as lease:
            while lease.valid:
                work(token=lease.token)

A deadline is never counted from when a line was read. On Linux it is compared with the clock that the agent reads too. Elsewhere, over HTTP and in
another time namespace it is the answer to a question, counted from when the question was sent, and counts for one second at most.
"""

from ._aio import AsyncClient, AsyncLease, connect_async, connect_http_async
from ._client import Client, Proof, connect
from ._http import HTTPClient
from ._lease import Lease
from ._protocol import MODES, AgentGone, Agreement, Cause, LeadershipLost, NoLeader, NotLeader, Refused, RegentError, View

__version__ = "0.1.0"

__all__ = [
    "MODES", "AgentGone", "Agreement", "AsyncClient", "AsyncLease", "Cause", "Client", "HTTPClient", "LeadershipLost", "Lease", "NoLeader", "NotLeader",
    "Proof", "Refused", "RegentError", "View", "connect", "connect_async", "connect_http", "connect_http_async",
]


connect_http = HTTPClient
