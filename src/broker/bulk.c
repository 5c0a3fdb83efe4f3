/* A bulk transfer, made from a reader of the registry that stays at its commit. The registry is
 * scanned once for each section, past what did not change; the text of an object is copied from its
 * block in long slices, around the attributes that the registry knows better.
 *
 * The registry's files stay as they were while it is open; texts do not. One that nobody has any
 * more is deleted after the commit that says so. Then the registry as it is now knows more: the
 * object went, or has another text, and the next transfer tells that; or a twin took the text
 * over, and it is read there. Keeping deleted texts for those who read was the other way, but a
 * client that reads slowly would keep them for hours. */
#include "broker/bulk_inner.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/registry.h"
#include "soif/soif_parse.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum {
	ARENA_MOST = 64 << 20,
	COPY_LEAST = 4 << 10, /* bytes of a text at a time, however little is asked for */
	TRIES = 16,           /* to find a text that moves from twin to twin */
	HEAD = 512,           /* bytes of what an object begins with, without strings */
};

enum bulk_stage {
	STAGE_OPENING,
	STAGE_DELETE,
	STAGE_REFRESH,
	STAGE_UPDATE,
	STAGE_CLOSING,
	STAGE_DONE,
	STAGE_FAILED
};

/* The text of the current object. */
struct bulk_text {
	bool open;
	bool own_description; /* the text is a twin's, but not its description */
	size_t n, at;         /* bytes of it; those that were passed */
	size_t copy;          /* that go out as they are, from there on */
};

struct bulk {
	struct registry *registry; /* the snapshot; NULL: nothing was ever collected */
	struct registry *later;    /* what is committed now; opened at first need */
	struct docstore *docs;     /* may be NULL, and then the next */
	struct docstore_cursor *texts;
	struct registry_scan *scan;
	struct arena arena; /* of one object */
	char folder[PATH_MAX];
	uint32_t since_s, next_s;
	int64_t now_s;
	uint32_t *oid;
	size_t oids;
	bool some; /* only these */
	enum bulk_stage stage;
	bool filled; /* the section has an object */
	struct bulk_text text;
	uint64_t objects, lost;
};

/* Opening */

static int stores_open(struct bulk *b, struct err *err)
{
	char docs[PATH_MAX];
	struct registry_stats stats;
	int rc = registry_open_read(&b->registry, b->folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	registry_stats(b->registry, &stats);
	/* What is committed from now on changed then or later. */
	b->next_s = stats.changed_s;
	if (snprintf(docs, sizeof docs, "%s/docs", b->folder) >= (int)sizeof docs)
		return err_set(err, ERR_USAGE, "%s: its path is too long", b->folder);
	rc = docstore_open_read(&b->docs, docs, err);
	if (rc == 0)
		b->texts = docstore_cursor_new(b->docs);
	return rc < 0 ? -1 : registry_scan_open(&b->scan, b->registry, 0, err);
}

int bulk_open(struct bulk **ret, const struct bulk_options *options, struct err *err)
{
	struct bulk *b = mem_alloc(sizeof *b);
	b->arena = ARENA_INIT(ARENA_MOST);
	b->since_s = options->since_s;
	b->now_s = options->now_us / US_PER_S;
	b->some = options->oid;
	b->oids = b->some ? options->oids : 0;
	if (b->oids)
		b->oid = mem_copy(options->oid, b->oids * sizeof *b->oid);
	int rc = 0;
	if (snprintf(b->folder, sizeof b->folder, "%s/broker", options->data) >=
	    (int)sizeof b->folder)
		rc = err_set(err, ERR_USAGE, "%s: its path is too long", options->data);
	if (rc < 0 || stores_open(b, err) < 0) {
		bulk_free(&b);
		return -1;
	}
	*ret = b;
	return 0;
}

void bulk_free(struct bulk **pb)
{
	struct bulk *b = *pb;
	if (!b)
		return;
	registry_scan_free(&b->scan);
	registry_close(&b->registry);
	registry_close(&b->later);
	docstore_cursor_free(&b->texts);
	docstore_close(&b->docs);
	arena_free(&b->arena);
	mem_free(&b->oid);
	mem_free(pb);
}

uint64_t bulk_objects(const struct bulk *b)
{
	return b->objects;
}

/* What objects begin with */

static char *put_bytes(char *p, struct str s)
{
	return s.n ? mempcpy(p, s.p, s.n) : p;
}

static char *put_attr(char *p, struct str name, struct str value)
{
	if (value.n == 0)
		return p;
	p = put_bytes(p, name);
	*p++ = '{';
	p += str_decimal(p, value.n);
	p = put_bytes(p, STR("}:\t"));
	p = put_bytes(p, value);
	*p++ = '\n';
	return p;
}

static char *put_number(char *p, struct str name, uint32_t v)
{
	char digits[STR_DECIMAL_MAX];
	return put_attr(p, name, (struct str){digits, str_decimal(digits, v)});
}

/* Of one that was deleted only what says which it was. */
static void head_print(struct str type, const struct registry_object *o, bool deleted,
		       bool description, struct buf *out)
{
	size_t room = HEAD + type.n + o->url.n + o->gatherer_name.n + o->gatherer_host.n +
		      o->gatherer_version.n + o->md5.n + o->description.n;
	char *from = buf_room(out, room), *p = from;
	if (!p)
		return; /* bulk_make() looks */
	*p++ = '@';
	p = put_bytes(p, type);
	p = put_bytes(p, STR(" { "));
	p = put_bytes(p, o->url);
	*p++ = '\n';
	p = put_number(p, STR("Update-Time"), o->update_time_s);
	if (!deleted) {
		if (o->last_modification_time_s)
			p = put_number(p, STR("Last-Modification-Time"),
				       o->last_modification_time_s);
		p = put_number(p, STR("Refresh-Rate"), o->refresh_rate_s);
		p = put_number(p, STR("Time-to-Live"), o->time_to_live_s);
	}
	p = put_attr(p, STR("Gatherer-Name"), o->gatherer_name);
	p = put_attr(p, STR("Gatherer-Host"), o->gatherer_host);
	p = put_attr(p, STR("Gatherer-Version"), o->gatherer_version);
	p = put_attr(p, STR("MD5"), o->md5);
	if (description)
		p = put_attr(p, STR("Description"), o->description);
	buf_grew(out, (size_t)(p - from));
}

/* The section begins its first line with its first object. */
static void object_begin(struct bulk *b, struct buf *out)
{
	if (!b->filled)
		buf_add_byte(out, '\n');
	b->filled = true;
	b->objects++;
}

/* Finding texts */

/* The oid of the text of an object: its own or that of its twin. 0: there is none. */
static int text_oid(struct bulk *b, struct registry *r, const struct registry_object *o,
		    uint32_t *ret, struct err *err)
{
	struct registry_object *twin;
	size_t n = 0;
	*ret = o->oid;
	if (o->oid)
		return 0;
	if (registry_of_md5(r, o->gatherer_name, o->gatherer_host, o->md5, true, 1, &b->arena,
			    &twin, &n, err) < 0)
		return -1;
	if (n)
		*ret = twin->oid;
	return 0;
}

static int text_lost(const struct registry_object *o, struct err *err)
{
	return err_set(err, ERR_DAMAGED, STR_FMT ": its text is lost; fetch it again",
		       STR_ARG(str_head(o->url, 200)));
}

static int later_look(struct bulk *b, struct err *err)
{
	if (b->later)
		return MIN(registry_refresh(b->later, err), 0);
	int rc = registry_open_read(&b->later, b->folder, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: the registry is gone", b->folder) : rc;
}

/* The text is not there any more. Which commit ended it can be read by now. 1: a later transfer
 * tells what became of the object. */
static int text_find_later(struct bulk *b, const struct registry_object *o, size_t *ret_n,
			   struct err *err)
{
	for (unsigned i = 0; i < TRIES; i++) {
		struct registry_object now;
		uint32_t oid;
		arena_clear(&b->arena);
		if (later_look(b, err) < 0)
			return -1;
		int rc = registry_find(b->later, o->gatherer_name, o->gatherer_host, o->url,
				       &b->arena, &now, err);
		if (rc != 0)
			return rc;
		if (o->oid && now.oid == o->oid)
			break;
		if (now.stored_s >= b->next_s)
			return 1;
		if (text_oid(b, b->later, &now, &oid, err) < 0)
			return -1;
		if (oid == 0)
			break;
		rc = docstore_cursor_find(b->texts, oid, ret_n, err);
		if (rc <= 0)
			return rc;
	}
	return text_lost(o, err);
}

/* 1: it is left out. ERR_DAMAGED: it cannot be read. */
static int text_find(struct bulk *b, const struct registry_object *o, size_t *ret_n,
		     struct err *err)
{
	uint32_t oid;
	if (text_oid(b, b->registry, o, &oid, err) < 0)
		return -1;
	if (!b->texts)
		return text_lost(o, err);
	int rc = oid ? docstore_cursor_find(b->texts, oid, ret_n, err) : 1;
	return rc == 1 ? text_find_later(b, o, ret_n, err) : rc;
}

/* Copying texts, which are SOIF in its canonical form */

static int text_wrong(struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "a text in the document store is not SOIF; fetch it again");
}

/* The name of an attribute, bytes up to its value and of that. */
static bool attr_head(struct str s, struct str *ret_name, size_t *ret_head, size_t *ret_n)
{
	const char *end = s.p + s.n;
	const char *p = s.n ? memchr(s.p, '{', MIN(s.n, (size_t)SOIF_MAX_NAME + 1)) : NULL;
	size_t n = 0;
	if (!p)
		return false;
	*ret_name = str_range(s.p, p);
	for (p++; p < end && ascii_is_digit(*p); p++) {
		n = n * 10 + (size_t)(*p - '0');
		if (n > SOIF_MAX_VALUE)
			return false;
	}
	if (end - p < 3 || memcmp(p, "}:\t", 3) != 0)
		return false;
	*ret_head = (size_t)(p + 3 - s.p);
	*ret_n = n;
	return true;
}

/* Whether the registry says this one. */
static bool attr_is_ours(struct str name, bool own_description)
{
	switch (name.n) {
	case 3:
		return str_eq_nocase(name, STR("MD5"));
	case 11:
		return str_eq_nocase(name, STR("Update-Time")) ||
		       (own_description && str_eq_nocase(name, STR("Description")));
	case 12:
		return str_eq_nocase(name, STR("Refresh-Rate")) ||
		       str_eq_nocase(name, STR("Time-to-Live"));
	case 13:
		return str_eq_nocase(name, STR("Gatherer-Name")) ||
		       str_eq_nocase(name, STR("Gatherer-Host"));
	case 16:
		return str_eq_nocase(name, STR("Gatherer-Version"));
	case 22:
		return str_eq_nocase(name, STR("Last-Modification-Time"));
	default:
		return false;
	}
}

/* At the beginning of an attribute: how much goes out as it is, up to the next attribute that the
 * registry says, or to the end of the part; its last value may go past that. */
static int text_plan(struct bulk_text *t, struct str part, struct err *err)
{
	size_t run = 0, head, n;
	struct str name;
	while (run < part.n && part.p[run] != '}') {
		if (!attr_head(str_from(part, run), &name, &head, &n))
			break;
		size_t all = head + n + 1;
		if (attr_is_ours(name, t->own_description)) {
			if (run)
				break;
			t->at += all;
			part = str_from(part, all);
		} else {
			run += all;
		}
	}
	bool ends = run < part.n && part.p[run] == '}';
	if (ends)
		run += 2;
	/* A head that the part cuts is at the beginning of the next one. */
	if (t->at + run > t->n || ends != (t->at + run == t->n) || (run == 0 && part.n))
		return text_wrong(err);
	t->copy = run;
	return 0;
}

/* Some more of the text of the object. */
static int text_copy(struct bulk *b, size_t most, struct buf *out, struct err *err)
{
	struct bulk_text *t = &b->text;
	size_t before = t->at;
	struct str part;
	if (docstore_cursor_text(b->texts, t->at, &part, err) < 0)
		return -1;
	if (t->copy == 0) {
		if (text_plan(t, part, err) < 0)
			return -1;
		part = str_from(part, t->at - before);
	}
	size_t n = MIN(MIN(t->copy, part.n), most);
	buf_add(out, part.p, n);
	t->at += n;
	t->copy -= n;
	t->open = t->at < t->n;
	return 0;
}

/* "@FILE { URL": the type, and where the attributes begin. */
static int text_head(struct bulk *b, struct str *ret_type, size_t *ret, struct err *err)
{
	struct str part;
	if (docstore_cursor_text(b->texts, 0, &part, err) < 0)
		return -1;
	part = str_head(part, SOIF_SKIM);
	size_t line = str_find_byte(part, '\n'), blank = str_find_byte(part, ' ');
	if (line == part.n || blank >= line || part.p[0] != '@')
		return text_wrong(err);
	*ret_type = str_range(part.p + 1, part.p + blank);
	*ret = line + 1;
	return 0;
}

/* Objects */

static int tell_update(struct bulk *b, const struct registry_object *o, struct buf *out,
		       struct err *err)
{
	struct bulk_text t = {.open = true, .own_description = !o->oid && o->description.n};
	struct str type = STR("");
	int rc = text_find(b, o, &t.n, err);
	if (rc == 0)
		rc = text_head(b, &type, &t.at, err);
	if (rc < 0 && err->code == ERR_DAMAGED) {
		if (b->lost++ == 0) /* with a path, which is not the client's */
			log_error(QUERY, "bulk transfer skips unreadable objects",
				  KV_TEXT("why", err->msg));
		return 0;
	}
	if (rc != 0)
		return MIN(rc, 0);
	object_begin(b, out);
	head_print(type, o, false, t.own_description, out);
	b->text = t;
	return 0;
}

static void tell_numbers(struct bulk *b, const struct registry_object *o, bool deleted,
			 struct buf *out)
{
	object_begin(b, out);
	head_print(STR("FILE"), o, deleted, false, out);
	buf_add(out, "}\n", 2);
}

/* A tombstone of what came back says nothing. */
static int tell_delete(struct bulk *b, const struct registry_object *o, struct buf *out,
		       struct err *err)
{
	struct registry_object now;
	int rc = registry_find(b->registry, o->gatherer_name, o->gatherer_host, o->url, &b->arena,
			       &now, err);
	if (rc == 1)
		tell_numbers(b, o, true, out);
	return MIN(rc, 0);
}

static bool is_asked(const struct bulk *b, uint32_t oid)
{
	size_t at = BISECT(i, 0, b->oids, b->oid[i] < oid);
	return !b->some || (at < b->oids && b->oid[at] == oid);
}

static int tell_record(struct bulk *b, const struct registry_record *record, struct buf *out,
		       struct err *err)
{
	const struct registry_object *o = &record->object;
	/* One that has a text went through soif_print(). */
	if ((record->tombstone || o->oid == 0) && !soif_url_fits(o->url))
		return 0;
	if (record->tombstone)
		return tell_delete(b, o, out, err);
	if (!record->living || !is_asked(b, o->oid))
		return 0;
	if (b->stage == STAGE_UPDATE)
		return tell_update(b, o, out, err);
	tell_numbers(b, o, false, out);
	return 0;
}

/* Sections */

static void section_begin(struct bulk *b, enum bulk_stage stage, struct buf *out)
{
	static const char *const name[] = {[STAGE_DELETE] = "@DELETE {",
					   [STAGE_REFRESH] = "@REFRESH {",
					   [STAGE_UPDATE] = "@UPDATE {"};
	struct registry_want want = {.tombstones = stage == STAGE_DELETE,
				     .changed_from = b->since_s,
				     .stored_to = UINT32_MAX};
	b->stage = stage;
	b->filled = false;
	if (stage == STAGE_CLOSING)
		return;
	if (stage == STAGE_REFRESH)
		want.stored_to = b->since_s - 1;
	if (stage == STAGE_UPDATE)
		want.stored_from = b->since_s;
	buf_add_text(out, name[stage]);
	if (b->scan)
		registry_scan_again(b->scan, &want);
}

static int section_step(struct bulk *b, struct buf *out, struct err *err)
{
	struct registry_record record;
	/* no text came before second 0 */
	bool none = !b->scan || (b->stage == STAGE_REFRESH && b->since_s == 0);
	int rc = none ? 1 : registry_scan_next(b->scan, &record, err);
	arena_clear(&b->arena);
	if (rc == 0)
		return tell_record(b, &record, out, err);
	if (rc == 1) {
		buf_add_text(out, b->filled ? "}\n" : " }\n");
		section_begin(b, b->stage + 1, out);
	}
	return MIN(rc, 0);
}

/* What was lost is missed until its texts are there: the client has to ask for all of this again.
 */
static int bulk_close(struct bulk *b, struct buf *out, struct err *err)
{
	if (b->lost)
		return err_set(err, ERR_PARTLY,
			       "missing objects: %" PRIu64 "; all others were told", b->lost);
	buf_printf(out, "099 - end of bulk transfer, next %" PRIu32 "\n", b->next_s);
	b->stage = STAGE_DONE;
	return 0;
}

static int bulk_step(struct bulk *b, size_t most, struct buf *out, struct err *err)
{
	if (b->text.open)
		return text_copy(b, most, out, err);
	switch (b->stage) {
	case STAGE_OPENING:
		buf_printf(out,
			   "000 - bulk transfer of what changed since %" PRIu32 ", at %" PRId64
			   "\n",
			   b->since_s, b->now_s);
		section_begin(b, STAGE_DELETE, out);
		return 0;
	case STAGE_CLOSING:
		return bulk_close(b, out, err);
	default:
		return section_step(b, out, err);
	}
}

int bulk_make(struct bulk *b, size_t n, struct buf *out, struct err *err)
{
	size_t end = out->n + MIN(MAX(n, (size_t)1), SIZE_MAX - out->n);
	int rc = 0;
	if (b->stage == STAGE_FAILED)
		return err_set(err, ERR_USAGE, "the bulk transfer has failed before");
	while (rc == 0 && b->stage != STAGE_DONE && out->n < end && !out->over)
		rc = bulk_step(b, MAX(end - out->n, (size_t)COPY_LEAST), out, err);
	if (rc == 0 && out->over)
		rc = err_set(err, ERR_SYSTEM, "a piece of %zu bytes is too large to be held",
			     out->n);
	if (rc < 0) {
		b->stage = STAGE_FAILED;
		return -1;
	}
	return b->stage == STAGE_DONE;
}
