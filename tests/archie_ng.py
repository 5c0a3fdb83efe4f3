"""A client of archie-ng, written after doc/protocols/archie-ng.md: lines out, lines in.

    start(g)                    # the role, on a free port: HOST, PORT
    c = Client(address)
    c.ask("FIND zebra")         # ([[HIT, host, ...], ...], "OK 1")"""
import re
import socket


def start(g):
    line = g.start("archie-ng").wait_ready().wait_line("listening setting=listen ")
    host, port = re.search(r"address=([\d.]+):(\d+)", line).groups()
    return host, int(port)


class Client:
    def __init__(self, address, timeout=30):
        self.socket = socket.create_connection(address, timeout=timeout)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def say(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self):
        return self.file.readline().decode(errors="surrogateescape")

    def answer(self):
        rows = []
        while not re.match("(OK|ERROR) ", line := self.line()):
            assert line.endswith("\n"), (rows, line)
            rows.append(line[:-1].split("\t"))
        return rows, line[:-1]

    def ask(self, line):
        self.say(line + "\n")
        return self.answer()
