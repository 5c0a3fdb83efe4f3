"""TLS of line servers and outgoing connections, with the openssl program at the other end."""
import os
import re
import subprocess

import pytest

import garner as real

HERE = "127.0.0.1"
KEY, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4
PSK = ["-tls1_3", "-psk_identity", "garner", "-psk"]


def openssl(g, *args, input=None):
    return subprocess.run(["openssl", *map(str, args)], cwd=g.dir, input=input, capture_output=True,
                          timeout=30)


def secret(g, name, text):
    path = g.dir / name
    path.write_text(text)
    os.chmod(path, 0o600)
    return path


def certificate(g, name, issuer=None, *, san=None, days=2):
    """NAME.cert and NAME.key in the folder of g; without an issuer it vouches for itself."""
    extra = [f"basicConstraints=critical,CA:{'FALSE' if issuer else 'TRUE'}"]
    extra += [f"subjectAltName=IP:{san}"] if san else []
    made = openssl(g, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                   f"/CN={name}", "-keyout", f"{name}.key", *(["-out", f"{name}.csr"] if issuer else
                   ["-x509", "-days", days, "-addext", extra[0], "-out", f"{name}.cert"]))
    assert made.returncode == 0, made.stderr
    os.chmod(g.dir / f"{name}.key", 0o600)
    if issuer:
        (g.dir / "extensions").write_text("\n".join(extra))
        made = openssl(g, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.cert", "-CAkey",
                       f"{issuer}.key", "-CAcreateserial", "-days", days, "-extfile", "extensions",
                       "-out", f"{name}.cert")
        assert made.returncode == 0, made.stderr


@pytest.fixture
def g(garner):
    """A garner whose folder has two keys."""
    g = garner(program="tests/demo-lines")
    secret(g, "key", KEY + "\n")
    secret(g, "other", OTHER + "\n")
    return g


@pytest.fixture
def vouched(g):
    """And certificates."""
    certificate(g, "ca")
    certificate(g, "foreign_ca")
    certificate(g, "server", "ca", san=HERE)
    certificate(g, "client", "ca")
    certificate(g, "foreign", "foreign_ca", san=HERE)
    return g


def serve(g, **settings):
    """The role lines with these settings; returns its port."""
    text = "".join(f"{k} = {v}\n" for k, v in settings.items())
    g.configure(f"[lines]\n{text}")
    process = g.start("lines").wait_ready()
    return re.search(r"address=[\d.]+:(\d+)", process.wait_line("listening setting=listen ")).group(1)


def s_client(g, port, *args):
    """What comes through a connection of s_client that says two lines."""
    done = openssl(g, "s_client", "-connect", f"{HERE}:{port}", "-quiet", *args,
                   input=b"echo a word\nquit\n")
    return done.stdout.decode(), done.stderr.decode()


def s_server(g, *args):
    """s_server that gives lines back reversed; returns its address."""
    port = real.free_port()
    log = g.dir / f"log{len(g.processes) + 1}"
    command = ["openssl", "s_server", "-accept", f"{HERE}:{port}", "-rev", *map(str, args)]
    g.processes.append(real.Process(command, real.clean_environment(SCENE=str(g.dir)), g.dir, log))
    g.processes[-1].wait_line("ACCEPT")
    return f"{HERE}:{port}"


def ask(g, address, *lines, **settings):
    """What line-ask says happened."""
    done = subprocess.run([real.BUILD / "tests" / "line-ask",
                           *(f"tls_{k}={g.dir / v}" for k, v in settings.items()), "--", address,
                           *lines], capture_output=True, text=True, timeout=30)
    return done.stdout.splitlines()


ALL = "lines ready\na word\nbye\n"


def test_s_client_comes_in_with_the_shared_key_only(g):
    port = serve(g, tls_shared_key=g.dir / "key")
    assert s_client(g, port, *PSK, KEY)[0] == ALL
    for wrong in [[*PSK, OTHER], ["-tls1_3"], ["-tls1_2"],
                  ["-tls1_2", "-cipher", "PSK", *PSK[1:], KEY],
                  ["-tls1_3", "-psk_identity", "another", "-psk", KEY]]:
        out, why = s_client(g, port, *wrong)
        assert out == "" and "alert" in why, wrong
    assert s_client(g, port, *PSK, KEY)[0] == ALL


def test_s_client_comes_in_with_a_certificate(vouched):
    g = vouched
    port = serve(g, tls_cert=g.dir / "server.cert", tls_key=g.dir / "server.key",
                 tls_ca=g.dir / "ca.cert")
    check = ["-CAfile", "ca.cert", "-verify_return_error", "-verify_ip", HERE]
    ours = ["-cert", "client.cert", "-key", "client.key"]
    assert s_client(g, port, *check, *ours)[0] == ALL
    assert "certificate required" in s_client(g, port, *check)[1]
    out, why = s_client(g, port, *check, "-cert", "foreign.cert", "-key", "foreign.key")
    assert out == "" and "unknown ca" in why


def test_s_server_is_spoken_to_with_the_shared_key(g):
    at = s_server(g, "-nocert", *PSK, KEY)
    assert ask(g, at, "abc", "def", shared_key="key") == ["up", "got cba", "got fed", "down finished"]
    assert ask(g, at, "abc", shared_key="other") == ["down the peer has another key"]
    assert ask(g, at, "abc", shared_key="key") == ["up", "got cba", "down finished"]


def test_s_server_has_to_be_vouched_for(vouched):
    g = vouched
    at = s_server(g, "-cert", "server.cert", "-key", "server.key")
    assert ask(g, at, "abc", ca="ca.cert") == ["up", "got cba", "down finished"]
    assert ask(g, at, "abc", ca="foreign_ca.cert") == [
        "down the peer's certificate: unable to get local issuer certificate"]
    assert ask(g, at, "abc", shared_key="key") == [
        "down the peer has certificates, not a shared key"]


def test_a_server_of_older_tls_is_not_spoken_to(vouched):
    g = vouched
    at = s_server(g, "-cert", "server.cert", "-key", "server.key", "-tls1_2")
    assert ask(g, at, "abc", ca="ca.cert") == ["down the peer does not speak TLS 1.3"]


def test_ours_speak_to_each_other(g):
    port = serve(g, tls_shared_key=g.dir / "key")
    assert ask(g, f"{HERE}:{port}", "echo a word", shared_key="key")[:2] == ["up", "got lines ready"]
    assert ask(g, f"{HERE}:{port}", "echo a word", shared_key="other") == [
        "down the peer has another key"]


def test_bad_settings_are_named_at_the_start(g):
    os.chmod(g.dir / "key", 0o644)
    g.configure(f"[lines]\ntls_shared_key = {g.dir / 'key'}\n")
    done = g.run("lines")
    assert done.code == 2 and f"others may read {g.dir / 'key'}" in done.err
    g.configure("[lines]\nlisten = 0.0.0.0:0\n")
    done = g.run("lines")
    assert done.code == 2 and "tls_shared_key" in done.err
