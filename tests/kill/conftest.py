"""What the tests of killing share."""
import pytest


@pytest.fixture
def rounds(request, tmp_path, seed):
    """The Rounds of the module, with a seed that is said; what runs at the end is ended."""
    with request.module.Rounds(tmp_path, seed) as r:
        yield r
