"""A program at a pseudo-terminal, and somebody who types.

    t = Terminal(["telnet", "localhost"], env, rows=10)
    t.wait("login: ")           # what came before these words
    t.type("anna\n")"""
import os
import pty
import select
import subprocess
import termios
import time


class Terminal:
    def __init__(self, command, env, rows=10, cols=80):
        self.seen = ""
        self.fd, inner = pty.openpty()
        termios.tcsetwinsize(inner, (rows, cols))
        self.child = subprocess.Popen(["setsid", "-c", "-w", *map(str, command)], env=env, cwd="/",
                                      stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)

    def wait(self, text):
        """What has come up to this text, which is taken away."""
        end = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < end, f"waited for {text!r}, got {self.seen!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode().replace("\r\n", "\n")
                except OSError:
                    assert text in self.seen, f"ended before {text!r}, got {self.seen!r}"
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def ended(self):
        """Its exit code."""
        code = self.child.wait(30)
        os.close(self.fd)
        return code
