/* Line protocols of tests: a line is a verb and arguments, separated by blanks. */
#pragma once
#include "net/server.h"

enum { VERB_ARGS = 16 };

struct verb {
	const char *name;
	size_t min_args, max_args; /* at most VERB_ARGS */
	bool rest; /* the last argument is all that is left of the line, blanks included */
	void (*run)(struct session *s, const struct str *arg, size_t n);
};

static inline struct str verb_skip_blanks(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_from(s, 1);
	return s;
}

/* Cuts the next word off *rest, which has no blanks before it. */
static inline struct str verb_word(struct str *rest)
{
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
		n++;
	struct str found = str_head(*rest, n);
	*rest = verb_skip_blanks(str_from(*rest, n));
	return found;
}

/* 0: it ran; 1: there is no such verb; 2: it has other arguments. */
static inline int verb_run(struct session *s, struct str line, const struct verb *verbs, size_t n)
{
	struct str rest = verb_skip_blanks(line), name = verb_word(&rest), arg[VERB_ARGS];
	const struct verb *v = verbs;
	size_t args = 0;
	while (v < verbs + n && !str_is(name, v->name))
		v++;
	if (v == verbs + n)
		return 1;
	while (rest.n && args < v->max_args) {
		bool last = v->rest && args + 1 == v->max_args;
		arg[args++] = last ? rest : verb_word(&rest);
		rest = last ? (struct str){0} : rest;
	}
	if (rest.n || args < v->min_args)
		return 2;
	v->run(s, arg, args);
	return 0;
}
