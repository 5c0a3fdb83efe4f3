"""The broker's port among clients that mean no good: whatever they do, the others are answered, memory
stays bounded, and nothing of them is left. Short forms here; `make prove AREA=broker` plays them in full."""
import os
import random
import resource
import signal
import socket
import threading
import time

import pytest

from garner import left_running, wait_for
from port import HEAVY, LARGE, PASSWORD, Answer, Broker, hang_up, kill_while_answering, large_objects, rest_of
from web import drip

PLAIN = not os.environ.get("GARNER_BUILD")  # sanitizers keep freed memory for a while
MIB = 1 << 20


def with_large(garner, n=60, **more):
    return Broker(garner, large_objects(n), **more)


def fine(broker, source="127.0.0.1"):
    answer = broker.answer("#USER #END almond", source)
    assert answer.whole and [o.url for o in answer.objects] == ["http://small.test/"], answer


def small(garner, **more):
    return Broker(garner, {"http://small.test/": {"Full-Text": "almond"}}, **more)


def settled(broker, before, room=16 * MIB):
    if PLAIN:
        wait_for("the memory to be given back", lambda: broker.memory() - before < room)


def everyone_left(broker):
    """Nothing waits or runs."""
    def idle():
        c = broker.counters()
        return c["queries_waiting"] == c["queries_running"] == c["queries_open"] == 0
    wait_for("nothing waits or runs", idle, every=0.1)


def test_lines_that_never_end_are_cut_short(garner, long_run):
    broker = small(garner)
    before = broker.memory()
    for start in (b"#USER #END ", b"#ADMIN #password ", b"", b"#BULK #since 0 #END "):
        for _ in range(20 if long_run else 2):
            with broker.connect() as s:
                try:
                    s.sendall(start + b"x" * MIB)
                    s.sendall(b"\n")
                except OSError:
                    pass
                got = rest_of(s)
                assert got is None or Answer(got).end == 111, got
    fine(broker)
    settled(broker, before)


def test_half_lines_and_slow_bytes_are_let_go_in_their_time(garner):
    broker = small(garner, more="line_time = 500ms\nidle = 2s\n")
    halves = [b"", b"#", b"#USER", b"#USER #END almond", b"#ADMIN #password x #colle", b"#BULK #since 0 #END #allb\r"]
    waiting = [broker.connect() for _ in halves]
    for s, half in zip(waiting, halves):
        s.sendall(half)
    slow = broker.connect()
    thread = drip(slow.sendall, b"#")
    fine(broker)
    for s in [*waiting, slow]:
        got = rest_of(s)
        assert got is None or not Answer(got).objects
    thread.join()
    for s in [*waiting, slow]:
        s.close()
    fine(broker)


def test_requests_in_pieces_are_answered(garner):
    broker = small(garner)
    request = b"#USER #desc #attribute full-text #END almond\r\n"
    whole = broker.ask(request.strip())
    for cut in range(1, len(request), 5):
        with broker.connect() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.sendall(request[:cut])
            time.sleep(0.005)
            s.sendall(request[cut:])
            assert rest_of(s) == whole


def test_one_request_is_answered_and_what_follows_it_is_not(garner):
    broker = small(garner)
    with broker.connect() as s:
        s.sendall(b"#USER #END almond\n#USER #END almond\n" * 50)
        got = rest_of(s)
    assert got is None or len(Answer(got).objects) == 1


def test_a_client_that_has_said_all_is_answered(garner):
    broker = small(garner)
    with broker.connect() as s:
        s.sendall(b"#USER #END almond\n")
        s.shutdown(socket.SHUT_WR)
        assert len(Answer(rest_of(s)).objects) == 1


def noise(dice):
    """Bytes, or pieces of requests that make no sense."""
    if dice.random() < 0.4:
        return dice.randbytes(dice.randrange(1, 3000))
    pieces = [b"#USER", b"#BULK", b"#ADMIN", b"#END", b"#desc", b"#opaque", b"#index", b"case", b"error", b"9", b"1",
              b"#attribute", b"#since", b"-1", b"#lifetime", b"0", b"\0", b"(", b")", b"\"", b"and", b"not", b"except",
              b"regexp", b"/", b"[", b"*", b"title :", b"#allb", b"#password", b"\xff\xfe", b"%s%n", b"almond", b"~8"]
    return b" ".join([dice.choice(pieces[:3]), *dice.choices(pieces, k=dice.randrange(12))])


def test_noise_is_answered_and_harms_nobody(garner, long_run, seed):
    broker = small(garner)
    dice = random.Random(seed)
    before = broker.memory()
    for i in range(5000 if long_run else 200):
        text = noise(dice)
        with broker.connect() as s:
            try:
                s.sendall(text + b"\n")
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            got = rest_of(s)
        assert got is None or got.startswith(b"200 - "), (text, got)
        if got and b"000 - " not in got and b"400 - " not in got:
            Answer(got)
        if i % 50 == 0:
            fine(broker)
    settled(broker, before)
    fine(broker)


def test_nul_bytes_are_no_end_of_anything(garner):
    broker = small(garner)
    for request in (b"#USER\0 #END almond", b"#USER #END\0 almond", b"#US\0ER #END almond"):
        answer = broker.answer(request)
        assert answer.end == 111 and not answer.objects, (request, answer)
    assert not broker.answer(b"#USER #END alm\0ond").objects
    answer = broker.answer(b"#USER #attribute full-text\0x #END almond")
    assert not any(o.attributes for o in answer.objects)


@pytest.mark.limit(240)
def test_clients_that_never_read_hold_up_nobody(garner, long_run):
    """Each asks for more than its connection holds, by bulk or with attributes, and takes none of it. What they hold
    has a bound, however many they are and however often they come."""
    rounds, n = (6, 400) if long_run else (1, 60)
    broker = with_large(garner, more="max_per_address = 1000\nmax_connections = 2000\n")
    fine(broker)
    before = broker.memory()
    for _ in range(rounds):
        deaf = []
        for i in range(n):
            s = broker.connect(small=True)
            s.sendall(b"#BULK #since 0 #END #allb\n" if i % 2 else b"#USER #attribute full-text #END walnut\n")
            deaf.append(s)
        for _ in range(10):
            fine(broker, "127.0.0.9")
        if PLAIN:
            assert broker.memory() - before < 512 * MIB
        for s in deaf:
            hang_up(s)
        everyone_left(broker)
    fine(broker)


def deaf_transfer(broker, source):
    """A client that looks at the first line of its transfer, and takes nothing more."""
    s = broker.connect(source, small=True)
    s.sendall(b"#BULK #since 0 #END #allb\n")
    said = b""
    while said.count(b"\n") < 2:
        byte = s.recv(1)
        assert byte, said
        said += byte
    return s, said.split(b"\n")[1]


def test_transfers_are_few_and_leave_room_for_queries(garner):
    """Two addresses take all places of transfers, and neither of them more than half; queries have theirs."""
    broker = with_large(garner)
    deaf = [deaf_transfer(broker, f"127.0.5.{i // 33 + 1}") for i in range(66)]
    said = [line for _, line in deaf]
    assert [i for i, line in enumerate(said) if not line.startswith(b"000 - ")] == [32, 65], said
    assert said[32] == b"400 - too many transfers are under way, try later"
    assert deaf_transfer(broker, "127.0.6.1")[1] == said[32]
    fine(broker, "127.0.5.1")
    fine(broker, "127.0.6.1")
    for s, _ in deaf:
        hang_up(s)
    everyone_left(broker)
    assert deaf_transfer(broker, "127.0.5.1")[1].startswith(b"000 - ")


def test_descriptors_are_enough_for_connections_and_transfers(garner):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        broker = small(garner, more="max_connections = 1000\n")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    now, _ = resource.prlimit(broker.pid(), resource.RLIMIT_NOFILE)
    assert now == hard or now >= 1000 + 64 * 4 + 32 * 3


def test_transfers_have_half_of_the_memory(garner):
    broker = with_large(garner, more="memory = 16M\n")
    deaf = [deaf_transfer(broker, f"127.0.5.{i + 1}") for i in range(16)]
    said = [line for _, line in deaf]
    assert said[0].startswith(b"000 - ") and said[-1] == b"400 - answers under way hold too much, try later", said
    fine(broker, "127.0.6.1")
    many = broker.answer("#USER #opaque #index maxresult 100000 #END #allb", "127.0.6.1")  # of 16 KiB and more
    assert many.whole and len(many.objects) == 61, many
    for s, _ in deaf:
        hang_up(s)


def test_readers_of_large_documents_hold_little(garner):
    """Who asks for large texts and takes none of them holds a piece, not the document."""
    large = {f"http://large.test/{i}": {"Title": f"walnut {i}", "Full-Text": f"{i}\n{LARGE * 40}"} for i in range(2)}
    broker = Broker(garner, {**large, "http://small.test/": {"Full-Text": "almond"}})
    fine(broker)
    before = broker.memory()
    deaf = []
    for i in range(40):
        s = broker.connect(f"127.0.5.{i % 4 + 1}", small=True)
        s.sendall(b"#USER #attribute full-text #END walnut\n")
        deaf.append(s)
    for s in deaf:
        said = b""
        while b"127 - " not in said:
            part = s.recv(64)
            assert part, said
            said += part
    fine(broker, "127.0.6.1")
    if PLAIN:
        # 40 documents are 220 MiB
        wait_for("them to hold little", lambda: broker.memory() - before < 110 * MIB)
    for s in deaf:
        hang_up(s)
    everyone_left(broker)


def what_changed(transfer):
    """Without its first and last line: they have the time at which it was asked for."""
    return transfer.partition(b"@DELETE")[2].rpartition(b"099 - ")[0]


def test_a_slow_reader_gets_all_of_it(garner):
    broker = with_large(garner, 20)
    whole = broker.ask("#BULK #since 0 #END #allb")
    with broker.connect(small=True) as s:
        s.sendall(b"#BULK #since 0 #END #allb\n")
        got, pauses = b"", 0
        while piece := s.recv(65536):
            got += piece
            if len(got) >> 18 > pauses:
                pauses += 1
                time.sleep(0.02)
    assert len(what_changed(whole)) > 1 << 20
    assert what_changed(got) == what_changed(whole)


def test_what_a_client_hangs_up_on_is_cancelled(garner):
    """By the counter, and by nothing running on."""
    broker = with_large(garner)

    def hung_up_on():
        clients = [broker.connect(f"127.0.0.{i + 2}") for i in range(8)]
        for s in clients:
            s.sendall(HEAVY.encode() + b"\n")
        time.sleep(0.02)
        for s in clients:
            hang_up(s)
        return broker.counters()["queries_cancelled"] > 0

    wait_for("a query to be cancelled", hung_up_on, every=0.1)
    everyone_left(broker)
    fine(broker)


def test_wrong_passwords_are_refused_and_slowed(garner, long_run):
    line = garner().run("password", input=PASSWORD + "\n").out.strip()
    broker = small(garner, password=line, more="max_per_address = 3000\nmax_connections = 6000\n")
    before = broker.memory()
    n = 2000 if long_run else 12
    clients = []
    for i in range(n):
        s = broker.connect(f"127.0.{i % 50}.{i % 200 + 2}")
        s.sendall(f"#ADMIN #password wrong{i} #collection\n".encode())
        clients.append(s)
        if i % 100 == 0:
            fine(broker, "127.0.0.1")
    fine(broker)
    if PLAIN:
        assert broker.memory() - before < 128 * MIB  # one check takes 64 at most
    for s in clients[:5]:  # the others wait long; those that ended with a word ended well
        s.settimeout(100)
        got = rest_of(s)
        assert got is None or Answer(got).end == 111, got
    for s in clients:
        hang_up(s)
    answer = broker.admin("#do-stats")
    assert answer.said and not answer.wrong, answer


def test_floods_are_refused_with_a_word(garner):
    broker = small(garner, more="max_connections = 60\nmax_per_address = 20\n")
    inside = []
    while len(inside) < 20:  # who asked before may be leaving still
        s = broker.connect()
        if b"\n111 - " not in s.recv(1000):  # greeting and refusal are sent as one
            inside.append(s)
        else:
            s.close()
    for _ in range(100):
        with broker.connect() as s:
            got = rest_of(s)
            assert got is None or got.startswith(b"200 - ") and got.endswith(b"\n") and b"\n111 - ERROR" in got, got
    fine(broker, "127.0.0.2")
    for s in inside:
        s.close()
    wait_for("room", lambda: b"http://small.test/" in (broker.ask("#USER #END almond") or b""))


@pytest.mark.limit(300)
def test_thousands_of_connections_are_served(garner, long_run):
    """All of them at once and from many addresses, each with its answer."""
    n = 10_000 if long_run else 1_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < n + 2000:
        pytest.skip(f"{hard} descriptors are too few for {n} connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        broker = small(garner, more=f"max_connections = {n + 100}\nmax_per_address = 1000\n")
        before = broker.memory()
        many = [broker.connect(f"127.0.{i % 40 + 1}.{i % 25 + 1}") for i in range(n)]
        fine(broker)
        for s in many:
            s.sendall(b"#USER #opaque #END almond\n")
        whole, refused = 0, 0
        for s in many:
            got = rest_of(s)
            s.close()
            if got is None:
                refused += 1
                continue
            answer = Answer(got)
            whole += answer.home is not None and len(answer.objects) == 1
            refused += answer.end == 111 and not answer.objects
        assert whole + refused == n and whole > n // 20, (whole, refused)
        everyone_left(broker)
        fine(broker)
        settled(broker, before, 192 * MIB)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.limit(200)
def test_heavy_queries_hold_up_no_light_ones(garner, long_run):
    """More of them than there are threads, from many addresses and one: light ones are answered all the same,
    and the heavy ones too or are refused at once."""
    broker = with_large(garner)
    heavy = []
    for i in range(200 if long_run else 40):
        s = broker.connect(f"127.0.1.{i % 16 + 1}")
        s.sendall(HEAVY.encode() + b"\n")
        heavy.append(s)
        if i % 4 == 0:
            fine(broker, f"127.0.2.{i % 16 + 1}")
    for s in heavy:
        answer = Answer(rest_of(s))
        s.close()
        assert answer.home or (answer.end == 111 and not answer.objects), answer
    fine(broker)
    wait_for("the count of them", lambda: broker.counters()["queries_long"] > 0, every=0.1)


@pytest.mark.limit(240)
def test_after_a_kill_while_it_answers_the_next_client_is_served(garner, long_run, seed):
    """Below `garner up`: killed while it sends bulk transfers and runs queries, at any moment."""
    broker = with_large(garner, up=True)
    dice = random.Random(seed)
    for _ in range(20 if long_run else 3):
        kill_while_answering(broker, dice)
    assert broker.process.stop() == 0
    assert not left_running(broker.g.dir)


@pytest.mark.limit(240)
def test_a_lifetime_that_is_over_and_one_that_waits_for_its_turn(garner, long_run):
    """One query is stopped, with its process, until its time is over: it gets what was found, and a word about it.
    Many that have one thread between them are told every 3 s that they are not forgotten."""
    if not long_run:
        pytest.skip("takes half a minute: in make prove")
    broker = with_large(garner, 400, more="query_threads = 2\nquery_queue = 1000\n")
    with broker.connect() as s:
        s.sendall(HEAVY.replace("#END", "#lifetime 1 #END").encode() + b"\n")  # 10 are the least
        wait_for("it runs", lambda: broker.counters()["queries_long"] > 0)
        broker.process.send(signal.SIGSTOP)
        time.sleep(11)
        broker.process.send(signal.SIGCONT)
        answer = Answer(rest_of(s))
    assert answer.home and any("lifetime" in said for said in answer.said), answer
    assert broker.counters()["queries_cut"] == 1
    waiting = [broker.connect("127.0.0.7") for _ in range(75)]  # more than 6 s, on a quick machine too
    for s in waiting:
        s.sendall(HEAVY.encode() + b"\n")
    fine(broker)
    answers = [Answer(rest_of(s)) for s in waiting]
    assert all(a.home for a in answers), answers
    assert max(a.pings for a in answers) > 1
    assert broker.counters()["queries_cut"] == 1
    for s in waiting:
        s.close()
