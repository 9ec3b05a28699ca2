#!/usr/bin/env python3
"""A member of the fractal demonstration in Python: it takes part through the agent of its host, with nothing but the standard library.

usage: fractal.py --name NAME --agent SOCKET --shares a=HOST:PORT,b=... --dir DIR --secret FILE [--seed N] [--frames N] [--every N] [--data K]

The flags are those of the Go program beside it, and members of both kinds work together. Each line on standard output is an event, as the Go program writes it.
Start it with --seed when the work begins, and without afterwards. The exit status is 1 if the agent is lost: start it again.

checkpoint.py keeps the shares and decides; this file has the pictures, and the lines between a program and its agent.
"""

import argparse
import json
import os
import select
import signal
import socket
import sys
import threading
import time

from checkpoint import Node, wire_number

GROUP = "fractal"
SIDE, EDGE, ONE = 4, 32, 1 << 26  # as in package checkpoint/fractal, which has fixed point numbers so that all members compute the same
KEYS = ["tile%02d" % i for i in range(SIDE * SIDE)]
MASK = (1 << 64) - 1


def begin(key, seed):
    """The state of a tile before its first frame: a noise generator, and a brightness for each pixel."""
    noise = (seed + 1) * 0x9E3779B97F4A7C15 & MASK ^ (int(key[4:]) + 1) * 0xBF58476D1CE4E5B9 & MASK
    return noise.to_bytes(8, "big") + bytes(4 * EDGE * EDGE)


def escape(cx, cy):
    """After how many rounds a point leaves the Mandelbrot set, up to a limit."""
    x = y = 0
    for i in range(48):
        xx, yy = x * x >> 26, y * y >> 26
        if xx + yy > 4 * ONE:
            return i
        xy = 2 * x * y
        x, y = xx - yy + cx, (xy >> 26 if xy >= 0 else -(-xy >> 26)) + cy
    return 48


def advance(key, frame, state):
    """The state of a tile after a frame of the zoom."""
    noise, number = int.from_bytes(state[:8], "big"), int(key[4:])
    width = 3 * ONE >> min(frame // 64, 12)
    width -= width // 128 * (frame % 64)
    left, top = -(743643887 * ONE // 10**9) - width // 2, 131825904 * ONE // 10**9 - width // 2
    out = bytearray(8)
    for p in range(EDGE * EDGE):
        noise ^= noise << 13 & MASK
        noise ^= noise >> 7
        noise ^= noise << 17 & MASK
        x, y = number % SIDE * EDGE + p % EDGE, number // SIDE * EDGE + p // EDGE
        jitter = noise >> 56
        scale = 256 * SIDE * EDGE
        v = escape(left + width * (256 * x + jitter) // scale, top + width * (256 * y + jitter) // scale)
        old = int.from_bytes(state[8 + 4 * p : 12 + 4 * p], "big")
        lit = old - old // 8 + v * 4096 & 0xFFFFFFFF
        out += lit.to_bytes(4, "big")
        noise = noise + lit & MASK
    out[:8] = (noise | 1).to_bytes(8, "big")
    return bytes(out)


def clock():
    """Seconds on a clock that goes on while the host is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Program:
    def __init__(self, options):
        self.seed = options.seed  # 0: it is forgotten, or the work has begun
        self.pace = options.pace
        with open(options.secret, "rb") as f:
            secret = f.read()
        self.agent = socket.socket(socket.AF_UNIX)
        self.agent.connect(options.agent)
        self.rest, self.sending = b"", threading.Lock()
        self.id = self.campaign = 0  # numbers of requests: the last, and that of the present candidacy
        self.deadline = None  # when the program must have stopped, while it is a member
        self.ending = self.over = self.stopped = False
        self.due = self.asked = self.recovered = None  # the views that the agent asks to recover, and that the core has recovered
        self.reports = {}  # by number of the request
        council = [tuple(peer.split("=", 1)) for peer in options.shares.split(",")]
        self.node = Node(options.name, council, options.data, os.path.join(options.dir, "shares"), options.seed != 0, secret, KEYS,
                         options.every, options.frames, self.begin, self.advance, self.event, self.report)

    def begin(self, key):
        return begin(key, self.seed) if self.seed else None

    def advance(self, key, frame, state):
        time.sleep(self.pace)
        return advance(key, frame, state)

    def event(self, what, view, key, step):
        if what == "founded":
            self.seed = 0
        print(json.dumps({"what": what, "view": wire_number(view), "key": key, "step": step}), flush=True)

    def send(self, do, **fields):
        with self.sending:
            self.id += 1
            self.agent.sendall(json.dumps({"do": do, "id": self.id, **fields}).encode() + b"\n")
            return self.id

    def lines(self, seconds):
        """Yields what the agent sends within some time."""
        if not select.select([self.agent], [], [], seconds)[0]:
            return
        data = self.agent.recv(1 << 16)
        if not data:
            raise ConnectionError("the agent is gone")
        *lines, self.rest = (self.rest + data).split(b"\n")
        yield from map(json.loads, lines)

    def take(self, line):
        name, id = line["event"], line.get("id")
        if name == "hello" and line["version"] != 1:
            raise SystemExit("fractal.py: the agent speaks version %d" % line["version"])
        if name == "error" and id == self.campaign:
            raise SystemExit("fractal.py: " + line["error"])
        if name == "error" and id in self.reports:
            self.due = (clock() + 1, self.reports.pop(id))  # try again, unless there is a later view
        if "remaining_ns" in line and not self.stopped and self.campaign in line.get("ids", [id]):
            self.deadline = clock() + line["remaining_ns"] / 1e9  # counted from now; the agent has taken an allowance off
        if id != self.campaign or self.stopped:
            self.over = self.over or name == "over" and id == self.campaign
            return
        if name in ("leads", "agreed") and "view" in line:
            view = line["view"]
            if view["agreement"].get("recover"):
                self.asked = (view["token"], view["agreement"]["number"])
            self.node.set_view(view)
            self.tell()
        elif name == "stop":
            self.stop()
        elif name == "over":
            self.stop()
            self.over = True

    def report(self, view):
        """The core has recovered a view. It is called from any thread, so the main loop writes the report."""
        self.recovered = view

    def tell(self):
        """Reports a view that the agent asked to recover, once."""
        if self.asked and self.asked == self.recovered:
            self.due, self.asked = (clock(), self.asked), None
        if self.due and clock() >= self.due[0]:
            view, self.due = self.due[1], None
            self.reports[self.send("recovered", of=self.campaign, token=view[0], number=view[1])] = view

    def stop(self):
        """Stops the work, and reports that."""
        if not self.stopped:
            self.stopped, self.deadline = True, None
            self.node.leave()
            self.send("resign", of=self.campaign)

    def take_part(self):
        """Is a member once: from a campaign until the candidacy is over."""
        self.over = self.stopped = False
        self.due = self.asked = self.recovered = None
        self.reports = {}
        # The agent takes a program for hung that is silent for its heartbeat, and lets the others go on without this member.
        self.campaign = self.send("campaign", group=GROUP, mode="consistent", name="fractal.py", heartbeat_ns=6 * 10**9)
        sign = clock()
        while not self.over:
            for line in self.lines(0.05):
                self.take(line)
            if clock() >= sign:
                sign = clock() + 1
                self.send("alive", of=self.campaign)
            if not self.stopped:
                self.tell()
            if self.ending or self.deadline is not None and clock() >= self.deadline:
                self.stop()

    def run(self):
        def end(*_):
            self.ending = True  # no more: a signal may come in the middle of a line

        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, end)
        try:
            while not self.ending:
                self.take_part()
            self.send("bye")
            return 0
        except OSError as lost:
            self.node.leave()
            print("fractal.py:", lost, file=sys.stderr)
            return 1


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    for flag in ("--name", "--agent", "--shares", "--dir", "--secret"):
        p.add_argument(flag, required=True)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--frames", type=int, default=1000)
    p.add_argument("--every", type=int, default=8)
    p.add_argument("--data", type=int, default=4)
    p.add_argument("--pace", type=float, default=0.02, help="how many seconds a frame takes at least")
    return Program(p.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
