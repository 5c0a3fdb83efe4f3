/* Audit, fix and quick check of a bucket file. */
#include "cmd/shep_buckets_work.h"

#include <inttypes.h>

enum { LOOK_TRIES = 10 };

static void tell(void *ctx, const struct bucket_problem *p)
{
	struct work *w = ctx;
	if (p->unchecked && !w->o->verbose)
		return;
	if (!w->o->json) {
		buf_printf(&w->out, "%08" PRIx32 " at %" PRIu64 " (%" PRIu64 " bytes): %s\n",
			   p->oid, p->at, p->next - p->at, p->reason);
	} else {
		char hex[16];
		snprintf(hex, sizeof hex, "%08" PRIx32, p->oid);
		jsonw_object(&w->json);
		jsonw_put_text(&w->json, "oid", hex);
		jsonw_put_uint(&w->json, "at", p->at);
		jsonw_put_uint(&w->json, "bytes", p->next - p->at);
		jsonw_put_bool(&w->json, "whole", p->whole);
		jsonw_put_bool(&w->json, "torn", p->torn);
		jsonw_put_bool(&w->json, "unchecked", p->unchecked);
		jsonw_put_text(&w->json, "reason", p->reason);
		jsonw_object_end(&w->json);
	}
	work_flush(w, OUT_PIECE);
}

static void sum_up(struct work *w, const struct bucket_audit *sum, bool fixed)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"buckets", sum->buckets},
		{"deleted", sum->deleted},
		{"unchecked", sum->unchecked},
		{"problems", sum->problems},
		{"data_bytes", sum->data_bytes},
		{"deleted_bytes", sum->deleted_bytes},
		{"damaged_bytes", sum->damaged_bytes},
		{"end", sum->end},
	};
	if (w->o->json) {
		jsonw_array_end(&w->json);
		for (size_t i = 0; i < ARRAY_LEN(counts); i++)
			jsonw_put_uint(&w->json, counts[i].name, counts[i].value);
		jsonw_put_bool(&w->json, "fixed", fixed && sum->problems);
		jsonw_object_end(&w->json);
		buf_add_byte(&w->out, '\n');
		return;
	}
	buf_printf(&w->out,
		   "%" PRIu64 " buckets, %" PRIu64 " of them deleted, %" PRIu64
		   " without a checksum; %" PRIu64 " problems%s\n",
		   sum->buckets, sum->deleted, sum->unchecked, sum->problems,
		   fixed && sum->problems ? ", fixed" : "");
}

/* How far the file has to be whole: to the last checkpoint while somebody appends; else, and where
 * no state knows it, to its end. Opens it again when a shakedown came between. */
static int known_end(struct work *w, uint64_t *ret)
{
	char folder[PATH_MAX];
	struct err err;
	struct states *s = NULL;
	*ret = 0;
	for (int i = 0; i < LOOK_TRIES && bucket_grows(w->b) && work_has_states(w, folder); i++) {
		if (states_open(&s, folder, false, &err) != 0)
			return 0; /* lost states say nothing; recovery looks after them */
		int rc = states_objects(s, w->b, ret, &err);
		states_close(&s);
		if (rc != 1)
			return 0;
		bucket_drop(&w->b);
		int code = work_open(w, BUCKET_SCAN, UNCHECKED);
		if (code)
			return code;
	}
	return 0;
}

static int audit(const struct cmd_call *call, bool fixes)
{
	struct work w;
	struct err err;
	struct bucket_audit sum;
	uint64_t to = 0;
	int code = work_begin(&w, call, fixes ? BUCKET_WRITE : BUCKET_SCAN, UNCHECKED);
	if (code == 0 && !fixes)
		code = known_end(&w, &to);
	if (code == 0) {
		if (w.o->json) {
			jsonw_object(&w.json);
			jsonw_key(&w.json, "found");
			jsonw_array(&w.json);
		}
		if ((fixes ? bucket_fix(w.b, tell, &w, &sum, &err)
			   : bucket_audit(w.b, to, tell, &w, &sum, &err)) < 0) {
			code = work_fail(&w, &err);
		} else {
			sum_up(&w, &sum, fixes);
			code = sum.problems && !fixes ? ERR_DAMAGED : 0;
		}
		if (!bucket_current(w.b))
			fprintf(stderr,
				"%s was shaken down meanwhile: this is the file from before\n",
				w.path);
	}
	work_end(&w);
	return code;
}

int shep_buckets_audit(const struct cmd_call *call)
{
	return audit(call, false);
}

int shep_buckets_fix(const struct cmd_call *call)
{
	return audit(call, true);
}

int shep_buckets_quick(const struct cmd_call *call)
{
	struct work w;
	struct err err;
	uint64_t to = 0;
	int code = work_begin(&w, call, BUCKET_SCAN, UNCHECKED);
	if (code == 0)
		code = known_end(&w, &to);
	if (code == 0 && bucket_quick(w.b, to, &err) < 0)
		code = work_fail(&w, &err);
	work_end(&w);
	return code;
}
