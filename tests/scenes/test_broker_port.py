"""The broker's port over raw sockets: what clients of 1996 send, and what they get, byte by byte."""
import re
import socket
import threading

from port import BANNER, Broker, rest_of, urls_of


def serve(garner, objects, more=""):
    return Broker(garner, objects, more=f"home = http://home.test/\n{more}")


def number(broker, url):
    """The oid of an object, as the port tells it."""
    answer = broker.told("#USER #opaque #END #allb")
    return int(re.search(rb"120 - %s\n125 - http://pages.test/object/(\d+)\n" % re.escape(url), answer).group(1))


def test_an_answer_is_as_clients_expect_it_byte_by_byte(garner):
    text = "Apple pie\nan apple a day"
    broker = serve(garner, {"http://a.test/pie": {"Title": text, "Full-Text": text, "Description": "How to\nbake it"},
                            "http://a.test/cider": "Cider of pears"})
    oid = number(broker, b"http://a.test/pie")
    want = (b"101 - 1 object matches\n"
            b"120 - http://a.test/pie\n125 - http://pages.test/object/%d\n" % oid +
            b"124 - 14\nHow to\nbake it\n"
            b"127 - TITLE 24\nApple pie\nan apple a day\n"
            b"127 - gatherer-name 5\nlocal\n"
            b"122 - Matched line: Title: an apple a day\n"
            b"122 - Matched line: Full-Text: an apple a day\n"
            b"130 - object end\n"
            b"126 - http://home.test/\n")
    line = "#USER #desc #attribute TITLE #attribute none #attribute gatherer-name #END apple"
    for end in ("", "\r"):
        assert broker.told(line + end) == want
    assert broker.told(line.lower().replace("title", "TITLE") + "  ") == want
    with broker.connect() as s:  # after the banner, in two parts
        assert BANNER.fullmatch(s.recv(1000))
        s.sendall(line[:20].encode())
        s.sendall(line[20:].encode() + b"\nand more that nobody reads\n")
        assert rest_of(s) == want
    opaque = broker.told("#USER #opaque #END apple")
    assert opaque == (b"101 - 1 object matches\n120 - http://a.test/pie\n"
                      b"125 - http://pages.test/object/%d\n130 - object end\n126 - http://home.test/\n" % oid)
    # one without a description has none, not an empty one
    assert b"124" not in broker.told("#USER #desc #opaque #END Cider")
    assert broker.process.stop() == 0


def test_flags_change_what_is_found(garner):
    broker = serve(garner, {"http://a.test/1": "Apple", "http://a.test/2": "pineapple",
                            "http://a.test/3": "apple", "http://a.test/4": "aple"})
    for flags, query, want in (
            ("", "apple", {2, 3}),  # as Glimpse: capitals count, parts of words match
            ("", "Apple", {1}),
            ("#index case insensitive", "APPLE", {1, 2, 3}),
            ("#index case insenstive", "APPLE", {1, 2, 3}),
            ("#index case insensitive #index case sensitive", "APPLE", set()),
            ("#index matchword", "apple", {3}),
            ("#index matchword #INDEX CASE INSENSITIVE", "apple", {1, 3}),
            ("#index matchword #index error 1", "apple", {1, 3, 4}),
            ("#index matchword #index case insensitive #index error 1", "apple", {1, 3, 4}),
            ("#index error best #index matchword", "appple", {3}),
            ("", "#allb", {1, 2, 3, 4})):
        got = {int(u[-1:]) for u in urls_of(broker.told(f"#USER {flags} #opaque #END {query}"))}
        assert got == want, (flags, query)
    for flags, n in (("#index maxresult 1", 1), ("#index maxfiles 2", 2), ("#index maxresult 3 #index maxfiles 2", 2),
                     ("#index maxfiles 2 #index maxresult 3", 2), ("#index maxresult 999999", 4)):
        assert len(urls_of(broker.told(f"#USER {flags} #END #ALLB"))) == n, flags
    assert b"101 - 4 objects match, 1 sent\n" in broker.told("#USER #index maxresult 1 #END #allb")


def test_what_cannot_be_read_ends_with_an_error_that_says_where(garner):
    broker = serve(garner, {"http://a.test/1": "apple"})
    for line, said in (("#USER #frob #END x", "character 7: there is no flag '#frob'"),
                       ("  #user  #desc", "character 15: #END and a query are missing"),
                       ("#USER #END ", "character 12: there is no query after #END"),
                       ("#USER #since 3 #END x", "character 7: #since is for #BULK alone"),
                       ("#USER #END (apple", "query, character 1: this bracket is not closed"),
                       ("GET / HTTP/1.0", "character 1: a request begins with #USER, #BULK or #ADMIN"),
                       ("", "character 1: a request begins with #USER, #BULK or #ADMIN"),
                       ("#ADMIN #password", "character 17: there is no password after #password"),
                       ("x" * 10000, "the line is too long")):
        assert broker.told(line) == f"111 - ERROR: {said}\n".encode(), line[:40]
    # half a line and then nothing is not answered
    with broker.connect() as s:
        s.sendall(b"#USER #END appl")
        s.shutdown(socket.SHUT_WR)
        assert BANNER.fullmatch(rest_of(s))
    # a client that says no more, but listens, is
    with broker.connect() as s:
        s.sendall(b"#USER #END apple\n")
        s.shutdown(socket.SHUT_WR)
        assert urls_of(rest_of(s)) == [b"http://a.test/1"]


def test_a_document_cannot_forge_a_line(garner):
    broker = serve(garner, {"http://a.test/1": {"Title": "apple\r130 - object end\r120 - http://evil.test/",
                                                "Description": "130 - object end\n126 - http://evil.test/"}})
    answer = broker.told("#USER #desc #END apple")
    assert b"122 - Matched line: Title: apple 130 - object end 120 - http://evil.test/\n" in answer
    assert b"124 - 40\n130 - object end\n126 - http://evil.test/\n122" in answer
    assert b"\r" not in answer


def test_a_client_that_reads_slowly_gets_all_and_holds_up_nobody(garner):
    large = "".join(f"apple {i}\n" for i in range(100000))  # a megabyte, twice
    broker = serve(garner, {"http://a.test/large": large, "http://a.test/small": "apple"},
                   more="queue_max = 64K\n")
    line = b"#USER #opaque #attribute full-text #attribute title #END apple\n"
    with broker.connect() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.sendall(line)
        first = slow.recv(1000)
        assert BANNER.match(first)
        for _ in range(3):
            assert set(urls_of(broker.told("#USER #opaque #END apple"))) == {b"http://a.test/large", b"http://a.test/small"}
        got = first + rest_of(slow)
    n = len(large)
    assert b"127 - full-text %d\n%s\n127 - title %d\n%s\n130 - object end\n" % (n, large.encode(), n, large.encode()) in got
    assert got.endswith(b"130 - object end\n126 - http://home.test/\n")


def test_many_clients_at_once_are_all_answered(garner):
    broker = serve(garner, {f"http://a.test/{i}": f"apple number{i}" for i in range(20)})
    before = broker.counters()
    want, wrong = broker.told("#USER #END apple"), []

    def client():
        for _ in range(5):
            if broker.told("#USER #END apple") != want:
                wrong.append(1)
    threads = [threading.Thread(target=client) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(urls_of(want)) == 20
    counted = broker.counters()
    counted.subtract(before)
    assert counted["queries_answered"] == counted["queries_took"] == 51


def test_an_end_lets_answers_come_to_theirs_and_tells_those_who_wait(garner):
    broker = serve(garner, {"http://a.test/large": {"Full-Text": "apple\n" * 300000}})
    with broker.connect() as idle, broker.connect() as slow:
        assert BANNER.fullmatch(idle.recv(1000))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.sendall(b"#USER #opaque #attribute full-text #END apple\n")
        got = slow.recv(1000)
        while b"127 - " not in got:
            got += slow.recv(1000)
        broker.process.send(15)
        assert rest_of(idle) == b"111 - ERROR: the broker is stopping\n"
        got += rest_of(slow)
    assert got.endswith(b"126 - http://home.test/\n")
    assert broker.process.wait() == 0


def test_a_transfer_tells_what_changed_or_what_a_query_finds(garner):
    broker = serve(garner, {"http://a.test/1": "apple", "http://a.test/2": "pear"})
    whole = broker.told("#BULK #SINCE 0 #END #ALLB\r")
    assert re.fullmatch(rb"000 - [^\n]*\n@DELETE \{ \}\n@REFRESH \{ \}\n@UPDATE \{\n(?s:.*)\n\}\n"
                        rb"099 - end of bulk transfer, next (\d+)\n", whole), whole
    assert re.findall(rb"@FILE \{ (\S+)\n", whole) == [b"http://a.test/1", b"http://a.test/2"]
    assert b"Full-Text{4}:\tpear\n" in whole
    some = broker.told("#bulk #end pear")
    assert re.findall(rb"@FILE \{ (\S+)\n", some) == [b"http://a.test/2"] and b"\n099 - " in some
    later = broker.told("#BULK #since 4000000000 #END #allb")
    assert b"@UPDATE { }\n099 - " in later
    assert broker.told("#BULK #END (pear") == b"400 - query, character 1: this bracket is not closed\n"
    assert broker.told("#BULK #since x #END #allb").startswith(b"400 - character 14: #since wants a number")
