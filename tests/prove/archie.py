"""Archie's interfaces: queuer, searchers, roles and sessions, each killed at its fault points and at 300 random instants
while people and programs ask; the units in full, and under TSan; the scenes with their peers under ASan and UBSan."""

WHAT = ("queuer, searchers, interfaces and sessions killed at every point and at 300 random instants each; units in full, "
        "and under TSan; scenes under ASan and UBSan")
KILLS = ("test_archie_queue.py|test_archie_faces.py|test_archie_mail.py|test_telnet.py|test_archie_prospero.py|"
         "test_archie_master.py")
UNITS = r"units/archie/|net.mail|extract.mime|extract.lzw"
SCENES = "test_archie_|test_telnet|test_web_files"


def run(env):
    kills = env.tests("--only", "kill", "-k", KILLS)
    units = env.tests("--only", "units", "-k", UNITS)
    tsan = env.tests("--build", "tsan", "--only", "units", "-k", UNITS)
    scenes = env.tests("--build", "asan", "--only", "scenes", "-k", SCENES)
    return kills + units + tsan + scenes, (
        f"{kills} tests of kills, the random ones 300 each: answers or clear errors within 4 s, whole within 2 s; "
        f"{units} units in full, {tsan} under TSan, {scenes} scenes under ASan and UBSan")
