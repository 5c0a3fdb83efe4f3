"""The line server in its long form, and the network's units under TSan."""
WHAT = "hostile clients of a line server, 100,000 connections, network units under TSan"


def run(env):
    scenes = env.tests("--only", "scenes", "-k", "line_server")
    units = env.tests("--build", "tsan", "--only", "units", "-k", "net")
    return scenes + units, f"{scenes} scenes and {units} units held"
