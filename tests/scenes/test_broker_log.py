"""What the broker's sections of the log say, by number and level, as the old broker's -D had them."""
from garner import wait_for


def soif(url, text):
    attributes = {"Gatherer-Name": "lib", "Gatherer-Host": "gatherer.test", "Gatherer-Version": "1.0",
                  "Update-Time": "1000000000", "Time-to-Live": "3000000000", "Title": text}
    lines = "".join(f"{k}{{{len(v)}}}:\t{v}\n" for k, v in attributes.items())
    return f"@FILE {{ {url}\n{lines}}}\n"


def broker(garner, *objects):
    g = garner(config="[broker]\nsources = soif:in\nlisten = 127.0.0.1:0\n")
    (g.data / "in").mkdir(parents=True)
    for n, text in enumerate(objects, 1):
        (g.data / f"in/{n}.soif").write_text(text)
    return g


def found(g, words):
    done = g.run("search", "--strict", "--json", words)
    return sorted(row["url"] for row in done.json()["results"]) if done.code == 0 else []


def until(what, check):
    return wait_for(what, check, every=0.1)


def spoken(garner, *options):
    """A broker has an object, starts again and takes another: its lines of debugging."""
    g = broker(garner, soif("http://a.test/", "walnut tree"))
    role = g.start("broker").wait_ready()
    until("it is found", lambda: found(g, "tree") == ["http://a.test/"])
    assert role.stop() == 0 and not role.lines(r"\bdebug\b")
    (g.data / "in/2.soif").write_text(soif("http://b.test/", "oak tree"))
    role = g.start("broker", *options).wait_ready()
    until("both are found", lambda: len(found(g, "tree")) == 2)
    assert role.stop() == 0
    return role.lines(r"\bdebug\b")


def of(lines, section):
    return [line for line in lines if f" broker/{section}: " in line or f" {section}: " in line]


def test_a_section_without_a_level_says_all_and_with_a_level_only_that(garner):
    said = {option: of(spoken(garner, option), "registry") for option in ("-D70", "-D70,5", "-D70,1")}
    levels = {1: ["opened", "committed"], 5: ["put"], 9: ["record read"]}
    for option, most in (("-D70", 9), ("-D70,5", 5), ("-D70,1", 1)):
        for level, words in levels.items():
            for word in words:
                assert any(f": {word} " in line for line in said[option]) == (level <= most), (option, word)


def test_several_sections_speak_and_others_do_not(garner):
    lines = spoken(garner, "-D71", "-D73,9", "-D74", "-D77,1", "-D78")
    for section, words in (("collector", "a collection begins"), ("hash", "looked up"),
                           ("hash", "tables loaded"), ("hash", "the tables in memory grow"),
                           ("store", "text stored"), ("broker", "the broker starts"),
                           ("broker", "the broker ends"), ("select", "a turn of the collector")):
        assert any(words in line for line in of(lines, section)), (section, words)
    assert not of(lines, "registry") and not of(lines, "parser") and not of(lines, "query")


def test_queries_are_told_as_written_and_as_understood(garner):
    g = broker(garner, soif("http://a.test/", "walnut tree"))
    role = g.start("broker").wait_ready()
    until("it is found", lambda: found(g, "tree") == ["http://a.test/"])
    done = g.run("search", "-D72", "-D75,1", "walnut OR (oak AND tree)")
    assert 'parser: query parsed query="walnut OR (oak AND tree)"' in done.err
    assert "query: query answered" in done.err and "total=1" in done.err
    assert "debug" not in g.run("search", "walnut").err
    assert role.stop() == 0


def test_requests_are_told_and_passwords_never(garner):
    g = broker(garner, soif("http://a.test/", "walnut tree"))
    role = g.start("broker", "-D75", "-D72", "-D76", "-D78").wait_ready()
    port = role.wait_line("listening ").split("127.0.0.1:")[1].split()[0]
    until("it is found", lambda: "120 - http://a.test/" in g.run("brkclient", "127.0.0.1", port, "#USER #END walnut").out)
    for line in ("#ADMIN #password Secret1 #collection", "#ADMIN Secret1", "#ADMIN #passwd Secret1 #x",
                 "#ADMIN #password", "#admin #PASSWORD x Secret1"):
        g.run("brkclient", "127.0.0.1", port, line)
    assert role.stop() == 0
    lines = role.lines()
    assert any("query: request " in line and "kind=user" in line and "peer=127.0.0.1" in line for line in lines)
    assert any("query: request " in line and "kind=admin" in line for line in lines)
    assert any("request answered" in line for line in lines)
    assert any("parser: query parsed query=walnut" in line for line in lines)
    assert any("select: a turn of a loop" in line for line in lines)
    assert "Secret1" not in role.text
    assert not any(b"Secret1" in path.read_bytes() for path in g.data.rglob("*") if path.is_file())
