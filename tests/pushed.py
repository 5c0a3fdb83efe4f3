"""A site whose owner tells a cache what changed, and that cache: rs, uns, qm, botm and a bot."""
import functools
import http.server
import threading

from garner import free_port


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(tmp_path):
    """A folder that is served, and its URL, which ends in a slash: for a fixture."""
    root = tmp_path / "site"
    root.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(root)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    root_url = "http://127.0.0.1:%d/" % server.server_address[1]
    yield root, root_url
    server.shutdown()
    server.server_close()


def start(g):
    """All five roles, as garner up runs them; providers speak TLS with uns, and roles with each other by another key,
    which holds for links alone."""
    rs, uns = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    d = g.dir
    key, links = d / "key", d / "links"
    for path, byte in ((key, "5e"), (links, "a7")):
        path.write_text(byte * 32 + "\n")
        path.chmod(0o600)
    g.configure(f"""[up]
roles = qm botm bot uns rs
[net]
tls_shared_key = {links}
[robot]
networks = 127.0.0.0/8
delay = 1h
[rs]
listen = {rs}
[uns]
listen = {uns}
tls_shared_key = {key}
qm = unix:{d}/qm
[qm]
listen = unix:{d}/qm
botm_listen = unix:{d}/source
[botm]
listen = unix:{d}/botm
source = unix:{d}/source
[bot]
botm = unix:{d}/botm
[provider]
rs = http://{rs}/
uns = {uns}
tls_shared_key = {key}
""")
    g.up = g.start("up").wait_ready()
    return g


def run(g, *args, code=0):
    done = g.run("provider", *args)
    assert done.code == code, done
    return done


def states(g):
    done = g.run("provider", "receipts", "--wait", "--timeout", "30s", "--json")
    assert done.code in (0, 3), done
    return {r["url"]: (r["state"], r.get("code") or 0) for r in done.json()["receipts"]}
