"""SOIF at the command line: cat, check, grep, to-json, from-json."""
import base64
import json
import subprocess

import pytest

STREAM = (b"@DELETE { @FILE { http://d/\n}\n}\n"
          b"@REFRESH { }\n"
          b"@UPDATE {\n@FILE { http://u/\nTitle{5}:\tHello\nData{3}:\ta\xff\x00\nTitle{2}:\t\n}\n}\n}\n"
          b"@FILE { http://plain/\nNote{4}:\tx\n}\n\n}\n")
CANONICAL = (b"@DELETE {\n@FILE { http://d/\n}\n}\n"
             b"@UPDATE {\n@FILE { http://u/\nTitle{5}:\tHello\nData{3}:\ta\xff\x00\nTitle{2}:\t\n}\n}\n}\n"
             b"@FILE { http://plain/\nNote{4}:\tx\n}\n\n}\n")


def soif(garner, name, data):
    g = garner()
    (g.dir / name).write_bytes(data)
    return g


def test_cat_prints_the_canonical_form(garner):
    g = soif(garner, "a.soif", STREAM)
    done = g.run("soif", "cat", "a.soif", text=False)
    assert (done.code, done.out) == (0, CANONICAL)
    again = g.run("soif", "cat", "-", input=done.out, text=False)
    assert again.out == CANONICAL


def test_json_there_and_back_keeps_every_byte(garner):
    g = soif(garner, "a.soif", STREAM)
    lines = g.run("soif", "to-json", "a.soif").out
    objects = [json.loads(line) for line in lines.splitlines()]
    assert [o.get("section") for o in objects] == ["delete", "update", None]
    title, data, second = objects[1]["attributes"]
    assert title == ["Title", "Hello"] and second == ["Title", "\n}"]
    assert base64.b64decode(data[1]["base64"]) == b"a\xff\x00"
    back = g.run("soif", "from-json", input=lines.encode(), text=False)
    assert (back.code, back.out) == (0, CANONICAL)


def test_json_keeps_types_urls_and_names_that_are_no_utf_8(garner):
    odd = b"@F\xff { http://\xfe/\nN\xfd{2}:\tok\n}\n"
    g = soif(garner, "a.soif", odd)
    line = g.run("soif", "to-json", "a.soif").out
    assert json.loads(line)["url"] == {"base64": base64.b64encode(b"http://\xfe/").decode()}
    assert g.run("soif", "from-json", input=line.encode(), text=False).out == odd
    done = g.run("soif", "from-json", input='{"type":"F","url":{"base64":"x"},"attributes":[]}\n')
    assert done.code == 3 and '"url"' in done.err


def test_what_is_wrong_is_named_with_its_place_and_the_rest_is_taken(garner):
    g = soif(garner, "a.soif", b"@FILE { http://a/\nT{x}:\ty\n}\n@FILE { http://b/\n}\nrest\n"
             b"@FILE { http://c/\nT{9}:\tabc")
    done = g.run("soif", "check", "a.soif")
    assert done.code == 4
    assert "a.soif: byte 18: no size in braces" in done.err
    assert "a.soif: http://c/ is cut off at the end" in done.err
    assert done.out == "2 objects, 1 rejected, 1 cut off, 4 stray bytes\n"
    done = g.run("soif", "from-json", input='{"type":"FILE","url":"x","attributes":[]}\n{"a"\n')
    assert (done.code, done.out) == (3, "@FILE { x\n}\n")
    assert "standard input:2: column" in done.err
    done = g.run("soif", "cat", input="@FILE { http://\033[2J/\nT{9}:\tx")
    assert "http://?[2J/ is cut off" in done.err
    done = g.run("soif", "from-json", input='{"type":"F","url":"\\u001b \\u0007","attributes":[]}\n')
    assert "standard input:1: the URL '? ?' cannot stand" in done.err
    (g.dir / "two.json").write_text('{"type":"FILE","url":"x","attributes":[]}\n\n'
                                    '{"type":"FI LE","url":"x","attributes":[]}\n')
    done = g.run("soif", "from-json", "two.json")
    assert done.code == 3
    assert done.err == "garner: two.json:3: the type 'FI LE' cannot stand in an object\n"


def test_grep_finds_objects(garner):
    g = soif(garner, "a.soif", STREAM)
    assert g.run("soif", "grep", "-l", "Hello", "a.soif").out == "http://u/\n"
    assert g.run("soif", "grep", "-li", "HELLO", "a.soif").out == "http://u/\n"
    assert g.run("soif", "grep", "-l", "-a", "note", "x", "a.soif").out == "http://plain/\n"
    assert g.run("soif", "grep", "-lv", "http", "a.soif").code == 1
    assert g.run("soif", "grep", "HELLO", "a.soif").code == 1


@pytest.mark.parametrize("args, text", [
    (["cat"], b"@FILE { http://a/\n}\n"),
    (["grep", "a"], b"@FILE { http://a/\n}\n"),
    (["to-json"], b"@FILE { http://a/\n}\n"),
    (["from-json"], b'{"type":"FILE","url":"http://a/","attributes":[]}\n'),
])
def test_reading_ends_when_nobody_takes_what_is_printed(garner, args, text):
    with subprocess.Popen([garner().program, "soif", *args], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as p:
        p.stdout.close()
        with pytest.raises(BrokenPipeError):
            for _ in range(1000):
                p.stdin.write(text * 1000)
        assert p.stderr.read() == b""


def test_a_file_that_is_not_there_is_said(garner):
    done = garner().run("soif", "cat", "nowhere.soif")
    assert done.code == 2 and "nowhere.soif: no such file" in done.err
