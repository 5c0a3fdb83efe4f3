"""Charsets against the Encoding Standard as two others have read it: the package @exodus/bytes, of whose
indexes ours are made, and Chromium, which has its own. Every sequence of bytes of every charset
(tests/support/charset_domain.h) is decoded, every character is sent in the query of a link, every label is
looked up; and pages say in all ways which charset they are in. Run as a program, it prints the digests
for tests/unit/extract/charset_digests.h."""
import base64
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

import browser  # noqa: E402
import garner  # noqa: E402
import peers  # noqa: E402

WHAT = "decoders and encoders of all charsets, whole, against Chromium and another implementation"
PROGRAM = garner.ROOT / "build" / "tests" / "charset-text"
# Chromium has no decoder of this name for scripts
HIDDEN = {"replacement"}
# Lines in which Chromium is not as the standard says: big5 has four pairs of bytes that are two characters each;
# euc-jp does not forget a third byte that was due and did not come; iso-2022-jp forgets a first byte that came
# out of an escape which is none
CHROMIUM_FAULTS = {"big5": 4, "euc-jp": 1, "iso-2022-jp": 2}
# The package, in the same folder
PACKAGE = """
import fs from "node:fs";
const folder = process.argv[2];
const { TextDecoder, labelToName } = await import(process.argv[3] + "/encoding.js");
for (const name of JSON.parse(fs.readFileSync(`${folder}/names.json`, "utf8")))
	for (const part of ["bytes", "random"])
		fs.writeFileSync(`${folder}/${name}.${part}.package`,
			new TextDecoder(name, { ignoreBOM: true }).decode(fs.readFileSync(`${folder}/${name}.${part}`)));
fs.writeFileSync(`${folder}/labels.package.json`,
	JSON.stringify(JSON.parse(fs.readFileSync(`${folder}/labels.json`, "utf8")).map((label) => labelToName(label))));
"""
HEAD = b"<!doctype html><html><head>"
RUSSIAN = "при".encode("windows-1251")
LINKS = b"<body><a href='/" + RUSSIAN + b"?q=" + RUSSIAN + b"&amp;e=&#8364;&#20013;#" + RUSSIAN + b"'>a</a>"
STYLE = b"<style>" + b"p{color:red}" * 200 + b"</style>"
# (Content-Type, page); each names a charset somewhere
PAGES = [("text/html", page) for page in (
    HEAD + b"<meta charset=windows-1251>" + LINKS,
    HEAD + b"<meta charset=koi8-r><meta charset=windows-1251>" + LINKS,
    HEAD + b"<meta http-equiv=content-type content='text/html; charset=windows-1251'>" + LINKS,
    HEAD + b"<meta content='text/html; charset=windows-1251' http-equiv=Content-Type>" + LINKS,
    HEAD + b"<meta charset=nonsense><meta charset=windows-1251>" + LINKS,
    HEAD + b"<meta charset=utf-16><p>" + LINKS,
    HEAD + b"<meta charset=x-user-defined>" + LINKS,
    HEAD + b"<meta charset=iso-2022-kr>" + LINKS,
    HEAD + b"<!-- <meta charset=koi8-r> --><meta charset=windows-1251>" + LINKS,
    HEAD + b"<title><meta charset=koi8-r></title><meta charset=windows-1251>" + LINKS,
    HEAD + b"<script>'<meta charset=koi8-r>'</script><meta charset=windows-1251>" + LINKS,
    HEAD + b"<noscript><meta charset=koi8-r></noscript><meta charset=windows-1251>" + LINKS,
    HEAD + STYLE + b"<meta charset=windows-1251>" + LINKS,
    HEAD + STYLE + b"<script>1</script><link rel=x><base href='/'><title>t</title><meta charset=windows-1251>" + LINKS,
    HEAD + STYLE * 20 + b"<meta http-equiv=content-type content='text/html; charset=windows-1251'>" + LINKS,
    HEAD + b"<body><p>" + b"<meta charset=windows-1251>" + LINKS,
    b"<meta charset=windows-1251>" + LINKS,
    b"<p title='<meta charset=koi8-r>'><meta charset=windows-1251>" + LINKS,
    b"\xef\xbb\xbf" + HEAD + b"<meta charset=koi8-r>" + LINKS,
    b"<?xml version='1.0' encoding='windows-1251'?>" + HEAD + LINKS,
)] + [
    ("text/html; charset=windows-1251", HEAD + b"<meta charset=koi8-r>" + LINKS),
    ("text/html; charset=\"windows-1251\"", HEAD + LINKS),
    ("text/html; charset=x-user-defined", HEAD + LINKS),
    ("text/html; charset=utf-16le", (HEAD + LINKS).decode("windows-1251").encode("utf-16le")),
    ("text/html; charset=utf-16", (HEAD + LINKS).decode("windows-1251").encode("utf-16le")),
    ("text/html; charset=utf-16be", (HEAD + LINKS).decode("windows-1251").encode("utf-16be")),
    ("text/html", b"\xff\xfe" + (HEAD + LINKS).decode("windows-1251").encode("utf-16le")),
    ("text/html", b"\xfe\xff" + (HEAD + LINKS).decode("windows-1251").encode("utf-16be")),
]


def ours(*args, stdin=b""):
    return subprocess.run([PROGRAM, *args], input=stdin, stdout=subprocess.PIPE, check=True, timeout=120).stdout


def write(folder):
    """All questions; returns [(name, labels)]."""
    charsets = [line.split() for line in ours("list").decode().splitlines()]
    for name, *_ in charsets:
        for part in ("bytes", "random", "links"):
            if name not in HIDDEN:
                (folder / f"{name}.{part}").write_bytes(ours(part, name))
    labels = [label for names in charsets for label in names]
    (folder / "names.json").write_text(json.dumps([c[0] for c in charsets if c[0] not in HIDDEN]))
    (folder / "labels.json").write_text(json.dumps(labels))
    (folder / "pages.json").write_text(json.dumps(
        [{"type": kind, "body": base64.b64encode(body).decode()} for kind, body in PAGES]))
    return charsets


def ask_package(folder):
    package = browser.NPM / "node_modules" / "@exodus" / "bytes"
    if not package.is_dir():
        raise peers.Absent("npm has not installed tests/npm: script/bootstrap test")
    (folder / "package.mjs").write_text(PACKAGE)
    subprocess.run(["node", folder / "package.mjs", folder, package], check=True, timeout=300)


def differ(a, b):
    """How many lines; all where their number is another one."""
    a, b = a.split(b"\n"), b.split(b"\n")
    return sum(x != y for x, y in zip(a, b)) if len(a) == len(b) else max(len(a), len(b))


def compare_charset(env, folder, name):
    """Returns (bytes decoded, characters sent)."""
    read = {part: (folder / f"{name}.{part}").read_bytes() for part in ("bytes", "random", "links")}
    for part in ("bytes", "random"):
        text = ours("text", name, stdin=read[part])
        wrong = differ(text, (folder / f"{name}.{part}.package").read_bytes())
        if wrong:
            raise env.Broken(f"{name}: {wrong} lines of {part} are decoded as the package does not")
        if part == "bytes":
            wrong = differ(text, (folder / f"{name}.text").read_bytes())
            if wrong > CHROMIUM_FAULTS.get(name, 0):
                raise env.Broken(f"{name}: {wrong} lines are decoded as Chromium does not")
    sent = ours("queries", name, stdin=read["links"])
    wrong = differ(sent, (folder / f"{name}.queries").read_bytes())
    if wrong:
        raise env.Broken(f"{name}: {wrong} links are sent as Chromium does not")
    return len(read["bytes"]) + len(read["random"]), len(read["links"].decode()) - 2 * read["links"].count(b"\n")


def compare_labels(env, folder, charsets):
    labels = json.loads((folder / "labels.json").read_text())
    want = [names[0] for names in charsets for _ in names]
    package = json.loads((folder / "labels.package.json").read_text())
    chromium = json.loads((folder / "labels.out.json").read_text())
    for label, name, p, c in zip(labels, want, package, chromium):
        if name != (p or "").lower() or (name not in HIDDEN and name != c):
            raise env.Broken(f"label {label}: {name} here, {p} in the package, {c} in Chromium")
    return len(labels)


def compare_pages(env, folder):
    answers = json.loads((folder / "pages.out.json").read_text())
    for i, ((kind, body), chromium) in enumerate(zip(PAGES, answers)):
        done = subprocess.run([garner.BUILD / "garner", "extract", "--json", "--in-process", "--type", kind,
                               "--url", f"http://h.example/page{i}"],
                              input=body, stdout=subprocess.PIPE, check=True, timeout=60)
        got = json.loads(done.stdout)
        links = [link["url"] for link in got["links"] if link["kind"] == "anchor"]
        if (got["charset"], links) != (chromium["charset"], chromium["links"]):
            raise env.Broken(f"page {i} ({kind}): {got['charset']} {links} here, {chromium} in Chromium")
    return len(PAGES)


def run(env):
    env.run(["ninja", "-C", "build", "garner", "tests/charset-text"], "build")
    with tempfile.TemporaryDirectory(prefix="charset-") as name:
        folder = Path(name)
        charsets = write(folder)
        try:
            ask_package(folder)
            said = env.run(["node", browser.NPM / "charsets.js", folder], "Chromium",
                           env=browser.environment(folder))
        except peers.Absent as e:
            raise env.Broken(f"nothing to compare with: {e}") from None
        decoded = sent = 0
        for names in charsets:
            if names[0] not in HIDDEN:
                a, b = compare_charset(env, folder, names[0])
                decoded, sent = decoded + a, sent + b
        labels = compare_labels(env, folder, charsets)
        pages = compare_pages(env, folder)
    faults = sum(CHROMIUM_FAULTS.values())
    return len(charsets), (f"{len(charsets)} charsets, {decoded} bytes, {sent} characters in links, {labels} labels, "
                           f"{pages} pages: as @exodus/bytes and {said.split(chr(10))[0].strip()}, "
                           f"but for {faults} known faults of the latter")


def digests():
    """What others say of the questions, as the unit program has it."""
    with tempfile.TemporaryDirectory(prefix="charset-") as name:
        folder = Path(name)
        charsets = write(folder)
        ask_package(folder)
        subprocess.run(["node", browser.NPM / "charsets.js", folder], check=True, stdout=subprocess.DEVNULL,
                       env=browser.environment(folder), timeout=300)
        for names in charsets:
            if names[0] in HIDDEN:
                continue
            crc = [zlib.crc32((folder / f"{names[0]}.{end}").read_bytes())
                   for end in ("bytes.package", "random.package", "queries")]
            print("\t{\"%s\", 0x%08x, 0x%08x, 0x%08x}," % (names[0], *crc))


if __name__ == "__main__":
    digests()
