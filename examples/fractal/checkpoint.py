"""Checkpoints on the members' disks, for programs in Python: a member beside those of the Go package checkpoint.

Nothing but the standard library is needed. docs/checkpoint.md describes what members send to one another, and the Go package checkpoint/core has the reasons for
every rule. Classes and methods have the names of that package, and a test compares the two, step by step.
"""

import base64
import binascii
import hashlib
import hmac
import http.client
import http.server
import json
import os
import queue
import socket
import sys
import threading
import time

NONE = (0, 0, 0)  # the identity of no checkpoint: token, view number, step


def number(view):
    return (view["token"], view["vid"])


def identity(of):
    return number(of["view"]) + (of["seq"],)


def wire_number(n):
    return {"token": n[0], "vid": n[1]}


def wire_identity(i):
    return {"view": wire_number(i), "seq": i[2]}


def members(mask):
    return [m for m in range(mask.bit_length()) if mask >> m & 1]


# The code: Reed-Solomon over GF(2^8) with the polynomial x^8+x^4+x^3+x^2+1.

EXP, LOG = [1] * 510, [0] * 256
for i in range(1, 510):
    EXP[i] = EXP[i - 1] << 1 ^ (0x11D if EXP[i - 1] & 0x80 else 0)
for i in range(255):
    LOG[EXP[i]] = i


def times(a, b):
    return EXP[LOG[a] + LOG[b]] if a and b else 0


TIMES = [bytes(times(a, b) for b in range(256)) for a in range(256)]


def combine(factors, parts):
    """The sum of parts, each with its factor."""
    total = 0
    for factor, part in zip(factors, parts):
        total ^= int.from_bytes(part.translate(TIMES[factor]), "big")
    return total.to_bytes(len(parts[0]), "big")


def invert(matrix):
    """The inverse of a square matrix, by elimination. Rows are bytes, so that combine adds them."""
    size = len(matrix)
    rows = [bytes(row) + bytes(int(i == j) for j in range(size)) for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = rows[i].translate(TIMES[EXP[255 - LOG[rows[i][i]]]])
        for j in range(size):
            if j != i:
                rows[j] = combine((1, rows[j][i]), (rows[j], rows[i]))
    return [row[size:] for row in rows]


class Code:
    """Any k of n shares give a state back. The first k shares are the state."""

    def __init__(self, k, n):
        self.k, self.n = k, n
        powers = [bytes(EXP[LOG[r] * c % 255] if r else int(c == 0) for c in range(k)) for r in range(n)]
        top = invert(powers[:k])
        self.rows = [combine(row, top) for row in powers]

    def encode(self, state):
        size = max(1, -(-len(state) // self.k))
        whole = state.ljust(size * self.k, b"\0")
        parts = [whole[i * size : (i + 1) * size] for i in range(self.k)]
        return parts + [combine(row, parts) for row in self.rows[self.k :]]

    def decode(self, parts, size):
        """parts are shares by index. It returns None if they do not fit together."""
        have = sorted(parts)[: self.k]
        if len(have) < self.k or len({len(parts[i]) for i in have}) != 1:
            return None
        some = [parts[i] for i in have]
        whole = b"".join(combine(row, some) for row in invert([self.rows[i] for i in have]))
        return whole[:size] if size <= len(whole) else None


def digest(b):
    return list(hashlib.sha256(b).digest())


def share_sum(key, share):
    fields = identity(share) + identity(share["base"]) + (share["members"], share["index"], share["size"], len(key.encode()))
    h = hashlib.sha256(b"".join(f.to_bytes(8, "big") for f in fields))
    h.update(key.encode() + bytes(share["state"]) + base64.b64decode(share["data"] or ""))
    return list(h.digest())


def intact(key, share):
    try:
        return share["sum"] == share_sum(key, share)
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


class Config:
    """What all members have in common, and which one this is."""

    def __init__(self, self_index, n, k, keys):
        self.me, self.n, self.k, self.keys, self.code = self_index, n, k, keys, Code(k, n)
        self.least = n - n // 2  # the lowest need of any view
        self.tolerates = min(n - k, (n - 1) // 2)

    def need(self, in_view):
        return max(self.k + self.tolerates - (self.n - in_view), self.least)

    def cut(self, key, id, base, mask, state):
        shares = []
        for i, part in enumerate(self.code.encode(state)):
            share = {**wire_identity(id), "members": mask, "base": wire_identity(base), "index": i, "size": len(state), "state": digest(state), "sum": None,
                     "data": base64.b64encode(part).decode()}
            share["sum"] = share_sum(key, share)
            shares.append(share)
        return shares

    def join(self, shares):
        """The state in shares of one checkpoint, or None."""
        parts = {s["index"]: base64.b64decode(s["data"] or "") for s in shares}
        state = self.code.decode(parts, shares[0]["size"])
        return state if state is not None and digest(state) == shares[0]["state"] else None

    def choose(self, mask, found):
        """What an heir goes on from, in a view whose members have all answered: ("begin" | "resume" | "wait", identity, shares)."""
        candidates = {}  # by identity: members of its view, shares by state, members whose share is damaged
        for m in members(mask):
            if found[m].get("lost"):
                mask &= ~(1 << m)  # as good as away
                continue
            for s in found[m].get("shares") or []:
                d = candidates.setdefault(identity(s), [0, {}, set()])
                d[0] = s["members"]
                d[1].setdefault(bytes(s["state"]), []).append(s)
            for damaged in found[m].get("damaged") or []:
                candidates.setdefault(identity(damaged), [0, {}, set()])[2].add(m)
        for id in sorted(candidates, reverse=True):
            view, by_state, damaged = candidates[id]
            kept, need, away = 0, self.least, self.n - len(members(mask))
            for shares in by_state.values():
                kept = max(kept, len(shares))
                if len(shares) >= self.k:
                    return "resume", id, shares
            if view:
                need, away = self.need(len(members(view))), len(members(view & ~mask))
            if kept + len(damaged) + away >= need:
                return "wait", id, []
        return "begin", NONE, []


class Vault:
    """The shares on a disk. Its files are those of the Go package."""

    def __init__(self, me, directory, founding):
        self.me, self.directory, self.kept = me, directory, {}
        self.mark, self.lost = (0, 0), False  # no share of a lower view than mark is written any more
        os.makedirs(directory, 0o700, exist_ok=True)
        marks = intact_marks = 0
        for name in sorted(os.listdir(directory)):
            if name in ("mark-1", "mark-2"):
                marks += 1
                with open(os.path.join(directory, name), "rb") as f:
                    b = f.read()
                if len(b) == 21 and binascii.crc32(b[:17]) == int.from_bytes(b[17:], "big"):
                    intact_marks += 1
                    n = (int.from_bytes(b[:8], "big"), int.from_bytes(b[8:16], "big"))
                    if n >= self.mark:
                        self.mark, self.lost = n, b[16] == 1
            elif name.startswith("share-") and not name.endswith(".tmp"):
                _, key, *id = name.split("-")
                self.kept.setdefault(bytes.fromhex(key).decode(), []).append(tuple(map(int, id)))
        if not intact_marks and (marks or self.kept):
            raise SystemExit("checkpoint: the mark of the store is damaged (remove its directory: the member then starts with an empty store)")
        if not marks:
            self.lost = not founding

    def path(self, key, id):
        return os.path.join(self.directory, "share-%s-%d-%d-%d" % (key.encode().hex(), *id))

    def write(self, path, content):
        """What it has returned for is durable, and a file is there whole or not at all."""
        with open(path + ".tmp", "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".tmp", path)
        directory = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def write_mark(self, n, lost):
        b = n[0].to_bytes(8, "big") + n[1].to_bytes(8, "big") + bytes([lost])
        for name in ("mark-1", "mark-2"):
            self.write(os.path.join(self.directory, name), b + binascii.crc32(b).to_bytes(4, "big"))
        self.mark, self.lost = n, lost

    def recovered(self, n):
        if self.lost and n >= self.mark:
            self.write_mark(n, False)

    def receive(self, msg):
        """The answer to a message, or None."""
        kind, view, key = msg["kind"], number(msg["view"]), msg.get("key", "")
        share = msg.get("share")
        reply = {"view": msg["view"], "key": key}
        if kind == "look":
            return {**reply, "kind": "shares", "found": self.read(key)}
        if kind == "put" and not (share and share["index"] == self.me and number(share["view"]) == view and intact(key, share)):
            return None
        if view < self.mark:
            return {**reply, "kind": "refused", "view": wire_number(self.mark)}
        if view > self.mark:
            self.write_mark(view, self.lost)
        if kind == "fetch":
            return {**reply, "kind": "shares", "found": self.read(key)}
        self.put(key, share, identity(msg["base"]) if "base" in msg else NONE)
        return {**reply, "kind": "stored", "seq": share["seq"]}

    def put(self, key, share, base):
        self.write(self.path(key, identity(share)), json.dumps(share, separators=(",", ":")).encode())
        kept = self.kept.setdefault(key, [])
        if identity(share) not in kept:
            kept.append(identity(share))
        for id in [id for id in kept if id < base]:
            os.remove(self.path(key, id))
            kept.remove(id)

    def read(self, key):
        shares, damaged = [], []
        for id in self.kept.get(key, []):
            try:
                with open(self.path(key, id), "rb") as f:
                    share = json.load(f)
                ok = identity(share) == id and share["index"] == self.me and intact(key, share)
            except (OSError, ValueError, KeyError, TypeError):
                ok = False
            if ok:
                shares.append(share)
            else:
                damaged.append(wire_identity(id))
        found = {"shares": shares, "damaged": damaged, "lost": self.lost}
        return {k: v for k, v in found.items() if v}

    def scrub(self):
        return sorted(key for key in self.kept if "damaged" in self.read(key))


class Effects:
    """What the driver must do, in this order."""

    def __init__(self):
        self.inherit, self.complete, self.send, self.waiting = [], [], [], []
        self.recovered = self.founded = False


class Owned:
    """A key with its last state that the program saved."""

    def __init__(self):
        self.began, self.seq, self.state, self.base = False, 0, b"", NONE
        self.shares, self.acked, self.safe = None, set(), False


class Machine:
    """One membership of one member. It is pure: no clock, no files, no network."""

    def __init__(self, config):
        self.config, self.view, self.mask, self.leader = config, (0, 0), 0, -1
        self.owned, self.heir = {}, {}  # heir has, by key: what vaults have answered, and whether it is stuck
        self.manager, self.assigned, self.done = None, False, False
        self.out = Effects()

    def take(self):
        out, self.out = self.out, Effects()
        return out

    def send(self, to, kind, **fields):
        self.out.send.append((to, {"kind": kind, "view": wire_number(self.view), **{k: v for k, v in fields.items() if v}}))

    def set_view(self, view, mask, leader):
        if view <= self.view:
            return
        self.view, self.mask, self.leader = view, mask, leader
        self.assigned = self.done = False
        self.heir.clear()  # its manager may be gone: the manager of this view assigns anew
        self.manager = Manager() if leader == self.config.me else None
        for key in sorted(self.owned):
            if self.owned[key].began:
                self.save_owned(key, self.owned[key])
        self.tick()

    def save(self, key, seq, state):
        o = self.owned.get(key)
        if o and not (o.began and seq <= o.seq):
            o.began, o.seq, o.state = True, seq, state
            self.save_owned(key, o)

    def save_owned(self, key, o):
        o.shares = self.config.cut(key, self.view + (o.seq,), o.base, self.mask, o.state)
        o.acked, o.safe = set(), False
        self.put(key, o)

    def put(self, key, o):
        for to in members(self.mask):
            if to not in o.acked:
                self.put_to(to, key, o)

    def put_to(self, to, key, o):
        self.send(to, "put", key=key, share=o.shares[to], base=o.base != NONE and wire_identity(o.base))

    def tick(self):
        if self.manager:
            self.manager.manage(self)
            self.manager.hurry(self)
        for key in sorted(self.owned):
            o = self.owned[key]
            if o.shares and not o.safe:
                self.put(key, o)
        for key in sorted(self.heir):
            for to in members(self.mask):
                if to not in self.heir[key][0]:
                    self.send(to, "fetch", key=key)
        self.report()

    def receive(self, sender, msg):
        kind = msg["kind"]
        if kind == "spoilt":
            if self.mask >> sender & 1:
                for key in msg.get("keys") or []:
                    o = self.owned.get(key)
                    if o and o.shares:
                        self.put_to(sender, key, o)
            return
        if number(msg["view"]) != self.view or not self.mask >> sender & 1:
            return
        from_manager = sender == self.leader
        if kind == "ask" and from_manager:
            self.send(sender, "answer", keys=sorted(self.owned))
        elif kind == "assign" and from_manager:
            self.assign(msg.get("keys") or [])
        elif kind == "done" and from_manager:
            self.out.founded = self.out.founded or not self.done
            self.done = True
        elif kind in ("answer", "safe") and self.manager:
            self.manager.take(sender, msg)
            self.manager.manage(self)
        elif kind == "shares":
            self.found(sender, msg)
        elif kind == "stored":
            self.stored(sender, msg)

    def assign(self, keys):
        self.assigned = True
        for key in keys:
            if key not in self.owned and key not in self.heir:
                self.heir[key] = [{}, False]
                for to in members(self.mask):
                    self.send(to, "fetch", key=key)
        self.report()

    def found(self, sender, msg):
        key, found = msg.get("key", ""), msg.get("found") or {}
        if key not in self.heir:
            return
        f = {"shares": [], "damaged": list(found.get("damaged") or []), "lost": found.get("lost", False)}
        for share in found.get("shares") or []:
            if share["index"] == sender and intact(key, share):
                f["shares"].append(share)
            else:
                f["damaged"].append(wire_identity(identity(share)))
        answers = self.heir[key][0]
        answers[sender] = f
        if len(answers) < len(members(self.mask)):
            return
        verdict, id, shares = self.config.choose(self.mask, answers)
        if verdict == "begin":
            del self.heir[key]
            self.owned[key] = Owned()
            self.out.inherit.append((key, True, NONE, 0, b""))
            return
        state = self.config.join(shares) if verdict == "resume" else None
        if state is None:
            self.out.waiting.append((key, id))
            self.heir[key] = [{}, True]
            self.report()
            return
        del self.heir[key]
        o = self.owned[key] = Owned()
        o.began, o.seq, o.state, o.base = True, id[2], state, identity(shares[0]["base"])
        self.out.inherit.append((key, False, id, o.base[2], state))
        self.save_owned(key, o)

    def stored(self, sender, msg):
        o = self.owned.get(msg.get("key", ""))
        if not o or not o.shares or msg.get("seq", 0) != o.seq:
            return
        o.acked.add(sender)
        if o.safe or len(o.acked) < self.config.need(len(members(self.mask))):
            return
        o.safe, o.base = True, identity(o.shares[0])
        self.out.complete.append((msg["key"], o.base))
        self.report()

    def report(self):
        """Tells the manager once all that this member owns is complete in the present view, and what it inherits is too, or is out of reach."""
        if not self.assigned or self.done or not all(stuck for _, stuck in self.heir.values()):
            return
        if all(o.base[:2] == self.view for o in self.owned.values()):
            self.send(self.leader, "safe", keys=sorted(self.owned), stuck=sorted(self.heir))


class Manager:
    """Shares out, once for its view, the keys that no member of the view owns."""

    PATIENCE = 20  # ticks

    def __init__(self):
        self.owned, self.assigned, self.safe, self.stuck = {}, None, set(), set()
        self.ticks, self.reported = 0, False

    def take(self, sender, msg):
        keys, stuck = msg.get("keys") or [], msg.get("stuck") or []
        if msg["kind"] == "answer" and self.assigned is None:
            self.owned.setdefault(sender, keys)
        elif msg["kind"] == "safe" and self.assigned is not None:
            if all(key in keys or key in stuck for key in self.assigned.get(sender, [])):
                self.safe.add(sender)
                (self.stuck.add if stuck else self.stuck.discard)(sender)

    def hurry(self, machine):
        """Reports a view in which members have failed since: the group replaces them only after the report."""
        self.ticks += 1
        if self.ticks >= self.PATIENCE and not self.reported:
            self.reported = machine.out.recovered = True

    def manage(self, machine):
        everyone = members(machine.mask)
        if self.assigned is None:
            waiting = [to for to in everyone if to not in self.owned]
            for to in waiting:
                machine.send(to, "ask")
            if waiting:
                return
            self.share(machine.config.keys, everyone)
        for to in everyone:
            if to not in self.safe:
                machine.send(to, "assign", keys=self.assigned.get(to, []))
        if self.safe != set(everyone):
            return
        if not self.reported:
            self.reported = machine.out.recovered = True
        if not self.stuck:
            for to in everyone:
                machine.send(to, "done")

    def share(self, keys, everyone):
        """Gives each key without an owner to the member that has fewest."""
        self.assigned = {}
        has = {m: len(self.owned[m]) for m in everyone}
        taken = {key for m in everyone for key in self.owned[m]}
        for key in keys:
            if key not in taken:
                heir = min(everyone, key=lambda m: has[m])
                self.assigned.setdefault(heir, []).append(key)
                has[heir] += 1


def code_of(secret, sender, receiver, body):
    return hmac.new(secret, b"%d %d " % (sender, receiver) + body, hashlib.sha256).hexdigest()


class Connection(http.client.HTTPConnection):
    """To host:port, or to a socket that is a file."""

    def connect(self):
        if "/" not in self.where:
            return super().connect()
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.where)


def post(secret, sender, receiver, address, msg):
    """Sends a message, and returns the answer of the vault if there is one."""
    body = json.dumps(msg).encode()
    c = Connection("localhost" if "/" in address else address, timeout=3)
    c.where = address
    try:
        c.request("POST", "/checkpoint/message", body, {"Checkpoint-From": str(sender), "Checkpoint-Code": code_of(secret, sender, receiver, body)})
        answer = c.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status == 200 else None
    finally:
        c.close()


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, address, handler):
        if "/" in address:
            self.address_family, where = socket.AF_UNIX, address
            if os.path.exists(address):
                os.remove(address)
        else:
            host, _, port = address.rpartition(":")
            where = (host, int(port))
        super().__init__(where, handler)

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def handle_error(self, *_):
        pass  # the other end did not wait for the answer, and asks again

    def get_request(self):
        connection, _ = self.socket.accept()
        return connection, ("peer", 0)


class Tile:
    def __init__(self, step, complete, state):
        self.step, self.complete, self.state = step, complete, state


class Node:
    """Keeps the shares of a member, and works on the keys that it owns.

    council is a list of (name, address), the same at all members. begin(key) returns the state before the first step, or None if it cannot; advance(key, step, state) that after a
    step, and event(what, view, key, step) is called with what happens. report(view) is called when this member, as the manager, has recovered a view.
    """

    TICK, SCRUB = 0.15, 10

    def __init__(self, name, council, data, directory, founding, secret, keys, every, last, begin, advance, event, report):
        self.me = [peer for peer, _ in council].index(name)
        self.council, self.secret, self.every, self.last = council, secret, every, last
        self.begin, self.advance, self.event, self.report = begin, advance, event, report
        self.config = Config(self.me, len(council), data, keys)
        self.vault, self.storage = Vault(self.me, directory, founding), threading.Lock()
        self.changed = threading.Condition()  # guards all below
        self.machine, self.tiles = None, {}  # None: out of the group
        self.queues = [queue.Queue() for _ in council]
        self.queued = [set() for _ in council]
        for to in range(len(council)):
            threading.Thread(target=self.deliver, args=(to,), daemon=True).start()
        for run in (self.beat, self.work):
            threading.Thread(target=run, daemon=True).start()
        self.server = Server(council[self.me][1], self.handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def set_view(self, view):
        """Takes a view of the group, as the agent writes it."""
        names = [name for name, _ in self.council]
        agreement = view["agreement"]
        mask = sum(1 << names.index(m) for m in agreement["members"])
        n = (view["token"], agreement["number"])
        with self.changed:
            if not self.machine:
                self.machine = Machine(self.config)
            if n != self.machine.view:
                self.event("view", n, "", 0)
            self.step(lambda m: m.set_view(n, mask, names.index(view["leader"]) if view["leader"] in names else -1))

    def leave(self):
        """Stops the work: the member is out of the group."""
        with self.changed:
            self.machine, self.tiles = None, {}

    def step(self, do):
        """Lets the core take something, and does what it asks for. The caller holds the lock."""
        if not self.machine:
            return
        do(self.machine)
        out = self.machine.take()
        view = self.machine.view
        for key, begin, id, complete, state in out.inherit:
            self.event("begin" if begin else "resume", view, key, id[2])
            if begin:
                state = self.begin(key)
            if state is None:
                self.event("failed", view, key, 0)  # the member waits for one that can begin the key
                continue
            self.tiles[key] = Tile(id[2], complete, state)
            if begin:
                self.step(lambda m: m.save(key, 0, state))
        for key, id in out.complete:
            self.tiles[key].complete = id[2]
            self.event("complete", id[:2], key, id[2])
        for key, id in out.waiting:
            self.event("wait", view, key, id[2])
        for to, msg in out.send:
            slot = (msg["kind"], msg.get("key"), view, msg.get("seq") or msg.get("share", {}).get("seq"))
            if slot not in self.queued[to]:
                self.queued[to].add(slot)
                self.queues[to].put((slot, msg))
        if out.founded:
            with self.storage:
                self.vault.recovered(view)
            self.event("founded", view, "", 0)
        if out.recovered:
            self.event("recovered", view, "", 0)
            self.report(view)
        self.changed.notify_all()

    def take(self, sender, msg):
        """Takes a message of a member, and returns the answer of the vault if it is for that."""
        if msg["kind"] in ("put", "fetch", "look"):
            with self.storage:
                return self.vault.receive(msg)
        with self.changed:
            self.step(lambda m: m.receive(sender, msg))

    def deliver(self, to):
        while True:
            slot, msg = self.queues[to].get()
            try:
                reply = self.take(to, msg) if to == self.me else post(self.secret, self.me, to, self.council[to][1], msg)
            except (OSError, http.client.HTTPException, ValueError):
                reply = None  # it is sent again
            with self.changed:
                self.queued[to].discard(slot)
                if reply:
                    self.step(lambda m: m.receive(to, reply))

    def beat(self):
        scrub = time.monotonic() + self.SCRUB
        while True:
            time.sleep(self.TICK)
            with self.changed:
                self.step(lambda m: m.tick())
            if time.monotonic() < scrub:
                continue
            scrub = time.monotonic() + self.SCRUB
            with self.storage:
                keys = self.vault.scrub()
            for to in range(len(self.council)) if keys else ():
                self.queues[to].put((None, {"kind": "spoilt", "view": wire_number((0, 0)), "keys": keys}))

    def work(self):
        """Advances the tiles one after the other, none more than an interval beyond what is complete."""
        while True:
            with self.changed:
                ready = [(t.step, key) for key, t in self.tiles.items() if t.step < self.last and t.step < t.complete + self.every]
                if not ready:
                    self.changed.wait()
                    continue
                _, key = min(ready)
                tile = self.tiles[key]
            state = self.advance(key, tile.step + 1, tile.state)
            with self.changed:
                if self.tiles.get(key) is not tile:
                    continue  # it is over
                tile.step, tile.state = tile.step + 1, state
                if tile.step % self.every == 0 or tile.step == self.last:
                    self.step(lambda m: m.save(key, tile.step, state))

    def handler(self):
        node = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                try:
                    sender, body = int(self.headers["Checkpoint-From"]), self.rfile.read(int(self.headers["Content-Length"]))
                    right = 0 <= sender < len(node.council) and hmac.compare_digest(code_of(node.secret, sender, node.me, body), self.headers["Checkpoint-Code"] or "")
                    if self.path != "/checkpoint/message" or not right:
                        self.send_error(404 if right else 403)
                        return
                    reply = node.take(sender, json.loads(body))
                except (KeyError, TypeError, ValueError) as wrong:
                    self.send_error(400, str(wrong))
                    return
                text = json.dumps(reply).encode() if reply else b""
                self.send_response(200 if reply else 204)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        return Handler


def drive():
    """Runs a machine and a vault on lines of JSON, for the test that compares them with those of the Go package."""
    first = json.loads(sys.stdin.readline())
    os.fsync = lambda _: None
    config = Config(first["me"], first["n"], first["k"], first["keys"])
    machine, vault = Machine(config), Vault(first["me"], first["dir"], True)
    for line in sys.stdin:
        do = json.loads(line)
        reply = None
        if do["do"] == "vault":
            reply = vault.receive(do["message"])
        elif do["do"] == "new":
            machine = Machine(config)
        elif do["do"] == "view":
            machine.set_view(number(do["view"]), do["members"], do["manager"])
        elif do["do"] == "save":
            machine.save(do["key"], do["seq"], base64.b64decode(do["state"] or ""))
        elif do["do"] == "tick":
            machine.tick()
        elif do["do"] == "receive":
            machine.receive(do["from"], do["message"])
        out = machine.take()
        print(json.dumps({
            "reply": reply,
            "inherit": [{"key": k, "begin": b, "from": wire_identity(i), "seq": i[2], "complete": c, "state": base64.b64encode(s).decode()} for k, b, i, c, s in out.inherit],
            "complete": [{"key": k, "id": wire_identity(i)} for k, i in out.complete],
            "send": [{"to": to, **msg} for to, msg in out.send],
            "waiting": [{"key": k, "id": wire_identity(i)} for k, i in out.waiting],
            "recovered": out.recovered, "founded": out.founded, "damaged": vault.scrub() if do["do"] == "scrub" else [],
        }), flush=True)


if __name__ == "__main__":
    drive()
