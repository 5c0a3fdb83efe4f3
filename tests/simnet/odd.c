#include "simnet/odd.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "simnet/answer.h"

#include <jansson.h>
#include <zlib.h>

enum {
	FILE_MAX = 64 << 20,
	PIECE = 256 << 10,
	MIB = 1 << 20,
	BYTES_MAX = 16 << 20,
	BOMB_MAX_MB = 4096
};

enum step_kind { STEP_BYTES, STEP_DATE, STEP_WAIT, STEP_CLOSE, STEP_RESET, STEP_HANG };

struct step {
	enum step_kind kind;
	struct str bytes; /* owned */
	uint64_t times;
	int64_t date_s;
	double wait;
};

struct odd_case {
	char *id;
	struct step *steps;
	size_t n;
};

static uint64_t hash_id(struct str id)
{
	return hash64(id);
}
TABLE(cases, struct str, struct odd_case *, hash_id, str_eq)

struct odd {
	struct cases cases;
};

static void case_free(struct odd_case **c)
{
	for (size_t i = 0; i < (*c)->n; i++)
		mem_free(&(*c)->steps[i].bytes.p);
	mem_free(&(*c)->steps);
	mem_free(&(*c)->id);
	mem_free(c);
}

void odd_free(struct odd **o)
{
	if (!*o)
		return;
	TABLE_EACH (cases, slot, &(*o)->cases)
		case_free(&slot->value);
	cases_free(&(*o)->cases);
	mem_free(o);
}

size_t odd_count(const struct odd *o)
{
	return cases_count(&o->cases);
}

/* Text whose characters are bytes: U+0000 to U+00FF. false: another is in it. */
static bool latin1(const json_t *text, struct str *ret)
{
	const char *p = json_string_value(text);
	size_t n = json_string_length(text), m = 0;
	char *bytes;
	if (!p)
		return false;
	bytes = mem_alloc(n + 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c >= 0xc4) {
			mem_free(&bytes);
			return false;
		}
		if (c >= 0xc2 && i + 1 < n)
			c = (unsigned char)((c & 3) << 6 | (p[++i] & 0x3f));
		bytes[m++] = (char)c;
	}
	*ret = (struct str){bytes, m};
	return true;
}

/* A gzip stream of zeros: a MiB is packed once, so that its bytes can be repeated, and put between
 * head and tail. */
static struct str bomb(uint64_t mb)
{
	z_stream z = {0};
	unsigned char *zeros = mem_alloc(MIB), piece[4096];
	unsigned long crc = crc32(0, NULL, 0), one = crc32(crc, zeros, MIB);
	struct buf out = BUF_INIT(BYTES_MAX);
	if (deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		die("simnet: no memory for gzip");
	z.next_in = zeros;
	z.avail_in = MIB;
	z.next_out = piece;
	z.avail_out = sizeof piece;
	ENSURE(deflate(&z, Z_FULL_FLUSH) == Z_OK && z.avail_out > 0);
	buf_add(&out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	for (uint64_t i = 0; i < mb; i++) {
		buf_add(&out, piece, sizeof piece - z.avail_out);
		crc = crc32_combine(crc, one, MIB);
	}
	buf_add(&out, "\x03\0", 2); /* an empty last block */
	put_u32le(&out, (uint32_t)crc);
	put_u32le(&out, (uint32_t)(mb * MIB));
	deflateEnd(&z);
	mem_free(&zeros);
	return buf_str(&out);
}

static bool read_step(const json_t *from, struct step *ret)
{
	const json_t *v;
	*ret = (struct step){.times = 1};
	if ((v = json_object_get(from, "bytes")))
		return latin1(v, &ret->bytes);
	if ((v = json_object_get(from, "repeat"))) {
		json_int_t times = json_integer_value(json_object_get(v, "times"));
		ret->times = (uint64_t)MAX(times, 0);
		return latin1(json_object_get(v, "bytes"), &ret->bytes);
	}
	if ((v = json_object_get(from, "gzip_bomb"))) {
		json_int_t mb = json_integer_value(json_object_get(v, "mb"));
		if (mb < 0 || mb > BOMB_MAX_MB)
			return false;
		ret->bytes = bomb((uint64_t)mb);
		return true;
	}
	ret->wait = json_number_value(json_object_get(from, "pause_idle"));
	ret->date_s = json_integer_value(json_object_get(from, "http_date"));
	ret->kind = json_object_get(from, "pause_idle")  ? STEP_WAIT
		    : json_object_get(from, "http_date") ? STEP_DATE
		    : json_object_get(from, "close")     ? STEP_CLOSE
		    : json_object_get(from, "reset")     ? STEP_RESET
		    : json_object_get(from, "hang")      ? STEP_HANG
							 : STEP_BYTES;
	return ret->kind != STEP_BYTES;
}

static int read_case(struct odd *o, const json_t *from)
{
	const char *id = json_string_value(json_object_get(from, "id"));
	const json_t *send = json_object_get(from, "send");
	if (!id || !json_is_array(send) || cases_get(&o->cases, str_of(id)))
		return -1;
	struct odd_case *c = mem_alloc(sizeof *c);
	c->id = mem_text(id);
	c->steps = mem_array(json_array_size(send) + 1, sizeof *c->steps);
	*cases_put(&o->cases, str_of(c->id)) = c;
	for (size_t i = 0; i < json_array_size(send); i++)
		if (!read_step(json_array_get(send, i), &c->steps[c->n++]))
			return -1;
	return 0;
}

static int read_lines(struct odd *o, const char *path, struct str rest, struct err *err)
{
	struct str line;
	for (int n = 1; str_cut(&rest, '\n', &line) == 0; n++) {
		json_error_t where;
		if (str_trim(line).n == 0)
			continue;
		json_t *from = json_loadb(line.p, line.n, JSON_ALLOW_NUL, &where);
		int rc = from ? read_case(o, from) : -1;
		json_decref(from);
		if (rc < 0)
			return err_set(err, ERR_USAGE, "%s:%d: not a case that can be replayed",
				       path, n);
	}
	return 0;
}

int odd_load(struct odd **ret, const char *path, struct err *err)
{
	struct buf text = BUF_INIT(FILE_MAX);
	struct odd *o = mem_alloc(sizeof *o);
	int rc = file_slurp(path, &text, err);
	if (rc > 0)
		rc = err_set(err, ERR_USAGE, "%s: there is no such file", path);
	if (rc == 0)
		rc = read_lines(o, path, buf_str(&text), err);
	buf_free(&text);
	if (rc == 0)
		*ret = o;
	else
		odd_free(&o);
	return rc;
}

const struct odd_case *odd_find(const struct odd *o, struct str path)
{
	if (!o || !str_starts(path, STR("/c/")))
		return NULL;
	path = str_from(path, 3);
	path = str_head(path, MIN(str_find_byte(path, '/'), str_find_byte(path, '?')));
	struct odd_case **c = cases_get(&o->cases, path);
	return c ? *c : NULL;
}

/* Up to about PIECE bytes of a step that is sent many times. */
static void send_some(const struct step *s, struct odd_at *at, struct buf *out)
{
	while (at->done < s->times && out->n < PIECE) {
		buf_add_str(out, s->bytes);
		at->done++;
	}
	if (at->done >= s->times)
		*at = (struct odd_at){.step = at->step + 1};
}

enum odd_do odd_next(const struct odd_case *c, struct odd_at *at, int64_t real_s, struct buf *out,
		     double *ret_wait)
{
	static const enum odd_do ends[] = {
		[STEP_CLOSE] = ODD_CLOSE, [STEP_RESET] = ODD_RESET, [STEP_HANG] = ODD_HANG};
	char date[32];
	if (at->step >= c->n)
		return ODD_END;
	const struct step *s = &c->steps[at->step];
	switch (s->kind) {
	case STEP_BYTES:
		send_some(s, at, out);
		return ODD_SEND;
	case STEP_DATE:
		http_date_print(real_s + s->date_s, date);
		buf_add_text(out, date);
		at->step++;
		return ODD_SEND;
	case STEP_WAIT:
		*ret_wait = s->wait;
		at->step++;
		return ODD_WAIT;
	default:
		at->step++;
		return ends[s->kind];
	}
}
