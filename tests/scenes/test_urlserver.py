"""The URL server against a spider that knows document 003 alone."""
import collections
import random
import re
import signal
import threading

import pytest

import peers
import simnet
from docindex import DocIndex
from garner import wait_for
from spider003 import Spider


def serve(garner, spiders, urls, robot="", **more):
    settings = {"doc_index": "file:urls.txt", "req_host_per_sec": "1000",
                "spider_host": " ".join(f"127.0.0.1:{s.port}" for s in spiders), **more}
    config = f"[robot]\nnetworks = 127.0.0.0/8\n{robot}\n[urlserver]\n"
    config += "".join(f"{k} = {v}\n" for k, v in settings.items())
    g = garner(config=config)
    g.data.mkdir(exist_ok=True)  # a relative path is one below it
    (g.data / "urls.txt").write_text("".join(u + "\n" for u in urls))
    return g, g.start("urlserver").wait_ready()


def outcomes(g):
    """Of PATH.done, by line: lists, so that one that is there twice is seen."""
    found = collections.defaultdict(list)
    dump = g.run("dump", str(g.data / "urls.txt.done"))
    assert dump.code == 0, dump
    for number, outcome in re.findall(r"line=(\d+) outcome='([^']*)'", dump.out):
        found[int(number)].append(outcome)
    return found


def each_has_one(g, urls, want="done"):
    wait_for("all outcomes", lambda: len(outcomes(g)) == len(urls), every=0.2)
    assert outcomes(g) == {i + 1: [want] for i in range(len(urls))}


def test_a_spider_of_document_003_gets_every_url_and_says_done(garner):
    urls = [f"http://127.0.0.{i % 5 + 1}:81/{i}" for i in range(50)]
    with Spider() as s:
        g, us = serve(garner, [s], urls)
        each_has_one(g, urls)
        assert not s.bad
        assert sorted(j.url for j in s.jobs) == sorted(urls)
        assert all(j.ip == j.url.split("/")[2].split(":")[0] for j in s.jobs)
        assert {j.doc for j in s.jobs} == {str(i + 1) for i in range(50)}
        assert len({j.trans for j in s.jobs}) == 50
        assert us.stop() == 0
        assert g.run("check", str(g.data / "urls.txt.done")).code == 0


def test_comments_are_skipped_and_what_has_no_address_is_never_sent(garner):
    urls = ["# a list", "", "http://127.0.0.1/a", "http://no.such.invalid/", "http://10.1.2.3/",
            "gopher://x/", "http://127.0.0.1/b c", "x" * 9000]
    with Spider() as s:
        g, _ = serve(garner, [s], urls)
        wait_for("outcomes", lambda: len(outcomes(g)) == 6, every=0.2)
        assert outcomes(g) == {3: ["done"], 4: ["site-permanent"], 5: ["address"],
                               6: ["permanent"], 7: ["permanent"], 8: ["limit"]}
        assert [j.url for j in s.jobs] == ["http://127.0.0.1/a"]


def test_names_on_one_address_share_its_queue(garner):
    """The next URL goes out after DONE, whatever its name."""
    out, most = set(), []

    def work(s, job):
        out.add(job.trans)
        most.append(len(out))
        threading.Timer(0.02, finish, (s, job)).start()

    def finish(s, job):
        out.discard(job.trans)
        s.done(job)

    urls = [f"http://{'localhost' if i % 2 else '127.0.0.1'}/{i}" for i in range(10)]
    with Spider(work) as s:
        g, _ = serve(garner, [s], urls)
        each_has_one(g, urls)
        assert {j.ip for j in s.jobs} == {"127.0.0.1"}
        assert max(most) == 1


def test_names_are_resolved_by_a_name_server(garner):
    """Those of the batch, once each; that of the spider whenever it is connected to. Two names of one
    address share a queue, and one without an address is not sent."""
    out, most = collections.Counter(), []

    def work(s, job):
        out[job.ip] += 1
        most.append(out[job.ip])
        threading.Timer(0.02, finish, (s, job)).start()

    def finish(s, job):
        out[job.ip] -= 1
        s.done(job)

    names = garner()
    (names.dir / "hosts").write_text("127.0.0.9 spider.test\n")  # where nobody listens
    dns, port = peers.name_server(names, "--host-record=a.test,127.20.0.1", "--host-record=b.test,127.20.0.1",
                                  "--host-record=c.test,127.20.0.2", f"--addn-hosts={names.dir}/hosts")
    urls = [f"http://{host}.test/{i}" for i in range(5) for host in "abc"] + ["http://none.test/"]
    with Spider(work) as s:
        g, us = serve(garner, [], urls, spider_host="spider.test", spider_port=s.port,
                      robot=f"dns_servers = 127.0.0.1:{port}\ndns_order = ipv4")
        us.wait_line("spider unreachable peer=spider.test:.*refused")
        (names.dir / "hosts").write_text("127.0.0.1 spider.test\n")
        dns.send(signal.SIGHUP)
        wait_for("all outcomes", lambda: len(outcomes(g)) == len(urls), every=0.2)
        us.wait_line("spider connected peer=spider.test:")
        assert outcomes(g) == {i: ["done"] for i in range(1, 16)} | {16: ["site-permanent"]}
        assert {j.url: j.ip for j in s.jobs} == {u: f"127.20.0.{2 if '//c' in u else 1}" for u in urls[:-1]}
        assert set(most) == {1} and not s.bad
        for host in ("a", "b", "c", "none"):
            assert len(dns.lines(rf"query\[A\] {host}.test ")) == 1


def test_status_words_bring_the_outcome(garner):
    urls = [f"http://127.0.0.1/{i}" for i in range(3)]
    with Spider(lambda s, job: s.done(job, "permanent")) as s:
        g, _ = serve(garner, [s], urls, status_words="yes")
        each_has_one(g, urls, "permanent")


def test_words_that_are_not_taken_are_told_once_per_connection(garner):
    def work(s, job):
        s.done(job, "ok")
        if s.connections > 1:
            s.done(job)

    urls = [f"http://127.0.0.{i}/" for i in range(1, 5)]
    with Spider(work) as s:
        g, us = serve(garner, [s], urls)
        us.wait_line("set status_words on both sides")
        wait_for("all URLs", lambda: len(s.jobs) == len(urls))
        s.cut()
        each_has_one(g, urls)
        assert us.stop() == 0  # the log folds what it has said before
        assert [l.endswith(" repeated=1") for l in us.lines("set status_words on both sides")] == [False, True]


def test_config_check_compares_status_words(garner):
    both = "[spider]\nstatus_words = {}\n[urlserver@1]\nstatus_words = {}\n"
    for words, said in ((both.format("yes", "yes"), ""), ("[spider]\nstatus_words = yes\n", ""),
                        (both.format("yes", "no"), "what is done will be sent again"),
                        (both.format("no", "yes"), "how a fetch went will not be said")):
        done = garner(config=words).run("-s", "net.port=8080", "config", "check")
        assert done.code == 0 and (said in done.err if said else not done.err), (words, done)


def test_a_url_without_a_word_is_sent_again_and_working_is_a_word(garner):
    """The first says WORKING for longer than the timeout and is not sent again; the second does not."""
    ended = threading.Event()

    def work(s, job):
        if job.doc == "1" and not ended.wait(0.3):
            for _ in range(10):
                s.working(job)
                ended.wait(0.3)
            s.done(job)
        elif job.doc == "2" and sum(j.doc == "2" for j in s.jobs) > 1:
            s.done(job)

    def in_thread(s, job):
        threading.Thread(target=work, args=(s, job), daemon=True).start()

    urls = ["http://127.0.0.1/working", "http://127.0.0.2/silent"]
    with Spider(in_thread) as s:
        g, us = serve(garner, [s], urls, timeout_spider_status="2s")
        each_has_one(g, urls)
        ended.set()
        assert sum(j.doc == "1" for j in s.jobs) == 1
        second = [j.trans for j in s.jobs if j.doc == "2"]
        assert len(second) == 2 and second[0] != second[1]


def test_a_lost_connection_is_made_again_and_what_was_pending_is_sent_again(garner):
    held = []

    def work(s, job):
        if s.connections == 1:
            held.append(job)
        else:
            s.done(job)

    urls = [f"http://127.0.0.{i + 1}/" for i in range(10)]
    with Spider(work) as s:
        g, _ = serve(garner, [s], urls)
        wait_for("all are pending", lambda: len(held) == 10)
        s.cut()
        each_has_one(g, urls)
        assert len(s.jobs) == 20
        assert not {j.trans for j in held} & {j.trans for j in s.jobs[10:]}


def test_lines_that_mean_nothing_are_counted_and_a_hundred_end_the_connection(garner):
    def work(s, job):
        if s.connections == 1:
            for line in ("0.0 DONE", "hello", f"{job.trans} SLEEPING", f"{job.trans} DONE ok",
                         f"{job.trans}  DONE", "", "99999999.1 DONE"):
                s.say(line, job.conn)
            s.done(job)
            s.done(job)  # late
            for _ in range(100):
                s.say("what?", job.conn)
        elif s.connections == 2:
            s.say("x" * 9000, job.conn)
        else:
            s.done(job)

    urls = ["http://127.0.0.1/a", "http://127.0.0.1/b"]
    with Spider(work) as s:
        g, us = serve(garner, [s], urls)
        each_has_one(g, urls)
        assert s.connections == 3
        wait_for("counters", lambda: counters(g)["hung_up"] == 2, every=0.2)
        counted = counters(g)
        assert counted['wrong_lines{kind="late"}'] == 1
        assert counted['wrong_lines{kind="unknown"}'] == 2
        assert counted['wrong_lines{kind="garbage"}'] == 5 + 99 + 1  # with the late one 100 in a row; the long one


def counters(g):
    roles = {r["name"]: r for r in g.run("status", "--json").json()["roles"]}
    return {c["name"] + (f"{{{c['labels']}}}" if c.get("labels") else ""): c["value"]
            for c in roles["urlserver"]["counters"]}


def test_a_spider_speaks_of_its_own_urls_only(garner):
    """DONE of what another has, of what was never sent, and WORKING again and again."""
    held, ready = [], threading.Event()

    def steal(s, job):
        if job is not s.jobs[0]:
            return s.done(job)
        ready.wait(30)
        slot, turn = map(int, held[0].trans.split("."))
        for trans in (held[0].trans, f"{slot}.{turn + 1}", f"{slot + 100}.{turn}"):
            s.say(f"{trans} DONE", job.conn)
        job.conn.sendall(f"{job.trans} WORKING\n".encode() * 20000)
        s.done(job)

    def hold(s, job):
        held.append(job)
        ready.set()

    urls = [f"http://127.0.0.{i + 1}/" for i in range(30)]
    with Spider(hold) as a, Spider(steal) as b:
        g, us = serve(garner, [a, b], urls)
        wait_for("the outcomes of its own", lambda: b.jobs and len(a.jobs) + len(outcomes(g)) == 30, every=0.2)
        wait_for("counters", lambda: counters(g)["working_lines"] == 20000, every=0.2)
        assert set(outcomes(g)) == {int(j.doc) for j in b.jobs}
        counted = counters(g)
        assert counted['wrong_lines{kind="late"}'] == 1 and counted['wrong_lines{kind="unknown"}'] == 2
        for job in held:
            a.done(job)
        each_has_one(g, urls)


def test_a_host_stays_with_its_spider_and_goes_to_another_when_that_is_gone(garner):
    few = range(3, 31, 3)  # hosts with one URL only
    urls = [f"http://127.0.0.{host}/{i}" for i in range(12) for host in range(1, 31) if i == 0 or host not in few]
    with Spider() as a, Spider() as b:
        def by_host(s):
            return {j.ip for j in s.jobs}
        g, us = serve(garner, [a, b], urls, timeout_spider_status="1s", req_host_per_sec="5")
        wait_for("both have some", lambda: len(by_host(a)) + len(by_host(b)) == 30)
        assert by_host(a) and by_host(b)
        wait_for("hosts with one URL are done", lambda: len(outcomes(g)) > 50, every=0.2)
        us.kill()
        g.start("urlserver").wait_ready()
        n = len(a.jobs) + len(b.jobs)
        wait_for("it goes on", lambda: len(a.jobs) + len(b.jobs) >= n + 30)
        assert not by_host(a) & by_host(b), "not even when the URL server is another"
        theirs = by_host(b) - {f"127.0.0.{host}" for host in few}
        b.close()
        each_has_one(g, urls)
        assert by_host(a) >= theirs


@pytest.mark.limit(60)
def test_a_killed_url_server_goes_on_where_it_was(garner):
    urls = [f"http://127.0.0.{i % 10 + 1}/{i}" for i in range(300)]
    with Spider() as s:
        g, us = serve(garner, [s], urls, req_host_per_sec="10")
        wait_for("some are done", lambda: len(s.jobs) > 60)
        us.kill()
        us = g.start("urlserver").wait_ready()
        each_has_one(g, urls)
        assert len(s.jobs) < 360, "what was done is not sent again"


@pytest.mark.limit(100)
def test_random_losses_leave_each_url_one_outcome(garner, seed):
    """Connections end, DONEs are lost, come late or twice, garbage flies: each URL has one outcome.
    (What is out at one time, and how fast, is looked at by a unit, which has a clock of its own.)"""
    dice = random.Random(seed)
    urls = [f"http://127.0.0.{i % 12 + 1}/{i}" for i in range(240)]
    late = []

    def work(s, job):
        threading.Thread(target=lot, args=(s, job), daemon=True).start()

    def lot(s, job):
        with lock:
            fate, wait = dice.random(), dice.random() * 0.05
        threading.Event().wait(wait)
        if fate < 0.05:
            pass  # nobody ever hears of it
        elif fate < 0.10:
            late.append(job)
        elif fate < 0.13:
            s.cut()
        elif fate < 0.20:
            s.say("garbage", job.conn)
            s.done(job)
            s.done(job)
        else:
            s.done(job)
        with lock:
            if late and dice.random() < 0.1:
                s.done(late.pop())

    lock = threading.Lock()
    with Spider(work) as a, Spider(work) as b:
        g, us = serve(garner, [a, b], urls, req_host_per_sec="20",
                      req_host_concurrent="2", timeout_spider_status="1s")
        each_has_one(g, urls)
        us.stop()
        assert not a.bad and not b.bad


def test_a_remote_doc_index_hears_every_outcome_whatever_is_cut(garner):
    urls = [f"http://127.0.0.{i % 10 + 1}/{i}" for i in range(200)]
    with Spider() as s, DocIndex(urls) as index:
        g, us = serve(garner, [s], [], doc_index=index.address, name="us1", req_host_per_sec="20")
        for part in (1, 2):
            wait_for("some outcomes", lambda: len(index.outcomes) >= 50 * part)
            index.cut()
        us.kill()
        g.start("urlserver").wait_ready()
        wait_for("all outcomes", lambda: len(index.outcomes) == len(urls))
        assert {o for of in index.outcomes.values() for o in of} == {"done"}
        assert set(index.names) == {"us1"} and len(index.names) >= 3


def test_names_of_full_queues_are_rejected(garner):
    urls = [f"http://127.0.0.1/{i}" for i in range(30)] + ["http://127.0.0.2/"]
    with Spider(lambda s, job: None) as s, DocIndex(urls) as index:
        serve(garner, [s], [], doc_index=index.address, queue_len="5")
        wait_for("the other host", lambda: any(j.ip == "127.0.0.2" for j in s.jobs))
        assert index.rejects[0] == set() and {"127.0.0.1"} in index.rejects


def test_config_check_looks_at_each_instance(garner):
    g = garner(config="[urlserver]\nname = good\n[urlserver@2]\nname = two words\n")
    done = g.run("-s", "net.port=8080", "config", "check")
    assert done.code == 2 and "urlserver@2: name: 'two words' is not a word" in done.err


def test_settings_of_instances_are_checked(garner):
    for text, said in (("[urlserver@2]\nspider_host = 192.0.2.9\n", "urlserver@2: spider_host: 192.0.2.9"),
                       ("[spider@2]\nlisten = 0.0.0.0:8190\n", "spider@2: listen: other machines")):
        checked = garner(config=text).run("config", "check")
        assert checked.code == 2 and said in checked.err, checked
    checked = garner(config="[urlserver@2]\ntimeout_spider_status = 70s\n[spider@3]\nstatus_interval = 40s\n"
                     ).run("-s", "net.port=8080", "config", "check")
    assert checked.code == 0 and "urlserver@2.timeout_spider_status" in checked.err, checked
    assert "spider@3.status_interval" in checked.err and "urlserver.timeout" not in checked.err


def test_urls_go_over_tls_to_those_who_have_the_key(garner):
    """Two spiders, of which one has the key of the URL server; the other is a wrong doc index, too."""
    net = simnet.start(garner(), hosts=4, pages=1, delay="60ms", odd_pages=0, appear=0, vanish=0,
                       profiles="plain", robots="open", crawl_delay=0)
    robot = f"[robot]\nnetworks = {net.network}\ndns_servers = {net.dns}\ndns_order = ipv4\ndelay = 80ms\n"
    spiders, at = {}, {}
    for name, digit in (("ours", "a"), ("theirs", "b")):
        g = garner()
        (g.dir / "key").write_text(digit * 64 + "\n")
        (g.dir / "key").chmod(0o600)
        g.configure(f"{robot}[spider]\nlisten = 127.0.0.2:0\ntls_shared_key = {g.dir}/key\n")
        spiders[name] = g.start("spider").wait_ready()
        at[name] = re.search(r"address=(\S+)", spiders[name].wait_line("listening setting=listen ")).group(1)
        key = g.dir / "key" if name == "ours" else key
    g = garner(config=f"{robot}[urlserver]\ndoc_index = file:urls.txt\nspider_host = {' '.join(at.values())}\n"
               f"timeout_spider_status = 1s\ntls_shared_key = {key}\n[urlserver@2]\ndoc_index = {at['theirs']}\n")
    g.data.mkdir(exist_ok=True)
    urls = [net.url(i) for i in range(4)]
    (g.data / "urls.txt").write_text("".join(u + "\n" for u in urls))
    us, second = g.start("urlserver").wait_ready(), g.start("urlserver@2").wait_ready()
    each_has_one(g, urls)
    us.wait_line(f'spider unreachable peer={at["theirs"]} why="the peer has another key')
    second.wait_line('doc index unreachable why="the peer has another key')
    spiders["theirs"].wait_line("URL server disconnected .*why=.*key")
    spiders["ours"].wait_line("URL server connected")
    assert not spiders["ours"].lines("warn")
    net.check_polite()
