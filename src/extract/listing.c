/* Lines, headings and noise. A line is looked at where it lies; only one that a push cuts is put
 * together in a buffer. Families are asked in the order of a table, the commonest first. What none
 * of them knows is a heading if it ends in a colon, or noise, or bad.
 *
 * Noise is what ls, its wrappers and servers say between the lines of a listing. It is looked for
 * after the families, so that a file may be called "404 not found"; but for one message, because a
 * line that it cuts in two begins like an entry. */
#include "extract/listing_inner.h"

#include "base/ascii.h"

#include <inttypes.h>

const char *const listing_kind_name[] = {"file", "dir", "link", "other"};

const char *const listing_why_name[WHYS] = {
	[WHY_NONE] = "",
	[WHY_NO_FORM] = "not a line of a listing",
	[WHY_FEW_FIELDS] = "too few fields",
	[WHY_MANY_FIELDS] = "too many fields",
	[WHY_NO_DATE] = "no size and date",
	[WHY_DATE] = "no such day or time",
	[WHY_SIZE] = "not a size",
	[WHY_LINKS] = "not a number of links",
	[WHY_MODE] = "not a mode",
	[WHY_NO_NAME] = "no name",
	[WHY_SLASH] = "a slash in a name",
	[WHY_NUL] = "a NUL byte in a name",
	[WHY_LONG] = "longer than 64 KiB",
	[WHY_HEADING_DOTS] = "a heading with ..",
	[WHY_HEADING_DEEP] = "a heading deeper than 255 directories",
	[WHY_HEADING_LONG] = "a heading longer than 64 KiB",
	[WHY_HEADING_BYTES] = "a heading with a NUL byte or an empty name",
	[WHY_BELOW_BAD] = "below a heading that is bad",
	[WHY_VMS_WRAP] = "a name whose fields do not follow",
};

static listing_family_fn *const families[] = {
	listing_unix_read,    listing_prefixed_read, listing_dos_read, listing_eplf_read,
	listing_netware_read, listing_numeric_read,  listing_vms_read,
};

struct listing {
	struct listing_job job;
	char *prefix; /* its components, with slashes between */
	listing_entry_fn *fn;
	void *ctx;
	struct listing_seen seen;
	struct listing_stats stats;
	struct buf begun; /* a line whose end has not come yet, or the head of one that is too long
			   */
	bool too_long;
	char tail[2]; /* of one that is too long, its last bytes */
	struct buf dir, heading;
	bool dir_bad;
	bool skip_next;
	struct buf wrapped; /* VMS: a name whose fields are to come */
	int rc;             /* of the first failure; then nothing more is done */
};

static void line_bad(struct listing *l, uint64_t line, enum listing_why why)
{
	if (l->stats.bad < LISTING_BAD_KEPT) {
		l->stats.bad_line[l->stats.bad] = line;
		l->stats.bad_why[l->stats.bad] = listing_why_name[why];
	}
	l->stats.bad++;
}

/* Headings */

/* Appends the components of a path, with a slash between two. Returns why it cannot be. */
static enum listing_why path_normal(struct str path, struct buf *ret, size_t *ret_depth)
{
	struct str part;
	*ret_depth = 0;
	if (path.n && memchr(path.p, 0, path.n))
		return WHY_HEADING_BYTES;
	while (str_cut(&path, '/', &part) == 0) {
		if (part.n == 0 || str_is(part, "."))
			continue;
		if (str_is(part, ".."))
			return WHY_HEADING_DOTS;
		if (ret->n)
			buf_add_byte(ret, '/');
		buf_add_str(ret, part);
		++*ret_depth;
	}
	return ret->over ? WHY_HEADING_LONG : WHY_NONE;
}

static size_t path_depth(struct str path)
{
	size_t n = path.n > 0;
	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* What remains of a path below the prefix; all of it where it is elsewhere. */
static struct str prefix_strip(const char *prefix, struct str path)
{
	struct str p = str_of(prefix);
	if (p.n == 0 || !str_starts(path, p))
		return path;
	if (path.n == p.n)
		return str_from(path, p.n);
	return path.p[p.n] == '/' ? str_from(path, p.n + 1) : path;
}

static void heading_take(struct listing *l, struct str path)
{
	size_t depth;
	buf_clear(&l->dir);
	buf_clear(&l->heading);
	enum listing_why why = path_normal(path, &l->heading, &depth);
	struct str below = prefix_strip(l->prefix, buf_str(&l->heading));
	if (why == WHY_NONE && depth > LISTING_DEPTH_MOST && path_depth(below) > LISTING_DEPTH_MOST)
		why = WHY_HEADING_DEEP;
	l->dir_bad = why != WHY_NONE;
	if (l->dir_bad) {
		line_bad(l, l->stats.lines, why);
		return;
	}
	buf_add_str(&l->dir, below);
	l->stats.headings += below.n > 0;
}

/* VMS writes paths with dots; a part of one cannot be empty. */
static void vms_heading_take(struct listing *l, struct str path)
{
	CLEANUP(buf_free) struct buf copy = BUF_INIT(LISTING_LINE_MOST);
	if (str_find(path, STR("//")) < path.n || str_starts(path, STR("/")) ||
	    str_ends(path, STR("/"))) {
		l->dir_bad = true;
		line_bad(l, l->stats.lines, WHY_HEADING_BYTES);
		return;
	}
	buf_add_str(&copy, path);
	heading_take(l, buf_str(&copy));
}

/* Noise */

static bool is_denial(struct str line)
{
	return line.n && line.p[line.n - 1] == 'd' && str_ends(line, STR(": Permission denied"));
}

/* "total 22", "total: 3", "Total: 12 kbytes", "insgesamt 5": the word, then a number. */
static bool is_total(struct str line)
{
	static const struct str words[] = {{"total", 5}, {"insgesamt", 9}, {"gesamt", 6}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!str_eq_nocase(str_head(line, words[i].n), words[i]))
			continue;
		size_t at = words[i].n;
		if (at < line.n && line.p[at] == ':')
			at++;
		size_t from = listing_skip_blanks(line, at);
		if (from > at && from < line.n && ascii_is_digit(line.p[from]))
			return true;
	}
	return false;
}

/* What a server says about a transfer: a code of three digits, then a blank or a dash. */
static bool is_reply(struct str line)
{
	return line.n >= 4 && line.p[0] >= '1' && line.p[0] <= '5' && line.p[1] >= '0' &&
	       line.p[1] <= '5' && ascii_is_digit(line.p[2]) &&
	       (line.p[3] == ' ' || line.p[3] == '-');
}

static bool is_noise(struct str line)
{
	static const struct str starts[] = {
		{"can not access directory", 24}, {"Total of ", 9}, {"Grand total of ", 15}};
	static const struct str ends[] = {{" not found", 10}, {" unreadable", 11}};
	static const struct str holds[] = {{": Could not open", 16}, {": No such file", 14}};
	if (is_total(line) || is_reply(line))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (str_starts(line, starts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (str_ends(line, ends[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(holds); i++)
		if (str_find(line, holds[i]) < line.n)
			return true;
	return false;
}

/* Entries */

static int entry_take(struct listing *l, uint64_t line, struct listing_entry *e, struct err *err)
{
	if (e->kind == LISTING_LINK) /* what it leads to is not kept */
		e->name.n = str_find(e->name, STR(" -> "));
	if (str_is(e->name, ".") || str_is(e->name, ".."))
		return 0;
	enum listing_why why = l->dir_bad                          ? WHY_BELOW_BAD
			       : e->name.n == 0                    ? WHY_NO_NAME
			       : memchr(e->name.p, '/', e->name.n) ? WHY_SLASH
			       : memchr(e->name.p, 0, e->name.n)   ? WHY_NUL
								   : WHY_NONE;
	if (why != WHY_NONE) {
		line_bad(l, line, why);
		return 0;
	}
	e->dir = buf_str(&l->dir);
	l->stats.entries++;
	return l->fn(l->ctx, e, err);
}

/* As a listing_family_fn, by the first family that knows the line. */
static int families_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
			 enum listing_why *ret_why)
{
	static const struct listing_entry nothing = {
		.links = -1, .size = -1, .time_s = -1, .kind = LISTING_OTHER};
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		*e = nothing;
		int rc = families[i](seen, line, e, ret_why);
		if (rc != 1)
			return rc;
	}
	return 1;
}

/* The fields of a VMS name that was on the line before. 1: this line is not they. */
static int wrapped_take(struct listing *l, struct str line, struct err *err)
{
	struct listing_entry e;
	enum listing_why why;
	size_t at = listing_skip_blanks(line, 0);
	bool fields = at > 0 && at < line.n && (ascii_is_digit(line.p[at]) || line.p[at] == '%');
	if (fields) {
		buf_add_byte(&l->wrapped, ' ');
		buf_add_str(&l->wrapped, str_from(line, at));
		if (families_read(&l->seen, buf_str(&l->wrapped), &e, &why) == 0) {
			int rc = entry_take(l, l->stats.lines, &e, err);
			buf_clear(&l->wrapped);
			return rc;
		}
	}
	buf_clear(&l->wrapped);
	line_bad(l, l->stats.lines - 1, WHY_VMS_WRAP);
	return 1;
}

/* A line that no family could read. */
static void other_take(struct listing *l, struct str line, enum listing_why why)
{
	if (why == WHY_NO_FORM && line.p[line.n - 1] == ':')
		heading_take(l, str_head(line, line.n - 1));
	else if (why == WHY_NO_FORM && listing_vms_heading(line, &l->heading) == 0)
		vms_heading_take(l, buf_str(&l->heading));
	else if (why == WHY_NO_FORM && listing_vms_is_name(line))
		buf_add_str(&l->wrapped, line);
	else if (!is_noise(line))
		line_bad(l, l->stats.lines, why);
}

/* A line without its end, at most LISTING_LINE_MOST bytes. */
static int line_take(struct listing *l, struct str line, struct err *err)
{
	struct listing_entry e;
	enum listing_why why = WHY_NO_FORM;
	bool skip = l->skip_next;
	l->skip_next = false;
	if (UNLIKELY(l->wrapped.n)) {
		int rc = wrapped_take(l, line, err);
		if (rc != 1)
			return rc;
	}
	if (line.n == 0 || listing_skip_blanks(line, 0) == line.n)
		return 0;
	if (is_denial(line)) {
		l->skip_next = true;
		return 0;
	}
	int rc = families_read(&l->seen, line, &e, &why);
	/* the message may have cut a line in two; a heading is one, whatever stood before it */
	if (skip && (rc != 1 || line.p[line.n - 1] != ':'))
		return 0;
	if (rc == 0)
		return entry_take(l, l->stats.lines, &e, err);
	other_take(l, line, rc == 1 ? WHY_NO_FORM : why);
	return 0;
}

/* One of which only the head is there. It may have been a heading. */
static void long_line_take(struct listing *l, struct str head, char last)
{
	struct listing_seen seen = l->seen;
	struct listing_entry e;
	enum listing_why why;
	bool heading = last == ':' && families_read(&seen, head, &e, &why) == 1;
	if (l->wrapped.n) {
		buf_clear(&l->wrapped);
		line_bad(l, l->stats.lines - 1, WHY_VMS_WRAP);
	}
	if (heading) {
		buf_clear(&l->dir);
		l->dir_bad = true;
	}
	if (heading || !l->skip_next)
		line_bad(l, l->stats.lines, heading ? WHY_HEADING_LONG : WHY_LONG);
	l->skip_next = false;
}

static int line_end(struct listing *l, struct str line, struct err *err)
{
	l->stats.lines++;
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (LIKELY(line.n <= LISTING_LINE_MOST))
		return line_take(l, line, err);
	long_line_take(l, str_head(line, LISTING_LINE_MOST), line.p[line.n - 1]);
	return 0;
}

/* Pushes */

/* Keeps a part of a line: all of it, or the head and the last bytes of one that is too long. */
static void begun_add(struct listing *l, struct str part)
{
	size_t room = LISTING_LINE_MOST + 1 - l->begun.n; /* a CR may end it */
	if (part.n <= room && !l->too_long) {
		buf_add_str(&l->begun, part);
		return;
	}
	if (!l->too_long && l->begun.n) {
		struct str so_far = buf_str(&l->begun);
		l->tail[0] = so_far.n > 1 ? so_far.p[so_far.n - 2] : 0;
		l->tail[1] = so_far.p[so_far.n - 1];
	}
	l->too_long = true;
	buf_add_str(&l->begun, str_head(part, room));
	if (part.n > 1) {
		l->tail[0] = part.p[part.n - 2];
		l->tail[1] = part.p[part.n - 1];
	} else if (part.n == 1) {
		l->tail[0] = l->tail[1];
		l->tail[1] = part.p[0];
	}
}

static int begun_end(struct listing *l, struct err *err)
{
	int rc = 0;
	if (l->too_long) {
		l->stats.lines++;
		long_line_take(l, str_head(buf_str(&l->begun), LISTING_LINE_MOST),
			       l->tail[1] == '\r' ? l->tail[0] : l->tail[1]);
	} else {
		rc = line_end(l, buf_str(&l->begun), err);
	}
	l->too_long = false;
	buf_clear(&l->begun);
	return rc;
}

int listing_put(struct listing *l, struct str bytes, struct err *err)
{
	const char *p = bytes.p, *end = bytes.n ? bytes.p + bytes.n : bytes.p;
	while (l->rc == 0 && p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		if (!lf) {
			begun_add(l, str_range(p, end));
			break;
		}
		if (l->begun.n || l->too_long) {
			begun_add(l, str_range(p, lf));
			l->rc = begun_end(l, err);
		} else {
			l->rc = line_end(l, str_range(p, lf), err);
		}
		p = lf + 1;
	}
	return l->rc;
}

int listing_judge(const struct listing_job *job, const struct listing_stats *s, struct err *err)
{
	if (s->entries == 0)
		return err_set(err, ERR_USAGE, "no entries in %" PRIu64 " lines%s%s; it is refused",
			       s->lines, s->bad ? ", the first bad one: " : "",
			       s->bad ? s->bad_why[0] : "");
	/* both counts are far below 2^57: a listing is bytes that somebody has sent */
	if (s->bad * 100 > s->lines * job->errors_max_percent)
		return err_set(
			err, ERR_USAGE,
			"%" PRIu64 " of %" PRIu64 " lines are bad, which is more than %" PRIu32
			" %%; the first is line %" PRIu64 ": %s; it is refused",
			s->bad, s->lines, job->errors_max_percent, s->bad_line[0], s->bad_why[0]);
	return 0;
}

int listing_end(struct listing *l, struct listing_stats *ret, struct err *err)
{
	if (l->rc == 0 && (l->begun.n || l->too_long))
		l->rc = begun_end(l, err);
	if (l->rc == 0 && l->wrapped.n)
		line_bad(l, l->stats.lines, WHY_VMS_WRAP);
	buf_clear(&l->wrapped);
	*ret = l->stats;
	return l->rc ? l->rc : listing_judge(&l->job, &l->stats, err);
}

struct listing *listing_new(const struct listing_job *job, listing_entry_fn *fn, void *ctx)
{
	struct listing *l = mem_alloc(sizeof *l);
	CLEANUP(buf_free) struct buf prefix = BUF_INIT(LISTING_LINE_MOST);
	size_t depth;
	l->job = *job;
	l->job.prefix = (struct str){0};
	/* one that cannot be the start of a heading strips nothing */
	if (path_normal(job->prefix, &prefix, &depth) != WHY_NONE)
		buf_clear(&prefix);
	l->prefix = mem_text(buf_text(&prefix));
	l->fn = fn;
	l->ctx = ctx;
	l->begun = BUF_INIT(LISTING_LINE_MOST + 1);
	l->dir = l->heading = BUF_INIT(LISTING_LINE_MOST);
	l->wrapped = BUF_INIT(2 * LISTING_LINE_MOST + 1);
	listing_dates_init(&l->seen.dates, job->listed_s, job->tz_s);
	return l;
}

void listing_free(struct listing **pl)
{
	struct listing *l = *pl;
	if (!l)
		return;
	mem_free(&l->prefix);
	buf_free(&l->begun);
	buf_free(&l->dir);
	buf_free(&l->heading);
	buf_free(&l->wrapped);
	mem_free(pl);
}
