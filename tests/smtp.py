"""An SMTP server to send mails to, well behaved or not, and a sendmail program that keeps what it gets.

    sink = Sink()                      # sink.via for mail.via; sink.mails: (from, to, message) of each
    sink.says["RCPT"] = "450 later"    # in place of what it says to that verb; None: it hangs up
    via = sendmail(g)                  # a program; sent(g): its mails; fails(g, 75): with that code from now on"""
import email
import socket
import threading


class Sink:
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.via = f"smtp:127.0.0.1:{self.socket.getsockname()[1]}"
        self.says, self.mails, self.heard = {}, [], []
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                connection.settimeout(10)
                try:
                    self.talk(connection, lines)
                except OSError:
                    pass

    def say(self, connection, verb, usual):
        text = self.says.get(verb, usual)
        if text is not None:
            connection.sendall(text.encode() + b"\r\n")
        return text is not None and text[0] in "23"

    def talk(self, connection, lines):
        if not self.say(connection, "hello", "220-sink.test\r\n220 ready"):
            return
        sender = to = None
        for line in lines:
            self.heard.append(line)
            verb = line[:4].decode().upper().strip()
            if verb == "DATA" and self.say(connection, "DATA", "354 go on"):
                message = b"".join(iter(lines.readline, b".\r\n"))
                assert b"\r" not in message.replace(b"\r\n", b"") and b"\n" not in message.replace(b"\r\n", b"")
                message = b"\n".join(m[1:] if m.startswith(b".") else m for m in message.split(b"\r\n"))
                self.mails.append((sender, to, email.message_from_bytes(message)))  # before its sender hears of it
                if not self.say(connection, ".", "250 taken"):
                    self.mails.pop()
                    if self.says["."] is None:
                        return
            elif verb != "DATA":
                if verb == "MAIL":
                    sender = line.split(b"<")[1].split(b">")[0].decode()
                if verb == "RCPT":
                    to = line.split(b"<")[1].split(b">")[0].decode()
                if not self.say(connection, verb, "221 bye" if verb == "QUIT" else "250 fine") \
                        and self.says[verb] is None:
                    return


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
