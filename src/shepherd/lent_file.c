/* run/lent: which URLs are out, and with whom. A record when a URL is handed out, and one when it
 * is back; what remains is what a start finds. A URL server on another machine outlives a kill of
 * this process and a power cut of this machine alike, so the first is durable before the URL leaves
 * (one sync for a HAVE, however many URLs it has). The second need not be: a URL that is back and
 * counts as out keeps its server from others for a while, and no more.
 *
 * Only servers could be noted, with far fewer records; but then nobody could say, after a kill,
 * when the last URL of a server is back. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/vec.h"
#include "shepherd/lent_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
	STEP_BYTES = 64, /* of most records, with their frame */
	TIDY_LEAST = 256 << 10,
	TIDY_FACTOR = 4,
	STEP_MAX = 128,
};

static const struct record_kind lent_kind = {"GARNERLN", 1, STEP_MAX};

/* Records. */

void lent_step_write(const struct lent_step *s, struct buf *out)
{
	put_u8(out, s->is_back ? 'b' : 'o');
	put_u64le(out, s->fp.site);
	put_u64le(out, s->fp.path);
	if (s->is_back)
		return;
	put_u64le(out, (uint64_t)s->time_us);
	put_u8(out, (uint8_t)addr_bytes(&s->server));
	buf_add(out, s->server.b, addr_bytes(&s->server));
	buf_add_text(out, s->name);
}

static bool server_read(struct str bytes, struct addr *ret)
{
	struct addr a = {.family = bytes.n == 4 ? AF_INET : AF_INET6};
	if (bytes.n != 4 && bytes.n != sizeof a.b)
		return false;
	memcpy(a.b, bytes.p, bytes.n);
	*ret = a;
	return addr_eq(addr_server(&a), a);
}

int lent_step_read(struct str payload, struct lent_step *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	uint8_t letter = reader_u8(&r);
	struct lent_step s = {.is_back = letter == 'b'};
	s.fp.site = reader_u64le(&r);
	s.fp.path = reader_u64le(&r);
	if (r.bad || (!s.is_back && letter != 'o') || (s.is_back && reader_left(&r)))
		return err_set(err, ERR_DAMAGED, "neither out nor back");
	if (!s.is_back) {
		s.time_us = (int64_t)reader_u64le(&r);
		struct str server = reader_bytes(&r, reader_u8(&r));
		struct str name = reader_bytes(&r, reader_left(&r));
		if (r.bad || !server_read(server, &s.server))
			return err_set(err, ERR_DAMAGED, "not the address of a server");
		if (!docindex_is_word(name))
			return err_set(err, ERR_DAMAGED, "not the name of a URL server");
		memcpy(s.name, name.p, name.n);
	}
	*ret = s;
	return 0;
}

static int step_show(struct str payload, struct buf *out, struct err *err)
{
	char digits[FOOTPRINT_TEXT], server[ADDR_SHOWN];
	struct lent_step s;
	if (lent_step_read(payload, &s, err) < 0)
		return -1;
	buf_printf(out, "%-4s %s", s.is_back ? "back" : "out", footprint_print(s.fp, digits));
	if (s.is_back)
		return 0;
	buf_printf(out, " of %s to %s at ", addr_print(&s.server, server), s.name);
	time_print(out, s.time_us, 0);
	return 0;
}

const struct format lent_format = {
	.name = "lent",
	.file = "run/lent",
	.magic = "GARNERLN",
	.version = 1,
	.help = "which URLs of a crawl are out, and with which URL server",
	.remedy = "stop the URL servers, and remove it: the crawl then knows of no loans",
	.records = &lent_kind,
	.show = step_show,
};

/* What is out by a file. */

struct found {
	struct lent_step *step; /* in the order of handing out */
	size_t n, room;
	struct lent_places at; /* by footprint, from 1 on; 0: it is back */
};

static void found_free(struct found *f)
{
	mem_free(&f->step);
	lent_places_free(&f->at);
}

static int found_load(struct found *f, const char *path, struct err *err)
{
	struct record_reader *reader = NULL;
	struct record record;
	struct lent_step step;
	int rc = record_reader_open(&reader, path, &lent_kind, err);
	if (rc != 0)
		return MIN(rc, 0);
	while ((rc = record_next(reader, &record, err)) == 0) {
		if (lent_step_read(record.payload, &step, err) < 0) {
			rc = err_in(err, "%s: byte %" PRIu64, path, record.place.at);
			break;
		}
		if (!step.is_back)
			*VEC_PUSH(f->step, f->n, f->room) = step;
		*lent_places_put(&f->at, step.fp) = step.is_back ? 0 : f->n;
	}
	record_reader_free(&reader);
	if (rc < 0)
		format_advise(&lent_format, err);
	return MIN(rc, 0);
}

/* Whether the step at this place still counts. */
static bool found_is_out(const struct found *f, size_t i)
{
	return *lent_places_get((struct lent_places *)&f->at, f->step[i].fp) == i + 1;
}

static void lent_path(const char *data, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/run/lent", data);
}

int reaper_lent_left(const char *data, struct err *err)
{
	struct found found = {0};
	char path[PATH_MAX];
	lent_path(data, path);
	int rc = found_load(&found, path, err);
	bool any = false;
	for (size_t i = 0; i < found.n && !any; i++)
		any = found_is_out(&found, i);
	found_free(&found);
	return rc < 0 ? -1 : any ? 0 : 1;
}

/* Writing. */

static int step_append(struct record_writer *w, const struct lent_step *step,
		       struct record_group *group, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(STEP_MAX);
	lent_step_write(step, &payload);
	return record_append(w, buf_str(&payload), group, NULL, err);
}

static int out_append(struct record_writer *w, struct footprint fp, const struct loan *loan,
		      int64_t time_us, struct record_group *group, struct err *err)
{
	struct lent_step step = {.fp = fp, .server = loan->server, .time_us = time_us};
	snprintf(step.name, sizeof step.name, "%s", loan->borrower->name);
	return step_append(w, &step, group, err);
}

int lent_file_out(struct lent *l, struct footprint fp, const struct loan *loan,
		  struct record_group *group, struct err *err)
{
	return out_append(l->writer, fp, loan, clock_wall_us(), group, err);
}

int lent_file_sync(struct lent *l, struct record_group *group, struct err *err)
{
	if (!group->last)
		return 0;
	FAULT("lent.note");
	if (record_sync(l->writer, group, err) < 0)
		return -1;
	FAULT("lent.noted");
	return 0;
}

void lent_file_back(struct lent *l, struct footprint fp)
{
	const struct lent_step step = {.is_back = true, .fp = fp};
	struct record_group group = {0};
	struct err err;
	(void)step_append(l->writer, &step, &group, &err); /* it counts as out for longer */
}

static int urls_write(struct lent *l, struct record_writer *w, struct err *err)
{
	struct record_group group = {0};
	LIST_EACH (struct borrower, b, &l->borrowers, link)
		LIST_EACH (struct lent_url, url, &b->urls, link)
			if (out_append(w, url->fp, url->loan, url->time_us, &group, err) < 0)
				return -1;
	return record_sync(w, &group, err);
}

/* The old file is whole until it has been replaced. */
static int file_rewrite(struct lent *l, struct err *err)
{
	char fresh[PATH_MAX + 16];
	struct record_writer *w = NULL;
	snprintf(fresh, sizeof fresh, "%s/run/.lent.new", l->o.data);
	if (file_remove(fresh, err) < 0 || record_open(&w, fresh, &lent_kind, 0640, NULL, err) < 0)
		return -1;
	int rc = urls_write(l, w, err);
	FAULT("lent.rewritten");
	if (rc == 0)
		rc = file_rename(fresh, l->path, err);
	if (rc < 0) {
		record_drop(&w);
		return -1;
	}
	record_drop(&l->writer);
	l->writer = w;
	FAULT("lent.renamed");
	return dir_sync_of(l->path, err);
}

int lent_file_keep(struct lent *l, struct err *err)
{
	uint64_t needs = lent_urls_count(&l->urls) * STEP_BYTES;
	if (record_end(l->writer) >= MAX(needs * TIDY_FACTOR, (uint64_t)TIDY_LEAST))
		return file_rewrite(l, err);
	return record_flush(l->writer, err);
}

int lent_file_open(struct lent *l, struct err *err)
{
	struct found found = {0};
	lent_path(l->o.data, l->path);
	int rc = record_open(&l->writer, l->path, &lent_kind, 0640, NULL, err);
	if (rc == 0)
		rc = found_load(&found, l->path, err);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		if (found_is_out(&found, i))
			lent_url_found(l, &found.step[i]);
	found_free(&found);
	return rc == 0 ? lent_file_keep(l, err) : -1;
}

void lent_file_close(struct lent *l)
{
	struct err err;
	if (l->writer)
		(void)record_close(&l->writer, &err); /* what was handed out is durable */
}
