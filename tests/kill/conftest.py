"""What the tests of killing share."""
import pytest

from kill.rounds import new_seed


@pytest.fixture
def rounds(request, tmp_path):
    """The Rounds of the module, with a seed that is said."""
    r = request.module.Rounds(tmp_path, new_seed())
    print(f"seed {r.seed}")
    return r
