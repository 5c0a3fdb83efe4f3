/* Feedback: the file, and the module that puts it into the index.
 *
 * The index and the file have the same order, so one pass over both is enough, and the file is read
 * once: where it turns out to be damaged, the new index is dropped. The index is in place before
 * the params have the number; after a crash between the two the file is applied again to what it
 * was applied to, which changes nothing.
 *
 * The writer of a newer file renames it over the old one at any time, so a file is never removed
 * or set aside under its name: it is first renamed to a name that only the crawl uses, and looked
 * at there. One that is to stay gets its name back, unless that has a newer file by then; so does
 * one that a crash left under the other name. */
#include "shepherd/feedback.h"

#include "base/fault.h"
#include "base/file.h"
#include "state/counted.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TAG_NUMBER = 'n',
	TAG_ENTRIES = 'f',
	ENTRY = FOOTPRINT_KEY + 2, /* bytes: footprint, weight, flags */
	PACKED = 1 + 3600 * ENTRY, /* bytes in a record */
	FLAGS = ITEM_WEIGHED | ITEM_UNREFERENCED,
};

static const struct record_kind feedback_kind = {.magic = "GARNERFB", .version = 1, .most = PACKED};

/* "shepherd/.feedback.new" of "shepherd/feedback" and "new". */
static void name_beside(const char *path, const char *end, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
	snprintf(ret, PATH_MAX, "%.*s.%s.%s", (int)folder, path, path + folder, end);
}

/* Writing */

struct feedback_writer {
	char path[PATH_MAX], fresh[PATH_MAX];
	struct counted_writer list;
	struct footprint last;
};

int feedback_create(struct feedback_writer **ret, const char *path, uint64_t number,
		    struct err *err)
{
	ENSURE(number);
	struct feedback_writer *w = mem_alloc(sizeof *w);
	snprintf(w->path, sizeof w->path, "%s", path);
	name_beside(path, "new", w->fresh);
	int rc = counted_create(&w->list, w->fresh, &feedback_kind, err);
	if (rc == 0) {
		put_u8(&w->list.packed, TAG_NUMBER);
		put_u64le(&w->list.packed, number);
		rc = counted_put(&w->list, err);
	}
	if (rc == 0)
		*ret = w;
	else
		feedback_drop(&w);
	return rc;
}

int feedback_put(struct feedback_writer *w, const struct feedback *entry, struct err *err)
{
	struct buf *packed = &w->list.packed;
	unsigned char key[FOOTPRINT_KEY];
	ENSURE(w->list.n == 0 || footprint_cmp(entry->fp, w->last) > 0);
	ENSURE((entry->flags & ~FLAGS) == 0);
	if (packed->n + ENTRY > PACKED && counted_put(&w->list, err) < 0)
		return -1;
	if (packed->n == 0)
		put_u8(packed, TAG_ENTRIES);
	footprint_key(entry->fp, key);
	buf_add(packed, key, sizeof key);
	put_u8(packed, entry->weight);
	put_u8(packed, entry->flags);
	w->last = entry->fp;
	w->list.n++;
	return 0;
}

int feedback_finish(struct feedback_writer **w, struct err *err)
{
	int rc = counted_finish(&(*w)->list, err);
	if (rc == 0)
		rc = file_rename((*w)->fresh, (*w)->path, err);
	if (rc == 0)
		rc = dir_sync_of((*w)->path, err);
	feedback_drop(w);
	return rc;
}

void feedback_drop(struct feedback_writer **w)
{
	if (*w)
		counted_drop(&(*w)->list);
	mem_free(w);
}

/* Reading */

struct feedback_scan {
	struct counted_reader in;
	uint64_t number;
	struct footprint last;
};

static int scan_begin(struct feedback_scan *s, struct err *err)
{
	struct reader *r = &s->in.r;
	uint8_t tag;
	int rc = counted_next(&s->in, &tag, err);
	if (rc < 0)
		return rc;
	s->number = reader_u64le(r);
	return rc == 0 && tag == TAG_NUMBER && s->number && !r->bad && reader_left(r) == 0
		       ? 0
		       : counted_damaged(&s->in, err, "not a number");
}

/* A pipe would be waited for, and a folder cannot be read: neither is a file that will get better.
 */
static bool is_no_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int feedback_open(struct feedback_scan **ret, const char *path, struct err *err)
{
	if (is_no_file(path))
		return err_set(err, ERR_DAMAGED, "%s: not a file", path);
	struct feedback_scan *s = mem_alloc(sizeof *s);
	int rc = counted_open(&s->in, path, &feedback_kind, err);
	if (rc == 0)
		rc = scan_begin(s, err);
	else if (rc == 1 && access(path, F_OK) == 0)
		rc = err_set(err, ERR_DAMAGED, "%s: the end is missing", path);
	if (rc == 0)
		*ret = s;
	else
		feedback_close(&s);
	return rc;
}

void feedback_close(struct feedback_scan **s)
{
	if (*s)
		counted_close(&(*s)->in);
	mem_free(s);
}

uint64_t feedback_number(const struct feedback_scan *s)
{
	return s->number;
}

int feedback_next(struct feedback_scan *s, struct feedback *ret, struct err *err)
{
	struct counted_reader *in = &s->in;
	if (reader_left(&in->r) == 0) {
		uint8_t tag;
		int rc = counted_next(in, &tag, err);
		if (rc)
			return rc;
		if (tag != TAG_ENTRIES || reader_left(&in->r) == 0 ||
		    reader_left(&in->r) % ENTRY != 0)
			return counted_damaged(in, err, "no entries");
	}
	const char *p = reader_bytes(&in->r, ENTRY).p;
	struct feedback entry = {footprint_of_key(p), (uint8_t)p[FOOTPRINT_KEY],
				 (uint8_t)p[FOOTPRINT_KEY + 1]};
	if (UNLIKELY(entry.flags & ~FLAGS))
		return counted_damaged(in, err, "unknown flags");
	if (UNLIKELY(in->n && footprint_cmp(entry.fp, s->last) <= 0))
		return counted_damaged(in, err, "its entries are not in order");
	s->last = entry.fp;
	in->n++;
	*ret = entry;
	return 0;
}

/* The number of a file that is whole. 1: there is none. */
static int feedback_check(const char *path, uint64_t *ret_number, struct err *err)
{
	struct feedback_scan *s = NULL;
	struct feedback entry;
	int rc = feedback_open(&s, path, err);
	if (rc)
		return rc;
	*ret_number = feedback_number(s);
	while ((rc = feedback_next(s, &entry, err)) == 0)
		;
	feedback_close(&s);
	return rc < 0 ? -1 : 0;
}

/* Removing */

/* What was taken has its name again, unless there is a newer file. */
static int feedback_give_back(const char *path, const char *taken, struct err *err)
{
	int rc = file_link(taken, path, err);
	if (rc < 0 && err->sys_errno != EEXIST)
		return -1;
	return rc == 1 ? 0 : MIN(file_remove(taken, err), 0);
}

/* The file under another name. 1: there is none. */
static int feedback_take(const char *path, char taken[PATH_MAX], struct err *err)
{
	name_beside(path, "taken", taken);
	if (feedback_give_back(path, taken, err) < 0)
		return -1;
	return access(path, F_OK) == 0 ? file_rename(path, taken, err) : 1;
}

int feedback_done(const char *path, uint64_t number, struct err *err)
{
	char taken[PATH_MAX];
	struct feedback_scan *s = NULL;
	int rc = is_no_file(path) ? 1 : feedback_take(path, taken, err);
	if (rc)
		return rc;
	FAULT("feedback.taken");
	rc = feedback_open(&s, taken, err);
	bool old = rc == 0 && feedback_number(s) <= number;
	feedback_close(&s);
	if (!old)
		return feedback_give_back(path, taken, err) < 0 ? -1 : 1;
	FAULT("feedback.remove");
	return MIN(file_remove(taken, err), 0);
}

/* Only what is damaged: a sound one may have come in its place. */
static int feedback_set_aside(const char *path, struct err *err)
{
	char taken[PATH_MAX], aside[PATH_MAX + 16];
	uint64_t number;
	struct err why;
	int rc = feedback_take(path, taken, err);
	if (rc)
		return MIN(rc, 0);
	if (feedback_check(taken, &number, &why) == 0 || why.code == ERR_SYSTEM)
		return feedback_give_back(path, taken, err);
	snprintf(aside, sizeof aside, "%s.damaged", path);
	return file_rename(taken, aside, err);
}

/* The module */

struct feeding {
	struct feedback_scan *in;
	char entry[ENTRY];
	bool unreadable; /* what failed is the feedback */
	struct fed *ret;
};

static int feed_next(void *ctx, struct str *ret, struct err *err)
{
	struct feeding *f = ctx;
	struct feedback next;
	unsigned char key[FOOTPRINT_KEY];
	int rc = feedback_next(f->in, &next, err);
	f->unreadable = rc < 0;
	if (rc)
		return rc;
	f->ret->entries++;
	footprint_key(next.fp, key);
	memcpy(f->entry, key, sizeof key);
	f->entry[FOOTPRINT_KEY] = (char)next.weight;
	f->entry[FOOTPRINT_KEY + 1] = (char)next.flags;
	*ret = (struct str){f->entry, ENTRY};
	return 0;
}

/* A queue key is not a URL. */
static int feed_item(void *ctx, const struct index_news *about, struct index_item *item,
		     struct err *err)
{
	struct feeding *f = ctx;
	(void)err;
	if (about->n == 0)
		return 0;
	if (!about->old || !index_item_is_page(item)) {
		f->ret->unknown++;
		return !about->old;
	}
	const char *told = about->news[0].p + FOOTPRINT_KEY;
	item->flags = (uint8_t)((item->flags & ~ITEM_UNREFERENCED) | told[1]);
	if (told[1] & ITEM_WEIGHED)
		item->weight = (uint8_t)told[0];
	f->ret->changed += item->flags != about->old->flags || item->weight != about->old->weight;
	return 0;
}

static int feed_state(struct feeding *f, struct state *st, const struct crawl *c, struct err *err)
{
	struct state_course course = state_params(st)->course;
	f->ret->number = feedback_number(f->in);
	if (f->ret->number <= course.feedback)
		return 1;
	const struct index_still still = {.types = UINT_MAX};
	const struct news_source source = {feed_next, f};
	const struct crawl_news news = {
		.source = &source, .still = &still, .changed = &f->ret->changed};
	int rc = crawl_rewrite(st, c, &news, feed_item, f, err);
	f->ret->stopped = rc == 1;
	if (rc)
		return rc;
	course.feedback = f->ret->number;
	FAULT("feedback.params");
	return state_params_put(st, &course, err);
}

int crawl_feedback(struct state *st, const struct crawl *c, const char *path, struct fed *ret,
		   struct err *err)
{
	struct feeding f = {.ret = ret};
	char taken[PATH_MAX];
	*ret = (struct fed){0};
	name_beside(path, "taken", taken);
	if (feedback_give_back(path, taken, err) < 0)
		return -1;
	int rc = feedback_open(&f.in, path, err);
	f.unreadable = rc < 0;
	if (rc == 0)
		rc = feed_state(&f, st, c, err);
	feedback_close(&f.in);
	if (rc >= 0 || !f.unreadable || err->code == ERR_SYSTEM)
		return rc;
	*ret = (struct fed){.number = ret->number, .damaged = true, .why = *err};
	err_then(&ret->why, "it is set aside as %s.damaged", path);
	return feedback_set_aside(path, err);
}

/* For `garner dump` and `garner check`. */

static int feedback_show(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	char text[FOOTPRINT_TEXT];
	uint8_t tag = reader_u8(&r);
	if (tag == COUNTED_END)
		return counted_print_end(&r, "entries", out, err);
	if (tag == TAG_NUMBER)
		buf_printf(out, "feedback %" PRIu64, reader_u64le(&r));
	else
		buf_add_text(out, "entries");
	while (tag == TAG_ENTRIES && reader_left(&r) && !r.bad) {
		struct str key = reader_bytes(&r, FOOTPRINT_KEY);
		unsigned weight = reader_u8(&r), flags = reader_u8(&r);
		if (!r.bad)
			buf_printf(out, "\n  %s weight %u %c%c",
				   footprint_print(footprint_of_key(key.p), text), weight,
				   flags & ITEM_WEIGHED ? 'W' : '-',
				   flags & ITEM_UNREFERENCED ? 'U' : '-');
	}
	return r.bad || reader_left(&r)
		       ? err_set(err, ERR_DAMAGED, "no entry at byte %zu", reader_at(&r))
		       : 0;
}

static int feedback_verify(const char *path, struct err *err)
{
	uint64_t number;
	int rc = records_verify(&feedback_format, path, &(struct records_known){.closed = true},
				err);
	return rc ? rc : feedback_check(path, &number, err);
}

const struct format feedback_format = {
	.name = "feedback",
	.file = "shepherd/feedback",
	.magic = "GARNERFB",
	.version = 1,
	.help = "what the indexer found out about URLs",
	.remedy = "the crawl sets it aside in its next cycle and goes on without it",
	.records = &feedback_kind,
	.show = feedback_show,
	.verify = feedback_verify,
};
