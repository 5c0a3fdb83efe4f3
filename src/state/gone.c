#include "state/gone.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "state/url_index.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { ENTRY = 20, GATHERED = 1024 };

const char *const gone_reason_names[GONE_REASONS] = {"unknown", "error", "duplicate", "filter",
						     "rank",    "site",  "hand"};

const struct record_kind gone_kind = {.magic = "GARNERGN", .version = 1, .most = GATHERED * ENTRY};

struct gone_writer {
	struct record_writer *records;
	struct buf gathered;
};

static void put_entry(struct buf *out, const struct gone *g)
{
	unsigned char key[FOOTPRINT_KEY];
	uint64_t hours = (uint64_t)MAX(g->time_us, 0) / (uint64_t)US_PER_H;
	footprint_key(g->fp, key);
	buf_add(out, key, sizeof key);
	for (unsigned i = 0; i < 3; i++)
		put_u8(out, (uint8_t)(hours >> 8 * i));
	put_u8(out, (uint8_t)g->reason);
}

static struct gone entry_at(struct str payload, size_t i)
{
	const unsigned char *p = (const unsigned char *)payload.p + i * ENTRY;
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
	*w = (struct gone_writer){records, BUF_INIT((size_t)GATHERED * ENTRY)};
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
	put_entry(&w->gathered, g);
	return 0;
}

void gone_drop(struct gone_writer **pw)
{
	if (!*pw)
		return;
	record_drop(&(*pw)->records);
	buf_free(&(*pw)->gathered);
	mem_free(pw);
}

static int check(struct str payload, struct err *err)
{
	if (payload.n % ENTRY == 0)
		return 0;
	return err_set(err, ERR_DAMAGED, "%zu bytes are no entries of %d", payload.n, ENTRY);
}

int gone_each(const char *path, int (*fn)(void *ctx, const struct gone *g, struct err *err),
	      void *ctx, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, &gone_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = check(record.payload, err);
		for (size_t i = 0; rc == 0 && i < record.payload.n / ENTRY; i++) {
			struct gone g = entry_at(record.payload, i);
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

static int look_at(void *ctx, const struct gone *g, struct err *err)
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
	if (gone_each(path, look_at, &f, err) < 0)
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

static int copy_since(void *ctx, const struct gone *g, struct err *err)
{
	struct trimming *t = ctx;
	if (g->time_us < t->before_us || gone_add(t->out, g, &t->group, &t->failed) == 0)
		return 0;
	*err = t->failed;
	return -1;
}

int gone_trim(const char *path, int64_t before_us, struct err *err)
{
	char beside[PATH_MAX];
	struct trimming t = {.before_us = before_us};
	struct record_reader *in = NULL;
	snprintf(beside, sizeof beside, "%s.new", path);
	int rc = record_reader_open(&in, path, &gone_kind, err);
	record_reader_free(&in);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = file_remove(beside, err) < 0 ? -1 : gone_open(&t.out, beside, err);
	if (rc == 0)
		rc = gone_each(path, copy_since, &t, err);
	/* behind damage nothing can be read: what is before it is kept, and the new file is sound
	 */
	if (rc < 0 && err->code == ERR_DAMAGED && t.failed.code == ERR_NONE)
		rc = 0;
	if (rc == 0)
		rc = gone_flush(t.out, &t.group, err);
	if (rc == 0)
		rc = record_sync(t.out->records, &t.group, err);
	if (rc == 0)
		rc = record_close(&t.out->records, err);
	gone_drop(&t.out);
	if (rc == 0 && (file_rename(beside, path, err) < 0 || dir_sync_of(path, err) < 0))
		rc = -1;
	return rc;
}

static int print_entries(struct str payload, struct buf *out, struct err *err)
{
	if (check(payload, err) < 0)
		return -1;
	buf_printf(out, "%zu URLs", payload.n / ENTRY);
	for (size_t i = 0; i < payload.n / ENTRY; i++) {
		struct gone g = entry_at(payload, i);
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
	.version = 1,
	.help = "URLs that the crawl has forgotten, when and why",
	.records = &gone_kind,
	.show = print_entries,
};
