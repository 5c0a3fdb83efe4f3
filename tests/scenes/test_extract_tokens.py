"""The tokens of HTML, compared with those of html5lib."""
import html.entities
import json
import random
import re
import subprocess
import sys

import pytest

import peers
from garner import ROOT

STATES = {"Data state": "dataState", "RCDATA state": "rcdataState", "RAWTEXT state": "rawtextState",
          "Script data state": "scriptDataState", "PLAINTEXT state": "plaintextState"}


def tokens_of(questions):
    text = "".join((q if isinstance(q, str) else json.dumps(q)) + "\n" for q in questions)
    done = subprocess.run([ROOT / "build/tests/html-tokens"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tokens_have_the_form_of_the_html5lib_tests():
    answers = tokens_of([
        {"input": "<!DOCTYPE html><p a=1 B>x&amp;y<br/></P><!--c-->"},
        {"input": ""},
        {"input": "\0\r\n\"\u2028<a \u00e9='\"'>"},
    ])
    assert answers == [
        [["DOCTYPE", "html", None, None, True], ["StartTag", "p", {"a": "1", "b": ""}],
         ["Character", "x&y"], ["StartTag", "br", {}, True], ["EndTag", "p"], ["Comment", "c"]],
        [],
        [["Character", "\0\n\"\u2028"], ["StartTag", "a", {"\u00e9": "\""}]],
    ]


def test_a_document_may_begin_in_any_state():
    title = "&lt;b></TITLE><b>"
    rcdata = {"state": "RCDATA state", "lastStartTag": "title"}
    assert tokens_of([{"input": title, **rcdata}, {"input": title, **rcdata, "state": "PLAINTEXT state"},
                      {"input": title, **rcdata, "lastStartTag": "other"}]) == [
        [["Character", "<b>"], ["EndTag", "title"], ["StartTag", "b", {}]],
        [["Character", title]],
        [["Character", "<b></TITLE><b>"]],
    ]


def test_a_document_may_come_in_pieces():
    page = "<p title='t&eacute;xt'>\u00e9\r\n" * 50000
    for piece in (1, 7, 65536):
        [tokens] = tokens_of([{"input": page, "piece": piece}])
        assert tokens == [["StartTag", "p", {"title": "t\u00e9xt"}], ["Character", "\u00e9\n"]] * 50000


def test_all_named_references_are_known():
    known = html.entities.html5
    answers = tokens_of([{"input": f"&{name}!"} for name in known])
    assert len(answers) == 2231
    assert answers == [[["Character", text + "!"]] for text in known.values()]


def html5lib_tokens(tokenizer, token_types, case):
    """The tokens of html5lib in the form of its tests."""
    source = tokenizer.HTMLTokenizer(case["input"])
    source.state = getattr(source, STATES[case["state"]])
    source.currentToken = {"type": "startTag", "name": case["lastStartTag"]}
    names = {number: name for name, number in token_types.items()}
    tokens = []
    for token in source:
        kind = names[token["type"]]
        if kind in ("Characters", "SpaceCharacters"):
            if tokens and tokens[-1][0] == "Character":
                tokens[-1][1] += token["data"]
            else:
                tokens.append(["Character", token["data"]])
        elif kind in ("StartTag", "EmptyTag"):
            closed = [True] if token["selfClosing"] else []
            tokens.append(["StartTag", token["name"], dict(token["data"]), *closed])
        elif kind == "EndTag":
            tokens.append(["EndTag", token["name"]])
        elif kind == "Comment":
            tokens.append(["Comment", token["data"]])
        elif kind == "Doctype":
            tokens.append(["DOCTYPE", token["name"] or None, token["publicId"], token["systemId"],
                           token["correct"]])
    return tokens


PARTS = """< </ <! <!-- --> --!> -- - ! > /> / = " ' a A b x script SCRIPT title </script> </title </title>
    <script <b> <p/> & &amp &amp; &lt &not &notit; &notin; &# &#x &#X41; &#65 &#0; &#128; &#xD800;
    &#x110000; &#xFFFE; &#13; &ampx &amp= &NotEqualTilde; &acE; &acE &zzz; \u00e9 \U0001f600 <? <?xml <!DOCTYPE
    PUBLIC public SYSTEM "x" 'y' [CDATA[ ]]> ] 1 href= h="v&amp;" q='&lt' r=&copy r=&copyx r=&copy= ; # <!-
    <!--- <!> </> <> ` &CounterClockwiseContourIntegral; </script <!--<script>""".split() + [
    " ", "\n", "\t", "\f", "\r", "\r\n", "<a ", "<!doctype html", "\0", "A" * 32]


def document(dice):
    text = "".join(dice.choice(PARTS) for _ in range(dice.randint(1, 14)))
    text = dice.choice(["", "", "", "<!DOCTYPE ", "<a ", "<!--"]) + text
    # html5lib reads this one otherwise than the standard has it
    return re.sub("<!---\0", "<!---", text)


def test_html5lib_and_garner_agree():
    peer = peers.need("python3-html5lib")
    folder = peer.root / "usr/lib/python3/dist-packages"
    program = f"import sys; sys.path[:0] = [{str(folder)!r}]; import html5lib"
    if subprocess.run([sys.executable, "-c", program], capture_output=True).returncode != 0:
        pytest.skip("html5lib cannot be loaded out of its package")
    sys.path.insert(0, str(folder))
    try:
        from html5lib import _tokenizer, constants
    finally:
        sys.path.remove(str(folder))
    dice = random.Random(9)
    cases = [{"input": document(dice), "state": dice.choice(["Data state"] * 4 + list(STATES)),
              "lastStartTag": dice.choice(["script", "title", "a"])} for _ in range(4000)]
    answers = tokens_of(cases)
    assert len(answers) == len(cases)
    for case, tokens in zip(cases, answers):
        assert tokens == html5lib_tokens(_tokenizer, constants.tokenTypes, case), case


def unescaped(value):
    """What a doubly escaped test means: strings, also those inside of lists and objects."""
    if isinstance(value, str):
        return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), value)
    if isinstance(value, list):
        return [unescaped(v) for v in value]
    if isinstance(value, dict):
        return {unescaped(k): unescaped(v) for k, v in value.items()}
    return value


def is_text(value):
    """False: it holds half of a pair, which no UTF-8 can say."""
    return not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))


def joined(tokens):
    """Text between two other tokens as one token, and without the marks of errors in it."""
    out = []
    for token in tokens:
        if token[0] == "Character" and out and out[-1][0] == "Character":
            out[-1] = ["Character", out[-1][1] + token[1]]
        elif token != "ParseError":
            out.append(token)
    return out


def public_tests(folder):
    """(question, answer) of each test and state. Files of XML coercion have another key, and
    coerce tokens instead of making them."""
    for path in sorted(folder.glob("*.test")):
        for test in json.loads(path.read_text(encoding="utf-8")).get("tests", []):
            if test.get("doubleEscaped"):
                test = {**test, "input": unescaped(test["input"]), "output": unescaped(test["output"])}
            if not is_text([test["input"], test["output"]]):
                continue
            for state in test.get("initialStates", ["Data state"]):
                yield ({"input": test["input"], "state": state,
                        "lastStartTag": test.get("lastStartTag", "")}, joined(test["output"]))


def test_the_public_html5lib_tests_pass():
    peer = peers.need("librust-markup5ever-rcdom-dev", alone=True)  # it carries them
    [folder] = peer.root.glob("usr/share/cargo/registry/*/html5lib-tests/tokenizer")
    tests = list(public_tests(folder))
    assert len(tests) > 6000
    answers = tokens_of([question for question, _ in tests])
    assert len(answers) == len(tests)
    for (question, expected), tokens in zip(tests, answers):
        assert tokens == expected, question
