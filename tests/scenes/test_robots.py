"""garner robots: what a robots.txt allows, asked as a user does."""
import json
import subprocess

FILE = """\
# For all
User-agent: *
Disallow: /private/
Allow: /private/open$   # but this
Disallow: /*.pdf$

User-agent: examplebot
Disallow: /
Sitemap: https://example.org/sitemap.xml
"""


def make(garner, text=FILE):
    g = garner()
    (g.dir / "robots.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return g


def batch(g, lines, *args):
    """Exit code and answers of a batch."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = subprocess.run([g.program, "robots", "test", "--batch", *args], input=text,
                          capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_allowed_urls_end_in_0_and_name_the_line(garner):
    g = make(garner)
    done = g.run("robots", "test", "robots.txt", "https://example.org/", "http://e.org:81/private/open",
                 "/a.pdf?download")
    assert done.code == 0 and done.err == ""
    assert done.out.splitlines() == [
        "allowed    https://example.org/  no rule",
        "allowed    http://e.org:81/private/open  line 4: Allow: /private/open$   # but this",
        "allowed    /a.pdf?download  no rule",
    ]


def test_one_url_that_is_not_allowed_ends_in_1(garner):
    g = make(garner)
    done = g.run("robots", "test", "robots.txt", "https://example.org/a", "https://example.org/a.pdf",
                 "https://example.org/private/open/x", "https://example.org/robots.txt")
    assert done.code == 1 and done.err == ""
    assert done.out.splitlines() == [
        "allowed    https://example.org/a  no rule",
        "disallowed https://example.org/a.pdf  line 5: Disallow: /*.pdf$",
        "disallowed https://example.org/private/open/x  line 3: Disallow: /private/",
        "allowed    https://example.org/robots.txt  no rule",
    ]


def test_another_agent_has_other_rules(garner):
    g = make(garner)
    for name in ("examplebot", "ExampleBot/2.1"):
        done = g.run("robots", "test", "--agent", name, "robots.txt", "https://example.org")
        assert done.code == 1
        assert done.out == "disallowed https://example.org  line 8: Disallow: /\n"


def test_the_answer_comes_as_json_too(garner):
    g = make(garner)
    done = g.run("robots", "test", "--json", "robots.txt", "https://example.org/a.pdf", "/")
    assert done.code == 1
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"url": "https://example.org/a.pdf", "allowed": False, "line": 5, "rule": "Disallow: /*.pdf$"},
        {"url": "/", "allowed": True, "line": 0, "rule": ""},
    ]


def test_the_file_may_come_from_standard_input(garner):
    g = make(garner)
    done = subprocess.run([g.program, "robots", "test", "-", "/private/"], input=FILE, text=True,
                          capture_output=True)
    assert done.returncode == 1 and "line 3: " in done.stdout


def test_a_file_of_any_size_and_bytes_is_taken(garner):
    noise = b"\0\xff\x1b[31m\n" * 200000
    g = make(garner, b"user-agent: *\ndisallow: /a\x1b[31m\n" + noise + b"disallow: /b\n")
    done = g.run("robots", "test", "robots.txt", "/a%1B%5B31m", "/b")
    assert done.code == 0, done.out  # %5B is not [
    done = g.run("robots", "test", "robots.txt", "/a%1B[31m", "/b")
    assert done.code == 1
    assert done.out.splitlines()[0] == "disallowed /a%1B[31m  line 2: disallow: /a?[31m"
    assert done.out.splitlines()[1] == "allowed    /b  no rule"  # past what is read


def test_mistakes_are_named(garner):
    g = make(garner)
    for args, code, words in [
        (["robots.txt"], 2, "no URL"),
        ([], 2, "no URL"),
        (["absent", "/"], 2, "absent: no such file"),
        (["robots.txt", "example.org/a"], 2, "example.org/a"),
        (["robots.txt", "mailto:a@example.org"], 2, "mailto"),
    ]:
        done = g.run("robots", "test", *args)
        assert done.code == code and words in done.err, args
        assert done.out == ""


def test_a_batch_answers_every_line(garner):
    g = make(garner)
    ask = lambda url, robots=FILE, **more: {"robots": robots, "agent": "garner", "url": url, **more}
    code, answers = batch(g, [
        ask("https://example.org/a.pdf"),
        ask("https://example.org/private/open"),
        ask("https://example.org/"),
        ask("https://example.org/", agent="examplebot"),
        ask("https://example.org/\u30c4", "user-agent: *\ndisallow: /%e3%83%84"),
        ask("https://example.org/", ""),
        ask(" HTTP:\\\\example.org\\x\\..\\priv\tate/a#b"),
        ask("https://example.org/" + 20000 * "a" + "/b.pdf"),
        ask("https://example.org/a", "\ufeffuser-agent: *\r\ndisallow: /\u0000\ndisallow: /a"),
        {"robots": "user-agent: *\ndisallow: /", "url": "/"},
    ])
    assert code == 0
    assert answers == [
        {"allowed": False, "line": 5}, {"allowed": True, "line": 4}, {"allowed": True, "line": 0},
        {"allowed": False, "line": 8}, {"allowed": False, "line": 2}, {"allowed": True, "line": 0},
        {"allowed": False, "line": 3}, {"allowed": False, "line": 5}, {"allowed": False, "line": 3},
        {"allowed": False, "line": 2},
    ]


def test_a_batch_goes_on_after_a_question_that_is_none(garner):
    g = make(garner)
    code, answers = batch(g, [
        {"robots": FILE, "agent": "x", "url": "https://example.org/a.pdf"},
        "nonsense", "", "[]", {"robots": FILE}, {"robots": 1, "url": "/"},
        {"robots": FILE, "url": "nowhere"}, {"robots": FILE, "agent": None, "url": "/"},
        {"robots": FILE, "agent": "x", "url": "/"},
    ])
    assert code == 3
    assert answers[0] == {"allowed": False, "line": 5} and answers[-1] == {"allowed": True, "line": 0}
    assert len(answers) == 9 and all(list(a) == ["error"] and a["error"] for a in answers[1:-1])


def test_an_agent_of_any_length_is_not_taken_for_another(garner):
    long = 5000 * "a"
    text = f"user-agent: {long}\ndisallow: /\n"
    code, answers = batch(garner(), [{"robots": text, "agent": agent, "url": "/"} for agent in (long, "")])
    assert code == 0 and [a["allowed"] for a in answers] == [False, True]


def test_a_batch_reads_files_and_the_agent_of_the_option(garner):
    g = make(garner)
    question = json.dumps({"robots": FILE, "url": "/"}) + "\n"
    for name in ("one", "two"):
        (g.dir / name).write_text(question)
    done = g.run("robots", "test", "--batch", "--agent", "examplebot", "one", "two")
    assert done.code == 0
    assert done.out == '{"allowed":false,"line":8}\n' * 2
