/* garner index: indexes at the command line. */
#include "cmd/index/index_cmd.h"

#include "base/file.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "index/segment.h"

#include <inttypes.h>
#include <limits.h>

void index_path(const char *folder, const char *name, char *ret)
{
	snprintf(ret, PATH_MAX, "%s/%s", folder, name);
}

int index_open(const char *folder, struct words_reader **ret, struct docstore **ret_docs,
	       struct err *err)
{
	char path[PATH_MAX];
	struct docstore *docs = NULL;
	index_path(folder, "docs", path);
	if (docstore_open_read(&docs, path, err) < 0)
		return -1;
	index_path(folder, "words", path);
	int rc = words_open(ret, path, err);
	if (rc != 0) {
		docstore_close(&docs);
		return rc < 0 ? -1
			      : err_set(err, ERR_USAGE,
					"%s: there is no words index; garner index words build "
					"makes one",
					path);
	}
	*ret_docs = docs;
	return 0;
}

void index_put_facets(struct buf *out, const struct hits *hits)
{
	const char *about = hits->facet_sample ? "about " : "";
	for (uint32_t i = 0; i < hits->facets; i++) {
		const struct facet *f = &hits->facet[i];
		put_safe(out, f->name);
		buf_add_text(out, ":\n");
		for (uint32_t k = 0; k < f->n; k++) {
			buf_printf(out, "%s%8" PRIu64 "  ", about, f->shown[k].count);
			put_safe(out, f->shown[k].value);
			buf_add_byte(out, '\n');
		}
		if (f->rest)
			buf_printf(out, "%s%8" PRIu64 "  others\n", about, f->rest);
	}
	if (hits->facet_sample)
		buf_printf(out, "counted: a sample of %" PRIu64 " of %" PRIu64 " documents\n",
			   hits->facet_sample, hits->facet_of);
}

/* stats */

struct figures {
	struct words_stats w;
	struct docstore_stats d;
};
static const struct column figure_columns[] = {
	COL("generation", struct figures, w.generation),
	COL("segments", struct figures, w.segments),
	COL("documents", struct figures, w.docs),
	COL("deleted_documents", struct figures, w.deleted_docs),
	COL("words", struct figures, w.occurrences),
	COL("index_bytes", struct figures, w.file_bytes),
	COL("stored_documents", struct figures, d.docs),
	COL("stored_deleted", struct figures, d.deleted_docs),
	COL("stored_text_bytes", struct figures, d.text_bytes),
	COL("stored_bytes", struct figures, d.file_bytes),
	COL("stored_files", struct figures, d.files),
};
static const struct rows figure_rows = {ROWS(struct figures, figure_columns)};

static int run_stats(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(words_close) struct words_reader *r = NULL;
	CLEANUP(docstore_close) struct docstore *docs = NULL;
	struct figures f = {0};
	if (index_open(call->argv[0], &r, &docs, err) < 0)
		return -1;
	words_stats(r, &f.w);
	if (docs && docstore_stats(docs, &f.d, err) < 0)
		return -1;
	if (o->json)
		return cmd_row_json(call, &figure_rows, &f);
	struct buf out = BUF_INIT(1 << 16);
	rows_lines(&figure_rows, &f, "", 24, 15, &out);
	return cmd_print(call, &out);
}

const struct command index_stats_command = {
	.name = "stats",
	.summary = "count documents, words and bytes",
	CMD_JSON(0, "as JSON"),
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXITS(INDEX_EXITS),
	.run = run_stats,
};

/* check */

static int run_check(const struct cmd_call *call, struct err *err)
{
	CLEANUP(words_close) struct words_reader *r = NULL;
	CLEANUP(docstore_close) struct docstore *docs = NULL;
	struct words_stats w;
	struct words_note note;
	if (index_open(call->argv[0], &r, &docs, err) < 0)
		return -1;
	words_stats(r, &w);
	words_reader_note(r, &note);
	if (words_verify(r, err) < 0 || (docs && docstore_verify(docs, &note.docs, err) < 0))
		return -1;
	fprintf(call->out, "%" PRIu64 " documents in %" PRIu64 " segments, all sound\n", w.docs,
		w.segments);
	return 0;
}

const struct command index_check_command = {
	.name = "check",
	.summary = "verify every page of an index and every document",
	.description =
		"Reads the whole index, which may be in use. garner check verifies single files.",
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXITS(INDEX_EXITS),
	.run = run_check,
};

static const struct command words_command = {
	.name = "words",
	.summary = "index documents by their words",
	.description = "A folder DIR holds a words index (words/) and the documents themselves "
		       "(docs/), in the same form as the broker's own.",
	CMD_SUBS(&index_build_command, &index_query_command, &index_suggest_command,
		 &index_stats_command, &index_check_command, &index_dump_command),
};

const struct command index_command = {
	.name = "index",
	.summary = "build, query and check indexes",
	.description = "Does by hand what the roles do by themselves: for files of documents, for "
		       "measurements, and to look into an index.",
	CMD_SUBS(&words_command, &index_names_command),
};

/* dump */

enum { PIECE = 64 << 10 };

struct dump_options {
	bool soif, terms;
};

struct dump {
	const struct cmd_call *call;
	struct docstore *docs;
	struct arena arena;
	struct buf out;
};

static void dump_flush(struct dump *d, size_t more_than)
{
	if (d->out.n > more_than)
		cmd_flush(d->call, &d->out);
}

static int print_doc(struct dump *d, struct segment *s, uint32_t doc, struct err *err)
{
	const struct dump_options *o = d->call->options;
	struct segment_column time, rank, oids;
	struct str key;
	struct soif obj;
	if (segment_key(s, doc, &d->arena, &key, err) < 0 ||
	    segment_column(s, SEGMENT_TIME, &time, err) < 0 ||
	    segment_column(s, SEGMENT_RANK, &rank, err) < 0 ||
	    segment_column(s, SEGMENT_OID, &oids, err) < 0)
		return -1;
	uint64_t oid = (uint64_t)segment_number(&oids, doc);
	if (!o->soif) {
		buf_printf(&d->out, STR_FMT "\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\n",
			   STR_ARG(key), segment_number(&time, doc), segment_number(&rank, doc),
			   oid);
		return 0;
	}
	int rc = d->docs ? docstore_get(d->docs, oid, &d->arena, &obj, err) : 1;
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, STR_FMT ": its document is not kept",
			       STR_ARG(key));
	return rc < 0 ? -1 : soif_print(&obj, &d->out, err);
}

static int print_docs(struct dump *d, const struct words_part *part, struct err *err)
{
	for (uint32_t doc = 0; doc < part->docs; doc++) {
		if (words_deleted(part, doc))
			continue;
		if (print_doc(d, part->segment, doc, err) < 0)
			return -1;
		arena_clear(&d->arena);
		dump_flush(d, PIECE);
	}
	return 0;
}

static int print_terms(struct dump *d, struct segment *s, unsigned attr, struct err *err)
{
	struct segment_walk w;
	struct str name = attr ? segment_attr_name(s, attr) : STR("");
	int rc = segment_walk(s, attr, STR(""), &w, err);
	while (rc == 0 && (rc = segment_walk_next(&w, err)) == 0) {
		buf_add_str(&d->out, name);
		buf_add_byte(&d->out, '\t');
		buf_add_str(&d->out, w.term);
		buf_printf(&d->out, "\t%" PRIu32 "\t%" PRIu64 "\n", w.info.df, w.info.occurrences);
		dump_flush(d, PIECE);
	}
	return rc < 0 ? -1 : 0;
}

static int print_part(struct dump *d, const struct words_part *part, struct err *err)
{
	const struct dump_options *o = d->call->options;
	int rc = 0;
	if (!o->terms)
		return print_docs(d, part, err);
	for (unsigned attr = 0; attr < segment_info(part->segment)->attrs && rc == 0; attr++)
		rc = print_terms(d, part->segment, attr, err);
	return rc;
}

static int run_dump(const struct cmd_call *call, struct err *err)
{
	struct dump d = {
		.call = call, .arena = ARENA_INIT(SIZE_MAX), .out = BUF_INIT(SIZE_MAX / 2)};
	CLEANUP(words_close) struct words_reader *r = NULL;
	if (index_open(call->argv[0], &r, &d.docs, err) < 0)
		return -1;
	size_t n;
	const struct words_part *part = words_parts(r, &n);
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = print_part(&d, &part[i], err);
	dump_flush(&d, 0);
	docstore_close(&d.docs);
	arena_free(&d.arena);
	buf_free(&d.out);
	return rc;
}

static const struct cmd_option dump_options[] = {
	CMD_FLAG(0, "soif", struct dump_options, soif, "print the documents themselves, as SOIF"),
	CMD_FLAG(0, "terms", struct dump_options, terms,
		 "print the dictionaries: attribute, term, documents, occurrences"),
};
const struct command index_dump_command = {
	.name = "dump",
	.summary = "print the contents of an index",
	.description =
		"Prints a line for each document: key, time in seconds, rank and number in the "
		"document store, separated by tabs. Terms are printed segment by segment.",
	CMD_OPTIONS(dump_options, struct dump_options),
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXAMPLES({"garner index words dump --soif DIR > all.soif", "all documents of an index"},
		     {"garner index words dump --terms DIR | sort -t '\t' -nk3 | tail",
		      "the commonest words"}),
	CMD_EXITS(INDEX_EXITS),
	.run = run_dump,
};
