#!/usr/bin/env python3
"""Lead a group through the agent of this host, with the client in clients/python.

usage: lead.py SOCKET GROUP [quorum|local|eventual|consistent]

It campaigns, works while it leads, and resigns at SIGTERM or SIGINT. Each line on standard output is one step of that. The exit status is 0 after a clean end
and 1 if the program had to stop because its deadline passed or the agent was lost.

What a real program changes: work() does a little work and returns, and recover() recovers what failed members lost.
"""

import os
import signal
import sys
import threading

try:
    import regent_client
except ImportError:  # it is not installed: take the one of this tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))
    import regent_client


def say(*words):
    print(*words, flush=True)


def work(token):
    """Orders to others bear the token, so that they can refuse those of a leader of the past."""


def recover(agreement):
    say("recovers", *agreement.failed, *agreement.unfinished)


def follow(lease):
    """Takes note of what the members of a consistent group agree on."""
    for view in lease.agreements():
        say("agreed", *view.agreement.members)
        if view.agreement.recover:
            recover(view.agreement)
            try:
                lease.recovered(view)
            except regent_client.RegentError as refused:  # such as the report of a recovery that came too late
                say("refused:", refused)


class Stop(BaseException):
    """The program was asked to stop."""


def run(path, group, mode):
    with regent_client.connect(path) as agent:
        say("waits")
        with agent.lead(group, mode=mode, name="lead.py") as lease:
            say("leads", group, "token", lease.token)
            if mode == "consistent":
                threading.Thread(target=follow, args=(lease,), daemon=True).start()
            while lease.valid and not lease.done.wait(0.05):
                work(lease.token)
            say("stops:", lease.cause)
    if lease.cause.why in ("lease expired", "agent gone"):
        return 1
    say("ended")
    return 0


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)

    def ask(*_):
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, signal.SIG_IGN)
        raise Stop  # out of whatever waits: what was begun is given up on the way

    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, ask)
    try:
        return run(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else "quorum")
    except Stop:
        say("ended")
        return 0
    except regent_client.RegentError as error:
        say("stops:", error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
