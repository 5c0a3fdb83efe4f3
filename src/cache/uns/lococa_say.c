/* Answers of a session. Messages have the peer's prefix, the elements inside of them none, as
 * document 004 has it; where the peer uses a default namespace, nothing has a prefix. */
#include "base/hash.h"
#include "cache/uns/lococa_inner.h"

#include <inttypes.h>
#include <stdio.h>

static void open_message(const struct lococa *l, const char *name, struct buf *out)
{
	buf_printf(out, "<%s%s", l->prefix, name);
}

static void close_message(const struct lococa *l, const char *name, struct buf *out)
{
	buf_printf(out, "</%s%s>\n", l->prefix, name);
}

static void add_time(struct buf *out, const char *name, int64_t wall_us)
{
	if (wall_us <= 0)
		return;
	buf_printf(out, " %s=\"", name);
	time_print(out, wall_us, 0);
	buf_add_byte(out, '"');
}

/* init. */

static void say_notice(const struct notice *n, struct buf *out)
{
	char md5[33];
	xml_add_attr(out, "c", n->c);
	if (n->b.n)
		xml_add_attr(out, "b", n->b);
	if (n->f.n)
		xml_add_attr(out, "f", n->f);
	xml_add_attr(out, "mime", n->mime);
	if (n->op == NOTICE_REMOVE)
		xml_add_attr(out, "op", STR("remove"));
	if (n->has & NOTICE_NOT_BROWSABLE)
		xml_add_attr(out, "browse", STR("no"));
	if (n->sub.n)
		xml_add_attr(out, "sub", n->sub);
	if (n->has & NOTICE_HAS_MTIME)
		xml_add_number(out, "mtime", (uint64_t)n->mtime_s);
	if (n->has & NOTICE_HAS_SIZE)
		xml_add_number(out, "size", n->size);
	if (n->has & NOTICE_HAS_MD5) {
		hex_print(n->md5, sizeof n->md5, md5);
		xml_add_attr(out, "md5", str_of(md5));
	}
	if (n->hours.n)
		xml_add_attr(out, "hours", n->hours);
}

static void say_error(const struct db_error *e, struct buf *out)
{
	buf_add_text(out, "<url");
	xml_add_number(out, "code", e->code);
	xml_add_attr(out, "url", notice_fetch(&e->notice));
	say_notice(&e->notice, out);
	add_time(out, "at", e->at_us);
	buf_add_byte(out, '>');
	xml_escape(out, e->reason);
	buf_add_text(out, "</url>\n");
}

static void say_status(const struct lococa_welcome *w, struct buf *out)
{
	size_t from = out->n;
	buf_add_text(out, "<processing_status");
	xml_add_number(out, "errors", w->errors);
	xml_add_number(out, "processing", w->processing);
	if (w->n == 0) {
		buf_add_text(out, "/>\n");
		return;
	}
	buf_add_text(out, ">\n<errors>\n");
	for (size_t i = 0; i < w->n && out->n - from < LOCOCA_ERRORS_MAX; i++)
		say_error(&w->error[i], out);
	buf_add_text(out, "</errors>\n</processing_status>\n");
}

static void say_used(const char *name, uint64_t used, uint64_t left, struct buf *out)
{
	buf_printf(out, "<%s", name);
	xml_add_number(out, "used", used);
	xml_add_number(out, "free", left);
	buf_add_text(out, "/>\n");
}

static void say_quota(const struct lococa_welcome *w, struct buf *out)
{
	buf_add_text(out, "<quota>\n");
	say_used("files", w->files, w->files_free, out);
	say_used("space", w->space, w->space_free, out);
	buf_add_text(out, "<fullset");
	xml_add_number(out, "allowed", w->fullsets);
	xml_add_attr(out, "wanted", w->wanted ? STR("yes") : STR("no"));
	if (w->wanted)
		xml_add_attr(out, "reason", str_of(pidb_wanted_name(w->wanted)));
	buf_add_text(out, "/>\n</quota>\n");
}

void lococa_accept(struct lococa *l, const struct lococa_welcome *w, struct buf *out)
{
	const struct value_list *mime = &l->shared->cache->mime;
	ENSURE(l->state == LOCOCA_ASKED);
	l->state = LOCOCA_OPEN;
	l->limits.token_max = l->limits.message_max = LOCOCA_MESSAGE_MAX;
	l->prefixes = w->prefixes;
	open_message(l, "init_accepted", out);
	buf_add_text(out, ">\n<connect_info");
	xml_add_number(out, "seq", w->seq);
	xml_add_attr(out, "lastConnectIP", w->last_address);
	buf_add_text(out, "/>\n");
	for (size_t i = 0; i < mime->n; i++) {
		buf_add_text(out, "<mime>");
		xml_escape(out, str_of(mime->item[i]));
		buf_add_text(out, "</mime>\n");
	}
	say_quota(w, out);
	say_status(w, out);
	close_message(l, "init_accepted", out);
}

/* set. */

void lococa_say_set(struct lococa *l, bool has_error, struct buf *out)
{
	if (!l->has_said_set) {
		open_message(l, "set_result", out);
		buf_add_text(out, ">\n");
	}
	if (has_error && !l->has_said_errors)
		buf_add_text(out, "<errors>\n");
	l->has_said_set = true;
	l->has_said_errors = l->has_said_errors || has_error;
}

static void end_errors(struct lococa *l, struct buf *out)
{
	lococa_say_set(l, false, out);
	if (l->has_said_errors)
		buf_add_text(out, "</errors>\n");
}

void lococa_say_taken(struct lococa *l, uint64_t received, uint64_t set, struct buf *out)
{
	ENSURE(l->state == LOCOCA_WHOLE);
	end_errors(l, out);
	buf_add_text(out, "<set_accepted");
	xml_add_number(out, "received", received);
	xml_add_number(out, "set", set);
	buf_add_text(out, "/>\n");
	close_message(l, "set_result", out);
	l->state = LOCOCA_OVER;
}

static void say_reason(const char *name, unsigned code, const char *text, struct buf *out)
{
	buf_printf(out, "<%s", name);
	xml_add_number(out, "code", code);
	buf_add_byte(out, '>');
	xml_escape(out, str_of(text));
	buf_printf(out, "</%s>\n", name);
}

void lococa_refuse(struct lococa *l, unsigned code, const char *text, struct buf *out)
{
	char name[PREFIX_MAX + 8];
	switch (l->state) {
	case LOCOCA_INIT:
	case LOCOCA_ASKED:
		open_message(l, "init_rejected", out);
		buf_add_text(out, ">\n");
		say_reason("reason", code, text, out);
		close_message(l, "init_rejected", out);
		break;
	case LOCOCA_SET:
	case LOCOCA_WHOLE:
		end_errors(l, out);
		say_reason("set_rejected", code, text, out);
		close_message(l, "set_result", out);
		break;
	case LOCOCA_OPEN:
		snprintf(name, sizeof name, "%serror", l->prefix);
		say_reason(name, code, text, out);
		break;
	case LOCOCA_OVER:
		break;
	}
	lococa_stop(l);
	l->state = LOCOCA_OVER;
}

/* receipts. */

void lococa_say_receipts(struct lococa *l, uint64_t set, const char *state, int64_t at_us,
			 uint64_t urls, struct buf *out)
{
	open_message(l, "receipts_result", out);
	xml_add_number(out, "set", set);
	xml_add_attr(out, "state", str_of(state));
	add_time(out, "at", at_us);
	xml_add_number(out, "urls", urls);
	buf_add_text(out, ">\n");
}

void lococa_say_receipt(const struct db_receipt *r, struct buf *out)
{
	buf_add_text(out, "<url");
	xml_add_attr(out, "url", r->c);
	xml_add_attr(out, "mime", r->mime);
	xml_add_attr(out, "state", str_of(db_state_name(r->state)));
	if (r->code)
		xml_add_number(out, "code", r->code);
	add_time(out, "at", r->at_us);
	add_time(out, "until", r->state == DB_WAITING ? r->until_us : 0);
	if (r->reason.n == 0) {
		buf_add_text(out, "/>\n");
		return;
	}
	buf_add_byte(out, '>');
	xml_escape(out, r->reason);
	buf_add_text(out, "</url>\n");
}

void lococa_say_receipts_end(struct lococa *l, struct buf *out)
{
	close_message(l, "receipts_result", out);
}
