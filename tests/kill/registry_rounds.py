"""Who keeps a registry (registry_worker.c), killed: what is there is what some commit left, whole. Used by
test_registry.py and by prove/registry.py."""
from kill import rounds

# Only a file of thousands of commits is written anew: the unit program of the registry does that.
RARE = {"registry.join", "registry.join.rename", "registry.join.renamed"}


class Rounds(rounds.Commits):
    program = "registry-worker"
    keeps = "broker"

    def kill_at(self, point, nth):
        """Kills at the nth time that a point is passed; False: it is not passed so often."""
        if point.startswith("registry.make") or point.startswith("registry.made") or self.grown():
            self.begin_anew()
        if point.startswith("registry.mend"):  # a compression that did not end
            self.must_die_of("registry.compress.rename=kill", 60)
            self.check()
        if point == "registry.cut":  # something is to be cut off first
            self.must_die_of("registry.commit=kill@1", 60)
            self.check()
        return self.kill_once(point, nth)
