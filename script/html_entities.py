#!/usr/bin/python3
"""Makes src/extract/html_entities.c out of the list of named character references that Python
carries (html.entities): script/html_entities.py > src/extract/html_entities.c"""
import html.entities
import subprocess

BUCKETS = 512
OLD = 16  # a flag in the first byte of an entry

HEAD = """/* Made by script/html_entities.py; not to be edited. A perfect hash: the low bits of a name's hash
 * choose a displacement, and with it every name has a place of its own. An entry is a byte (how long
 * the text is, and whether the name also counts without its semicolon), the text, and the name. */
#include "extract/html_entities_inner.h"

enum { BUCKETS = %d, NAMES = %d, OLD = %d, OLD_MIN = %d, OLD_MAX = %d };

"""

TAIL = """
static uint64_t name_hash(struct str s)
{
	uint64_t h = 0xcbf29ce484222325;
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
	return h;
}

static uint64_t hash_mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
	return h >> 32;
}

/* The entry of a name, or NULL. */
static const char *entry_find(struct str name)
{
	uint64_t h = name_hash(name);
	size_t slot = hash_mix(h + displacement[h % BUCKETS]) % NAMES;
	const char *p = entries + start[slot], *end = entries + start[slot + 1];
	const char *own = p + 1 + (*p & (OLD - 1));
	return str_eq(str_range(own, end), name) ? p : NULL;
}

static struct str text_of(const char *entry)
{
	return (struct str){entry + 1, *entry & (OLD - 1)};
}

int html_entity(struct str name, struct str *ret)
{
	const char *entry = entry_find(name);
	if (!entry)
		return 1;
	*ret = text_of(entry);
	return 0;
}

size_t html_entity_old(struct str text, struct str *ret)
{
	for (size_t n = MIN(text.n, (size_t)OLD_MAX); n >= OLD_MIN; n--) {
		const char *entry = entry_find(str_head(text, n));
		if (entry && (*entry & OLD)) {
			*ret = text_of(entry);
			return n;
		}
	}
	return 0;
}
"""


def fnv(name):
    h = 0xcbf29ce484222325
    for byte in name:
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return h


def mix(h):
    h = (h ^ h >> 32) * 0x9e3779b97f4a7c15 % 2**64
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9 % 2**64
    return h >> 32


def place(names):
    """Returns the displacements and the names by their places."""
    n = len(names)
    buckets = [[] for _ in range(BUCKETS)]
    for name in names:
        h = fnv(name)
        buckets[h % BUCKETS].append((h, name))
    displacements, slots = [0] * BUCKETS, [b""] * n
    for b in sorted(range(BUCKETS), key=lambda b: -len(buckets[b])):
        for d in range(65536):
            at = [mix((h + d) % 2**64) % n for h, _ in buckets[b]]
            if len(set(at)) == len(at) and all(not slots[i] for i in at):
                break
        else:
            raise SystemExit("no displacement fits; take more buckets")
        displacements[b] = d
        for i, (_, name) in zip(at, buckets[b]):
            slots[i] = name
    return displacements, slots


def literals(data):
    """Lines of string literals; nothing of one entry depends on what follows it."""
    line = ""
    for byte in data:
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        line += char if plain else "\\%03o" % byte
        if len(line) > 86:
            yield f'\t"{line}"\n'
            line = ""
    yield f'\t"{line}";\n'


def numbers(kind, name, values):
    return f"static const {kind} {name}[] = {{{', '.join(map(str, values))}}};\n\n"


def main():
    known = html.entities.html5
    old = {name.encode() for name in known if not name.endswith(";")}
    texts = {name[:-1].encode(): text.encode() for name, text in known.items() if name.endswith(";")}
    displacements, slots = place(sorted(texts))
    data, start = b"", []
    for name in slots:
        start.append(len(data))
        data += bytes([len(texts[name]) | (OLD if name in old else 0)]) + texts[name] + name
    start.append(len(data))
    source = HEAD % (BUCKETS, len(slots), OLD, min(map(len, old)), max(map(len, old)))
    source += numbers("uint16_t", "displacement", displacements)
    source += numbers("uint16_t", "start", start)
    source += "static const char entries[] =\n" + "".join(literals(data)) + TAIL
    made = subprocess.run(["clang-format", "--assume-filename=src/extract/html_entities.c"],
                          input=source, capture_output=True, text=True, check=True)
    print(made.stdout, end="")


if __name__ == "__main__":
    main()
