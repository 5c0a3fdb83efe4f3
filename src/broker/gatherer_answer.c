/* The answer of a gatherer, read: lines (net/framing.h), inflate where the first byte says gzip,
 * SOIF (soif/soif_parse.h). Each stage hands the next a bounded piece, so that a bomb costs time
 * but no memory; and ANSWER_BUSY gives the time of one call a bound. */
#include "broker/gatherer_answer_inner.h"

#include "base/ascii.h"
#include "base/value.h"
#include "net/framing.h"
#include "soif/soif_parse.h"

#include <zlib.h>

enum { GZIP_BITS = 15 + 16, GZIP_FIRST = 0x1f };

enum answer_stage { STAGE_GREETING, STAGE_OPENING, STAGE_SECTIONS, STAGE_COMPLETE };
enum answer_coding { CODING_UNKNOWN, CODING_PLAIN, CODING_GZIP };

struct gatherer_answer {
	enum answer_stage stage;
	enum answer_coding coding;
	bool may_answer_set; /* the next line may be of SET compression */
	bool ended;          /* no more bytes will come */
	size_t object_max;
	unsigned lines;
	char said[VALUE_SHOWN]; /* the last line */
	struct framing framing;
	struct str piece; /* of the sections, not decoded yet */
	bool pending;     /* zlib may have more to give without another byte */
	z_stream zip;
	struct soif_parser parser;
	uint64_t since; /* bytes decoded since the last object */
	uint64_t good, bad;
	char out[ANSWER_PIECE];
};

struct gatherer_answer *gatherer_answer_new(size_t object_max, bool compressed)
{
	struct gatherer_answer *a = mem_alloc(sizeof *a);
	ENSURE(object_max >= ANSWER_PIECE);
	a->object_max = object_max;
	a->may_answer_set = compressed;
	a->parser = SOIF_ANSWER_INIT(object_max);
	framing_init(&a->framing, ANSWER_LINE, ANSWER_LINE + 2 + ANSWER_MAX_PUT);
	return a;
}

static void leave_coding(struct gatherer_answer *a)
{
	if (a->coding == CODING_GZIP)
		(void)inflateEnd(&a->zip);
	a->coding = CODING_UNKNOWN;
	a->pending = false;
}

void gatherer_answer_free(struct gatherer_answer **pa)
{
	struct gatherer_answer *a = *pa;
	if (!a)
		return;
	leave_coding(a);
	framing_free(&a->framing);
	soif_parser_free(&a->parser);
	mem_free(pa);
}

size_t gatherer_answer_held(const struct gatherer_answer *a)
{
	enum { INFLATE = 48 << 10 };
	return sizeof *a + a->framing.held.cap + a->parser.held.cap +
	       (a->coding == CODING_GZIP ? INFLATE : 0);
}

void gatherer_answer_put(struct gatherer_answer *a, struct str bytes)
{
	ENSURE(bytes.n <= ANSWER_MAX_PUT && a->piece.n == 0);
	framing_put(&a->framing, bytes);
}

void gatherer_answer_end(struct gatherer_answer *a)
{
	a->ended = true;
	soif_feed_end(&a->parser);
}

/* Lines */

/* "NNN - text"; the text may be missing. */
static bool status_of(struct str line, unsigned *ret)
{
	uint64_t code;
	if (line.n < 3 || (line.n > 3 && line.p[3] != ' ') || !str_u64(str_head(line, 3), &code))
		return false;
	*ret = (unsigned)code;
	return true;
}

static int ended_early(const struct gatherer_answer *a, struct err *err)
{
	const char *after = a->said[0] ? "; it said: " : "";
	switch (a->stage) {
	case STAGE_GREETING:
		return err_set(err, ERR_REMOTE, "ended before its greeting%s%s", after, a->said);
	case STAGE_OPENING:
		return err_set(err, ERR_REMOTE, "ended before it answered%s%s", after, a->said);
	default:
		return err_set(err, ERR_REMOTE, "ended after %llu objects %s",
			       (unsigned long long)a->good,
			       a->coding == CODING_GZIP ? "inside of its compressed data"
							: "without its closing line");
	}
}

/* A line after our request. A 000 may be the beginning of the answer, or say that compression was
 * set. */
static int take_opening(struct gatherer_answer *a, unsigned code, struct err *err)
{
	bool of_set = a->may_answer_set && code != 400;
	a->may_answer_set = false;
	if (of_set)
		return ANSWER_BUSY;
	if (code != 0 && code != 400)
		return err_set(err, ERR_REMOTE, "refused: %s", a->said);
	a->stage = STAGE_SECTIONS;
	framing_pieces(&a->framing);
	return ANSWER_BUSY;
}

static int take_line(struct gatherer_answer *a, struct str line, struct err *err)
{
	unsigned code;
	(void)value_show(line, a->said);
	if (!status_of(line, &code))
		return err_set(err, ERR_REMOTE, "does not speak like a gatherer: %s", a->said);
	if (++a->lines > ANSWER_LINES)
		return err_set(err, ERR_REMOTE, "more than %d lines and no objects", ANSWER_LINES);
	if (a->stage == STAGE_OPENING)
		return take_opening(a, code, err);
	if (!str_starts(line, STR("000 - HELLO")))
		return ANSWER_BUSY;
	a->stage = STAGE_OPENING;
	return ANSWER_ASK;
}

/* A line, or a piece of the sections. BUSY: go on. */
static int take_frame(struct gatherer_answer *a, struct err *err)
{
	struct str frame;
	int rc = framing_next(&a->framing, &frame);
	if (rc < 0)
		return err_set(err, ERR_REMOTE, "a line is longer than %d bytes", ANSWER_LINE);
	if (rc > 0 && a->ended)
		return ended_early(a, err);
	if (rc > 0) {
		framing_keep(&a->framing);
		return ANSWER_MORE;
	}
	if (a->stage != STAGE_SECTIONS)
		return take_line(a, frame, err);
	a->piece = frame;
	return ANSWER_BUSY;
}

/* Sections */

/* Decodes some of the piece into a->out. */
static int inflate_some(struct gatherer_answer *a, size_t *ret, struct err *err)
{
	a->zip.next_in = (Bytef *)(uintptr_t)a->piece.p;
	a->zip.avail_in = (uInt)a->piece.n;
	a->zip.next_out = (Bytef *)a->out;
	a->zip.avail_out = sizeof a->out;
	int rc = inflate(&a->zip, Z_NO_FLUSH);
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return err_set(err, ERR_REMOTE,
			       "its compressed data are damaged after %llu objects",
			       (unsigned long long)a->good);
	a->piece = str_from(a->piece, a->piece.n - a->zip.avail_in);
	*ret = sizeof a->out - a->zip.avail_out;
	a->pending = a->zip.avail_out == 0;
	if (rc == Z_STREAM_END)
		leave_coding(a);
	return 0;
}

static int begin_coding(struct gatherer_answer *a, struct err *err)
{
	a->coding = CODING_PLAIN;
	if ((uint8_t)a->piece.p[0] != GZIP_FIRST)
		return 0;
	a->zip = (z_stream){0};
	if (inflateInit2(&a->zip, GZIP_BITS) != Z_OK)
		return err_set(err, ERR_SYSTEM, "zlib cannot begin");
	a->coding = CODING_GZIP;
	return 0;
}

/* Gives the parser some more bytes. */
static int decode_some(struct gatherer_answer *a, struct err *err)
{
	struct str bytes = {a->out, 0};
	if (a->coding == CODING_UNKNOWN && begin_coding(a, err) < 0)
		return -1;
	if (a->coding == CODING_PLAIN) {
		bytes = str_head(a->piece, ANSWER_PIECE);
		a->piece = str_from(a->piece, bytes.n);
	} else if (inflate_some(a, &bytes.n, err) < 0) {
		return -1;
	}
	a->since += bytes.n;
	uint64_t most = 2 * (uint64_t)a->object_max + ANSWER_WORK;
	if (a->since > most)
		return err_set(err, ERR_REMOTE,
			       "more than %llu bytes without an object, after %llu objects",
			       (unsigned long long)most, (unsigned long long)a->good);
	return a->parser.status ? 0 : soif_feed(&a->parser, bytes, err);
}

/* A line with a code ends the sections. After an object that could not be read it may have been a
 * part of that: then nothing may follow it. */
static int take_closing(struct gatherer_answer *a, struct err *err)
{
	const struct soif_parser *p = &a->parser;
	if (p->status != SOIF_ANSWER_END && p->status != SOIF_ANSWER_END_OLD) {
		(void)value_show(p->line, a->said);
		return err_set(err, ERR_REMOTE, "broke off after %llu objects: %s",
			       (unsigned long long)a->good, a->said);
	}
	if (p->resync && str_trim(str_range(p->p, p->end)).n)
		return err_set(err, ERR_REMOTE,
			       "what looks like its closing line stands inside of an object that "
			       "cannot be read, after %llu objects",
			       (unsigned long long)a->good);
	if (a->coding == CODING_GZIP)
		return ANSWER_MORE; /* the checksum of it all is yet to come */
	a->stage = STAGE_COMPLETE;
	return ANSWER_COMPLETE;
}

static int take_object(struct gatherer_answer *a, const struct soif *obj, struct source_change *ret,
		       struct err *err)
{
	static const enum source_op op[] = {[SOIF_PLAIN] = SOURCE_UPDATE,
					    [SOIF_DELETE] = SOURCE_DELETE,
					    [SOIF_REFRESH] = SOURCE_REFRESH,
					    [SOIF_UPDATE] = SOURCE_UPDATE};
	if (obj->truncated)
		return ended_early(a, err);
	a->since = 0;
	a->good++;
	*ret = (struct source_change){.op = op[a->parser.section], .reason = STR(""), .obj = *obj};
	return ANSWER_CHANGE;
}

static int reject_object(struct gatherer_answer *a, struct source_change *ret, struct err *err)
{
	if (a->ended && a->parser.p == a->parser.end)
		return ended_early(a, err); /* it was cut off, not wrong */
	a->since = 0;
	if (++a->bad > ANSWER_BAD + a->good)
		return err_set(err, ERR_REMOTE, "%llu objects cannot be read, and %llu can",
			       (unsigned long long)a->bad, (unsigned long long)a->good);
	*ret = (struct source_change){.obj.url = a->parser.bad};
	err->code = ERR_PARTLY;
	return -1;
}

/* MORE: the parser needs more bytes. */
static int parse_some(struct gatherer_answer *a, struct arena *arena, struct source_change *ret,
		      struct err *err)
{
	struct soif obj;
	int rc = soif_next(&a->parser, arena, &obj, err);
	if (rc == 0)
		return take_object(a, &obj, ret, err);
	if (rc < 0)
		return reject_object(a, ret, err);
	return a->parser.status ? take_closing(a, err) : ANSWER_MORE;
}

int gatherer_answer_next(struct gatherer_answer *a, struct arena *arena, struct source_change *ret,
			 struct err *err)
{
	for (size_t work = 0; work < ANSWER_WORK; work += ANSWER_PIECE) {
		int rc = ANSWER_MORE;
		if (a->stage == STAGE_COMPLETE)
			return ANSWER_COMPLETE;
		if (a->stage == STAGE_SECTIONS)
			rc = parse_some(a, arena, ret, err);
		if (rc != ANSWER_MORE)
			return rc;
		if (a->piece.n || a->pending)
			rc = decode_some(a, err) < 0 ? -1 : ANSWER_BUSY;
		else
			rc = take_frame(a, err);
		if (rc != ANSWER_BUSY)
			return rc;
	}
	return ANSWER_BUSY;
}
