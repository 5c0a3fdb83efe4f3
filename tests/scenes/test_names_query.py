"""Files by their names, as somebody asks at the command line."""
import json

import pytest

PATHS = b"""pub/gnu/emacs/emacs-19.28.tar.gz
pub/gnu/emacs/README
pub/X11/contrib/xemacs.tar.Z
pub/docs/r\xe9sum\xe9.txt
mirror/gnu/emacs-19.28.tar.gz
README
"""


@pytest.fixture
def names(garner):
    g = garner()
    done = g.run("index", "names", "build", "db", input=PATHS, text=False)
    assert done.code == 0, done
    return g


def paths(answer):
    return [hit["path"] for hit in answer["hits"]]


def test_a_part_of_a_name_finds_its_files(names):
    got = names.run("index", "names", "query", "db", "--json", "EMACS").json()
    assert paths(got) == ["pub/gnu/emacs/emacs-19.28.tar.gz", "mirror/gnu/emacs-19.28.tar.gz",
                          "pub/X11/contrib/xemacs.tar.Z"]
    assert got["total"] == 3 and got["exact"] is True
    text = names.run("index", "names", "query", "db", "xemacs").out
    assert "pub/X11/contrib/xemacs.tar.Z" in text and text.endswith("1 file\n")


def test_limits_and_types_are_options(names):
    def ask(*args):
        return paths(names.run("index", "names", "query", "db", "--json", *args).json())
    assert ask("--in", "GNU", "-t", "exact", "README") == ["pub/gnu/emacs/README"]
    assert ask("-t", "regex", r"^r.sum.\.txt$") != []
    assert ask("-t", "regex", "--syntax", "ed", r".*[0-9]\{2\}\.tar.*", "-k", "1") \
        == ["pub/gnu/emacs/emacs-19.28.tar.gz"]
    assert ask("--path", "contrib/x") == ["pub/X11/contrib/xemacs.tar.Z"]
    assert ask("--sort", "host", "emacs-19")[0].startswith("mirror/")
    assert names.run("index", "names", "query", "db", "-c", "README").out == "2\n"
    assert names.run("index", "names", "query", "db", "--names", "-k", "1", "README").out \
        .split()[1] == "README"


@pytest.mark.parametrize("syntax, pattern, says", [
    ("extended", "[a", "expression, character 1: the class that begins here has no"),
    ("extended", "é(x", "expression, character 2: the bracket"),
    ("ed", ".*ab[c", "expression, character 5: the [ here has no ]"),
])
def test_what_is_wrong_with_an_expression_is_told_by_its_place(names, syntax, pattern, says):
    run = names.run("index", "names", "query", "db", "-t", "regex", "--syntax", syntax, pattern)
    assert run.code == 2 and says in run.err, run.err
    assert ", character" not in names.run("index", "names", "query", "db", "x" * 5000).err


@pytest.mark.parametrize("args, says", [
    (("gnu/emacs/READ",), "--path"),
    (("*.tar.gz",), "-t regex"),
    (("-t", "exact", "Readme"), "-t sub"),
    (("-t", "subcase", "Readme"), "-t sub"),
])
def test_where_nothing_is_found_another_way_is_named(names, args, says):
    run = names.run("index", "names", "query", "db", *args)
    assert run.code == 1 and run.out.startswith("0 files\n") and says in run.out
    assert names.run("index", "names", "query", "db", "--count", *args).out == "0\n"
    assert names.run("index", "names", "query", "db", "nosuch").out == "0 files\n"


def test_a_batch_answers_every_line(names):
    run = names.run("index", "names", "query", "db", "--batch", "-t", "regex", input="xem\n[a\n^R\n")
    answers = [json.loads(line) for line in run.out.splitlines()]
    assert run.code == 3
    assert paths(answers[0]) == ["pub/X11/contrib/xemacs.tar.Z"]
    assert "error" in answers[1]
    assert answers[2]["total"] == 2 and answers[2]["us"] > 0


def test_a_pattern_that_is_too_long_does_not_end_a_batch(names):
    run = names.run("index", "names", "query", "db", "--batch", input="xem\n" + "x" * 100000 + "\nxem\n")
    answers = [json.loads(line) for line in run.out.splitlines()]
    assert run.code == 3 and "at most 4096 bytes" in answers[1]["error"]
    assert [a.get("total") for a in answers] == [1, None, 1]


def test_a_hit_has_the_url_of_its_file_where_the_site_has_one(names):
    names.run("index", "names", "build", "db", "--site", "a-1", "--url", "ftp://a.test/top/", input="x y/xemacs/\n")
    want = ["ftp://a.test/top/x%20y/xemacs/", None]
    got = names.run("index", "names", "query", "db", "--json", "xemacs").json()
    assert [hit.get("url") for hit in got["hits"]] == want
    batch = json.loads(names.run("index", "names", "query", "db", "--batch", input="xemacs\n").out)
    assert batch["hits"] == [{"site": "a-1", "path": "x y/xemacs", "url": want[0]},
                             {"site": "paths-0.0.0.0", "path": "pub/X11/contrib/xemacs.tar.Z"}]
    lines = names.run("index", "names", "query", "db", "--urls", "xemacs").out.splitlines()
    assert lines[0].endswith("  " + want[0]) and lines[1].endswith("paths-0.0.0.0  pub/X11/contrib/xemacs.tar.Z")


def test_what_is_not_there_is_told(names):
    assert names.run("index", "names", "query", "db", "nothing").code == 1
    assert names.run("index", "names", "query", "empty", "x").code == 2
    assert "whatis import" in names.run("index", "names", "query", "db", "-t", "whatis", "x").err
    (names.dir / "db" / "whatis").write_text("emacs\tAn editor\nvi\tAnother\n")
    out = names.run("index", "names", "query", "db", "-t", "whatis", "EDITOR").out
    assert out == "emacs" + " " * 21 + "An editor\n"
    nothing = names.run("index", "names", "query", "db", "-t", "whatis", "nosuch")
    assert nothing.code == 1 and nothing.out == "0 descriptions\n"
