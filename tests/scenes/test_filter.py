"""Filters: the sample that is installed, what it decides, and how mistakes are told."""
import json
import pathlib

import pytest

SAMPLE = pathlib.Path(__file__).parents[2] / "etc" / "filter"


@pytest.fixture
def filtered(garner):
    g = garner(config="[shepherd]\nfollow = all\n")
    g.filter = g.data / "shepherd" / "cf" / "filter"
    g.filter.parent.mkdir(parents=True)
    g.filter.write_text(SAMPLE.read_text())
    return g


def decided(g, *args):
    """Of each URL: rejected, and the value and origin of each output."""
    done = g.run("shep", "filter", "--json", *args)
    rows = [json.loads(line) for line in done.out.splitlines()]
    return done.code, [(r["rejected"], {o["output"]: (o["value"], o["by"]) for o in r["outputs"]})
                       for r in rows]


def line_of(g, text):
    """FILE:LINE of the line of the filter that begins with the text."""
    lines = g.filter.read_text().splitlines()
    at = [n for n, line in enumerate(lines, 1) if line.startswith(text)]
    assert len(at) == 1, text
    return f"{g.filter}:{at[0]}"


@pytest.mark.parametrize("url, section, rule", [
    ("http://a.example/", "pages", "type text/*"),
    ("http://a.example/page.php?a=b", "pages", "type text/*"),
    ("http://a.example/sitemap.xml", "pages", "type application/*xml"),
    ("http://a.example/paper.PDF", "pdf", "type application/pdf"),
    ("http://a.example/style.css", "other", "type text/css"),
])
def test_the_sample_puts_urls_into_sections(filtered, url, section, rule):
    code, [(rejected, outputs)] = decided(filtered, url)
    assert (code, rejected) == (0, False)
    assert outputs == {"accept": (None, None), "section": (section, line_of(filtered, rule))}


def test_what_no_rule_of_the_sample_knows_is_in_the_last_section(filtered):
    _, [(rejected, outputs)] = decided(filtered, "http://a.example/a.zip")
    assert not rejected and outputs["section"] == ("other", None)


def test_the_sample_takes_no_images(filtered):
    code, rows = decided(filtered, "http://a.example/", "http://a.example/x.jpg")
    assert code == 1 and [r for r, _ in rows] == [False, True]
    assert rows[1][1] == {"reject": (None, line_of(filtered, "section images")),
                          "section": ("images", line_of(filtered, "type image/*"))}
    text = filtered.run("shep", "filter", "http://a.example/x.jpg").out.splitlines()
    assert text[0] == "http://a.example/x.jpg"
    assert text[1].split() == ["reject", line_of(filtered, "section images")]
    code, [(rejected, _)] = decided(filtered, "--type", "text/html", "http://a.example/x.jpg")
    assert (code, rejected) == (0, False)


def test_settings_are_named_as_what_decided(garner):
    g = garner(config="[shepherd]\nno_delay = mine.example\n")
    code, [(_, mine)] = decided(g, "http://mine.example/")
    assert code == 1 and mine["reject"] == (None, "shepherd.follow")
    assert mine["min_delay"] == ("0s", "shepherd.no_delay")
    assert g.run("shep", "filter", "mailto:a@b").code == 2


def test_a_mistake_is_named_wherever_the_file_is_read(filtered):
    assert f"{filtered.filter}: all good" in filtered.run("config", "check").out
    with filtered.filter.open("a") as f:
        f.write("hots example.org: reject\n")
    said = line_of(filtered, "hots") + ": unknown condition 'hots'; did you mean 'host'?"
    for args in (["config", "check"], ["shep", "filter", "http://a.example/"]):
        done = filtered.run(*args)
        assert done.code == 2 and said in done.err
    checks = {c["name"]: c for c in filtered.run("doctor", "--json").json()["checks"]}
    assert checks["filter"]["level"] == "fail" and said in checks["filter"]["reason"]
    # a configuration that is looked at alone is not that of this data directory
    assert filtered.run("config", "check", filtered.conf).code == 0


@pytest.mark.parametrize("setting, classes, said", [
    ("x", "", "shepherd.refresh_schema: expected FREQUENCY:SHARE"),
    ("4:0.3", "http://www.a.example/\n", "url-equiv:1: "),
])
def test_a_configuration_is_good_only_if_the_crawl_would_begin_with_it(garner, setting, classes, said):
    g = garner(config=f"[shepherd]\nrefresh_schema = {setting}\n")
    folder = g.data / "shepherd" / "cf"
    folder.mkdir(parents=True)
    (folder / "url-equiv").write_text(classes)
    for args in (["config", "check"], ["shep", "plan"]):
        done = g.run(*args)
        assert done.code == 2 and said in done.err
