/* What `garner fetch` prints of a result for people. Scripts see it too: the form stays. */
#include "cmd/crawl/fetch_print.h"

#include "base/hash.h"
#include "base/jsonw.h"
#include "base/value.h"
#include "fetch/bot_wire.h"

static void print_cause(enum outcome outcome, struct str cause, struct str why, struct buf *out)
{
	char shown[VALUE_SHOWN];
	if (!outcome_is_ok(outcome))
		buf_printf(out, "  (" STR_FMT "%s%s%s)", STR_ARG(cause), why.n ? ": " : "",
			   value_show(why, shown),
			   outcome == OUTCOME_ADDRESS ? "; robot.networks can allow it" : "");
}

/* The URL comes last: it is what may be long. Visible ASCII is all that one can consist of. */
void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out)
{
	char why[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf location = BUF_INIT(r->location.n + 1);
	url_show(r->location, &location);
	buf_printf(out, "%-14s %3d %10llu  ", outcome_name(r->outcome), r->head->status,
		   (unsigned long long)r->size);
	url_show(url, out);
	if (r->location.n)
		buf_printf(out, " -> %s", value_show(buf_str(&location), why));
	else if (r->redirects)
		buf_printf(out, " -> " STR_FMT, STR_ARG(r->url));
	print_cause(r->outcome, str_of(robot_cause_name(r->cause)), str_of(r->why), out);
	buf_add_byte(out, '\n');
}

static void put_some(struct jsonw *j, const char *key, struct str text)
{
	if (text.n)
		jsonw_put_str(j, key, text);
}

void fetch_print_answer_json(struct str url, const struct bot_message *m, struct buf *out)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(url.n + 1);
	struct jsonw j = JSONW_INIT(out);
	char md5[2 * sizeof m->md5 + 1];
	url_show(url, &shown);
	jsonw_object(&j);
	put_some(&j, "url", buf_str(&shown));
	jsonw_put_text(&j, "outcome", outcome_name(m->outcome));
	put_some(&j, "cause", m->cause);
	put_some(&j, "why", m->reason);
	if (m->status)
		jsonw_put_uint(&j, "status", m->status);
	put_some(&j, "type", m->mime);
	put_some(&j, "etag", m->etag);
	if (m->has & BOT_HAS_MTIME)
		jsonw_put_uint(&j, "last_modified_s", m->mtime);
	if (m->has & BOT_HAS_SIZE)
		jsonw_put_uint(&j, "size", m->size);
	if (m->has & BOT_HAS_MD5) {
		hex_print(m->md5, sizeof m->md5, md5);
		jsonw_put_text(&j, "md5", md5);
	}
	put_some(&j, "machine", m->machine);
	put_some(&j, "file", m->file);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

void fetch_print_answer_text(struct str url, const struct bot_message *m, struct buf *out)
{
	buf_printf(out, "%-14s %3d %10llu  ", outcome_name(m->outcome), (int)m->status,
		   (unsigned long long)m->size);
	url_show(url, out);
	print_cause(m->outcome, m->cause, m->reason, out);
	buf_add_byte(out, '\n');
}
