#include "base/hash.h"
#include "url/url.h"

const struct url_loop_limits url_loop_defaults = {
	.separators = "/?&",
	.min_repeats = 4,
	.max_length = 4,
	.max_occurrences = 10,
};

struct components {
	uint64_t hash[URL_COMPONENTS_MAX];
	size_t n;
};

/* What stands before the first separator counts only if there is anything: paths begin with one.
 * false: too many. */
static bool split(struct str path, const char *separators, struct components *ret)
{
	bool separates[256] = {0};
	for (const char *s = separators; *s; s++)
		separates[(unsigned char)*s] = true;
	size_t from = path.n && separates[(unsigned char)path.p[0]] ? 1 : 0;
	ret->n = 0;
	for (size_t at = from; at <= path.n; at++) {
		if (at < path.n && !separates[(unsigned char)path.p[at]])
			continue;
		if (ret->n == URL_COMPONENTS_MAX)
			return false;
		ret->hash[ret->n++] = hash64((struct str){path.p + from, at - from});
		from = at + 1;
	}
	return true;
}

/* A sequence of `length` components stands there k times when k - 1 times its length in a row each
 * component equals the one `length` before it. */
static bool repeats(const struct components *c, size_t length, unsigned times)
{
	size_t run = 0;
	for (size_t i = length; i < c->n; i++) {
		run = c->hash[i] == c->hash[i - length] ? run + 1 : 0;
		if (run >= (times - 1) * length)
			return true;
	}
	return false;
}

/* Open addressing over the components; each slot is the number of a component, from 1. */
static bool occurs_too_often(const struct components *c, unsigned most)
{
	enum { SLOTS = 2 * URL_COMPONENTS_MAX };
	uint16_t slot[SLOTS] = {0}, count[URL_COMPONENTS_MAX] = {0};
	if (c->n <= most)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = c->hash[i] % SLOTS;
		while (slot[at] && c->hash[slot[at] - 1] != c->hash[i])
			at = (at + 1) % SLOTS;
		if (!slot[at])
			slot[at] = (uint16_t)(i + 1);
		if (++count[slot[at] - 1] > most)
			return true;
	}
	return false;
}

bool url_loops(struct str path, const struct url_loop_limits *limits)
{
	struct components c;
	if (!limits)
		limits = &url_loop_defaults;
	if (!split(path, limits->separators, &c))
		return true;
	if (limits->max_occurrences && occurs_too_often(&c, limits->max_occurrences))
		return true;
	if (limits->min_repeats < 2)
		return false;
	for (size_t length = 1; length <= limits->max_length && length < c.n; length++)
		if (repeats(&c, length, limits->min_repeats))
			return true;
	return false;
}
