/* garner index words build: documents from files or standard input into an index. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "cmd/index/index_cmd.h"
#include "cmd/index/soif_json.h"
#include "cmd/system/input.h"
#include "index/segment.h"
#include "soif/soif.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <unistd.h>

/* Documents to read: SOIF, lines of JSON, or lines of "id TAB title TAB text". */

enum index_form { INDEX_DETECT, INDEX_NDJSON, INDEX_SOIF, INDEX_TSV };
static const char *const form_words[] = {"auto", "ndjson", "soif", "tsv", NULL};

struct index_reading {
	enum index_form form;
	/* Takes a document, which is good until it returns. gone: it is to be deleted. Negative
	 * ends the reading. */
	int (*take)(void *ctx, const struct soif *doc, bool gone, struct err *err);
	void *ctx;
	uint64_t bytes;          /* of input, so far */
	uint64_t docs, rejected; /* handed over; what could not be */
};

enum { LINE_MOST = 2 * SOIF_MAX_VALUE };

struct input {
	const struct cmd_call *call;
	struct index_reading *r;
	enum index_form form; /* of the current input; DETECT: nothing has come yet */
	struct soif_parser soif;
	struct cmd_lines lines;
	struct arena arena;
};

static void reject_input(struct input *in, const char *name, uint64_t line, struct err *err)
{
	in->r->rejected++;
	if (line)
		(void)err_in(err, "%s:%llu", name, (unsigned long long)line);
	else
		(void)err_in(err, "%s", name);
	(void)cmd_fail(in->call, err);
}

static int hand_over(struct input *in, const struct soif *doc, bool gone, struct err *err)
{
	in->r->docs++;
	return in->r->take(in->r->ctx, doc, gone, err);
}

/* JSON: what "garner soif to-json" prints, or an object whose members are attributes. */

static bool is_key(const char *name)
{
	return strcmp(name, "url") == 0 || strcmp(name, "key") == 0 || strcmp(name, "id") == 0;
}

static bool value_of(const json_t *v, struct arena *arena, struct str *ret)
{
	if (json_is_string(v))
		*ret = arena_str(arena, (struct str){json_string_value(v), json_string_length(v)});
	else if (json_is_integer(v))
		*ret = str_of(arena_printf(arena, "%lld", (long long)json_integer_value(v)));
	else if (json_is_real(v))
		*ret = str_of(arena_printf(arena, "%.17g", json_real_value(v)));
	else if (json_is_boolean(v))
		*ret = json_is_true(v) ? STR("true") : STR("false");
	else
		return false;
	return true;
}

static void add_member(struct soif *obj, const char *name, const json_t *v, struct arena *arena)
{
	struct str as = arena_str(arena, str_of(name)), value;
	if (value_of(v, arena, &value)) {
		if (is_key(name) && obj->url.n == 0)
			obj->url = value;
		else
			soif_add(obj, arena, as, value);
	}
	for (size_t i = 0; i < json_array_size(v); i++)
		if (value_of(json_array_get(v, i), arena, &value))
			soif_append(obj, arena, as, value);
}

static int object_of(const json_t *root, struct arena *arena, struct soif *ret, struct err *err)
{
	struct soif obj = {.type = STR("FILE")};
	const char *name;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)root, name, v) add_member(&obj, name, v, arena);
	if (obj.url.n == 0)
		return err_set(err, ERR_USAGE, "no member \"url\", \"key\" or \"id\"");
	*ret = obj;
	return 0;
}

static int take_json(struct input *in, struct str text, struct soif *ret, bool *ret_gone,
		     struct err *err)
{
	json_error_t wrong;
	enum soif_section section = SOIF_PLAIN;
	json_t *root = json_loadb(text.p, text.n, JSON_ALLOW_NUL, &wrong);
	if (!root)
		return err_set(err, ERR_USAGE, "column %d: %s", wrong.column, wrong.text);
	bool printed = json_is_array(json_object_get(root, "attributes"));
	int rc = printed ? soif_json_parse(text, &in->arena, ret, &section, err)
			 : object_of(root, &in->arena, ret, err);
	*ret_gone = section == SOIF_DELETE;
	json_decref(root);
	return rc;
}

static int take_tsv(struct input *in, struct str text, struct soif *ret, struct err *err)
{
	struct str id, title;
	if (str_cut(&text, '\t', &id) != 0 || !text.p || str_cut(&text, '\t', &title) != 0 ||
	    !text.p)
		return err_set(err, ERR_USAGE, "expected id, title and text with tabs between");
	*ret = (struct soif){.type = STR("FILE"), .url = id};
	soif_add(ret, &in->arena, STR("Title"), title);
	soif_add(ret, &in->arena, STR("Full-Text"), text);
	return 0;
}

static int take_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct input *in = ctx;
	struct soif obj;
	bool gone = false;
	if (text.n == 0)
		return 0;
	int rc = in->form == INDEX_TSV ? take_tsv(in, text, &obj, err)
				       : take_json(in, text, &obj, &gone, err);
	if (rc < 0) {
		reject_input(in, name, line, err);
		rc = 0;
	} else {
		rc = hand_over(in, &obj, gone, err);
	}
	arena_clear(&in->arena);
	return rc;
}

static int take_soif(struct input *in, const char *name, struct str piece, struct err *err)
{
	struct soif obj;
	int rc;
	if (piece.n == 0)
		soif_feed_end(&in->soif);
	else if (soif_feed(&in->soif, piece, err) < 0)
		return err_in(err, "%s", name);
	while ((rc = soif_next(&in->soif, &in->arena, &obj, err)) != 1) {
		if (rc == 0 && obj.truncated)
			rc = err_set(err, ERR_USAGE, "the last object is cut off");
		if (rc < 0)
			reject_input(in, name, 0, err);
		else if (in->soif.section != SOIF_REFRESH &&
			 hand_over(in, &obj, in->soif.section == SOIF_DELETE, err) < 0)
			return -1;
		arena_clear(&in->arena);
	}
	return 0;
}

static enum index_form detect_form(struct str piece)
{
	piece = str_trim(piece);
	return piece.n == 0        ? INDEX_DETECT
	       : piece.p[0] == '@' ? INDEX_SOIF
	       : piece.p[0] == '{' ? INDEX_NDJSON
				   : INDEX_TSV;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct input *in = ctx;
	in->r->bytes += piece.n;
	if (in->form == INDEX_DETECT)
		in->form = in->r->form ? in->r->form : detect_form(piece);
	int rc = in->form == INDEX_SOIF ? take_soif(in, name, piece, err)
					: cmd_split(&in->lines, name, piece, err);
	if (piece.n == 0) { /* the next input is another */
		in->form = INDEX_DETECT;
		soif_parser_free(&in->soif);
		in->soif = SOIF_PARSER_INIT;
	}
	return rc;
}

/* Reads the arguments from first_arg on, or standard input. What cannot be taken is named on
 * standard error and counted. */
static int index_read(const struct cmd_call *call, int first_arg, struct index_reading *r,
		      struct err *err)
{
	struct input in = {.call = call,
			   .r = r,
			   .soif = SOIF_PARSER_INIT,
			   .lines = {.take = take_line,
				     .most = LINE_MOST,
				     .begun = BUF_INIT((size_t)LINE_MOST + 1)},
			   .arena = ARENA_INIT(SIZE_MAX)};
	in.lines.ctx = &in;
	int rc = cmd_read(call, first_arg, take_piece, &in, err);
	soif_parser_free(&in.soif);
	buf_free(&in.lines.begun);
	arena_free(&in.arena);
	return rc;
}

/* Building */

enum {
	COMMIT_BYTES = 1 << 30, /* of input between two commits */
	ATTRS_MOST = 1000,
};

struct build_options {
	int format;
	uint64_t memory;
	const char *language;
	bool merge, no_text;
	struct value_list columns;
};

TABLE(put_docs, struct table_hashes, uint64_t, table_hash_hashes, table_same_hashes)

struct build {
	const struct cmd_call *call;
	struct index_reading reading;
	struct words_writer *words;
	struct words_reader *before; /* the last commit */
	struct docstore *docs;       /* NULL: text is not kept */
	struct put_docs put;         /* oid of what was put since the last commit */
	struct buf old;              /* oids of what was replaced */
	struct words_note note;      /* of the last commit; follows: the last oid that was given */
	struct words_attr *attr;
	uint64_t committed; /* bytes of input */
	int64_t began_us, said_us;
	bool terminal;
	char path[PATH_MAX]; /* of the words */
};

/* The document with this key in the last commit. 0: there is none. */
static uint64_t oid_before(struct build *b, struct str key)
{
	uint64_t oid;
	struct err ignored;
	return words_find(b->before, key, &oid, &ignored) == 0 ? oid : 0;
}

/* Notes what the document with this key replaces; it is deleted once the index says so. */
static uint64_t *note_key(struct build *b, struct str key)
{
	bool is_new;
	struct table_hashes k = {hash64(key), hash64_seeded(key, 1)};
	uint64_t *at = put_docs_put_new(&b->put, k, &is_new);
	uint64_t old = is_new ? oid_before(b, key) : *at;
	if (old)
		buf_add(&b->old, &old, sizeof old);
	return at;
}

/* Deletes what the index no longer names. */
static int delete_old(struct build *b, struct err *err)
{
	for (size_t i = 0; i < b->old.n; i += sizeof(uint64_t)) {
		uint64_t oid;
		memcpy(&oid, b->old.p + i, sizeof oid);
		if (docstore_delete(b->docs, oid, err) < 0)
			return -1;
	}
	buf_clear(&b->old);
	return 0;
}

static int build_commit(struct build *b, struct err *err)
{
	if (b->docs && docstore_sync(b->docs, &b->note.docs, err) < 0)
		return -1;
	if (words_commit(b->words, &b->note, err) < 0)
		return -1;
	if (b->docs && (delete_old(b, err) < 0 || docstore_checkpoint(b->docs, err) < 0))
		return -1;
	put_docs_clear(&b->put); /* from now on the index tells */
	b->committed = b->reading.bytes;
	return words_refresh(&b->before, err) < 0 ? -1 : 0;
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
	uint64_t oid = b->docs ? b->note.follows + 1 : 0;
	(void)soif_u64(doc, STR("Rank"), &rank);
	if (b->docs && docstore_put(b->docs, oid, doc, err) < 0)
		return -1;
	b->note.follows += b->docs != NULL;
	struct words_doc d = {.key = doc->url,
			      .time_s = seconds_of(doc),
			      .rank = (uint16_t)MIN(rank, (uint64_t)UINT16_MAX),
			      .oid = oid,
			      .attr = b->attr,
			      .n = collect_attributes(b, doc)};
	if (words_add(b->words, &d, err) < 0) {
		struct err ignored;
		if (b->docs && err->code == ERR_USAGE) /* nobody would ever ask for it */
			(void)docstore_delete(b->docs, oid, &ignored);
		return -1;
	}
	if (b->docs)
		*note_key(b, doc->url) = oid;
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

/* Documents of a killed build */

TABLE(named_docs, uint64_t, bool, hash_u64, table_same_u64)

/* How many stored documents the index names; which, where set is not NULL. */
static int find_named(struct build *b, struct named_docs *set, uint64_t *ret_n, struct err *err)
{
	size_t n;
	uint64_t found = 0;
	const struct words_part *part = words_parts(b->before, &n);
	for (size_t i = 0; i < n; i++) {
		struct segment_column column;
		if (segment_column(part[i].segment, SEGMENT_OID, &column, err) < 0)
			return -1;
		for (uint32_t doc = 0; doc < part[i].docs; doc++) {
			int64_t v = segment_number(&column, doc);
			uint64_t oid = v == SEGMENT_ABSENT ? 0 : (uint64_t)v;
			if (oid == 0 || words_deleted(&part[i], doc))
				continue;
			found++;
			if (set)
				*named_docs_put(set, oid) = true;
		}
	}
	*ret_n = found;
	return 0;
}

struct orphans {
	struct build *build;
	struct named_docs named;
};

static int note_orphan(void *ctx, uint64_t oid, struct err *err)
{
	struct orphans *o = ctx;
	(void)err;
	if (!named_docs_get(&o->named, oid))
		buf_add(&o->build->old, &oid, sizeof oid);
	return 0;
}

/* Replaced documents are deleted after the commit that replaced them: a build that was killed in
 * between leaves some that nothing names. A file with nothing else in it goes at once. */
static int drop_orphans(struct build *b, struct err *err)
{
	struct docstore_stats stats;
	struct orphans o = {.build = b};
	uint64_t named = 0;
	if (docstore_stats(b->docs, &stats, err) < 0 || find_named(b, NULL, &named, err) < 0)
		return -1;
	if (stats.docs - stats.deleted_docs <= named)
		return 0;
	int rc = find_named(b, &o.named, &named, err);
	if (rc == 0)
		rc = docstore_each(b->docs, 1, note_orphan, &o, err);
	if (rc == 0)
		rc = delete_old(b, err);
	if (rc == 0)
		rc = MIN(docstore_compact(b->docs, 100, err), 0);
	named_docs_free(&o.named);
	return rc;
}

static int set_columns(const struct build_options *o, struct words_settings *s, struct err *err)
{
	for (size_t i = 0; i < o->columns.n; i++) {
		struct str name = str_of(o->columns.item[i]);
		enum words_type type = WORDS_NUMBER;
		if (str_ends(name, STR(":date")))
			type = WORDS_DATE;
		else if (str_ends(name, STR(":word")))
			type = WORDS_WORD;
		if (type != WORDS_NUMBER)
			name.n -= strlen(":date");
		if (name.n == 0 || name.n > WORDS_NAME_MOST || s->columns == WORDS_COLUMNS_MOST)
			return err_set(err, ERR_USAGE,
				       "--columns: at most %d names of at most %d bytes, not '%s'",
				       WORDS_COLUMNS_MOST, WORDS_NAME_MOST, o->columns.item[i]);
		memcpy(s->column[s->columns].name, name.p, name.n);
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
	if (words_writer_open(&b->words, b->path, &wo, err) < 0)
		return -1;
	words_noted(b->words, &b->note);
	int rc = words_open(&b->before, b->path, err);
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: its manifest was removed", b->path);
	if (rc == 0 && !o->no_text)
		rc = docstore_open(&b->docs, docs, &b->note.docs, NULL, err);
	if (rc == 0 && b->docs && drop_orphans(b, err) < 0) {
		buf_clear(&b->old);
		rc = err->code == ERR_DAMAGED ? 0 : -1; /* what is sound can be added to */
	}
	return rc;
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

static int run_build(const struct cmd_call *call, struct err *err)
{
	const struct build_options *o = call->options;
	struct build b = {.call = call,
			  .reading = {.form = (enum index_form)o->format, .take = take_doc},
			  .old = BUF_INIT(SIZE_MAX / 2),
			  .attr = mem_array(ATTRS_MOST + 1, sizeof *b.attr),
			  .began_us = clock_mono_us(),
			  .terminal = isatty(STDERR_FILENO)};
	b.reading.ctx = &b;
	int rc = run_all(&b, err);
	show_progress(&b, true);
	if (rc == 0)
		fprintf(call->out, "%" PRIu64 " documents, %" PRIu64 " rejected\n", b.reading.docs,
			b.reading.rejected);
	words_writer_close(&b.words);
	words_close(&b.before);
	docstore_close(&b.docs);
	put_docs_free(&b.put);
	buf_free(&b.old);
	mem_free(&b.attr);
	return rc < 0 ? -1 : b.reading.rejected ? ERR_PARTLY : 0;
}

static const struct cmd_option build_options[] = {
	CMD_OPTION(0, "NAMES", "columns", VALUE_LIST_AT(struct build_options, columns),
		   .help = "attributes to compare as numbers, or as dates (NAME:date) or whole "
			   "words (NAME:word); only for a new index"),
	CMD_OPTION('f', "FORM", "format", VALUE_WORD_AT(struct build_options, format),
		   .words = form_words, .fallback = "auto", .help = "format of the input"),
	CMD_OPTION(
		0, "NAME", "language", VALUE_TEXT_AT(struct build_options, language),
		.help = "language, such as english, whose words are stemmed; only for a new index"),
	CMD_OPTION('m', "SIZE", "memory", VALUE_SIZE_AT(struct build_options, memory),
		   .fallback = "256M", .min = WORDS_MEMORY_MIN, .max = 1e12,
		   .help = "memory for documents that are not on disk yet"),
	CMD_FLAG(0, "merge", struct build_options, merge, "merge all segments into one at the end"),
	CMD_FLAG(0, "no-text", struct build_options, no_text,
		 "do not keep the documents themselves"),
};
const struct command index_build_command = {
	.name = "build",
	.summary = "add documents to an index; create it if needed",
	.description =
		"Reads documents, keeps them in DIR/docs and indexes their words in DIR/words. A "
		"document replaces the one with the same key. The input is SOIF (the key is the "
		"URL; objects in @DELETE are removed), lines of JSON (what garner soif to-json "
		"prints, or objects whose members are attributes, with the key in url, key or id), "
		"or lines of id, title and text separated by tabs.\n\n"
		"The time of a document is its Last-Modification-Time or Update-Time. Rank (0 to "
		"65535) says how good it is, whatever the query. Documents are durable and visible "
		"when the command ends, and after each GiB of input. The next build removes what a "
		"killed build left behind.",
	CMD_OPTIONS(build_options, struct build_options),
	CMD_ARGS("DIR [FILE...]", 1, -1,
		 "the folder, created if needed, and files; none or -: standard input"),
	CMD_EXAMPLES({"garner index words build /tmp/mail < mail.ndjson",
		      "lines of JSON with url, title, ..."},
		     {"garner index words build --columns size,date:date,site:word DIR all.soif",
		      "SOIF with a number, a date and a word"}),
	CMD_EXITS({ERR_PARTLY, "some documents were rejected; the others are in the index"},
		  {ERR_DAMAGED, "the index is damaged or of another version"},
		  {ERR_BUSY, "another process writes this index"},
		  {ERR_SYSTEM, "a file cannot be read or written; the last commit stands"}),
	.run = run_build,
};
