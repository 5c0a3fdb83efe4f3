/* Payloads of the record files that grow: journal, contrib and changes of a state, and the log of
 * forgotten URLs, which all states share. Numbers that are mostly small are varints: a busy crawl
 * writes thirty contributions for every page. */
#include "state/journal.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/text.h"
#include "state/state_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { ENTRY_MOST = 64 << 10, REASON_MOST = 1024, SECTION_SAME = 255 };
/* In the byte of the type. */
enum { NO_TARGET = 16, HAS_KEY = 32 };
enum { KEY_CODE = 2 }; /* resolved (shepherd/code.h) */

const char *const change_op_names[CHANGE_OPS] = {"none", "add", "refresh", "update", "delete"};

const struct record_kind journal_kind = {.magic = "GARNERJN", .version = 3, .most = ENTRY_MOST};
const struct record_kind contrib_kind = {.magic = "GARNERCB", .version = 3, .most = ENTRY_MOST};
const struct record_kind changes_kind = {.magic = "GARNERCH", .version = 2, .most = ENTRY_MOST};

static void put_key(struct buf *out, struct footprint fp)
{
	unsigned char key[FOOTPRINT_KEY];
	footprint_key(fp, key);
	buf_add(out, key, sizeof key);
}

static struct footprint take_key(struct reader *r)
{
	struct str key = reader_bytes(r, FOOTPRINT_KEY);
	return key.n == FOOTPRINT_KEY ? footprint_of_key(key.p) : (struct footprint){0, 0};
}

/* A code below `most`, or the reader goes bad. */
static unsigned take_code(struct reader *r, unsigned most)
{
	unsigned v = reader_u8(r);
	if (v >= most)
		r->bad = true;
	return v < most ? v : 0;
}

static uint32_t take_u32(struct reader *r)
{
	uint64_t v = reader_varint(r);
	if (v > UINT32_MAX)
		r->bad = true;
	return (uint32_t)v;
}

static int64_t take_time(struct reader *r)
{
	uint64_t v = reader_varint(r);
	if (v > INT64_MAX)
		r->bad = true;
	return (int64_t)(v & INT64_MAX);
}

static int entry_end(const struct reader *r, const char *what, struct err *err)
{
	if (!r->bad && reader_left(r) == 0)
		return 0;
	return err_set(err, ERR_DAMAGED, "not %s: wrong at byte %zu", what, reader_at(r));
}

struct journal_entry journal_of_key(uint64_t site, qkey key, int64_t time_us)
{
	return (struct journal_entry){.fp = {.site = site},
				      .time_us = time_us,
				      .type = ITEM_QKEY,
				      .flags = ITEM_ROBOTS,
				      .code = KEY_CODE,
				      .where = ITEM_NOWHERE,
				      .qkey = key,
				      .url = STR("-")};
}

void journal_write(const struct journal_entry *e, struct buf *out)
{
	put_key(out, e->fp);
	put_varint(out, (uint64_t)e->time_us);
	put_u8(out, (uint8_t)e->op);
	put_u8(out, (uint8_t)(e->type | (e->no_target ? NO_TARGET : 0) | (e->qkey ? HAS_KEY : 0)));
	put_u8(out, e->flags);
	put_u16le(out, e->code);
	item_put_where(out, e->where);
	put_varint(out, e->due_s);
	put_varint(out, e->download_ms);
	put_u8(out, e->has_section ? e->section : SECTION_SAME);
	if (e->qkey)
		put_u64le(out, e->qkey);
	buf_add(out, e->md5, sizeof e->md5);
	put_text(out, e->url);
	put_text(out, str_head(e->reason, REASON_MOST));
}

int journal_read(struct str payload, struct journal_entry *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct journal_entry e = {.fp = take_key(&r), .time_us = take_time(&r)};
	e.op = (enum change_op)take_code(&r, CHANGE_OPS);
	unsigned type = reader_u8(&r);
	e.no_target = type & NO_TARGET;
	bool has_key = type & HAS_KEY;
	type &= ~(unsigned)(NO_TARGET | HAS_KEY);
	if (type >= ITEM_TYPES)
		r.bad = true;
	e.type = (enum item_type)(type < ITEM_TYPES ? type : 0);
	e.flags = reader_u8(&r);
	e.code = reader_u16le(&r);
	e.where = item_take_where(&r);
	e.due_s = take_u32(&r);
	e.download_ms = take_u32(&r);
	unsigned section = reader_u8(&r);
	e.has_section = section != SECTION_SAME;
	e.section = (uint8_t)(e.has_section ? section : 0);
	e.qkey = has_key ? reader_u64le(&r) : 0;
	if (has_key && !e.qkey)
		r.bad = true;
	struct str md5 = reader_bytes(&r, sizeof e.md5);
	if (md5.n == sizeof e.md5)
		memcpy(e.md5, md5.p, sizeof e.md5);
	e.url = reader_text(&r, URL_MAX);
	e.reason = reader_text(&r, REASON_MOST);
	if (entry_end(&r, "an entry of a journal", err) < 0)
		return -1;
	*ret = e;
	return 0;
}

void contrib_write(const struct contrib *c, struct buf *out)
{
	put_key(out, c->fp);
	put_u8(out, c->flags);
	put_u8(out, c->weight);
	put_u8(out, c->section);
	put_key(out, c->from);
	put_varint(out, c->time_s);
	put_varint(out, c->changed_s);
	put_u8(out, c->hops);
	put_text(out, c->url);
}

int contrib_read(struct str payload, struct contrib *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct contrib c = {.fp = take_key(&r)};
	c.flags = reader_u8(&r);
	c.weight = reader_u8(&r);
	c.section = reader_u8(&r);
	c.from = take_key(&r);
	c.time_s = take_u32(&r);
	c.changed_s = take_u32(&r);
	c.hops = reader_u8(&r);
	c.url = reader_text(&r, URL_MAX);
	if (entry_end(&r, "a contribution", err) < 0)
		return -1;
	*ret = c;
	return 0;
}

void change_write(const struct change *c, struct buf *out)
{
	put_key(out, c->fp);
	put_varint(out, (uint64_t)c->time_us);
	put_u8(out, (uint8_t)c->op);
	put_u8(out, (uint8_t)c->by);
	put_u8(out, c->forgotten);
	put_text(out, c->url);
	put_text(out, str_head(c->reason, REASON_MOST));
}

int change_read(struct str payload, struct change *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct change c = {.fp = take_key(&r), .time_us = take_time(&r)};
	c.op = (enum change_op)take_code(&r, CHANGE_OPS);
	c.by = (enum phase)take_code(&r, PHASES);
	c.forgotten = take_code(&r, 2);
	c.url = reader_text(&r, URL_MAX);
	c.reason = reader_text(&r, REASON_MOST);
	if (entry_end(&r, "a change", err) < 0)
		return -1;
	*ret = c;
	return 0;
}

/* For `garner dump` and `garner check`. */

static void print_reason(struct buf *out, struct str reason)
{
	if (reason.n) {
		buf_add_text(out, " (");
		put_ascii(out, reason);
		buf_add_text(out, ")");
	}
}

static int print_journal(struct str payload, struct buf *out, struct err *err)
{
	struct journal_entry e;
	char fp[FOOTPRINT_TEXT], key[QKEY_TEXT];
	if (journal_read(payload, &e, err) < 0)
		return -1;
	time_print(out, e.time_us, 3);
	buf_printf(out, " %s %s %s code %u", footprint_print(e.fp, fp), change_op_names[e.op],
		   item_type_names[e.type], e.code);
	if (e.where != ITEM_NOWHERE)
		buf_printf(out, " bucket %" PRIx64, e.where);
	if (e.has_section)
		buf_printf(out, " section %u", e.section);
	if (e.qkey)
		buf_printf(out, " key %s", qkey_print(e.qkey, key));
	buf_printf(out, " %" PRIu32 "ms ", e.download_ms);
	put_ascii(out, e.url);
	print_reason(out, e.reason);
	return 0;
}

static int print_contrib(struct str payload, struct buf *out, struct err *err)
{
	struct contrib c;
	char fp[FOOTPRINT_TEXT], from[FOOTPRINT_TEXT];
	if (contrib_read(payload, &c, err) < 0)
		return -1;
	buf_printf(out, "%s flags %02x weight %u section %u from %s ", footprint_print(c.fp, fp),
		   c.flags, c.weight, c.section, footprint_print(c.from, from));
	if (c.changed_s) {
		buf_add_text(out, "changed ");
		time_print(out, c.changed_s * US_PER_S, 0);
		buf_add_byte(out, ' ');
	}
	if (c.hops)
		buf_printf(out, "after %u redirects ", c.hops);
	put_ascii(out, c.url);
	return 0;
}

static int print_change(struct str payload, struct buf *out, struct err *err)
{
	struct change c;
	char fp[FOOTPRINT_TEXT];
	if (change_read(payload, &c, err) < 0)
		return -1;
	time_print(out, c.time_us, 3);
	buf_printf(out, " %s %s by %s%s ", footprint_print(c.fp, fp), change_op_names[c.op],
		   phase_name(c.by), c.forgotten ? ", forgotten" : "");
	put_ascii(out, c.url);
	print_reason(out, c.reason);
	return 0;
}

const struct format journal_format = {
	.name = "journal",
	.file = "journal",
	.magic = "GARNERJN",
	.version = 3,
	.help = "what became of the URLs that a cycle of the crawl tried",
	.remedy = STATE_REMEDY,
	.records = &journal_kind,
	.show = print_journal,
	.verify = journal_verify,
};

const struct format contrib_format = {
	.name = "contrib",
	.file = "contrib",
	.magic = "GARNERCB",
	.version = 3,
	.help = "URLs that were found on pages of the crawl",
	.remedy = STATE_REMEDY,
	.records = &contrib_kind,
	.show = print_contrib,
	.verify = contrib_verify,
};

const struct format changes_format = {
	.name = "changes",
	.file = "changes",
	.magic = "GARNERCH",
	.version = 2,
	.help = "what the modules of the crawl did to URLs, and why",
	.remedy = STATE_REMEDY,
	.records = &changes_kind,
	.show = print_change,
	.verify = changes_verify,
};

/* The log of forgotten URLs */

enum { GONE_ENTRY = 20, GONE_GATHERED = 1024 };

const char *const gone_reason_names[GONE_REASONS] = {"unknown", "error", "duplicate",
						     "filter",  "rank",  "hand"};

const struct record_kind gone_kind = {
	.magic = "GARNERGN", .version = 2, .most = GONE_GATHERED * GONE_ENTRY};

struct gone_writer {
	struct record_writer *records;
	struct buf gathered;
};

static void gone_put_entry(struct buf *out, const struct gone *g)
{
	unsigned char key[FOOTPRINT_KEY];
	uint64_t hours = (uint64_t)MAX(g->time_us, 0) / (uint64_t)US_PER_H;
	footprint_key(g->fp, key);
	buf_add(out, key, sizeof key);
	for (unsigned i = 0; i < 3; i++)
		put_u8(out, (uint8_t)(hours >> 8 * i));
	put_u8(out, (uint8_t)g->reason);
}

static struct gone gone_entry_at(struct str payload, size_t i)
{
	const unsigned char *p = (const unsigned char *)payload.p + i * GONE_ENTRY;
	int64_t hours = p[16] | p[17] << 8 | p[18] << 16;
	return (struct gone){.fp = footprint_of_key(p),
			     .time_us = hours * US_PER_H,
			     .reason = (enum gone_reason)(p[19] < GONE_REASONS ? p[19] : 0)};
}

int gone_open(struct gone_writer **ret, const char *path, struct err *err)
{
	struct record_writer *records;
	if (record_open(&records, path, &gone_kind, 0644, NULL, err) < 0)
		return -1;
	struct gone_writer *w = mem_alloc(sizeof *w);
	*w = (struct gone_writer){records, BUF_INIT((size_t)GONE_GATHERED * GONE_ENTRY)};
	*ret = w;
	return 0;
}

struct record_writer *gone_records(struct gone_writer *w)
{
	return w->records;
}

int gone_flush(struct gone_writer *w, struct record_group *group, struct err *err)
{
	if (w->gathered.n == 0)
		return 0;
	int rc = record_append(w->records, buf_str(&w->gathered), group, NULL, err);
	if (rc == 0)
		buf_clear(&w->gathered);
	return rc;
}

int gone_add(struct gone_writer *w, const struct gone *g, struct record_group *group,
	     struct err *err)
{
	if (w->gathered.n == w->gathered.max && gone_flush(w, group, err) < 0)
		return -1;
	gone_put_entry(&w->gathered, g);
	return 0;
}

int gone_close(struct gone_writer **pw, struct err *err)
{
	int rc = *pw ? record_close(&(*pw)->records, err) : 0;
	gone_drop(pw);
	return rc;
}

void gone_drop(struct gone_writer **pw)
{
	if (!*pw)
		return;
	record_drop(&(*pw)->records);
	buf_free(&(*pw)->gathered);
	mem_free(pw);
}

static int gone_check(struct str payload, struct err *err)
{
	if (payload.n % GONE_ENTRY == 0)
		return 0;
	return err_set(err, ERR_DAMAGED, "%zu bytes are not entries of %d", payload.n, GONE_ENTRY);
}

int gone_each(const char *path, int (*fn)(void *ctx, const struct gone *g, struct err *err),
	      void *ctx, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, &gone_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = gone_check(record.payload, err);
		for (size_t i = 0; rc == 0 && i < record.payload.n / GONE_ENTRY; i++) {
			struct gone g = gone_entry_at(record.payload, i);
			rc = fn(ctx, &g, err);
		}
	}
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

struct finding {
	struct footprint fp;
	struct gone found;
	int64_t since_us;
	bool any, is_found;
};

static int gone_look_at(void *ctx, const struct gone *g, struct err *err)
{
	struct finding *f = ctx;
	(void)err;
	f->since_us = f->any ? f->since_us : g->time_us;
	f->any = true;
	if (footprint_cmp(g->fp, f->fp) != 0)
		return 0;
	f->found = *g;
	f->is_found = true;
	return 0;
}

int gone_find(const char *path, struct footprint fp, struct gone *ret, int64_t *ret_since_us,
	      struct err *err)
{
	struct finding f = {.fp = fp};
	if (gone_each(path, gone_look_at, &f, err) < 0)
		return -1;
	if (f.is_found)
		*ret = f.found;
	*ret_since_us = f.since_us;
	return f.is_found ? 0 : 1;
}

struct trimming {
	struct gone_writer *out;
	struct record_group group;
	int64_t before_us;
	struct err failed; /* writing; what cannot be read is another thing */
};

static int gone_copy_since(void *ctx, const struct gone *g, struct err *err)
{
	struct trimming *t = ctx;
	if (g->time_us < t->before_us || gone_add(t->out, g, &t->group, &t->failed) == 0)
		return 0;
	*err = t->failed;
	return -1;
}

int gone_trim(const char *path, int64_t before_us, struct err *err)
{
	char fresh[PATH_MAX];
	struct trimming t = {.before_us = before_us};
	struct record_reader *in = NULL;
	snprintf(fresh, sizeof fresh, "%s.new", path);
	int rc = record_reader_open(&in, path, &gone_kind, err);
	record_reader_free(&in);
	if (rc)
		return rc < 0 ? rc : 0;
	if (file_remove(fresh, err) < 0 || gone_open(&t.out, fresh, err) < 0)
		return -1;
	rc = gone_each(path, gone_copy_since, &t, err);
	/* after damage nothing can be read: what is before it is kept, and the new file is sound
	 */
	if (rc < 0 && err->code == ERR_DAMAGED && t.failed.code == ERR_NONE)
		rc = 0;
	if (rc == 0)
		rc = gone_flush(t.out, &t.group, err);
	if (rc == 0)
		rc = record_sync(t.out->records, &t.group, err);
	if (rc == 0)
		rc = gone_close(&t.out, err);
	gone_drop(&t.out);
	if (rc == 0 && (file_rename(fresh, path, err) < 0 || dir_sync_of(path, err) < 0))
		rc = -1;
	return rc;
}

static int print_gone(struct str payload, struct buf *out, struct err *err)
{
	if (gone_check(payload, err) < 0)
		return -1;
	buf_printf(out, "%zu URLs", payload.n / GONE_ENTRY);
	for (size_t i = 0; i < payload.n / GONE_ENTRY; i++) {
		struct gone g = gone_entry_at(payload, i);
		char fp[FOOTPRINT_TEXT];
		buf_printf(out, "\n  %s ", footprint_print(g.fp, fp));
		time_print(out, g.time_us, 0);
		buf_printf(out, " %s", gone_reason_names[g.reason]);
	}
	return 0;
}

const struct format gone_format = {
	.name = "gone",
	.file = "gone",
	.magic = "GARNERGN",
	.version = 2,
	.help = "URLs that the crawl has forgotten, when and why",
	.remedy = "garner shep recover keeps what can be read of it",
	.records = &gone_kind,
	.show = print_gone,
	.verify = gone_verify,
};
