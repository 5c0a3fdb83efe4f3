"""The configuration: one file, the environment, -s; all or nothing; check, show, explain, sample."""
import subprocess

from garner import clean_environment


def shown(g, *args, **more):
    return {s["setting"]: s for s in g.run(*args, "config", "show", "--json", **more).json()}


def test_a_setting_of_an_earlier_version_is_called_that(garner):
    for section, name in (("shepherd", "doc_index"), ("shepherd", "lend"), ("spider", "name"), ("spider@2", "name"),
                          ("uns", "block_max")):
        done = garner(config=f"[{section}]\n{name} = 1\n").run("config", "check")
        assert done.code == 2 and f"'{section}.{name}'; an earlier version had it" in done.err, done


def test_s_overrides_the_environment_which_overrides_the_file(garner):
    g = garner(config="[up]\nsteady = 1s\nrestart_min = 1s\nrestart_max = 1s\n")
    env = {"GARNER_UP_RESTART_MIN": "2s", "GARNER_UP_RESTART_MAX": "2s"}
    got = shown(g, "-s", "up.restart_max=3s", env=env)
    assert [got[k]["value"] for k in ("up.steady", "up.restart_min", "up.restart_max")] == \
        ["1s", "2s", "3s"]
    assert got["up.steady"]["from"] == f"{g.conf}:2"
    assert got["up.restart_min"]["from"] == "GARNER_UP_RESTART_MIN"
    assert got["up.restart_max"]["from"] == "-s"
    assert "up.stop_timeout" not in got


def test_one_wrong_line_and_nothing_starts(garner):
    g = garner(config="[up]\nsteady = 1s\nstop_timeout = never\nstedy = 1s\n")
    for args in (["up"], ["config", "check"], ["status"]):
        done = g.run(*args)
        assert done.code == 2 and done.out == ""
        assert f"{g.conf}:3: up.stop_timeout: expected a time such as" in done.err
        assert f"{g.conf}:4: unknown setting 'up.stedy'; did you mean 'steady'?" in done.err


def test_a_mistyped_variable_stops_the_start(garner):
    done = garner().run("up", env={"GARNER_UP_STEDY": "1s"})
    assert done.code == 2 and "did you mean 'GARNER_UP_STEADY'?" in done.err


def test_a_sample_is_a_file_that_passes_the_check(garner):
    g = garner()
    (g.dir / "new.conf").write_text(g.run("config", "sample").out)
    assert g.run("config", "check", "new.conf").out == "new.conf: 0 settings, all good\n"


def test_the_file_of_a_user_is_found(garner):
    g = garner()
    path = g.dir / ".config/garner/garner.conf"
    path.parent.mkdir(parents=True)
    path.write_text("[up]\nsteady = 7s\n")
    env = clean_environment(HOME=str(g.dir))
    done = subprocess.run([g.program, "config", "check"], env=env, capture_output=True, text=True)
    assert done.stdout == f"{path}: 1 setting, all good\n"
