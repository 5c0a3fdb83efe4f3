/* The collector's batch: entries, what is done with them at a start, and how they are printed. */
#include "broker/batch.h"

#include "disk/fields.h"
#include "index/words.h"

enum { ENTRY_MOST = 64 << 10, VERSION = 1 };

const struct record_kind batch_kind = {"GARNERBT", VERSION, ENTRY_MOST};

static const struct field fields[] = {
	{"", FIELD(FIELD_UINT, struct batch_entry, now.v), .hex = true},
	{"instead of", FIELD(FIELD_UINT, struct batch_entry, before.v), .hex = true},
	{"", FIELD(FIELD_REST, struct batch_entry, url)},
};
static const struct field_table batch_fields = {FIELDS("an entry of a batch", fields)};

void batch_write(const struct batch_entry *e, struct buf *out)
{
	fields_write(&batch_fields, e, out);
}

int batch_read(struct str payload, struct batch_entry *ret, struct err *err)
{
	if (fields_read(&batch_fields, payload, ret, err) < 0)
		return -1;
	return ret->url.n ? 0 : err_set(err, ERR_DAMAGED, "an entry of a batch has no URL");
}

int batch_drop(struct docstore *docs, struct docaddr addr, struct err *err)
{
	int rc = docstore_delete(docs, addr, err);
	return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

/* Either address may be one from before a compaction. */
static int drop_unless(struct docstore *docs, struct docaddr addr, struct docaddr is,
		       struct err *err)
{
	struct docaddr now;
	if (!addr.v)
		return 0;
	if (docstore_now(docs, addr, &now, err) < 0 || docstore_now(docs, is, &is, err) < 0)
		return -1;
	return now.v == is.v ? 0 : batch_drop(docs, now, err);
}

static int settle_entry(struct str payload, struct docstore *docs, struct words_reader *index,
			struct err *err)
{
	struct batch_entry e;
	struct docaddr is = {0};
	if (batch_read(payload, &e, err) < 0 || words_find(index, e.url, &is, err) < 0 ||
	    drop_unless(docs, e.now, is, err) < 0)
		return -1;
	return drop_unless(docs, e.before, is, err);
}

int batch_settle(const char *path, struct record_writer *batch, struct docstore *docs,
		 struct words_reader *index, struct err *err)
{
	struct record_reader *r;
	struct record record;
	int rc = record_reader_open(&r, path, &batch_kind, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	bool some = false;
	while ((rc = record_next(r, &record, err)) == 0) {
		some = true;
		if ((rc = settle_entry(record.payload, docs, index, err)) < 0)
			break;
	}
	record_reader_free(&r);
	if (rc < 0)
		return err_in(err, "%s", path);
	if (!some)
		return 0;
	if (docstore_sync(docs, err) < 0)
		return -1;
	return record_truncate(batch, RECORD_HEADER, err);
}

const struct format batch_format = {
	.name = "batch",
	.file = "broker/batch",
	.magic = "GARNERBT",
	.version = VERSION,
	.help = "what the collector did since the index was committed last",
	.remedy = "remove it; what it lists only keeps its space",
	.records = &batch_kind,
	.fields = &batch_fields,
};
