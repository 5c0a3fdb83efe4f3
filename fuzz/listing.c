/* Listings: whole and in pieces they say the same, and every entry has the form that all have. The
 * first byte says how they are cut, the second the site's zone. */
#include "extract/listing.h"
#include "base/hash.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(struct str s)
{
	ENSURE(s.n > 0 && s.n <= LISTING_LINE_MOST);
	ENSURE(!memchr(s.p, '/', s.n) && !memchr(s.p, 0, s.n) && !memchr(s.p, '\n', s.n));
	ENSURE(!str_is(s, ".") && !str_is(s, ".."));
}

static void check_dir(struct str s)
{
	struct str part;
	size_t depth = 0;
	ENSURE(s.n <= LISTING_LINE_MOST);
	while (s.n && str_cut(&s, '/', &part) == 0) {
		check_name(part);
		ENSURE(!s.p || s.n > 0);
		depth++;
	}
	ENSURE(depth <= LISTING_DEPTH_MOST);
}

/* Adds what an entry says to a digest of all. */
static int take_entry(void *ctx, const struct listing_entry *e, struct err *err)
{
	struct buf *out = ctx;
	(void)err;
	check_name(e->name);
	check_dir(e->dir);
	ENSURE(e->kind <= LISTING_OTHER && e->links >= -1 && e->size >= -1 && e->time_s >= -1);
	if (e->owner.p)
		ENSURE(!e->owner.n || !memchr(e->owner.p, '\n', e->owner.n));
	buf_printf(out, "%d %" PRId64 " %" PRId64 " %" PRId64 " %zu %zu %d ", (int)e->kind,
		   e->links, e->size, e->time_s, e->owner.n, e->group.n, e->mode[0]);
	buf_printf(out, "%" PRIx64 " %" PRIx64 "\n", hash64(e->name), hash64(e->dir));
	return 0;
}

static void read_cut(const struct listing_job *job, struct str text, size_t piece, struct buf *out)
{
	struct listing *l = listing_new(job, take_entry, out);
	struct listing_stats s;
	struct err err;
	for (; text.n; text = str_from(text, piece))
		ENSURE(listing_put(l, str_head(text, piece), &err) == 0);
	int rc = listing_end(l, &s, &err);
	ENSURE(s.entries + s.bad <= s.lines);
	ENSURE(rc == 0 || (err.code == ERR_USAGE && err.msg[0]));
	buf_printf(out, "%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", rc, s.lines, s.entries, s.bad);
	for (uint64_t i = 0, last = 0; i < MIN(s.bad, (uint64_t)LISTING_BAD_KEPT); i++) {
		ENSURE(s.bad_line[i] > last && s.bad_line[i] <= s.lines && s.bad_why[i][0]);
		last = s.bad_line[i];
		buf_printf(out, "%" PRIu64 " %s\n", last, s.bad_why[i]);
	}
	listing_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_free) struct buf whole = BUF_INIT(64 << 20), cut = BUF_INIT(64 << 20);
	if (size < 2)
		return 0;
	const struct listing_job job = {.listed_s = 790560000,
					.tz_s = ((int)data[1] - 128) * 450,
					.prefix = STR("/srv/ftp"),
					.errors_max_percent = 50};
	struct str text = {(const char *)data + 2, size - 2};
	read_cut(&job, text, SIZE_MAX, &whole);
	read_cut(&job, text, 1 + data[0], &cut);
	ENSURE(!whole.over && str_eq(buf_str(&whole), buf_str(&cut)));
	return 0;
}
