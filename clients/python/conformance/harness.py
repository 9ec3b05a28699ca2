"""The client as agent/conformance drives it: commands come on standard input, one on a line, and answers go to standard output.

usage: harness.py socket|ask|aio|http ADDRESS

    lead GROUP MODE VALUE    leads TOKEN MEMBER, when it does; error TEXT, if it never will. Later: lost WHY, when it must stop, and agreed NUMBER MEMBERS
    valid                    valid true, or valid false
    remaining                remaining SECONDS
    confirm                  confirmed SECONDS
    announce VALUE           announced
    edict                    edict STAMP
    can-transfer TO          can-transfer
    transfer TO              transferred
    view GROUP               view LEADER TOKEN VALUE
    verify GROUP             proof LEADER TOKEN VALUE true, or false
    resign                   resigned
"""

import asyncio
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src"))

import regent_client  # noqa: E402


def say(*words):
    text = " ".join(str(w) for w in words).replace("\n", " ") + "\n"
    os.write(1, text.encode())


def show(lease):
    say("leads", lease.token, lease.member)


class Sync:
    """Drives the client with threads."""

    def __init__(self, agent):
        self.agent, self.lease, self.resigning = agent, None, False

    def lead(self, group, mode, value):
        def campaign():
            try:
                self.lease = lease = self.agent.campaign(group, mode=mode, value="" if value == "-" else value, name="harness")
            except regent_client.RegentError as error:
                say("error", error)
                return
            self.resigning = False
            show(lease)
            lease.on_done(lambda: self.resigning or say("lost", lease.cause))
            if mode == "consistent":
                for view in lease.agreements():
                    say("agreed", view.agreement.number, *view.agreement.members)
                    if view.agreement.recover:
                        say("recovers", *view.agreement.failed, *view.agreement.unfinished)
                        try:
                            lease.recovered(view)
                        except regent_client.RegentError as error:
                            say("error", error)

        threading.Thread(target=campaign, daemon=True).start()

    def do(self, command, *words):
        lease = self.lease
        if command == "lead":
            self.lead(*words)
        elif command == "valid":
            say("valid", str(lease.valid).lower())
        elif command == "remaining":
            say("remaining", lease.remaining)
        elif command == "confirm":
            say("confirmed", lease.confirm())
        elif command == "announce":
            lease.announce(*words)
            say("announced")
        elif command == "edict":
            say("edict", lease.edict())
        elif command == "can-transfer":
            lease.can_transfer(*words)
            say("can-transfer")
        elif command == "transfer":
            self.resigning = True
            lease.transfer(*words)
            say("transferred")
        elif command == "view":
            view = self.agent.view(*words)
            say("view", view.leader or "-", view.token, view.value or "-")
        elif command == "verify":
            proof = self.agent.verify(*words)
            say("proof", proof.leader, proof.token, proof.value or "-", str(proof.valid).lower())
        elif command == "resign":
            self.resigning = True
            lease.resign()
            say("resigned")

    def run(self):
        for line in sys.stdin:
            try:
                self.do(*line.split())
            except (regent_client.RegentError, ValueError) as error:
                say("error", error)
        self.agent.close()


class Aio:
    """Drives the client with asyncio. A leadership is the body of lead(), which is cancelled when it must stop."""

    def __init__(self, agent):
        self.agent, self.lease, self.task, self.release = agent, None, None, None

    async def leading(self, group, value):
        self.release = asyncio.Event()
        try:
            async with self.agent.lead(group, value="" if value == "-" else value, name="harness") as lease:
                self.lease = lease
                show(lease)
                await self.release.wait()
        except regent_client.LeadershipLost as lost:
            say("lost", lost.cause)
        except regent_client.RegentError as error:
            say("error", error)

    async def do(self, command, *words):
        lease = self.lease
        if command == "lead":
            self.task = asyncio.create_task(self.leading(words[0], words[2]))
        elif command == "valid":
            say("valid", str(lease.valid).lower())
        elif command == "remaining":
            say("remaining", lease.remaining)
        elif command == "confirm":
            say("confirmed", await lease.confirm())
        elif command == "announce":
            await lease.announce(*words)
            say("announced")
        elif command == "edict":
            say("edict", await lease.edict())
        elif command == "view":
            view = await self.agent.view(*words)
            say("view", view.leader or "-", view.token, view.value or "-")
        elif command == "verify":
            proof = await self.agent.verify(*words)
            say("proof", proof.leader, proof.token, proof.value or "-", str(proof.valid).lower())
        elif command == "resign":
            self.release.set()
            await self.task
            say("resigned")

    async def run(self):
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        async for line in lines:
            try:
                await self.do(*line.decode().split())
            except (regent_client.RegentError, ValueError) as error:
                say("error", error)
        await self.agent.close()


async def aio(address):
    await Aio(await regent_client.connect_async(address)).run()


def main():
    transport, address = sys.argv[1:]
    if transport == "aio":
        asyncio.run(aio(address))
        return
    if transport == "http":
        agent = regent_client.connect_http(address)
    else:
        agent = regent_client.connect(address, share_clock=transport == "socket")
    Sync(agent).run()


main()
