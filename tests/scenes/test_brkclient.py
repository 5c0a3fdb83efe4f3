"""brkclient against a server that says what a broker could say, and what none should."""
import socket
import subprocess
import threading

import pytest

from garner import free_port


class Broker:
    """Answers one connection with `answer`, after it has read a line; the line is in `line`."""

    def __init__(self, answer, host="127.0.0.1", then="close"):
        self.socket = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host
                                           else socket.AF_INET)
        self.port = str(self.socket.getsockname()[1])
        self.line, self.answer, self.then = b"", answer, then
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        peer = self.socket.accept()[0]
        peer.sendall(self.answer[0])
        while not self.line.endswith(b"\n"):
            self.line += peer.recv(65536) or b"EOF\n"
        for piece in self.answer[1:]:
            peer.sendall(piece)
        if self.then == "silence":
            self.done.wait(30)
        peer.close()

    def close(self):
        self.done.set()
        self.thread.join()
        self.socket.close()


@pytest.fixture
def broker():
    made = []

    def make(*answer, **more):
        made.append(Broker(answer, **more))
        return made[-1]
    yield make
    for b in made:
        b.close()


BANNER = b"200 - Harvest Broker 1.5\n"


def test_the_answer_is_printed_byte_by_byte(garner, broker):
    g = garner()
    answer = (BANNER, b"120 - http://a/\n124 - 6\n111 - \xff\n", b"\n130 - object end\n126 - http://h/\n")
    for name in ("127.0.0.1", "localhost"):
        b = broker(*answer)
        done = g.run("brkclient", name, b.port, "#USER #desc #END apple", text=False)
        assert (done.code, done.out, done.err) == (0, b"".join(answer), b"")
        assert b.line == b"#USER #desc #END apple\n"


def test_the_old_name_does_the_same(garner, broker):
    g = garner()
    (g.dir / "brkclient").symlink_to(g.program)
    b = broker(BANNER, b"000 - ok\n099 - end of bulk transfer\n")
    done = subprocess.run([g.dir / "brkclient", "127.0.0.1", b.port, "#BULK #SINCE 0 #END #ALLB"],
                          capture_output=True, timeout=30)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"099 - end of bulk transfer")


@pytest.mark.parametrize("last", [b"111 - ERROR: no\n", b"111 - ERROR: no", b"400 - ERROR\n", b"111 - x\n\n"])
def test_a_refusal_is_exit_code_1(garner, broker, last):
    b = broker(BANNER, last[:5], last[5:])
    assert garner().run("brkclient", "127.0.0.1", b.port, "#USER").code == 1


@pytest.mark.parametrize("line, cut, whole", [
    ("#USER #END x", b"120 - http://a/\n130 - object end\n", b"126 - http://h/\n"),
    ("#user #END x", b"120 - http://a/\n124 - 9\n126", b"456789\n130 - object end\n126 - http://h/"),
    (" #BULK #END x", b"000 - ok\n@DELETE { }\n", b"099 - end of bulk transfer, next 7\n"),
])
def test_an_answer_that_only_stops_is_exit_code_3(garner, broker, line, cut, whole):
    g = garner()
    done = g.run("brkclient", "127.0.0.1", broker(BANNER, cut).port, line)
    assert done.code == 3 and "the answer is not whole" in done.err
    assert done.out == (BANNER + cut).decode()
    assert g.run("brkclient", "127.0.0.1", broker(BANNER, cut, whole).port, line).code == 0


def test_a_connection_that_ends_early_is_named(garner, broker):
    g = garner()
    b = broker(b"")
    done = g.run("brkclient", "127.0.0.1", b.port, "#USER")
    assert done.code == 6 and f"127.0.0.1 port {b.port}: closed without an answer" in done.err
    b = broker(b"", then="silence")
    done = g.run("brkclient", "-t", "50ms", "127.0.0.1", b.port, "#USER")
    assert done.code == 6 and "no answer within 1 s" in done.err
    b = broker(BANNER, then="silence")
    done = g.run("brkclient", "--timeout", "300ms", "127.0.0.1", b.port, "#USER")
    assert done.code == 3 and done.out == BANNER.decode()
    done = g.run("brkclient", "127.0.0.1", str(free_port()), "#USER")
    assert done.code == 6 and "refused" in done.err
    done = g.run("brkclient", "no.such.invalid", "8501", "#USER")
    assert done.code == 6 and "no.such.invalid: " in done.err


def test_a_line_that_is_refused_while_it_is_sent_is_still_answered(garner, broker):
    g = garner()
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse():
        peer = listener.accept()[0]
        peer.sendall(b"111 - ERROR: too long\n")
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass
        peer.close()
    thread = threading.Thread(target=refuse)
    thread.start()
    done = g.run("brkclient", "127.0.0.1", str(listener.getsockname()[1]), "#USER " + "x" * 120000)
    thread.join()
    listener.close()
    assert (done.code, done.out) == (1, "111 - ERROR: too long\n")


def test_what_is_no_request_is_refused(garner):
    g = garner()
    for port, line, said in (("0", "x", "port from 1 to 65535"), ("65536", "x", "got '65536'"),
                             ("http", "x", "got 'http'"), ("1", "", "expected one line"),
                             ("1", "a\nb", "expected one line")):
        done = g.run("brkclient", "127.0.0.1", port, line)
        assert done.code == 2 and said in done.err
    assert g.run("brkclient", "127.0.0.1", "1").code == 2
