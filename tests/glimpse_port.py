"""The broker's port compared with glimpse, on the same texts: both are asked for words with errors and say which files
they find. What each has to find, and what explains a difference, is computed as words_peers.py does."""
import random
from functools import partial

from words_peers import WORDS, Comparison, Glimpse, Query, explain_glimpse, explained, mistyped


def objects_of(texts):
    """For a broker: an object for each file."""
    return {f"file:///{name}": {"Full-Text": text} for name, text in texts.text.items()}


def asked_words(dice, count, errors):
    """Words with and without mistakes, by turns whole or as parts, with and without capitals that count."""
    number = 0
    while number < count:
        word = dice.choice(WORDS)
        for _ in range(dice.choice([0, 0, 1, 2])):
            word = mistyped(dice, word)
        if len(word) > errors + 1:
            case = number % 4 < 2
            yield Query(word.capitalize() if case and dice.random() < 0.4 else word, errors, bool(number % 2), case)
            number += 1


def flags_of(query):
    """As the port has them."""
    return (f"#index error {query.k}" + " #index matchword" * query.whole
            + " #index case insensitive" * (not query.case))


def compare_port(broker, peer, texts, count, seed, errors=1):
    """So many queries; a Comparison."""
    programs, compared = Glimpse(peer, texts), Comparison("glimpse")
    for query in asked_words(random.Random(seed), count, errors):
        answer = broker.answer(f"#USER #opaque {flags_of(query)} #index maxresult {len(texts.text)} "
                               f"#END full-text : \"{query.word}\"")
        assert answer.home and not answer.wrong, (query, answer)
        ours = {o.url.removeprefix("file:///") for o in answer.objects}
        rule = partial(explain_glimpse, query, listed=programs.listed)
        compared.add(query, ours, programs.glimpse(query), explained(texts, query, rule))
    return compared
