"""The words index finds what agrep, glimpse and ripgrep find, or a rule says why not; with 2,000 files in
make prove AREA=words."""
import peers
import words_peers

SEED = 20240611


def test_words_with_errors_are_found_as_agrep_and_glimpse_find_them(garner):
    peer = peers.need("glimpse")
    texts = words_peers.Texts(garner().dir / "texts", 100, SEED)
    for told in words_peers.compare_errors(peer, texts, 4, SEED):
        assert told.queries > 20 and told.found > 100 and told.equal > told.queries // 2, str(told)


def test_the_best_matches_are_those_of_agrep_and_glimpse(garner):
    peer = peers.need("glimpse")
    texts = words_peers.Texts(garner().dir / "texts", 100, SEED)
    for told in words_peers.compare_best(peer, texts, 5, SEED):
        assert told.queries == 10 and told.found > 5 and told.equal >= 3, str(told)


def test_expressions_find_what_ripgrep_finds(garner):
    peer = peers.need("ripgrep")
    texts = words_peers.Texts(garner().dir / "texts", 100, SEED, foreign=True)
    told = words_peers.compare_expressions(peer, texts, 60, SEED)
    assert told.queries == 60 and told.found > 200 and told.equal > 45, str(told)
