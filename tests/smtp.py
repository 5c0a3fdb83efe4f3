"""An SMTP server to send mails to, well behaved or not, and a sendmail program that keeps what it gets.

    sink = Sink()                      # sink.via for mail.via; sink.mails: (from, to, message) of each
    sink.says["RCPT"] = "450 later"    # in place of what it says to that verb; None: it hangs up
    sink.leaves = True                 # hangs up after what it says to EHLO
    sink.pauses["QUIT"] = 9            # says nothing to that verb for 9 s, or until it is closed
    sink = Sink(tls, login)            # an ssl.SSLContext: STARTTLS, or at_once=True; login: (user, password) it asks for
    via = sendmail(g)                  # a program; sent(g): its mails; fails(g, 75): with that code from now on"""
import base64
import email
import socket
import ssl
import subprocess
import threading


class Sink:
    def __init__(self, tls=None, login=None, at_once=False):
        self.tls, self.login, self.at_once = tls, login, at_once
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.via = f"smtp{'s' if at_once else ''}:127.0.0.1:{self.socket.getsockname()[1]}"
        self.says, self.mails, self.heard, self.secure = {}, [], [], []  # secure: whether each mail came by TLS
        self.pauses, self.closed, self.leaves = {}, threading.Event(), False
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.closed.set()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            connection.settimeout(10)
            try:
                self.meet(connection)
            except OSError:
                pass
            finally:
                connection.close()

    def meet(self, connection):
        if self.at_once:
            connection = self.tls.wrap_socket(connection, server_side=True)
        with connection.makefile("rb") as lines:
            if not self.say(connection, "hello", "220-sink.test\r\n220 ready") or not self.talk(connection, lines):
                return
        with self.tls.wrap_socket(connection, server_side=True) as connection, connection.makefile("rb") as lines:
            self.talk(connection, lines)

    def offers(self, secure):
        words = ["sink.test"] + (["STARTTLS"] if self.tls and not secure else []) + (["AUTH PLAIN"] if self.login else [])
        return "\r\n".join(f"250{' ' if w is words[-1] else '-'}{w}" for w in words)

    def knows(self, connection, lines):
        connection.sendall(b"334 \r\n")
        given = base64.b64decode(lines.readline()).decode().split("\0")
        return "235 welcome" if tuple(given[1:]) == self.login else "535 who are you"

    def say(self, connection, verb, usual):
        self.closed.wait(self.pauses.get(verb, 0))
        text = self.says.get(verb, usual)
        if text is not None:
            connection.sendall(text.encode() + b"\r\n")
        return text is not None and text[0] in "23"

    def talk(self, connection, lines):
        """True: TLS is to begin."""
        secure, known, sender, to = isinstance(connection, ssl.SSLSocket), not self.login, None, None
        for line in lines:
            self.heard.append(line)
            verb = line[:4].decode().upper().strip()
            if verb == "DATA" and self.say(connection, "DATA", "354 go on"):
                message = b"".join(iter(lines.readline, b".\r\n"))
                assert b"\r" not in message.replace(b"\r\n", b"") and b"\n" not in message.replace(b"\r\n", b"")
                message = b"\n".join(m[1:] if m.startswith(b".") else m for m in message.split(b"\r\n"))
                self.mails.append((sender, to, email.message_from_bytes(message)))  # before its sender hears of it
                self.secure.append(secure)
                if not self.say(connection, ".", "250 taken"):
                    self.mails.pop()
                    if self.says["."] is None:
                        return False
            elif verb == "EHLO":
                self.say(connection, "EHLO", self.offers(secure))
                if self.leaves:
                    return False
            elif verb == "STAR":
                if self.say(connection, "STAR", "220 go on"):
                    return True
            elif verb != "DATA":
                if verb == "MAIL":
                    sender = line.split(b"<")[1].split(b">")[0].decode()
                if verb == "RCPT":
                    to = line.split(b"<")[1].split(b">")[0].decode()
                usual = {"QUIT": "221 bye", "AUTH": self.knows(connection, lines) if verb == "AUTH" else "",
                         "MAIL": "250 fine" if known else "530 log in first"}
                said = self.say(connection, verb, usual.get(verb, "250 fine"))
                known = known or (said and verb == "AUTH")
                if not said and self.says.get(verb, "") is None:
                    return False
        return False


def certificate(folder):
    """A certificate for 127.0.0.1 that vouches for itself (folder/cert), and an ssl.SSLContext that shows it."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key",
                    "-out", folder / "cert"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


def sendmail(g):
    (g.dir / "sent").mkdir()
    program = g.dir / "sendmail"
    program.write_text(f"""#!/bin/sh
cd '{g.dir}/sent' || exit 71
[ ! -e ../code ] || exit $(cat ../code)
{{ echo "X-Args: $*"; cat; }} >new$$ && mv new$$ mail$$
""")
    program.chmod(0o755)
    return program


def fails(g, code):
    if code:
        (g.dir / "code").write_text(str(code))
    else:
        (g.dir / "code").unlink(missing_ok=True)


def sent(g):
    """What it got, oldest first."""
    files = sorted((g.dir / "sent").glob("mail*"), key=lambda f: f.stat().st_mtime_ns)
    return [email.message_from_bytes(f.read_bytes()) for f in files]
