"""Servers for the robot: odd answers over HTTP as tests/data/odd-http.jsonl has them, a small DNS,
and plain functions as pages. All in threads of the test, on loopback addresses.

    with replay.Replay(cases, idle_s=1.0) as server:      # one listener per case, 127.1.x.y:port
        server.url("length-exact"), server.network, server.dns

A line of the file: id, send (steps), expect, and sometimes ask (header fields of the request). The
part of the path after /c/ chooses the case. Steps: bytes and repeat (one character per byte),
pause_idle (times the client's idle limit), http_date, gzip_bomb, close, reset, hang.
"""
import asyncio
import email.utils
import json
import socket
import struct
import threading
import time
import zlib
from pathlib import Path

CASES = Path(__file__).parent / "data" / "odd-http.jsonl"
PIECE = 256 * 1024


def cases():
    with open(CASES, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


class Gone(Exception):
    """The client has closed."""


class Threaded:
    """An event loop in a thread, for as long as the `with` lasts."""

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.run(self.begin())
        return self

    def __exit__(self, *_):
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    def run(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(20)


def answer_dns(packet, addresses):
    """The answer to a question for the addresses of a name; addresses(name) -> list of texts."""
    at, labels = 12, []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    question = packet[12:at + 5]
    kind = struct.unpack(">H", packet[at + 1:at + 3])[0]
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    found = addresses(".".join(labels).lower(), kind)
    records = b""
    n = 0
    for text in found or []:
        if family != (socket.AF_INET6 if ":" in text else socket.AF_INET):
            continue
        data = socket.inet_pton(family, text)
        records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data
        n += 1
    code = 3 if found is None else 0
    return packet[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, n, 0, 0) + question + records


class Names(asyncio.DatagramProtocol):
    def __init__(self, addresses):
        self.addresses = addresses

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        self.transport.sendto(answer_dns(data, self.addresses), peer)


class Dns(Threaded):
    """addresses(name, type) -> a list of addresses, None: no such name. type: 1 A, 28 AAAA."""

    def __init__(self, addresses):
        self.addresses = addresses

    async def begin(self):
        self.transport, _ = await self.loop.create_datagram_endpoint(
            lambda: Names(self.addresses), local_addr=("127.0.0.1", 0))
        self.setting = "127.0.0.1:%d" % self.transport.get_extra_info("sockname")[1]

    async def end(self):
        self.transport.close()


def bind_all(addresses):
    """A port that is free on all of these, and a socket for each."""
    for _ in range(100):
        held, port = [], 0
        try:
            for a in addresses:
                held.append(socket.socket())
                held[-1].bind((a, port))
                port = held[0].getsockname()[1]
            return port, held
        except OSError:
            for s in held:
                s.close()
    raise AssertionError("no port is free on all addresses")


class Replay(Threaded):
    """Each case has a name and an address of its own, so that they do not wait for one another."""

    network = "127.1.0.0/16"

    def __init__(self, list_of_cases, idle_s):
        self.cases = {c["id"]: c for c in list_of_cases}
        self.idle_s = idle_s
        ids = list(self.cases)
        self.address = {id: f"127.1.{i // 200}.{i % 200 + 1}" for i, id in enumerate(ids)}
        self.name = {id: f"odd{i}.test" for i, id in enumerate(ids)}
        self.by_name = {self.name[id]: self.address[id] for id in ids}
        self.requests = []  # (case, head)

    def host(self, id):
        return f"{self.name[id]}:{self.port}"

    def url(self, id):
        return f"http://{self.host(id)}/c/{id}"

    async def begin(self):
        self.port, sockets = bind_all(self.address.values())
        self.servers = [await asyncio.start_server(self.client, sock=s, limit=1 << 20)
                        for s in sockets]
        self.names, _ = await self.loop.create_datagram_endpoint(
            lambda: Names(lambda name, _: [self.by_name[name]] if name in self.by_name else None),
            local_addr=("127.0.0.1", 0))
        self.dns = "127.0.0.1:%d" % self.names.get_extra_info("sockname")[1]

    async def end(self):
        for s in self.servers:
            s.close()
        self.names.close()
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.sleep(0.05)

    async def client(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                if not path.startswith("/c/"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                id = path[3:].replace("?", "/").split("/")[0]
                self.requests.append((id, head.decode("latin-1")))
                host = head.decode("latin-1").lower().split("host: ")[1].split("\r")[0]
                if not await self.play(self.cases[id]["send"], host, reader, writer):
                    return
        except (asyncio.IncompleteReadError, OSError, Gone, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def send(self, writer, data):
        for at in range(0, len(data), PIECE):
            if writer.is_closing():
                raise Gone
            writer.write(data[at:at + PIECE])
            await writer.drain()

    def bytes_of(self, text, host):
        """Locations name the host of the case that was asked for."""
        return text.replace("//odd.test", "//" + host).replace(
            "\\\\odd.test", "\\\\" + host).encode("latin-1")

    async def play(self, steps, host, reader, writer):
        """false: the connection is over."""
        for step in steps:
            what, value = next(iter(step.items()))
            if what == "bytes":
                await self.send(writer, self.bytes_of(value, host))
            elif what == "repeat":
                one = value["bytes"].encode("latin-1")
                left = value["times"]
                batch = max(1, PIECE // len(one))
                while left:
                    await self.send(writer, one * min(left, batch))
                    left -= min(left, batch)
            elif what == "pause_idle":
                await asyncio.sleep(value * self.idle_s)
            elif what == "http_date":
                await self.send(writer, email.utils.formatdate(time.time() + value, usegmt=True)
                                .encode())
            elif what == "gzip_bomb":
                packer = zlib.compressobj(9, zlib.DEFLATED, 31)
                for _ in range(value["mb"]):
                    await self.send(writer, packer.compress(bytes(1 << 20)))
                await self.send(writer, packer.flush())
            elif what == "close":
                return False
            elif what == "reset":
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            elif what == "hang":
                while await reader.read(65536):
                    pass
                return False
        return True
