"""garner shep init, states, params, dump and recover, as who looks after a crawl uses them."""
import os

import pytest


@pytest.fixture
def crawl(garner):
    """A data directory with an empty crawl."""
    g = garner()
    assert g.run("shep", "init").code == 0
    g.state = g.data / "shepherd" / "state" / "current"
    return g


def test_a_crawl_is_made_once(crawl, garner):
    again = crawl.run("shep", "init")
    assert again.code == 2 and "there is a crawl already" in again.err
    rows = crawl.run("shep", "states", "--json").json()
    assert [(r["phase"], r["urls"], r["locked"]) for r in rows] == [("closed", 0, False)]
    assert rows[0]["name"] in crawl.run("shep", "states").out


def test_a_crawl_that_cannot_be_made_leaves_nothing(garner):
    g = garner()
    refused = g.run("shep", "init", "--shift", "3")
    assert refused.code == 2 and "expected 5 to 16" in refused.err
    assert not (g.data / "shepherd").exists()


def test_without_a_crawl_it_is_said_how_to_make_one(garner):
    none = garner().run("shep", "states")
    assert none.code == 1 and "garner shep init" in none.err


def test_params_tell_what_was_measured_and_what_is_set(crawl, garner):
    text = crawl.run("shep", "params").out
    assert "bucket_bytes:  not measured yet (avg_bucket_size = 4096)" in text
    told = crawl.run("-s", "shepherd.avg_url_size=200", "shep", "params", "--json").json()
    assert (told["phase"], told["gathered"], told["rounds"], told["due"]) == ("closed", 0, 0, None)
    assert (told["url_bytes"], told["avg_url_size"]) == (0, 200)
    assert told["state"] in text and told["sections"] == []
    assert garner().run("shep", "params").code == 1


def test_a_plan_is_explained_for_a_state_that_is_there(crawl, garner):
    told = crawl.run("shep", "plan", "--explain", "--json").json()
    assert (told["urls"], told["bytes"], told["servers"], told["next"]) == (0, 0, [], None)
    assert set(told["left_out"].values()) == {0} and len(told["bands"]) == 8
    assert told["state"] == crawl.run("shep", "states", "--json").json()[0]["name"]
    assert "over-aged" in crawl.run("shep", "plan", "--explain", "closed").out
    assert crawl.run("shep", "plan", "--explain", "19990101-000000").code == 1
    assert garner().run("shep", "plan", "--explain").code == 1


def test_all_files_can_be_checked_and_dumped(crawl):
    assert crawl.run("check").code == 0
    for name in os.listdir(crawl.state):
        assert crawl.run("dump", crawl.state / name).out
    assert "0 URLs" in crawl.run("shep", "dump", "-i").out
    assert crawl.run("shep", "dump", "19990101-000000").code == 1


def test_damage_to_the_first_bytes_of_a_file_is_named_too(crawl):
    for path in [*crawl.state.iterdir(), crawl.data / "shepherd" / "gone"]:
        whole = path.read_bytes()
        path.write_bytes(b"\0" + whole[1:])
        check = crawl.run("check")
        assert check.code == 4 and str(path.resolve()) in check.out, path.name
        assert crawl.run("dump", path).code == 4
        path.write_bytes(whole)
        if path.name != "gone":  # nothing was written to that yet
            path.write_bytes(b"")
            assert crawl.run("check").code == 4, path.name
            path.write_bytes(whole)
    assert crawl.run("check").code == 0


def test_a_lost_list_of_sites_is_made_again_and_named(crawl):
    (crawl.state / "sites").unlink()
    done = crawl.run("shep", "recover").out
    assert "sites" in done and "made again" in done
    assert crawl.run("shep", "recover").out == "nothing to do\n"


def test_a_lost_index_is_made_again_and_named(crawl):
    assert crawl.run("shep", "recover").out == "nothing to do\n"
    (crawl.state / "index").unlink()
    assert "? URLs" in crawl.run("shep", "states").out
    assert crawl.run("shep", "states", "--json").json()[-1]["urls"] is None
    done = crawl.run("shep", "recover", "--json").json()
    assert done["rebuilt"] == 1 and done["damaged"] >= 1
    assert any("index" in line for line in done["told"])
    assert crawl.run("shep", "recover").out == "nothing to do\n"
    assert crawl.run("check").code == 0


def test_damage_is_found_by_check_and_mended_by_recover(crawl):
    control = crawl.state / "control"
    control.write_bytes(control.read_bytes()[:-2] + b"x\n")
    assert "control" in crawl.run("check").out
    assert "its phase is lost" in crawl.run("shep", "recover").out
    assert crawl.run("check").code == 0


def test_sites_with_the_same_front_page_are_proposed_as_mirrors(crawl):
    text = "welcome to this site " * 20
    pages = {"http://www.one.example/": text, "https://one.example/": text, "http://two.example/": text,
             "http://three.example/": "another " * 50, "http://four.example/": "short"}
    lines = []
    for url, text in pages.items():
        fp = crawl.run("url", url).json()["footprint"]
        lines += [f"O{fp.replace(':', '')}", f"U{url}", "D1790000000", f"X{text}", ""]
    (crawl.dir / "pages").write_text("\n".join(lines))
    assert crawl.run("shep", "buckets", "insert", "--anyway", crawl.dir / "pages").code == 0
    assert crawl.run("shep", "recover", "--rebuild").code == 0

    refused = crawl.run("shep", "equiv")
    assert refused.code == 2 and "equiv cannot work on it" in refused.err
    proposed = crawl.run("shep", "equiv", "--propose")
    assert proposed.code == 0
    sites = [line for line in proposed.out.splitlines() if line and not line.startswith("#")]
    assert sites == ["https://one.example/", "\thttp://one.example/", "\thttp://two.example/"]
    assert "1 with less than" in proposed.out
    (crawl.dir / "url-equiv").write_text(proposed.out)
    mapped = crawl.run("url", "--equiv", crawl.dir / "url-equiv", "http://two.example/x")
    assert "https://one.example" in mapped.out
