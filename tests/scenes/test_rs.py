"""The registration server: from a stranger to a provider with a contract, and all that is refused."""
import base64
import json
import re
import select
import sqlite3
import threading
import time
import urllib.parse

import pytest
import smtp
from garner import free_port, shifted, wait_for
from notify import SECRET, accepted, add_provider, notify, url
from pages import Web
from web import Site, alone

BASE = """[robot]
networks = 127.0.0.0/8
delay = 1h
[rs]
listen = 127.0.0.1:0
"""


@pytest.fixture
def owner():
    """The site of somebody who registers."""
    web = Web()
    yield web
    web.stop()


@pytest.fixture
def rs(garner):
    return alone(garner(config=BASE), "rs")


def basic(provider, password):
    return "Basic " + base64.b64encode(f"{provider}:{password}".encode()).decode()


def post(rs, path, who=None, headers={}, **form):
    headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    if who:
        headers["Authorization"] = basic(who["provider"], who["password"])
    return rs.ask(path, "POST", urllib.parse.urlencode(form), **headers)


def get(rs, path, who=None, **headers):
    if who:
        headers["Authorization"] = basic(who["provider"], who["password"])
    return rs.ask(path, **headers)


def register(rs, **form):
    a = post(rs, "/api/providers", site="http://www.example.com/", **form)
    assert a.status == 201, a
    return json.loads(a.body)


def enrol(rs, **columns):
    """What register() gives, without the role's work: a password that is quickly checked."""
    id = add_provider(rs.g, [], verified=False, **columns)
    secret = f"secret{id:026}"
    db = sqlite3.connect(rs.g.data / "cache" / "pidb.db", timeout=20)
    with db:
        db.execute("INSERT INTO secret VALUES (?, ?, ?)", (secret, id, int(time.time() * 1e6)))
    db.close()
    return {"provider": id, "password": "secret", "secret": secret}


def verify(rs, who, url):
    return post(rs, f"/api/providers/{who['provider']}/verify", who, url=url)


def error(answer):
    return json.loads(answer.body)["error"]


def state(rs, who):
    a = get(rs, f"/api/providers/{who['provider']}", who)
    assert a.status == 200, a
    return json.loads(a.body)


def test_a_stranger_becomes_a_provider(rs, owner):
    who = register(rs, mail="a@example.com")
    assert who["provider"] > 0 and len(who["password"]) == 24 and len(who["secret"]) == 32
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", who["expires"]) and who["mailed"] is False
    known = state(rs, who)
    assert (known["verified"], known["prefixes"], known["mail"]) == (False, [], "a@example.com")
    owner.pages["/deep/s.txt"] = who["secret"] + "\r\n"
    owner.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
    a = verify(rs, who, owner.url + "/deep/s.txt")
    assert (a.status, json.loads(a.body)) == (200, {"provider": who["provider"], "prefix": owner.url + "/deep/"})
    assert owner.asked == ["/deep/s.txt"], "no robots.txt, and not asked again"
    known = state(rs, who)
    assert known["verified"] is True and known["prefixes"] == [owner.url + "/deep/"]
    assert known["contract"] == {"bandwidth": None, "hours": "", "priority": 0, "quota_files": 1000000,
                                 "quota_space": 10 << 30}
    assert known["stored"] == {"files": 0, "bytes": 0} and known["queued"] == known["errors"] == 0
    assert known["wanted"] == "" and known["fullsets_left"] == 4 and "text/*" in known["mime"]
    # the secret is used up
    assert "no secret waits" in error(verify(rs, who, owner.url + "/deep/s.txt"))
    # a further one, for a further folder
    more = json.loads(post(rs, f"/api/providers/{who['provider']}/secrets", who).body)
    owner.pages["/s"] = more["secret"]
    assert json.loads(verify(rs, who, owner.url + "/s").body)["prefix"] == owner.url + "/"
    assert state(rs, who)["prefixes"] == [owner.url + "/", owner.url + "/deep/"]
    for path, key in (("fetches", "fetches"), ("plan", "plan")):
        assert json.loads(get(rs, f"/api/providers/{who['provider']}/{path}", who).body) == {key: []}
    none = json.loads(get(rs, "/api/receipts", who).body)
    assert none == {"set": None, "state": "unknown", "at": None, "urls": 0, "receipts": [], "more": False}
    assert rs.counter("registered_total") == 1 and rs.counter("verified_total") == 2
    assert who["password"] not in rs.process.text and who["secret"] not in rs.process.text
    pidb = rs.g.data / "cache" / "pidb.db"
    assert pidb.stat().st_mode & 0o777 == 0o600 and who["password"].encode() not in pidb.read_bytes()
    printed = rs.g.run("dump", pidb)  # while it is in use
    assert printed.code == 0 and f"prefix={owner.url}/deep/" in printed.out and "argon2" not in printed.out
    assert rs.g.run("check").code == 0
    rs.process.stop()
    with open(pidb, "r+b") as f:
        f.seek(4096)
        f.write(b"x" * 100)
    done = rs.g.run("check")
    assert done.code == 4 and "pidb.db" in done.out and "backup" in done.out


def test_what_is_not_the_secret_is_told_plainly(garner, owner):
    rs = alone(garner(config=BASE), "rs")
    who = enrol(rs)
    secret, other = who["secret"], enrol(rs)["secret"]
    owner.pages.update({
        "/two": secret + "\n\n", "/bom": "\ufeff" + secret, "/blank": secret + " ", "/before": "\n" + secret,
        "/html": f"<html>{secret}</html>", "/large": secret + "\n" * 2000, "/empty": "", "/other": other,
        "/moved": (302, {"Location": owner.url + "/good"}, secret), "/error": (500, {}, secret),
        "/good": secret + "\n"})
    port = owner.host.split(":")[1]
    asked = 0
    for path, words in (("/two", "34 bytes that are not the secret"), ("/bom", "35 bytes"), ("/blank", "33 bytes"),
                        ("/before", "33 bytes"), ("/html", "45 bytes"), ("/large", "larger than 1024 bytes"),
                        ("/empty", "0 bytes"), ("/other", "32 bytes"), ("/moved", "status 302, a redirect"),
                        ("/gone", "the server of that URL answered with status 404, not 200")):
        if asked == 6:  # of a host in a minute, as long as the role runs
            a = verify(rs, who, f"http://127.0.0.1:{port}/good")
            assert a.status == 429 and "6 times in this minute" in error(a), a
            rs.process.stop()
            rs = alone(rs.g, "rs")
            asked = 0
        a = verify(rs, who, owner.url + path)
        asked += 1
        assert a.status == 422 and words in error(a), (path, a)
        assert secret not in a.body.decode()
    rs.process.stop()
    rs = alone(rs.g, "rs")
    for url, words in (("http://127.0.0.1:1/s", "no connection"),
                       (owner.url + "/", "names a folder"), (owner.url + "/good?x", "has a query"),
                       ("ftp://127.0.0.1/s", "http or https"), (owner.url + "/a/%2e%2e%2fgood", "segment of dots"),
                       (owner.url + "/a%2Fgood", "escaped slash"),
                       (f"http://u@127.0.0.1:{port}/good", "user name"), ("s.txt", "")):
        a = verify(rs, who, url)
        assert a.status == 422 and words in error(a), (url, a)
    assert owner.count("/good") == 0 and state(rs, who)["verified"] is False
    assert verify(rs, who, owner.url + "/good").status == 200
    post(rs, f"/api/providers/{who['provider']}/secrets", who)
    assert "status 500" in error(verify(rs, who, owner.url + "/error"))


def test_private_addresses_are_refused(garner, owner):
    rs = alone(garner(config="[rs]\nlisten = 127.0.0.1:0\n"), "rs")
    who = enrol(rs)
    owner.pages["/s"] = who["secret"]
    for url in (owner.url + "/s", "http://10.0.0.1/s", "http://169.254.169.254/s", "http://[::1]/s"):
        a = verify(rs, who, url)
        assert a.status == 422 and "address of that host is refused" in error(a), a
    assert owner.asked == []


def test_who_may_ask(rs, owner):
    who, other = enrol(rs), enrol(rs)
    path = f"/api/providers/{who['provider']}"
    for a in (get(rs, path), get(rs, path, Authorization="Bearer x"), get(rs, "/provider")):
        assert a.status == 401 and a.headers["WWW-Authenticate"].startswith("Basic realm="), a
    assert get(rs, path, other).status == 403
    assert post(rs, path + "/deregister", other).status == 403
    wrong = {**who, "password": "x" * 24}
    codes = [get(rs, path, wrong).status for _ in range(6)]
    assert codes[0] == 401 and set(codes) <= {401, 429}
    a = get(rs, path, who)
    assert a.status == 429 and int(a.headers["Retry-After"]) >= 1, "not even the right one, at once"
    assert wait_for("the wait to end", lambda: get(rs, path, who).status == 200)
    assert get(rs, path, who).headers["Cache-Control"] == "no-store"
    assert rs.counter("wrong_logins_total") >= 2


def test_pages_of_other_sites_send_nothing(rs):
    who = enrol(rs)
    host = f"127.0.0.1:{rs.port}"
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"},
                    {"Origin": "http://evil.example"}):
        for path in ("/api/providers", f"/api/providers/{who['provider']}/deregister", "/provider/deregister"):
            a = post(rs, path, who, headers, site="x", sure="yes")
            assert a.status == 403 and "another site" in error(a), (headers, a)
    for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": f"http://{host}"}):
        assert post(rs, f"/api/providers/{who['provider']}/secrets", who, headers).status == 201
    a = rs.ask("/api/providers", "POST", "{}", Content_Type="application/json")
    assert a.status == 415


def test_ten_registrations_a_day(garner):
    rs = alone(garner(config=BASE.replace("0.1:0", "0.1:0\nregisters_per_day = 2")), "rs")
    for _ in range(2):
        last = register(rs)
    post(rs, f"/api/providers/{last['provider']}/deregister", last)
    a = post(rs, "/api/providers", site="x")
    assert a.status == 429 and "registered 2 times" in error(a)
    a = post(rs, "/register", site="x")
    assert a.status == 429 and b"registered 2 times" in a.body
    rs.process.stop()
    rs = alone(rs.g, "rs")
    assert post(rs, "/api/providers", site="x").status == 429, "also after a restart"


def test_what_is_not_proved_expires(garner, owner):
    rs = alone(garner(config=BASE.replace("0.1:0", "0.1:0\nregister_expiry = 2s")), "rs")
    kept, lost = enrol(rs), enrol(rs)
    owner.pages["/s"] = kept["secret"]
    assert verify(rs, kept, owner.url + "/s").status == 200
    path = f"/api/providers/{lost['provider']}"
    wait_for("the registration to expire", lambda: get(rs, path, lost).status == 401)
    assert wait_for("the wait to end", lambda: get(rs, f"/api/providers/{kept['provider']}", kept).status == 200)


def test_a_clock_that_is_far_ahead_for_a_while_forgets_nobody(garner):
    rs = alone(garner(config=BASE), "rs")
    who = enrol(rs)
    rs.process.stop()
    rs = alone(rs.g, "rs", env=shifted(30 * 365 * 24 * 3600))
    assert rs.ask("/healthz").status == 200
    rs.process.stop()
    rs = alone(rs.g, "rs")
    assert state(rs, who)["verified"] is False


def test_passwords_contracts_and_the_end(rs, owner):
    who = enrol(rs)
    path = f"/api/providers/{who['provider']}"
    a = post(rs, path + "/contract", who, bandwidth="50K", hours="0-8,22-24")
    assert json.loads(a.body)["contract"]["bandwidth"] == 51200 and a.status == 200
    assert json.loads(post(rs, path + "/contract", who, mail="b@example.com").body)["contract"]["hours"] == "0-8,22-24"
    known = json.loads(post(rs, path + "/contract", who, bandwidth="0", hours="").body)
    assert (known["contract"]["bandwidth"], known["contract"]["hours"], known["mail"]) == (None, "", "b@example.com")
    for form, words in (({"bandwidth": "fast"}, "bandwidth"), ({"hours": "8-99"}, "hours"), ({"hours": "!0-24"}, "hours"),
                        ({"mail": "a@b, c@d"}, "mailbox"), ({"quota_files": "1"}, "unknown parameter")):
        a = post(rs, path + "/contract", who, **form)
        assert a.status == 400 and words in error(a), (form, a)
    new = json.loads(post(rs, path + "/password", who).body)["password"]
    assert new != who["password"] and get(rs, path, who).status == 401
    who["password"] = new
    wait_for("the wait to end", lambda: get(rs, path, who).status == 200)
    a = post(rs, path + "/deregister", who)
    assert (a.status, json.loads(a.body)) == (200, {"provider": who["provider"]})
    assert get(rs, path, who).status == 401
    assert enrol(rs)["provider"] > who["provider"]


def test_mail_goes_to_one_mailbox_only(garner):
    sink = smtp.Sink()
    rs = alone(garner(config=BASE + f"mails_per_day = 1\nurl = http://rs.example/\n[mail]\nvia = {sink.via}\n"), "rs")
    for mail in ("a@b\r\nBcc: c@d", "a@b,c@d", "-x@example.com", "nobody"):
        assert post(rs, "/api/providers", site="x", mail=mail, send="yes").status == 400
    assert post(rs, "/api/providers", site="x", send="yes").status == 400
    assert register(rs, mail="a@example.com")["mailed"] is False and sink.mails == []
    who = register(rs, mail="a@example.com", send="yes")
    assert who["mailed"] is True
    (_, to, message), = sink.mails
    text = message.get_payload(decode=True).decode()
    assert to == "a@example.com" and who["password"] in text and who["secret"] in text
    assert "http://rs.example/" in text and "www.example.com" not in text
    late = register(rs, mail="a@example.com", send="yes")
    assert late["mailed"] is False and "too many mails" in late["not_mailed"] and len(sink.mails) == 1
    assert rs.process.stop() == 0  # the day goes on
    rs = alone(rs.g, "rs")
    assert register(rs, mail="a@example.com", send="yes")["mailed"] is False and len(sink.mails) == 1
    sink.close()


def test_a_mail_server_that_never_answers_quit_does_not_hold_up_the_end(garner):
    sink = smtp.Sink()
    sink.pauses = {"QUIT": 9}
    rs = alone(garner(config=BASE + f"[mail]\nvia = {sink.via}\n"), "rs")
    answers = []
    asker = threading.Thread(target=lambda: answers.append(register(rs, mail="a@example.com", send="yes")["mailed"]))
    asker.start()
    wait_for("it is sent", lambda: sink.mails)
    assert rs.process.stop(timeout=8) == 0
    asker.join()
    assert answers == [True]
    sink.close()


def test_a_server_that_hangs_holds_nobody_up(rs, owner):
    who = enrol(rs)
    owner.pages["/s"] = who["secret"]
    gate = owner.hold("/s")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(verify(rs, who, owner.url + "/s").status)) for _ in range(5)]
    for t in threads:
        t.start()
    wait_for("it is asked", lambda: owner.count("/s") >= 1)
    assert state(rs, who)["verified"] is False
    gate.set()
    for t in threads:
        t.join()
    assert sorted(answers).count(200) == 1, answers
    # and the end of the role does not wait for one either
    more = json.loads(post(rs, f"/api/providers/{who['provider']}/secrets", who).body)
    owner.pages["/t"] = more["secret"]
    gate = owner.hold("/t")
    last = threading.Thread(target=lambda: answers.append(verify(rs, who, owner.url + "/t").status))
    last.start()
    wait_for("it is asked", lambda: owner.count("/t") == 1)
    rs.process.stop()
    last.join()
    gate.set()
    assert answers[-1] == 503


@pytest.mark.parametrize("what", ["guess", "register"])
def test_strangers_do_not_hold_up_who_is_known(garner, what):
    """A password that was right is not hashed again, and does not wait for the hashes of others."""
    rs = alone(garner(config=BASE), "rs")
    known = register(rs)
    assert get(rs, f"/api/providers/{known['provider']}", known).status == 200
    slow = add_provider(rs.g, [], password=SECRET.replace("m=8,t=1", "m=65536,t=8"))
    host = "Host: 127.0.0.1\r\n"
    form = host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n\r\nsite=x"
    head = {"guess": f"GET /provider HTTP/1.1\r\n{host}Authorization: {basic(slow, 'x')}\r\n\r\n",
            "register": f"POST /api/providers HTTP/1.1\r\n{form}"}[what].encode()
    strangers = [rs.raw(head, source=f"127.0.1.{i + 1}") for i in range(30)]
    time.sleep(0.1)  # they are being looked at
    assert get(rs, f"/api/providers/{known['provider']}", known).status == 200
    answered, _, _ = select.select(strangers, [], [], 0)
    assert len(answered) < 20
    for s in strangers:
        s.close()


def test_people_do_it_on_pages(rs, owner):
    home = get(rs, "/")
    assert home.status == 200 and b'action="/register"' in home.body
    assert "default-src 'self'" in home.headers["Content-Security-Policy"]
    a = post(rs, "/register", site="")
    assert a.status == 400 and b'<a href="/">Try again</a>' in a.body and b"To my page" not in a.body
    assert b"only sites of http and https" in post(rs, "/register", site="ftp://www.example.com/").body
    a = post(rs, "/register", site="http://www.example.com/<b>", mail="", extra="x")
    number, password, secret = re.findall(r"<dd><code>([^<]+)</code>", a.body.decode())
    who = {"provider": number, "password": password}
    assert a.headers["Cache-Control"] == "no-store"
    page = get(rs, "/provider", who).body.decode()
    assert secret in page and "example.com/&lt;b&gt;" in page and "Nothing waits." in page
    a = post(rs, "/provider/verify", who, url=owner.url + "/s")
    assert a.status == 422 and b"status 404" in a.body
    owner.pages["/s"] = secret
    a = post(rs, "/provider/verify", who, url=owner.url + "/s")
    assert a.status == 200 and owner.url in a.body.decode()
    a = post(rs, "/provider/contract", who, hours="22-6", bandwidth="", mail="")
    assert (a.status, a.headers["Location"]) == (303, "/provider")
    page = get(rs, "/provider", who).body.decode()
    assert 'value="22-6"' in page and secret not in page and owner.url + "/</li>" in page
    assert post(rs, "/provider/contract", who, hours="x", bandwidth="").status == 400
    assert post(rs, "/provider/secret", who).status == 303
    assert "This secret waits" in get(rs, "/provider", who).body.decode()
    assert b"Nothing is known" in get(rs, "/provider/receipts?set=7&url=", who).body
    a = post(rs, "/provider/password", who)
    who["password"] = re.search(r"<dd><code>([^<]+)</code>", a.body.decode()).group(1)
    assert b"Deregister, for good" in get(rs, "/provider/leave", who).body
    assert post(rs, "/provider/deregister", who).status == 400
    assert post(rs, "/provider/deregister", who, sure="yes").status == 200
    assert get(rs, "/style.css").status == 200


def test_what_was_and_will_be_fetched_is_shown(garner, owner):
    """With the other roles of the cache, and two notification servers, so that the queue numbers sets otherwise."""
    uns, other, qm, botm_source, botm = (f"127.0.0.1:{free_port()}" for _ in range(5))
    g = garner(config=BASE + f"""[up]
roles = rs uns@1 uns@2 qm botm bot
[uns]
qm = {qm}
[uns@1]
listen = {uns}
[uns@2]
listen = {other}
[qm]
listen = {qm}
botm_listen = {botm_source}
[botm]
listen = {botm}
source = {botm_source}
[bot]
botm = {botm}
""")
    up = g.start("up").wait_ready()
    rs = Site(up, int(re.search(r"rs on http://127\.0\.0\.1:(\d+)/", up.wait_line("garner is up")).group(1)))
    rs.g = g
    cp = ("-s", f"provider.rs=http://127.0.0.1:{rs.port}")

    def send(*urls, to=uns):
        done = g.run("provider", "send", *cp, "-s", f"provider.uns={to}", *urls)
        assert done.code == 0, done

    (g.dir / "password").write_text((who := enrol(rs))["password"])
    assert g.run("provider", "register", *cp, "--id", who["provider"], "--password-file", g.dir / "password").code == 0
    owner.pages.update({"/s": who["secret"], "/a.html": "<p>a", "/b.html": "<p>b", "/c.html": "<p>"})
    assert verify(rs, who, owner.url + "/s").status == 200
    path = f"/api/providers/{who['provider']}"
    send(owner.url + "/c.html", to=other)
    send(owner.url + "/a.html", owner.url + "/gone.html")

    def fetches():
        return json.loads(get(rs, path + "/fetches", who).body)["fetches"]

    wait_for("all fetches", lambda: len(fetches()) == 3)
    found = {f["url"]: (f["code"], f["bytes"]) for f in fetches()}
    assert found == {owner.url + "/a.html": (0, 4), owner.url + "/c.html": (0, 3), owner.url + "/gone.html": (304, 0)}
    hour = time.gmtime().tm_hour
    assert post(rs, path + "/contract", who, hours=f"{(hour + 3) % 24}-{(hour + 4) % 24}").status == 200
    send(owner.url + "/b.html")
    plan = wait_for("a plan", lambda: json.loads(get(rs, path + "/plan", who).body)["plan"])
    assert (plan[0]["set"], plan[0]["urls"], plan[0]["first"]) == (2, 1, [owner.url + "/b.html"])
    assert plan[0]["why"] == "waits for its hours"
    assert plan[0]["at"].endswith(f"T{(hour + 3) % 24:02}:00:00Z")
    latest = json.loads(get(rs, "/api/receipts", who).body)
    assert (latest["set"], latest["state"], latest["urls"], latest["more"]) == (2, "absorbed", 1, False)
    assert latest["receipts"][0]["state"] == "waiting" and latest["receipts"][0]["until"] == plan[0]["at"]
    first = json.loads(get(rs, "/api/receipts?set=1&n=1&after=1", who).body)
    assert [r["url"] for r in first["receipts"]] == [owner.url + "/gone.html"] and first["more"] is False
    assert (first["receipts"][0]["state"], first["receipts"][0]["code"]) == ("failed", 304)
    alone_ = json.loads(get(rs, "/api/receipts?url=" + urllib.parse.quote(owner.url + "/a.html"), who).body)
    assert [r["state"] for r in alone_["receipts"]] == ["stored"] and alone_["set"] is None
    page = get(rs, "/provider", who).body.decode()
    assert "not found" in page and "waits for its hours" in page and owner.url + "/b.html" in page
    assert 'href="/provider/receipts?set=2"' in page
    page = get(rs, "/provider/receipts?set=1", who).body.decode()
    assert "Set 1, absorbed, 2 URLs" in page and ">304 not found<" in page
    assert re.search(r">until <time[^>]*>[^<]*</time>: [a-z]", get(rs, "/provider/receipts?set=2", who).body.decode())
    # deregistered: qm removes what is stored
    assert post(rs, path + "/deregister", who).status == 200
    def left():
        said = g.run("cache", "status", "--json").json()["cache"]
        return said["stored"], said["queued"], said["leaving"]

    wait_for("all to be removed", lambda: left() == (0, 0, False))


def test_what_waits_for_the_hours_of_the_contract_says_so(garner):
    """In the queue, with nobody who fetches."""
    uns, qm, botm = (f"127.0.0.1:{free_port()}" for _ in range(3))
    g = garner(config=BASE + f"[up]\nroles = rs uns qm\n[uns]\nlisten = {uns}\nqm = {qm}\n"
                             f"[qm]\nlisten = {qm}\nbotm_listen = {botm}\n")
    up = g.start("up").wait_ready()
    rs = Site(up, int(re.search(r"rs on http://127\.0\.0\.1:(\d+)/", up.wait_line("garner is up")).group(1)))
    rs.g = g
    who = {"provider": add_provider(g, ["http://www.example.com/"]), "password": "secret"}
    assert accepted(notify(uns, who["provider"], [url("http://www.example.com/a")])) == (1, 1)
    path = f"/api/providers/{who['provider']}"

    def plan():
        return json.loads(get(rs, path + "/plan", who).body)["plan"]

    wait_for("a plan", plan)
    hour = (time.gmtime().tm_hour + 3) % 24
    assert post(rs, path + "/contract", who, hours=f"{hour}-{(hour + 1) % 24}").status == 200
    assert plan()[0]["why"] == "waits for the hours of the contract"
    assert plan()[0]["at"].endswith(f"T{hour:02}:00:00Z")
    row, = json.loads(get(rs, "/api/receipts", who).body)["receipts"]
    assert (row["state"], row["until"], row["why"]) == ("waiting", plan()[0]["at"], "for the hours of the contract")


def test_what_is_acknowledged_is_kept_whenever_the_role_is_killed(garner, owner):
    g = garner(config=BASE)
    rs = alone(g, "rs")
    who = enrol(rs)
    rs.process.stop()
    owner.pages["/s"] = who["secret"]
    for point, verified in (("pidb.commit", False), ("pidb.committed", True)):
        rs = alone(g, "rs", env={"GARNER_FAULTS": f"{point}=kill"})
        with pytest.raises(OSError):
            verify(rs, who, owner.url + "/s")
        rs.process.wait()
        rs = alone(g, "rs")
        assert state(rs, who)["verified"] is verified
        rs.process.kill()
    rs = alone(g, "rs")
    assert state(rs, who)["prefixes"] == [owner.url + "/"]
    assert g.run("check").code == 0


def test_settings_are_checked(garner):
    g = garner(config="[rs]\nmail_from = nobody\n")
    done = g.run("config", "check")
    assert done.code == 2 and "rs.mail_from" in done.err + done.out
