#include "base/file.h"
#include "base/hash.h"
#include "cmd/input.h"
#include "cmd/shep_bucket_text.h"
#include "cmd/shep_buckets_work.h"

#include <inttypes.h>
#include <sys/stat.h>

enum { LINE_MOST = 16 << 20 };

void work_flush(struct work *w, size_t more_than)
{
	if (w->out.n <= more_than)
		return;
	fwrite(buf_text(&w->out), 1, w->out.n, w->call->out);
	buf_clear(&w->out);
}

/* The file that is named, or that of the crawl. 0, or the exit code. */
static int find_file(struct work *w)
{
	struct err err;
	char data[PATH_MAX];
	if (*w->o->file) {
		int n = snprintf(w->path, sizeof w->path, "%s", w->o->file);
		if (n < (int)sizeof w->path)
			return 0;
		err_set(&err, ERR_USAGE, "the path of the bucket file is too long");
		return cmd_fail(w->call, &err);
	}
	int code = cmd_data(w->call, data, sizeof data);
	if (code)
		return code;
	if (snprintf(w->path, sizeof w->path, "%s/shepherd/objects", data) < (int)sizeof w->path)
		return 0;
	err_set(&err, ERR_USAGE, "%s: the path is too long", data);
	return cmd_fail(w->call, &err);
}

void work_end(struct work *w)
{
	work_flush(w, 0);
	bucket_drop(&w->b);
	bucket_packer_free(&w->packer);
	states_close(&w->crawl);
	arena_free(&w->arena);
	buf_free(&w->out);
}

int work_open(struct work *w, enum bucket_mode mode, unsigned how)
{
	struct bucket_options o = {
		.mode = mode, .shift = (unsigned)w->o->shift, .unchecked = how & UNCHECKED};
	struct err err;
	struct stat st;
	bool makes = (how & MAKES) && *w->o->file;
	int rc = mode >= BUCKET_APPEND && !makes && stat(w->path, &st) != 0
			 ? 1
			 : bucket_open(&w->b, w->path, &o, &err);
	if (rc > 0)
		err_set(&err, ERR_USAGE, "%s: there is no bucket file", w->path);
	return rc ? cmd_fail(w->call, &err) : 0;
}

int work_begin(struct work *w, const struct cmd_call *call, enum bucket_mode mode, unsigned how)
{
	*w = (struct work){.call = call,
			   .o = call->options,
			   .arena = ARENA_INIT(BUCKET_ARENA),
			   .out = BUF_INIT((size_t)1 << 30)};
	w->json = JSONW_INIT(&w->out);
	int code = find_file(w);
	if (code == 0)
		code = work_open(w, mode, how);
	if (code == 0)
		w->packer = bucket_packer_new(bucket_dict_path(&w->arena, w->path));
	return code;
}

bool work_has_states(const struct work *w, char folder[PATH_MAX])
{
	char state[PATH_MAX + 16];
	const char *slash = strrchr(w->path, '/');
	struct stat st;
	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - w->path) + 1 : 2,
		 slash ? w->path : "./");
	snprintf(state, sizeof state, "%sstate", folder);
	return stat(state, &st) == 0;
}

int work_fail(struct work *w, const struct err *err)
{
	work_flush(w, 0);
	return cmd_fail(w->call, err);
}

static int parse_oid(const char *text, uint32_t *ret, struct err *err)
{
	struct str s = str_of(text);
	char shown[VALUE_SHOWN];
	unsigned char bytes[4];
	char digits[9] = "00000000";
	if (str_starts(s, STR("0x")))
		s = str_from(s, 2);
	if (s.n >= 1 && s.n <= 8)
		memcpy(digits + 8 - s.n, s.p, s.n);
	if (s.n < 1 || s.n > 8 || !hex_parse((struct str){digits, 8}, bytes, 4))
		return err_set(err, ERR_USAGE,
			       "'%s' is no number of a bucket: up to eight hexadecimal digits",
			       value_show(str_of(text), shown));
	*ret = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
	return 0;
}

/* Printing */

static void list_one(struct work *w, const struct bucket *bucket)
{
	if (w->o->json) {
		jsonw_object(&w->json);
		bucket_json(&w->json, bucket);
		jsonw_object_end(&w->json);
	} else if (bucket->deleted) {
		buf_printf(&w->out, "DELETED  %6zu\n", bucket->data.n);
	} else {
		buf_printf(&w->out, "%08" PRIx32 " %6zu %08" PRIx32 "\n", bucket->oid,
			   bucket->data.n, bucket->type);
	}
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
	jsonw_object(&w->json);
	bucket_json(&w->json, bucket);
	bucket_attrs_json(&w->json, "header", &header);
	bucket_attrs_json(&w->json, "body", &body);
	jsonw_object_end(&w->json);
	return 0;
}

/* Goes over all of the file. What is damaged is said and passed; *ret_damaged counts it. */
static int each(struct work *w, bool content, uint64_t *ret_damaged, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	struct err why;
	int rc;
	*ret_damaged = 0;
	if (bucket_scan_init(&scan, w->b, 0, 0, err) < 0)
		return -1;
	while (((rc = bucket_scan_next(&scan, &bucket, &why)) == 0 || scan.passed) &&
	       !ferror(w->call->out)) {
		if (rc == 0 && content && !bucket.deleted)
			rc = show_one(w, &bucket, &why);
		else if (rc == 0 && !content && (!bucket.deleted || w->o->all))
			list_one(w, &bucket);
		if (rc < 0) {
			++*ret_damaged;
			(void)work_fail(w, &why);
		}
		arena_clear(&w->arena);
		work_flush(w, OUT_PIECE);
	}
	if (rc < 0 && !scan.passed && !ferror(w->call->out)) {
		*err = why;
		bucket_scan_done(&scan);
		return -1;
	}
	bucket_scan_done(&scan);
	return 0;
}

static int run_each(const struct cmd_call *call, bool content)
{
	struct work w;
	struct err err;
	uint64_t damaged = 0;
	int code = work_begin(&w, call, BUCKET_SCAN, 0);
	if (code == 0) {
		if (w.o->json)
			jsonw_array(&w.json);
		if (each(&w, content, &damaged, &err) < 0)
			code = work_fail(&w, &err);
		if (w.o->json) {
			jsonw_array_end(&w.json);
			buf_add_byte(&w.out, '\n');
		}
		if (code == 0 && damaged)
			code = ERR_DAMAGED;
	}
	work_end(&w);
	return code;
}

int shep_buckets_list(const struct cmd_call *call)
{
	return run_each(call, false);
}

int shep_buckets_cat(const struct cmd_call *call)
{
	return run_each(call, true);
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
			err_set(&err, ERR_NONE, "bucket %08" PRIx32 ": there is none", oid);
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

int shep_buckets_extract(const struct cmd_call *call)
{
	struct work w;
	int code = work_begin(&w, call, BUCKET_SCAN, 0);
	if (code == 0) {
		bool list = w.o->json && call->argc > 1;
		if (list)
			jsonw_array(&w.json);
		code = for_numbers(&w, extract_one);
		if (list)
			jsonw_array_end(&w.json);
		if (w.o->json)
			buf_add_byte(&w.out, '\n');
	}
	work_end(&w);
	return code;
}

/* Changing */

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

int shep_buckets_insert(const struct cmd_call *call)
{
	struct work w;
	struct err err;
	int code = work_begin(&w, call, BUCKET_APPEND, MAKES);
	if (code == 0) {
		struct insertion in = {.w = &w};
		uint64_t before = bucket_length(w.b);
		int rc = cmd_read_lines(call, 0, LINE_MOST, insert_line, &in, &err);
		if (rc == 0)
			rc = insert_one(&in, &err);
		if (rc == 0)
			rc = bucket_sync(w.b, NULL, &err);
		if (rc < 0) {
			struct err ignored;
			buf_clear(&w.out); /* none of these is kept */
			code = work_fail(&w, &err);
			(void)bucket_cut(w.b, before, NULL, &ignored);
		}
	}
	work_end(&w);
	return code;
}

static int delete_one(struct work *w, uint32_t oid, struct err *err)
{
	return bucket_delete(w->b, oid, err);
}

int shep_buckets_delete(const struct cmd_call *call)
{
	struct work w;
	struct err err;
	int code = work_begin(&w, call, BUCKET_WRITE, 0);
	if (code == 0) {
		code = for_numbers(&w, delete_one);
		if (bucket_sync(w.b, NULL, &err) < 0)
			code = work_fail(&w, &err);
	}
	work_end(&w);
	return code;
}

/* Shaking */

/* Unpacks and packs again, with the dictionaries of today. */
static int repack(void *ctx, const struct bucket *old, uint32_t new_oid, struct bucket_fate *fate,
		  struct err *err)
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

/* States know the buckets by their numbers: nobody may use them meanwhile. */
static int hold_states(struct work *w, struct err *err)
{
	char folder[PATH_MAX];
	if (!work_has_states(w, folder))
		return 0;
	if (w->o->anyway)
		return states_open(&w->crawl, folder, true, err) < 0 ? -1 : 0;
	return err_set(err, ERR_USAGE,
		       "%s: the states in %sstate know its buckets by their numbers; with --anyway "
		       "they are brought in order afterwards by garner shep recover",
		       w->path, folder);
}

static int shake(struct work *w, struct bucket_shaken *ret, struct err *err)
{
	unsigned kept;
	if (hold_states(w, err) < 0 ||
	    (w->o->train && bucket_train(w->b, w->packer, &kept, err) < 0))
		return -1;
	return bucket_shakedown(w->b, w->o->repack ? repack : NULL, w, ret, err);
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

/* Beside states the report stays for recovery; else nobody needs it when it was printed. */
int shep_buckets_shakedown(const struct cmd_call *call)
{
	struct work w;
	struct err err;
	struct bucket_shaken sum = {0};
	int code = work_begin(&w, call, BUCKET_APPEND, 0);
	if (code == 0) {
		int rc = shake(&w, &sum, &err);
		buf_clear(&w.out);
		if (rc == 0)
			rc = print_moves(&w, &err);
		if (rc == 0 && !w.crawl && bucket_moves_done(w.path, &err) < 0)
			rc = -1;
		if (rc < 0)
			code = work_fail(&w, &err);
		else if (w.o->verbose)
			fprintf(stderr,
				"%" PRIu64 " kept, %" PRIu64 " were deleted; %" PRIu64
				" bytes became %" PRIu64 "\n",
				sum.kept, sum.deleted, sum.before, sum.after);
	}
	work_end(&w);
	return code;
}

int shep_buckets_train(const struct cmd_call *call)
{
	struct work w;
	struct err err;
	unsigned kept = 0;
	int code = work_begin(&w, call, BUCKET_SCAN, 0);
	if (code == 0) {
		if (bucket_train(w.b, w.packer, &kept, &err) < 0)
			code = work_fail(&w, &err);
		else
			buf_printf(&w.out, "%u new dictionaries\n", kept);
	}
	work_end(&w);
	return code;
}
