"""The fetch fabric: both chains on simnet, every process killed at its fault points and at 300 random instants;
botms, URL servers and spiders killed each alone; the slots of document 003 against a model; the units
of fetch and of XML in full, and under TSan."""
from kill.fabric_rounds import LONG

WHAT = ("the fabric on simnet, both chains killed at their points and at 300 random instants; its roles killed alone; "
        "slots against a model; units in full, and under TSan")
UNITS = "fetch.bot|fetch.docindex|fetch.url_feed|fetch.spider|net.xml"


def run(env):
    kills = 2 * LONG
    chains = env.tests("--only", "kill", "-k", "test_fabric.py")
    units = env.tests("--only", "units", "-k", UNITS)
    tsan = env.tests("--build", "tsan", "--only", "units", "-k", UNITS)
    model = env.tests("--only", "scenes", "-k", "random_losses")
    alone = env.tests("--only", "kill", "-k", "test_botm.py|test_urlserver.py|test_spider.py")
    return kills + alone + model + units + tsan, (
        f"{chains} chains with {kills} kills at random and at every point: each URL one outcome, no file name lost or "
        f"doubled, polite; {alone} tests of roles killed alone, {model} of slots against the model; "
        f"{units} units in full, {tsan} under TSan")
