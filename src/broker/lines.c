/* Matched lines. A value is looked through as a whole, since a phrase may go on in the next line,
 * and each mark belongs to the line that it begins in. */
#include "broker/lines.h"

#include "broker/indexer.h"

#include <string.h>

enum { MARKS_A_LINE = 128 };

struct line {
	size_t from, to; /* of the value */
	struct mark mark[MARKS_A_LINE];
	size_t n;
};

struct lines {
	struct line line[LINES_MOST]; /* in order */
	size_t n, most;
};

/* The line of a byte, new or not. NULL: there are enough before it. */
static struct line *line_at(struct lines *lines, struct str value, size_t at)
{
	size_t i = lines->n, from = at, to;
	while (i > 0 && lines->line[i - 1].from > at)
		i--;
	if (i > 0 && at < lines->line[i - 1].to)
		return &lines->line[i - 1];
	if (i == lines->most)
		return NULL;
	while (from > 0 && value.p[from - 1] != '\n')
		from--;
	to = at + str_find_byte(str_from(value, at), '\n');
	to -= to > at && value.p[to - 1] == '\r';
	lines->n -= lines->n == lines->most;
	memmove(&lines->line[i + 1], &lines->line[i], (lines->n - i) * sizeof *lines->line);
	lines->n++;
	lines->line[i].from = from;
	lines->line[i].to = to;
	lines->line[i].n = 0;
	return &lines->line[i];
}

/* Marks come nearly in order: to its place, together with those that it overlaps. */
static void add_mark(struct line *line, struct mark mark)
{
	size_t first = line->n, rest;
	size_t at = mark.at, end = MIN((size_t)mark.at + mark.n, line->to);
	if (end <= at)
		return;
	while (first > 0 && line->mark[first - 1].at + line->mark[first - 1].n > mark.at)
		first--;
	for (rest = first; rest < line->n && line->mark[rest].at < end; rest++) {
		at = MIN(at, line->mark[rest].at);
		end = MAX(end, (size_t)line->mark[rest].at + line->mark[rest].n);
	}
	if (rest == first && line->n == MARKS_A_LINE)
		return;
	memmove(&line->mark[first + 1], &line->mark[rest], (line->n - rest) * sizeof *line->mark);
	line->n += first + 1 - rest;
	line->mark[first] = (struct mark){(uint32_t)at, (uint32_t)(end - at)};
}

static bool is_inside(struct str text, size_t at)
{
	return at > 0 && at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80;
}

/* Copies a line, or the part of it with its first mark in the middle. */
static void tell_line(const struct line *line, struct str value, struct arena *arena,
		      struct marked *ret)
{
	size_t from = line->from, to = line->to;
	if (to - from > LINES_BYTES) {
		size_t side = (LINES_BYTES - MIN(line->mark[0].n, LINES_BYTES)) / 2;
		from = MAX(from, line->mark[0].at - MIN(side, line->mark[0].at));
		from = MIN(from, to - LINES_BYTES);
		to = from + LINES_BYTES;
		while (is_inside(value, from))
			from++;
		while (is_inside(value, to))
			to--;
	}
	*ret = (struct marked){
		.text = arena_str(arena, str_head(str_from(value, from), to - from)),
		.mark = arena_array(arena, line->n, sizeof *ret->mark),
		.cut_before = from > line->from,
		.cut_after = to < line->to,
	};
	for (size_t i = 0; i < line->n; i++) {
		struct mark mark = line->mark[i];
		if (mark.at < from || mark.at >= to)
			continue;
		mark.n = (uint32_t)MIN(mark.n, to - mark.at);
		mark.at -= (uint32_t)from;
		ret->mark[ret->n++] = mark;
	}
}

/* Adds the lines of a value to those that there are. as: the name that its words are found by. */
static void find_in_value(struct marker *m, struct str name, struct str as, struct str value,
			  struct arena *arena, struct matched_line *ret, size_t *ret_n)
{
	struct lines *lines;
	struct marker_find found;
	struct line *line;
	if (value.n == 0 || *ret_n == LINES_MOST || value.n > UINT32_MAX)
		return;
	lines = mem_alloc(sizeof *lines);
	lines->most = LINES_MOST - *ret_n;
	marker_begin(m, as, value);
	while (marker_next(m, &found) == 0 && (line = line_at(lines, value, found.mark.at)))
		add_mark(line, found.mark);
	for (size_t i = 0; i < lines->n; i++) {
		if (lines->line[i].n == 0)
			continue;
		ret[*ret_n].attribute = arena_str(arena, name);
		tell_line(&lines->line[i], value, arena, &ret[(*ret_n)++].line);
	}
	mem_free(&lines);
}

void lines_find(struct marker *m, const struct soif *doc, struct arena *arena,
		struct matched_line **ret, size_t *ret_n)
{
	struct matched_line *all = arena_array(arena, LINES_MOST, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < doc->n; i++) {
		struct str name = doc->attr[i].name;
		find_in_value(m, name, indexer_name(name), doc->attr[i].value, arena, all, &n);
	}
	find_in_value(m, STR("URL"), STR("url"), doc->url, arena, all, &n);
	*ret = all;
	*ret_n = n;
}
