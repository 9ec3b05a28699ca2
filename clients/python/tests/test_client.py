"""The client against an agent in the hands of a test."""

import asyncio
import json
import os
import socket
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))

import regent_client  # noqa: E402
from regent_client._clock import system  # noqa: E402

PATIENCE = 30
HOUR = 3_600_000_000_000


class FakeAgent:
    """One connection of an agent."""

    def __init__(self, test, **hello):
        directory = tempfile.TemporaryDirectory()
        test.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "s")
        self.listener = socket.socket(socket.AF_UNIX)
        test.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()
        self.test, self.connection = test, None
        self.thread = threading.Thread(target=self.greet, args=(hello,), daemon=True)
        self.thread.start()

    def greet(self, hello):
        self.connection, _ = self.listener.accept()
        self.test.addCleanup(self.connection.close)
        self.connection.settimeout(PATIENCE)
        self.lines = self.connection.makefile("rb")
        self.hear("hello")
        self.say("hello", **{"version": 1, "member": "a", "guard_ns": 20_000_000, "lease_ns": 5_000_000_000, "now_ns": now(), **hello})

    def hear(self, do):
        """The next request of a kind."""
        while True:
            line = self.lines.readline()
            if not line:
                raise AssertionError(f"the client never wrote {do}")
            request = json.loads(line)
            if request["do"] == do:
                return request

    def say(self, event, **fields):
        self.connection.sendall(json.dumps({"event": event, **fields}).encode() + b"\n")

    def connect(self, **options):
        client = regent_client.connect(self.path, **options)
        self.thread.join()
        self.test.addCleanup(self.hang_up, client)
        return client

    def hang_up(self, client):
        self.connection.shutdown(socket.SHUT_RDWR)
        client.close()


def now():
    return system().early()[0]


def in_background(call):
    """Calls a function on another thread; the result waits for it."""
    result = {}

    def run():
        try:
            result["value"] = call()
        except Exception as error:
            result["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait():
        thread.join(PATIENCE)
        if thread.is_alive():
            raise AssertionError("it waits without end")
        if "error" in result:
            raise result["error"]
        return result["value"]

    return wait


class Client(unittest.TestCase):
    def test_late_lease_is_given_back_and_the_program_campaigns_again(self):
        agent = FakeAgent(self)
        client = agent.connect()
        lease = in_background(lambda: client.campaign("g"))
        first = agent.hear("campaign")
        agent.say("leads", id=first["id"], token=7, until_ns=now() - HOUR, remaining_ns=HOUR)  # a length from long ago
        resign = agent.hear("resign")
        self.assertEqual(resign["of"], first["id"])
        agent.say("over", id=first["id"], cause={"why": "resigned", "member": "a"})
        agent.say("done", id=resign["id"])
        second = agent.hear("campaign")
        agent.say("leads", id=second["id"], token=8, until_ns=now() + HOUR)
        self.assertEqual(lease().token, 8)

    def test_deadline_that_is_asked_for_counts_when_the_answer_has_come(self):
        agent = FakeAgent(self)
        client = agent.connect(share_clock=False)
        waiting = in_background(lambda: client.campaign("g", heartbeat=0))
        campaign = agent.hear("campaign")
        agent.say("leads", id=campaign["id"], token=7, until_ns=now() + HOUR, remaining_ns=HOUR)
        question = agent.hear("alive")
        (lease,) = client._ids  # before anything was answered
        self.assertFalse(lease.valid)
        agent.say("until", id=question["id"], ids=[campaign["id"]], remaining_ns=HOUR)
        self.assertIs(waiting(), lease)

    def test_clock_of_another_time_namespace_is_not_compared(self):
        agent = FakeAgent(self, now_ns=now() + HOUR)
        self.assertFalse(agent.connect().clock.shared)

    def test_shared_clock_is_compared(self):
        self.assertTrue(FakeAgent(self).connect().clock.shared)

    def test_silence_while_it_waits_makes_it_campaign_again(self):
        agent = FakeAgent(self)
        client = agent.connect()
        lease = in_background(lambda: client.campaign("g"))
        agent.say("over", id=agent.hear("campaign")["id"], cause={"why": "unhealthy", "member": "a"})
        agent.say("leads", id=agent.hear("campaign")["id"], token=9, until_ns=now() + HOUR)
        self.assertEqual(lease().token, 9)

    def test_refusals_and_the_end_of_the_agent_are_told_apart(self):
        agent = FakeAgent(self)
        client = agent.connect()
        lease = in_background(lambda: client.campaign("g"))
        agent.say("error", id=agent.hear("campaign")["id"], error="uid 1 may not lead g")
        self.assertRaises(regent_client.Refused, lease)
        lease = in_background(lambda: client.campaign("g"))
        agent.say("over", id=agent.hear("campaign")["id"], cause={"why": "closed", "member": "a"})
        self.assertRaises(regent_client.AgentGone, lease)

    def test_wait_that_is_given_up_is_withdrawn(self):
        agent = FakeAgent(self)
        client = agent.connect()
        self.assertRaises(TimeoutError, client.campaign, "g", timeout=0.01)
        self.assertEqual(agent.hear("campaign")["id"], agent.hear("resign")["of"])

    def test_nonsense_of_the_agent_ends_what_it_granted(self):
        for nonsense in (b"nonsense\n", b'{"event":"until","ids":"x","id":1,"until_ns":"soon"}\n'):
            agent = FakeAgent(self)
            client = agent.connect()
            lease = in_background(lambda: client.campaign("g"))
            agent.say("leads", id=agent.hear("campaign")["id"], token=7, until_ns=now() + HOUR)
            won = lease()
            agent.connection.sendall(nonsense)
            self.assertTrue(won.done.wait(PATIENCE))
            self.assertEqual(won.cause.why, "agent gone")

    def test_transfer_that_is_refused_leaves_the_leadership(self):
        agent = FakeAgent(self)
        client = agent.connect()
        lease = in_background(lambda: client.campaign("g"))
        agent.say("leads", id=agent.hear("campaign")["id"], token=7, until_ns=now() + HOUR)
        won = lease()
        for begun in (False, True):
            outcome = in_background(lambda: won.transfer("b"))
            request = agent.hear("transfer")
            self.assertFalse(won.valid)  # it has stopped
            agent.say("error", id=request["id"], error="no", begun=begun)
            self.assertRaises(regent_client.Refused, outcome)
            self.assertEqual(won.valid, not begun)

    def test_body_with_asyncio_is_cancelled_when_it_must_stop(self):
        agent = FakeAgent(self)

        def play():
            campaign = agent.hear("campaign")
            agent.say("leads", id=campaign["id"], token=7, until_ns=now() + HOUR)
            agent.say("stop", id=campaign["id"], cause={"why": "drained", "member": "a"}, until_ns=now() + HOUR)
            resign = agent.hear("resign")
            agent.say("over", id=campaign["id"], cause={"why": "drained", "member": "a"})
            agent.say("done", id=resign["id"])
            agent.hear("bye")
            agent.connection.shutdown(socket.SHUT_RDWR)

        async def lead():
            async with await regent_client.connect_async(agent.path) as client:
                async with client.lead("g") as lease:
                    self.assertEqual(lease.token, 7)
                    await asyncio.sleep(PATIENCE)
                    self.fail("the body goes on")

        played = in_background(lambda: (agent.thread.join(), play()))
        with self.assertRaises(regent_client.LeadershipLost) as lost:
            asyncio.run(lead())
        self.assertEqual(lost.exception.cause.why, "drained")
        played()


if __name__ == "__main__":
    unittest.main()
