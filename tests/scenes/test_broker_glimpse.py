"""The broker's port finds what glimpse finds, with one error: a few queries here, 200 in `make prove AREA=broker`."""
import peers
from glimpse_port import compare_port, objects_of
from port import Broker
from words_peers import Texts


def test_glimpse_and_the_port_agree_on_words_with_one_error(garner, seed, tmp_path):
    peer = peers.need("glimpse")
    texts = Texts(tmp_path, 100, seed)
    broker = Broker(garner, objects_of(texts))
    compared = compare_port(broker, peer, texts, 16, seed)
    print(compared)
    assert compared.found > 0
