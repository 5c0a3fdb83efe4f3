/* garner index words build */
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "cmd/index_cmd.h"
#include "cmd/index_input.h"
#include "index/segment.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

enum { COMMIT_BYTES = 1 << 30, ATTRS_MOST = 1000 };

struct build_options {
	int format;
	uint64_t memory;
	const char *language;
	bool merge, no_text;
	struct value_list columns;
};

/* A key is told from all others by 128 bits of its hash. */
struct key_hash {
	uint64_t a, b;
};
static uint64_t hash_key(struct key_hash k)
{
	return k.a;
}
static bool equal_key(struct key_hash x, struct key_hash y)
{
	return x.a == y.a && x.b == y.b;
}
TABLE(put_docs, struct key_hash, uint64_t, hash_key, equal_key)

struct build {
	const struct cmd_call *call;
	struct index_reading reading;
	struct words_writer *words;
	struct words_reader *before; /* what was there; NULL: nothing */
	struct docstore *docs;       /* NULL: text is not kept */
	struct put_docs put;         /* address of what was put since the last commit */
	struct buf old;              /* addresses of what was replaced */
	struct words_attr *attr;
	uint64_t committed; /* bytes of input */
	int64_t began_us, said_us;
	bool terminal;
	char path[PATH_MAX]; /* of the words */
};

/* Where the document with this key lies now. 0: nowhere. */
static struct docaddr address_before(struct build *b, struct str key)
{
	size_t n = 0;
	struct err err;
	const struct words_part *part = b->before ? words_parts(b->before, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t doc;
		struct segment_column column;
		if (segment_find(part[i].segment, key, &doc, &err) == 0 &&
		    !words_deleted(&part[i], doc) &&
		    segment_column(part[i].segment, SEGMENT_ADDR, &column, &err) == 0)
			return (struct docaddr){(uint64_t)segment_number(&column, doc)};
	}
	return (struct docaddr){0};
}

/* Notes what the document with this key replaces; it is deleted once the index says so. */
static uint64_t *note_key(struct build *b, struct str key)
{
	bool is_new;
	struct key_hash k = {hash64(key), hash64_seeded(key, 1)};
	uint64_t *at = put_docs_put_new(&b->put, k, &is_new);
	uint64_t old = is_new ? address_before(b, key).v : *at;
	if (old)
		buf_add(&b->old, &old, sizeof old);
	return at;
}

static int build_commit(struct build *b, struct err *err)
{
	if (b->docs && docstore_sync(b->docs, err) < 0)
		return -1;
	if (words_commit(b->words, err) < 0)
		return -1;
	for (size_t i = 0; i + 8 <= b->old.n; i += 8) {
		struct docaddr addr;
		memcpy(&addr.v, b->old.p + i, 8);
		if (docstore_delete(b->docs, addr, err) < 0)
			return -1;
	}
	if (b->old.n && docstore_sync(b->docs, err) < 0)
		return -1;
	buf_clear(&b->old);
	put_docs_clear(&b->put); /* from now on the index tells */
	b->committed = b->reading.bytes;
	int rc = b->before ? words_refresh(&b->before, err) : words_open(&b->before, b->path, err);
	return rc < 0 ? -1 : 0;
}

static void show_progress(struct build *b, bool end)
{
	int64_t now = clock_mono_us();
	if (!b->terminal || (!end && now - b->said_us < 500000))
		return;
	double mb = (double)b->reading.bytes / 1e6, s = (double)(now - b->began_us) / 1e6;
	fprintf(stderr, "\r%" PRIu64 " documents, %.0f MB, %.1f MB/s%s", b->reading.docs, mb,
		s > 0 ? mb / s : 0, end ? "\n" : " ");
	b->said_us = now;
}

static int64_t seconds_of(const struct soif *doc)
{
	uint64_t s = 0;
	if (!soif_u64(doc, STR("Last-Modification-Time"), &s))
		(void)soif_u64(doc, STR("Update-Time"), &s);
	return s <= INT64_MAX ? (int64_t)s : 0;
}

/* The attributes of a document, and its URL where its key is one. */
static size_t collect_attributes(struct build *b, const struct soif *doc)
{
	size_t n = 0;
	for (size_t i = 0; i < doc->n && n < ATTRS_MOST; i++)
		b->attr[n++] = (struct words_attr){doc->attr[i].name, doc->attr[i].value};
	if (str_find(doc->url, STR("://")) < doc->url.n)
		b->attr[n++] = (struct words_attr){STR("url"), doc->url};
	return n;
}

static int add_doc(struct build *b, const struct soif *doc, struct err *err)
{
	uint64_t rank = 0;
	struct docaddr addr = {0};
	(void)soif_u64(doc, STR("Rank"), &rank);
	if (b->docs && docstore_put(b->docs, doc, &addr, err) < 0)
		return -1;
	struct words_doc d = {.key = doc->url,
			      .time_s = seconds_of(doc),
			      .rank = (uint16_t)MIN(rank, (uint64_t)UINT16_MAX),
			      .addr = addr,
			      .attr = b->attr,
			      .n = collect_attributes(b, doc)};
	if (words_add(b->words, &d, err) < 0) {
		struct err ignored;
		if (b->docs && err->code == ERR_USAGE) /* nobody would ever ask for it */
			(void)docstore_delete(b->docs, addr, &ignored);
		return -1;
	}
	if (b->docs)
		*note_key(b, doc->url) = addr.v;
	return 0;
}

static int remove_doc(struct build *b, struct str key, struct err *err)
{
	int rc = words_delete(b->words, key, err);
	if (rc == 0 && b->docs)
		*note_key(b, key) = 0;
	return rc < 0 ? -1 : 0;
}

static int take_doc(void *ctx, const struct soif *doc, bool gone, struct err *err)
{
	struct build *b = ctx;
	int rc = gone ? remove_doc(b, doc->url, err) : add_doc(b, doc, err);
	if (rc < 0 && err->code == ERR_USAGE) { /* only this one */
		b->reading.rejected++;
		b->reading.docs--;
		(void)cmd_fail(b->call, err);
		rc = 0;
	}
	show_progress(b, false);
	if (rc == 0 && b->reading.bytes - b->committed > COMMIT_BYTES)
		rc = build_commit(b, err);
	return rc;
}

static int set_columns(const struct build_options *o, struct words_settings *s, struct err *err)
{
	for (size_t i = 0; i < o->columns.n; i++) {
		struct str name = str_of(o->columns.item[i]);
		enum words_type type = WORDS_NUMBER;
		if (str_ends(name, STR(":date"))) {
			type = WORDS_DATE;
			name.n -= strlen(":date");
		}
		if (name.n == 0 || name.n > WORDS_NAME_MOST || s->columns == WORDS_COLUMNS_MOST)
			return err_set(err, ERR_USAGE,
				       "--columns: at most %d names of at most %d bytes, not '%s'",
				       WORDS_COLUMNS_MOST, WORDS_NAME_MOST, o->columns.item[i]);
		memcpy(s->column[s->columns].name, name.p, name.n);
		for (size_t k = 0; k < name.n; k++) {
			char *c = &s->column[s->columns].name[k];
			*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
		}
		s->column[s->columns++].type = type;
	}
	return 0;
}

static int open_all(struct build *b, const char *folder, struct err *err)
{
	const struct build_options *o = b->call->options;
	struct words_settings settings;
	char docs[PATH_MAX];
	index_path(folder, "words", b->path);
	index_path(folder, "docs", docs);
	words_settings_default(&settings);
	snprintf(settings.language, sizeof settings.language, "%s", o->language);
	if (set_columns(o, &settings, err) < 0)
		return -1;
	struct words_options wo = {.settings = &settings, .memory = o->memory};
	int rc = words_open(&b->before, b->path, err);
	if (rc < 0 || words_writer_open(&b->words, b->path, &wo, err) < 0)
		return -1;
	return o->no_text ? 0 : docstore_open(&b->docs, docs, NULL, err);
}

static int run_all(struct build *b, struct err *err)
{
	const struct build_options *o = b->call->options;
	int rc = open_all(b, b->call->argv[0], err);
	if (rc == 0)
		rc = index_read(b->call, 1, &b->reading, err);
	if (rc == 0)
		rc = build_commit(b, err);
	if (rc == 0 && o->merge)
		rc = words_merge_all(b->words, err) < 0 ? -1 : 0;
	return rc;
}

static int run_build(const struct cmd_call *call)
{
	const struct build_options *o = call->options;
	struct err err;
	struct build b = {.call = call,
			  .reading = {.form = (enum index_form)o->format, .take = take_doc},
			  .old = BUF_INIT(SIZE_MAX / 2),
			  .attr = mem_array(ATTRS_MOST + 1, sizeof *b.attr),
			  .began_us = clock_mono_us(),
			  .terminal = isatty(STDERR_FILENO)};
	b.reading.ctx = &b;
	int rc = run_all(&b, &err);
	show_progress(&b, true);
	int code = rc < 0 ? cmd_fail(call, &err) : b.reading.rejected ? ERR_PARTLY : 0;
	if (rc == 0)
		fprintf(call->out, "%" PRIu64 " documents, %" PRIu64 " rejected\n", b.reading.docs,
			b.reading.rejected);
	words_writer_close(&b.words);
	words_close(&b.before);
	docstore_close(&b.docs);
	put_docs_free(&b.put);
	buf_free(&b.old);
	mem_free(&b.attr);
	return code;
}

static const struct cmd_option build_options[] = {
	{.spec = {"columns", VALUE_LIST_AT(struct build_options, columns),
		  .help = "attributes to compare as numbers, or with :date behind as dates; only "
			  "where the index is made"},
	 .arg = "NAMES"},
	{'f',
	 "FORM",
	 {"format", VALUE_WORD_AT(struct build_options, format), .words = index_form_words,
	  .fallback = "auto", .help = "what the input is"}},
	{.spec = {"language", VALUE_TEXT_AT(struct build_options, language),
		  .help = "reduce words to their stems, as in english; only where the index is "
			  "made"},
	 .arg = "NAME"},
	{'m',
	 "SIZE",
	 {"memory", VALUE_SIZE_AT(struct build_options, memory), .fallback = "256M",
	  .min = WORDS_MEMORY_MIN, .max = 1e12, .help = "for what is not on disk yet"}},
	{.spec = {"merge", VALUE_BOOL_AT(struct build_options, merge),
		  .help = "make one segment of all at the end"}},
	{.spec = {"no-text", VALUE_BOOL_AT(struct build_options, no_text),
		  .help = "do not keep the documents themselves"}},
};
static const struct cmd_example build_examples[] = {
	{"garner index words build /tmp/mail < mail.ndjson", "lines of JSON with url, title, ..."},
	{"garner index words build --columns size,date:date DIR all.soif", "SOIF with a number and "
									   "a date"},
};
static const struct cmd_exit build_exits[] = {
	{ERR_PARTLY, "some documents were rejected; the others are in the index"},
	{ERR_DAMAGED, "the index is damaged or of another version"},
	{ERR_BUSY, "another process writes this index"},
	{ERR_SYSTEM, "a file cannot be read or written; the last commit stands"},
};
const struct command index_build_command = {
	.name = "build",
	.summary = "add documents to an index, or make one",
	.description =
		"Reads documents, keeps them in DIR/docs and indexes their words in DIR/words. A "
		"document replaces the one with the same key. The input is SOIF (the key is the "
		"URL; objects in @DELETE are removed), lines of JSON (what garner soif to-json "
		"prints, or objects whose members are attributes, with the key in url, key or id), "
		"or lines of id, title and text with tabs between.\n\n"
		"Last-Modification-Time or Update-Time is the time of a document, Rank (0 to "
		"65535) "
		"how good it is whatever is asked. What was read is durable and visible when the "
		"command ends, and after each GiB of input.",
	CMD_OPTIONS(build_options, struct build_options),
	.args = "DIR [FILE...]",
	.args_help = "the folder, which is made if needed, and files; none or -: standard input",
	.min_args = 1,
	.max_args = -1,
	CMD_EXAMPLES(build_examples),
	CMD_EXITS(build_exits),
	.run = run_build,
};
