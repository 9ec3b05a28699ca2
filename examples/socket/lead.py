#!/usr/bin/env python3
"""Lead a group through the agent of this host, with nothing but Python.

usage: lead.py SOCKET GROUP [quorum|local|eventual|consistent]

It campaigns, works while it leads, and resigns at SIGTERM or SIGINT. Each line on standard output is one step of that. The exit status is 0 after a clean end
and 1 if the program had to stop because its deadline passed or the agent was lost.

What a real program changes: work() does a little work and returns, and recover() recovers what failed members lost.
"""

import json
import select
import signal
import socket
import sys
import time

CAMPAIGN, RESIGN, RECOVERED = 1, 2, 3  # the numbers of the requests


def clock():
    """Seconds on a clock that goes on while the host is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def say(*words):
    print(*words, flush=True)


def work(token):
    """Orders to others bear the token, so that they can refuse those of a leader of the past."""


def recover(agreement):
    say("recovers", *agreement.get("failed", []), *agreement.get("unfinished", []))


class Program:
    def __init__(self, path, group, mode):
        self.group, self.mode = group, mode
        self.agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.agent.connect(path)
        self.rest = b""
        self.token = self.deadline = None  # while it leads: its token, and when it must have stopped
        self.asked = self.stopping = self.over = False

    def send(self, do, id=None, **fields):
        line = {"do": do, **({"id": id} if id else {}), **fields}
        self.agent.sendall(json.dumps(line).encode() + b"\n")

    def events(self, seconds):
        """Yields what the agent sends within some time."""
        ready, _, _ = select.select([self.agent], [], [], max(0, seconds))
        if not ready:
            return
        data = self.agent.recv(1 << 16)
        if not data:
            raise ConnectionError("the agent is gone")
        *lines, self.rest = (self.rest + data).split(b"\n")
        yield from map(json.loads, lines)

    def take(self, event):
        """Acts on one line of the agent."""
        name = event["event"]
        if "remaining_ns" in event:  # counted from now; the agent has taken an allowance off
            self.deadline = clock() + event["remaining_ns"] / 1e9
        if name == "hello":
            if event["version"] != 1:
                raise SystemExit("lead.py: the agent speaks version %d" % event["version"])
        elif name == "waiting":
            say("waits")
        elif name == "leads":
            self.token = event.get("token", 0)
            say("leads", self.group, "token", self.token)
        elif name == "agreed":
            view = event["view"]
            agreement = view["agreement"]
            say("agreed", *agreement["members"])
            if agreement.get("recover"):
                recover(agreement)
                self.send("recovered", RECOVERED, of=CAMPAIGN, token=view["token"], number=agreement["number"])
        elif name == "stop":
            say("stops:", event["cause"]["why"])
            self.resign()
        elif name == "over":
            self.over = True
        elif name == "error" and event.get("id") == CAMPAIGN:
            raise SystemExit("lead.py: " + event["error"])
        elif name == "error":
            say("refused:", event["error"])  # such as the report of a recovery that came too late

    def resign(self):
        if not self.stopping:
            self.stopping = True
            self.send("resign", RESIGN, of=CAMPAIGN)

    def run(self):
        self.send("hello")
        mode = {} if self.mode == "quorum" else {"mode": self.mode}
        self.send("campaign", CAMPAIGN, group=self.group, name="lead.py", **mode)
        while not self.over:
            for event in self.events(0.05):
                self.take(event)
            if self.asked:
                self.resign()
            if self.deadline is not None and clock() >= self.deadline and not self.stopping:
                say("stops: no renewal came")
                return 1
            if self.token is not None and not self.stopping:
                work(self.token)
        self.send("bye")
        say("ended")
        return 0


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    program = Program(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else "quorum")

    def ask(*_):
        program.asked = True  # no more: a signal may come in the middle of a line

    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, ask)
    try:
        return program.run()
    except (ConnectionError, BrokenPipeError) as lost:
        say("stops:", lost)
        return 1


if __name__ == "__main__":
    sys.exit(main())
