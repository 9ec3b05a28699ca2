"""The test vectors that clients of all languages share."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "src"))

from regent_client import NoLeader, NotLeader, Refused, RegentError  # noqa: E402
from regent_client._deadline import Deadline  # noqa: E402
from regent_client._http import allowed_ns  # noqa: E402
from regent_client._protocol import VERSION, Lines, cause_of, check_hello, encode, failure_of, view_of  # noqa: E402

with open(os.path.join(HERE, "..", "..", "testdata", "session.json"), encoding="utf-8") as file:
    VECTORS = json.load(file)


def read(line):
    (event,) = Lines().feed(line.encode() + b"\n")
    return event


class Vectors(unittest.TestCase):
    def test_version(self):
        self.assertEqual(VERSION, VECTORS["version"])

    def test_requests(self):
        for v in VECTORS["requests"]:
            with self.subTest(v["line"]):
                self.assertEqual(json.loads(encode(v["do"], **v["fields"])), json.loads(v["line"]))

    def test_hellos(self):
        for v in VECTORS["hellos"]:
            with self.subTest(v["line"]):
                if v["accepted"]:
                    check_hello(read(v["line"]))
                else:
                    self.assertRaises(RegentError, check_hello, read(v["line"]))

    def test_events(self):
        failures = {"refused": Refused, "not leader": NotLeader, "no leader": NoLeader}
        for v in VECTORS["events"]:
            with self.subTest(v["line"]):
                event = read(v["line"])
                self.assertEqual(event.get("token", 0), v.get("token", event.get("token", 0)))
                if "cause" in v:
                    self.assertEqual(vars(cause_of(event["cause"])), v["cause"])
                if "view" in v:
                    view, want = view_of(event["view"]), v["view"]
                    for name in ("group", "mode", "leader", "token", "value"):
                        self.assertEqual(getattr(view, name), want[name], name)
                    self.assertEqual(list(view.support), want["support"])
                    self.assertEqual(view.agreement is None, "number" not in want)
                    if view.agreement:
                        a = view.agreement
                        self.assertEqual([a.number, list(a.members), list(a.failed), a.recover], [want[n] for n in ("number", "members", "failed", "recover")])
                failure = failure_of(event)
                self.assertEqual(type(failure), failures.get(v.get("failure"), type(None)))

    def test_framing(self):
        for v in VECTORS["framing"]:
            with self.subTest(v["about"]):
                lines, seen = Lines(), 0
                try:
                    for chunk in v["chunks"]:
                        seen += len(lines.feed(chunk.encode()))
                except RegentError:
                    seen = "error"
                self.assertEqual(seen, v["events"])

    def test_lines_are_bounded(self):
        lines = Lines()
        with self.assertRaises(RegentError):
            for _ in range(33):
                lines.feed(b"x" * (1 << 15))

    def test_allowance(self):
        for v in VECTORS["allowance"]:
            self.assertEqual(allowed_ns(v["valid_for_ns"], v["guard_ns"]), v["counts_ns"])

    def deadlines(self, vectors, shared):
        for v in vectors:
            with self.subTest(v["about"]):
                d = Deadline(shared, v.get("guard_ns", 0))
                for n, step in enumerate(v["steps"]):
                    if "announce_ns" in step:
                        d.announce(step["announce_ns"])
                    elif "asked_ns" in step:
                        d.answer(tuple(step["asked_ns"]), step["answer_ns"])
                    elif "freeze" in step:
                        d.freeze()
                    elif "end" in step:
                        d.end()
                    else:
                        now = tuple(step["now_ns"])
                        self.assertEqual((d.remaining_ns(now), d.until_stop_ns(now)), (step["remaining_ns"], step["until_stop_ns"]), f"step {n}")

    def test_shared_deadlines(self):
        self.deadlines(VECTORS["shared_deadlines"], True)

    def test_counted_deadlines(self):
        self.deadlines(VECTORS["counted_deadlines"], False)


if __name__ == "__main__":
    unittest.main()
