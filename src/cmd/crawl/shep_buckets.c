/* garner shep buckets: a bucket file at the command line. As text a bucket is its attributes, one a
 * line, the name before the value, header first; a value of several lines becomes several lines
 * with the same name. An empty line ends it. */
#include "cmd/crawl/shep_buckets.h"

#include "base/ascii.h"
#include "base/attrs.h"
#include "base/rows.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "cmd/commands.h"
#include "cmd/system/input.h"
#include "state/state.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	uint32_t type;
	const char *name;
} types[] = {
	{BUCKET_PLAIN, "plain"},   {BUCKET_V30, "v3.0"},           {BUCKET_V33, "v3.3"},
	{BUCKET_LIZARD, "lizard"}, {BUCKET_V33_ZSTD, "v3.3 zstd"},
};

static const char *bucket_type_name(uint32_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].type == MAX(type, BUCKET_PLAIN))
			return types[i].name;
	return NULL;
}

static void print_attrs(const struct attrs *list, struct buf *out)
{
	for (size_t i = 0; i < list->n; i++) {
		struct str rest = list->a[i].value, line;
		while (str_cut(&rest, '\n', &line) == 0) {
			buf_add_byte(out, list->a[i].name);
			buf_add_str(out, line);
			buf_add_byte(out, '\n');
		}
	}
}

static void bucket_text(const struct attrs *header, const struct attrs *body, struct buf *out)
{
	print_attrs(header, out);
	print_attrs(body, out);
	buf_add_byte(out, '\n');
}

static void print_char(const void *member, struct buf *out)
{
	buf_add_byte(out, *(const char *)member);
}

static const struct column attr_columns[] = {
	COL_OF("name", struct attr, name, print_char),
	COL("value", struct attr, value),
};
static const struct rows attr_rows = {ROWS(struct attr, attr_columns), ROWS_ARRAY};

COL_NAMER(print_type, uint32_t, bucket_type_name)

struct bucket_row {
	struct bucket is;
	struct attrs header, body;
};
static const struct column bucket_columns[] = {
	COL("oid", struct bucket_row, is.oid, .unit = UNIT_HEX),
	COL("at", struct bucket_row, is.at),
	COL("length", struct bucket_row, is.data.n),
	COL("type", struct bucket_row, is.type, .unit = UNIT_HEX),
	COL_OF("type_name", struct bucket_row, is.type, print_type, .how = ROW_NULL),
	COL("deleted", struct bucket_row, is.deleted),
	COL_LIST("header", struct bucket_row, header.a, header.n, attr_rows),
	COL_LIST("body", struct bucket_row, body.a, body.n, attr_rows),
};
enum { CONTENT = 2 }; /* the columns that are not of a list */
static const struct rows bucket_rows = {ROWS(struct bucket_row, bucket_columns)};
static const struct rows listed_rows = {bucket_columns, ARRAY_LEN(bucket_columns) - CONTENT,
					sizeof(struct bucket_row)};

static int bucket_line(struct str line, struct arena *arena, struct attrs *header,
		       struct attrs *body, struct err *err)
{
	char name = line.p[0];
	if (name <= ' ' || name >= 0x7f)
		return err_set(
			err, ERR_USAGE,
			"an attribute begins with \\x%02x; a printable character is expected",
			(unsigned char)name);
	bool first = (name == 'O' || name == 'U') && !attrs_get(header, name).p;
	attrs_add(first ? header : body, arena, name, arena_str(arena, str_from(line, 1)));
	return 0;
}

enum { OUT_PIECE = 64 << 10 };

/* One run. */
struct work {
	const struct cmd_call *call;
	const struct buckets_options *o;
	unsigned how;
	char path[PATH_MAX];
	struct buckets *b;
	struct bucket_packer *packer;
	struct states *crawl; /* to be changed, where the file belongs to one; or NULL */
	struct arena arena;   /* of one bucket */
	struct buf out;
	struct jsonw json;
};

/* What an action does: it opens a damaged file, makes one that was named and is not there, shows
 * what is in buckets, repairs. */
enum { UNCHECKED = 1, MAKES = 2, CONTENTS = 4, REPAIRS = 8 };

enum { LINE_MOST = 16 << 20 };

static void work_flush(struct work *w, size_t more_than)
{
	if (w->out.n > more_than)
		cmd_flush(w->call, &w->out);
}

/* The file that is named, or that of the crawl. */
static int find_file(struct work *w, struct err *err)
{
	if (!*w->o->file)
		return cmd_data_path(w->call, "shepherd/objects", w->path, err);
	int n = snprintf(w->path, sizeof w->path, "%s", w->o->file);
	return n < (int)sizeof w->path
		       ? 0
		       : err_set(err, ERR_USAGE, "the path of the bucket file is too long");
}

static void work_end(struct work *w)
{
	work_flush(w, 0);
	bucket_drop(&w->b);
	bucket_packer_free(&w->packer);
	states_close(&w->crawl);
	arena_free(&w->arena);
	buf_free(&w->out);
}

static int work_open(struct work *w, enum bucket_mode mode, struct err *err)
{
	struct bucket_options o = {
		.mode = mode, .shift = (unsigned)w->o->shift, .unchecked = w->how & UNCHECKED};
	bool makes = (w->how & MAKES) && *w->o->file;
	bool is_there = mode < BUCKET_APPEND || makes || access(w->path, F_OK) == 0;
	int rc = is_there ? bucket_open(&w->b, w->path, &o, err) : 1;
	return rc > 0 ? err_set(err, ERR_USAGE, "%s: there is no bucket file", w->path) : rc;
}

static int work_begin(struct work *w, const struct cmd_call *call, enum bucket_mode mode,
		      unsigned how, struct err *err)
{
	*w = (struct work){.call = call,
			   .o = call->options,
			   .how = how,
			   .arena = ARENA_INIT(BUCKET_ARENA),
			   .out = BUF_INIT((size_t)1 << 30)};
	w->json = JSONW_INIT(&w->out);
	if (find_file(w, err) < 0 || work_open(w, mode, err) < 0)
		return -1;
	w->packer = bucket_packer_new(bucket_dict_path(&w->arena, w->path));
	return 0;
}

static bool work_has_states(const struct work *w, char folder[PATH_MAX])
{
	char state[PATH_MAX + 16], objects[PATH_MAX + 16];
	const char *slash = strrchr(w->path, '/');
	struct stat st, own;
	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - w->path) + 1 : 2,
		 slash ? w->path : "./");
	snprintf(state, sizeof state, "%sstate", folder);
	snprintf(objects, sizeof objects, "%sobjects", folder);
	return stat(state, &st) == 0 && stat(objects, &st) == 0 && stat(w->path, &own) == 0 &&
	       st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

static int work_fail(struct work *w, const struct err *err)
{
	work_flush(w, 0);
	return cmd_fail(w->call, err);
}

static int parse_oid(const char *text, uint32_t *ret, struct err *err)
{
	struct str s = str_of(text);
	char shown[VALUE_SHOWN];
	uint32_t oid = 0;
	size_t i = 0;
	if (str_starts(s, STR("0x")))
		s = str_from(s, 2);
	for (; i < s.n && i < 8 && ascii_hex(s.p[i]) >= 0; i++)
		oid = oid << 4 | (uint32_t)ascii_hex(s.p[i]);
	if (i == 0 || i < s.n)
		return err_set(err, ERR_USAGE,
			       "'%s' is not the number of a bucket: up to eight hexadecimal digits",
			       value_show(str_of(text), shown));
	*ret = oid;
	return 0;
}

/* Printing */

static void list_one(struct work *w, const struct bucket *bucket)
{
	if (w->o->json)
		rows_json(&listed_rows, &(struct bucket_row){.is = *bucket}, &w->json);
	else
		bucket_print(bucket, &w->out);
}

/* The attributes, or the bytes as they are. */
static int show_one(struct work *w, const struct bucket *bucket, struct err *err)
{
	struct attrs header, body;
	if (w->o->raw) {
		buf_add_str(&w->out, bucket->data);
		return 0;
	}
	if (bucket_decode(w->packer, bucket->type, bucket->data, &w->arena, &header, &body, err) <
	    0)
		return err_in(err, "bucket %08" PRIx32, bucket->oid);
	if (!w->o->json) {
		if (w->o->verbose)
			buf_printf(&w->out, "### %08" PRIx32 " %zu %08" PRIx32 "\n", bucket->oid,
				   bucket->data.n, bucket->type);
		bucket_text(&header, &body, &w->out);
		return 0;
	}
	rows_json(&bucket_rows, &(struct bucket_row){*bucket, header, body}, &w->json);
	return 0;
}

/* Goes over the whole file. Damage is reported and passed over; *ret_damaged says that there was
 * some. */
static int each_bucket(struct work *w, bool *ret_damaged, struct err *err)
{
	bool content = w->how & CONTENTS;
	struct bucket_scan scan;
	struct bucket bucket;
	struct err why;
	int rc;
	if (bucket_scan_init(&scan, w->b, 0, 0, err) < 0)
		return -1;
	while (((rc = bucket_scan_next(&scan, &bucket, &why)) == 0 || scan.passed) &&
	       !ferror(w->call->out)) {
		if (rc == 0 && content && !bucket.deleted)
			rc = show_one(w, &bucket, &why);
		else if (rc == 0 && !content && (!bucket.deleted || w->o->all))
			list_one(w, &bucket);
		if (rc < 0) {
			*ret_damaged = true;
			(void)work_fail(w, &why);
		}
		arena_clear(&w->arena);
		work_flush(w, OUT_PIECE);
	}
	bool failed = rc < 0 && !scan.passed && !ferror(w->call->out);
	bucket_scan_done(&scan);
	if (failed)
		*err = why;
	return failed ? -1 : 0;
}

static int print_each(struct work *w, struct err *err)
{
	bool damaged = false;
	if (w->o->json)
		jsonw_array(&w->json);
	int code = each_bucket(w, &damaged, err);
	if (w->o->json) {
		jsonw_array_end(&w->json);
		buf_add_byte(&w->out, '\n');
	}
	return code == 0 && damaged ? ERR_DAMAGED : code;
}

/* One after the other; the worst code. `what`: 0, 1 for none there, negative. */
static int for_numbers(struct work *w, int (*what)(struct work *w, uint32_t oid, struct err *err))
{
	int code = 0;
	for (int i = 0; i < w->call->argc; i++) {
		uint32_t oid = 0;
		struct err err;
		int rc = parse_oid(w->call->argv[i], &oid, &err);
		if (rc == 0)
			rc = what(w, oid, &err);
		if (rc == 1) {
			err_set(&err, ERR_NONE, "bucket %08" PRIx32 ": no such bucket", oid);
			(void)work_fail(w, &err);
			code = MAX(code, 1);
		} else if (rc < 0) {
			code = MAX(code, work_fail(w, &err));
		}
		arena_clear(&w->arena);
	}
	return code;
}

static int extract_one(struct work *w, uint32_t oid, struct err *err)
{
	struct bucket bucket;
	int rc = bucket_read(w->b, oid, &bucket, err);
	return rc ? rc : show_one(w, &bucket, err);
}

static int extract_named(struct work *w, struct err *err)
{
	bool list = w->o->json && w->call->argc > 1;
	(void)err;
	if (list)
		jsonw_array(&w->json);
	int code = for_numbers(w, extract_one);
	if (list)
		jsonw_array_end(&w->json);
	if (w->o->json)
		buf_add_byte(&w->out, '\n');
	return code;
}

/* Changing */

/* Nobody else may use the states of a crawl while its file is changed under them. why: they know
 * nothing of it, and --anyway says that it is known. */
static int hold_states(struct work *w, const char *why, struct err *err)
{
	char folder[PATH_MAX];
	if (!work_has_states(w, folder))
		return 0;
	if (w->o->anyway)
		return states_open(&w->crawl, folder, true, err) < 0 ? -1 : 0;
	return err_set(err, ERR_USAGE, "%s: the states in %sstate %s", w->path, folder, why);
}

struct insertion {
	struct work *w;
	struct attrs header, body;
	uint64_t n;
};

static int insert_one(struct insertion *in, struct err *err)
{
	struct work *w = in->w;
	uint32_t oid;
	if (in->header.n + in->body.n == 0)
		return 0;
	if (bucket_put(w->b, w->o->unpacked ? NULL : w->packer, &in->header, &in->body, &oid, err) <
	    0)
		return -1;
	in->n++;
	in->header = in->body = (struct attrs){0};
	arena_clear(&w->arena);
	buf_printf(&w->out, "%08" PRIx32 "\n", oid);
	return 0;
}

static int insert_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct insertion *in = ctx;
	int rc = text.n == 0 ? insert_one(in, err)
			     : bucket_line(text, &in->w->arena, &in->header, &in->body, err);
	return rc < 0 ? err_in(err, "%s:%" PRIu64, name, line) : 0;
}

/* What was appended after the checkpoint of an open state is cut off by its recovery. */
static int refuse_open_state(struct work *w, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n;
	if (!w->crawl)
		return 0;
	if (states_list(w->crawl, 0, &arena, &list, &n, err) < 0)
		return -1;
	if (n == 0 || phase_is_done(list[n - 1].phase))
		return 0;
	return err_set(
		err, ERR_USAGE,
		"%s: state %s is open (%s), and recovery would cut off what is inserted now; "
		"let the shepherd end its cycle first",
		w->path, list[n - 1].name, phase_name(list[n - 1].phase));
}

static int insert_all(struct work *w, struct err *err)
{
	struct insertion in = {.w = w};
	if (hold_states(w,
			"do not know what is inserted, and the next cleanup would drop it; with "
			"--anyway they learn it afterwards by garner shep recover --rebuild",
			err) < 0 ||
	    refuse_open_state(w, err) < 0 ||
	    cmd_read_lines(w->call, 0, LINE_MOST, insert_line, &in, err) < 0 ||
	    insert_one(&in, err) < 0)
		return -1;
	return bucket_sync(w->b, NULL, err);
}

static int insert_or_cut(struct work *w, struct err *err)
{
	struct err ignored;
	uint64_t before = bucket_length(w->b);
	if (insert_all(w, err) == 0)
		return 0;
	buf_clear(&w->out); /* none of these is kept */
	(void)bucket_cut(w->b, before, NULL, &ignored);
	return -1;
}

static int delete_one(struct work *w, uint32_t oid, struct err *err)
{
	return bucket_delete(w->b, oid, err);
}

static int delete_named(struct work *w, struct err *err)
{
	int code = for_numbers(w, delete_one);
	return bucket_sync(w->b, NULL, err) < 0 ? -1 : code;
}

/* Shaking */

/* Unpacks and packs again, with the dictionaries of today. */
static int repack_bucket(void *ctx, const struct bucket *old, uint32_t new_oid,
			 struct bucket_fate *fate, struct err *err)
{
	struct work *w = ctx;
	struct attrs header;
	struct str body;
	(void)new_oid;
	arena_clear(&w->arena);
	if (old->type != BUCKET_V33 && old->type != BUCKET_V33_ZSTD)
		return 0;
	if (bucket_header(old->type, old->data, &w->arena, &header, NULL, err) < 0 ||
	    bucket_body(w->packer, old->type, old->data, &w->arena, &body, err) < 0)
		return -1;
	buf_clear(&w->out);
	if (bucket_encode_raw(w->packer, &header, body, &w->out, &fate->type, err) < 0)
		return -1;
	fate->data = buf_str(&w->out);
	return 0;
}

static int shake_file(struct work *w, struct bucket_shaken *ret, struct err *err)
{
	unsigned kept;
	if (hold_states(w,
			"know its buckets by their numbers; with --anyway they are brought in "
			"order afterwards by garner shep recover",
			err) < 0 ||
	    (w->o->train && bucket_train(w->b, w->packer, &kept, err) < 0))
		return -1;
	return bucket_shakedown(w->b, w->o->repack ? repack_bucket : NULL, w, ret, err);
}

static int print_moves(struct work *w, struct err *err)
{
	struct bucket_moves *moves = NULL;
	struct bucket_move move;
	int rc = bucket_moves_open(&moves, w->path, err);
	while (rc == 0 && (rc = bucket_moves_next(moves, &move, err)) == 0) {
		if (move.to == BUCKET_DELETED)
			buf_printf(&w->out, "%08" PRIx32 " dropped\n", move.from);
		else
			buf_printf(&w->out, "%08" PRIx32 " %08" PRIx32 "\n", move.from, move.to);
		work_flush(w, OUT_PIECE);
	}
	bucket_moves_close(&moves);
	return rc < 0 ? rc : 0;
}

/* With states next to the file the report stays for recovery; otherwise nobody needs it once it was
 * printed. */
static int shake_down(struct work *w, struct err *err)
{
	struct bucket_shaken sum = {0};
	int rc = shake_file(w, &sum, err);
	buf_clear(&w->out);
	if (rc < 0 || print_moves(w, err) < 0 || (!w->crawl && bucket_moves_done(w->path, err) < 0))
		return -1;
	if (w->o->verbose)
		fprintf(stderr,
			"%" PRIu64 " kept, %" PRIu64 " were deleted; %" PRIu64
			" bytes became %" PRIu64 "\n",
			sum.kept, sum.deleted, sum.before, sum.after);
	return 0;
}

static int train_dictionaries(struct work *w, struct err *err)
{
	unsigned kept = 0;
	if (bucket_train(w->b, w->packer, &kept, err) < 0)
		return -1;
	buf_printf(&w->out, "%u new dictionaries\n", kept);
	return 0;
}

/* Audit, fix and quick check */

enum { LOOK_TRIES = 10 };

struct problem_row {
	struct bucket_problem is;
	uint64_t bytes;
};
static const struct column problem_columns[] = {
	COL("oid", struct problem_row, is.oid, .unit = UNIT_HEX),
	COL("at", struct problem_row, is.at),
	COL("bytes", struct problem_row, bytes),
	COL("whole", struct problem_row, is.whole),
	COL("torn", struct problem_row, is.torn),
	COL("unchecked", struct problem_row, is.unchecked),
	COL("lacking", struct problem_row, is.lacking),
	COL("reason", struct problem_row, is.reason),
};
static const struct rows problem_rows = {ROWS(struct problem_row, problem_columns)};

struct audit_row {
	struct bucket_audit is;
	bool fixed;
};
static const struct column audit_columns[] = {
	COL("buckets", struct audit_row, is.buckets),
	COL("deleted", struct audit_row, is.deleted),
	COL("unchecked", struct audit_row, is.unchecked),
	COL("problems", struct audit_row, is.problems),
	COL("lacking", struct audit_row, is.lacking),
	COL("data_bytes", struct audit_row, is.data_bytes),
	COL("deleted_bytes", struct audit_row, is.deleted_bytes),
	COL("damaged_bytes", struct audit_row, is.damaged_bytes),
	COL("end", struct audit_row, is.end),
	COL("fixed", struct audit_row, fixed),
};
static const struct rows audit_rows = {ROWS(struct audit_row, audit_columns)};

static void tell_problem(void *ctx, const struct bucket_problem *p)
{
	struct work *w = ctx;
	if (p->unchecked && !w->o->verbose)
		return;
	if (!w->o->json) {
		buf_printf(&w->out, "%08" PRIx32 " at %" PRIu64 " (%" PRIu64 " bytes): %s\n",
			   p->oid, p->at, p->next - p->at, p->reason);
	} else {
		rows_json(&problem_rows, &(struct problem_row){*p, p->next - p->at}, &w->json);
	}
	work_flush(w, OUT_PIECE);
}

static void sum_up(struct work *w, const struct bucket_audit *sum, bool fixed)
{
	const struct audit_row row = {*sum, fixed && sum->problems};
	if (w->o->json) {
		jsonw_array_end(&w->json);
		rows_json_members(&audit_rows, &row, &w->json);
		jsonw_object_end(&w->json);
		buf_add_byte(&w->out, '\n');
		return;
	}
	if (sum->lacking)
		buf_printf(&w->out, "%" PRIu64 " buckets whose dictionary is lost: put it back\n",
			   sum->lacking);
	buf_printf(&w->out,
		   "%" PRIu64 " buckets, %" PRIu64 " of them deleted, %" PRIu64
		   " without a checksum; %" PRIu64 " problems%s\n",
		   sum->buckets, sum->deleted, sum->unchecked, sum->problems,
		   row.fixed ? ", fixed" : "");
}

/* How far the file has to be whole: to the last checkpoint while somebody appends; else, and where
 * no state knows it, to its end. Opens it again when a shakedown came between. */
static int known_end(struct work *w, uint64_t *ret, struct err *err)
{
	char folder[PATH_MAX];
	struct states *s = NULL;
	*ret = 0;
	for (int i = 0; i < LOOK_TRIES && bucket_grows(w->b) && work_has_states(w, folder); i++) {
		if (states_open(&s, folder, false, err) != 0)
			return 0; /* lost states say nothing; recovery looks after them */
		int rc = states_objects(s, w->b, ret, err);
		states_close(&s);
		if (rc != 1)
			return 0;
		bucket_drop(&w->b);
		int code = work_open(w, BUCKET_SCAN, err);
		if (code)
			return code;
	}
	return 0;
}

static int audit_file(struct work *w, struct err *err)
{
	bool fixes = w->how & REPAIRS;
	struct bucket_audit sum;
	uint64_t to = 0;
	int code = fixes ? 0 : known_end(w, &to, err);
	if (code)
		return code;
	if (w->o->json) {
		jsonw_object(&w->json);
		jsonw_put_array(&w->json, "found");
	}
	if ((fixes ? bucket_fix(w->b, tell_problem, w, &sum, err)
		   : bucket_audit(w->b, to, tell_problem, w, &sum, err)) < 0) {
		code = -1;
	} else {
		sum_up(w, &sum, fixes);
		code = (sum.problems && !fixes) || sum.lacking ? ERR_DAMAGED : 0;
	}
	if (!bucket_current(w->b))
		fprintf(stderr, "%s was shaken down meanwhile: this is the file from before\n",
			w->path);
	return code;
}

static int check_ends(struct work *w, struct err *err)
{
	uint64_t to = 0;
	int code = known_end(w, &to, err);
	return code == 0 && bucket_quick(w->b, to, err) < 0 ? -1 : code;
}

/* Tables */

static const struct action {
	const char *name; /* of the command */
	enum bucket_mode mode;
	unsigned how;
	int (*what)(struct work *w, struct err *err); /* returns the exit code */
} actions[] = {
	{"list", BUCKET_SCAN, 0, print_each},
	{"cat", BUCKET_SCAN, CONTENTS, print_each},
	{"extract", BUCKET_SCAN, 0, extract_named},
	{"insert", BUCKET_APPEND, MAKES, insert_or_cut},
	{"delete", BUCKET_WRITE, 0, delete_named},
	{"shakedown", BUCKET_APPEND, 0, shake_down},
	{"train", BUCKET_SCAN, 0, train_dictionaries},
	{"audit", BUCKET_SCAN, UNCHECKED, audit_file},
	{"fix", BUCKET_WRITE, UNCHECKED | REPAIRS, audit_file},
	{"quick", BUCKET_SCAN, UNCHECKED, check_ends},
};

int shep_buckets_do(const struct cmd_call *call, const char *name, struct err *err)
{
	struct work w;
	size_t i = 0;
	while (strcmp(actions[i].name, name) != 0)
		ENSURE(++i < ARRAY_LEN(actions));
	int code = work_begin(&w, call, actions[i].mode, actions[i].how, err);
	if (code == 0)
		code = actions[i].what(&w, err);
	work_end(&w);
	return code;
}

static int run(const struct cmd_call *call, struct err *err)
{
	return shep_buckets_do(call, call->command->name, err);
}

#define OPTION_FILE                                                                              \
	CMD_OPTION(                                                                              \
		'o', "FILE", "objects", VALUE_PATH_AT(struct buckets_options, file),             \
		.help = "the bucket file; without it, that of the crawl in the data directory"), \
		CMD_OPTION(0, "BITS", "shift", VALUE_INT_AT(struct buckets_options, shift),      \
			   .fallback = "0", .min = 0, .max = BUCKET_SHIFT_MOST,                  \
			   .help = "alignment, as a power of two, of a file that does not say "  \
				   "it; 0: 7")
#define OPTION(letter, name, member, text) \
	CMD_FLAG(letter, name, struct buckets_options, member, text)
#define OPTION_JSON OPTION('j', "json", json, "print JSON")

static const struct cmd_exit exits[] = {
	{1, "a bucket does not exist"},
	{ERR_DAMAGED, "the file, or a bucket in it, is damaged"},
	{ERR_BUSY, "another process has the file open in a way that excludes this"},
	{ERR_SYSTEM, "the file cannot be read or written"},
};

/* What all of them have. */
#define BUCKET_FILE(table) \
	CMD_OPTIONS(table, struct buckets_options), CMD_SHARED_EXITS(exits), .run = run

static const struct cmd_option list_options[] = {
	OPTION_FILE,
	OPTION('L', "all", all, "include deleted buckets"),
	OPTION_JSON,
};
static const struct command list_command = {
	.name = "list",
	.summary = "list buckets: number, length, type",
	.description = "Another process may append meanwhile. Damage is reported and skipped.",
	CMD_EXAMPLES({"garner shep buckets list -L",
		      "number, length and type of each, also of the deleted"}),
	BUCKET_FILE(list_options),
};

static const struct cmd_option show_options[] = {
	OPTION_FILE,
	OPTION('r', "raw", raw, "print the bytes as stored, and nothing else"),
	OPTION('v', "verbose", verbose,
	       "print a line with number, length and type before each bucket"),
	OPTION_JSON,
};
static const struct command get_command = {
	.name = "extract",
	.summary = "print buckets by their numbers",
	.description = "Prints one attribute a line, its name before the value, the header first. "
		       "A value of several lines becomes several lines with the same name.",
	CMD_ARGS("OID...", 1, -1, "numbers as garner shep buckets list prints them"),
	CMD_EXAMPLES({"garner shep buckets extract 1a2", "the attributes of bucket 000001a2"}),
	BUCKET_FILE(show_options),
};
static const struct command cat_command = {
	.name = "cat",
	.summary = "print all buckets",
	.description = "Prints all buckets as extract does, each followed by an empty line.",
	CMD_EXAMPLES({"garner shep buckets cat | garner shep buckets insert -o copy",
		      "a copy, packed again"}),
	BUCKET_FILE(show_options),
};

static const struct cmd_option insert_options[] = {
	OPTION_FILE,
	OPTION('u', "unpacked", unpacked, "leave bodies as they are (v3.3 without zstd)"),
	OPTION(0, "anyway", anyway,
	       "change a file that belongs to states; run garner shep recover --rebuild "
	       "afterwards"),
};
static const struct command insert_command = {
	.name = "insert",
	.summary = "append buckets that are given as text",
	.description = "Reads buckets separated by empty lines. Each line is an attribute, whose "
		       "name is its first character; the first O and U go into the header. Appends "
		       "all buckets or none. Refuses a file that belongs to states, because they "
		       "would not know the new buckets.",
	CMD_ARGS("[FILE...]", 0, -1, "texts; none or -: standard input"),
	CMD_EXAMPLES(
		{"garner shep buckets insert pages.txt", "appends, and prints the new numbers"}),
	BUCKET_FILE(insert_options),
};

static const struct cmd_option plain_options[] = {OPTION_FILE};
static const struct command delete_command = {
	.name = "delete",
	.summary = "delete buckets",
	CMD_ARGS("OID...", 1, -1, "numbers as garner shep buckets list prints them"),
	CMD_EXAMPLES({"garner shep buckets delete 1a2 1b0",
		      "these are gone; shakedown gives the space back"}),
	BUCKET_FILE(plain_options),
};

static const struct cmd_option audit_options[] = {
	OPTION_FILE,
	OPTION('v', "verbose", verbose, "also list buckets without a checksum"),
	OPTION_JSON,
};
static const struct command audit_command = {
	.name = "audit",
	.summary = "check the whole file and list the damage",
	.description = "Another process may append meanwhile: the file is checked up to the last "
		       "checkpoint of the crawl or, if there is none, up to its last complete "
		       "bucket. If the file is shaken down meanwhile, the old file is checked.",
	CMD_EXAMPLES(
		{"garner shep buckets audit", "what is wrong, each with number, place and reason"}),
	BUCKET_FILE(audit_options),
};
static const struct command fix_command = {
	.name = "fix",
	.summary = "check the whole file and repair it",
	.description =
		"Turns anything that is not a bucket into a deleted one, deletes damaged buckets "
		"and truncates an incomplete end. No other process may have the file open.",
	CMD_EXAMPLES(
		{"garner shep buckets fix", "the file is whole again, without what was damaged"}),
	BUCKET_FILE(audit_options),
};
static const struct command quick_command = {
	.name = "quick",
	.summary = "check both ends of the file only",
	.description = "While another process appends, the end is that of the last checkpoint.",
	CMD_EXAMPLES({"garner shep buckets quick || garner shep buckets fix", "as at every start"}),
	BUCKET_FILE(plain_options),
};

static const struct cmd_option shake_options[] = {
	OPTION_FILE,
	OPTION('t', "train", train, "first train new dictionaries, if they save space"),
	OPTION('p', "repack", repack, "pack all bodies again"),
	OPTION(0, "anyway", anyway,
	       "change a file that belongs to states; run garner shep recover afterwards"),
	OPTION('v', "verbose", verbose, "print how many buckets and bytes are left"),
};
static const struct command shake_command = {
	.name = "shakedown",
	.summary = "free the space of deleted buckets",
	.description = "Rewrites the file without the deleted buckets and prints the old and the "
		       "new number of each bucket that is left.",
	CMD_EXAMPLES({"garner shep buckets shakedown -o copy", "prints old and new numbers"}),
	BUCKET_FILE(shake_options),
};
static const struct command train_command = {
	.name = "train",
	.summary = "train dictionaries for compression, if they save space",
	CMD_EXAMPLES({"garner shep buckets train", "bodies are packed with them from now on"}),
	BUCKET_FILE(plain_options),
};

const struct command shep_buckets_command = {
	.name = "buckets",
	.summary = "list, print, change, check and shake down a bucket file",
	.description = "A bucket holds a fetched page as attributes, some of them in a header. Its "
		       "number identifies it.",
	CMD_SUBS(&list_command, &get_command, &cat_command, &insert_command, &delete_command,
		 &audit_command, &fix_command, &quick_command, &shake_command, &train_command),
};
