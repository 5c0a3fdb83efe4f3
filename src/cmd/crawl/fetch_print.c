/* What `garner fetch` prints of a result for people. Scripts see it too: the form stays. */
#include "cmd/crawl/fetch_print.h"

#include "base/hash.h"
#include "base/rows.h"
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

COL_NAMER(print_outcome, enum outcome, outcome_name)

struct answer {
	struct str url;
	struct bot_message m;
	unsigned has_mtime, has_size, has_md5;
};
static const struct column answer_columns[] = {
	COL("url", struct answer, url, .how = ROW_SOME),
	COL_OF("outcome", struct answer, m.outcome, print_outcome),
	COL("cause", struct answer, m.cause, .how = ROW_SOME),
	COL("why", struct answer, m.reason, .how = ROW_SOME),
	COL("status", struct answer, m.status, .how = ROW_SOME),
	COL("type", struct answer, m.mime, .how = ROW_SOME),
	COL("etag", struct answer, m.etag, .how = ROW_SOME),
	COL("last_modified_s", struct answer, m.mtime, COL_IF(struct answer, has_mtime)),
	COL("size", struct answer, m.size, COL_IF(struct answer, has_size)),
	COL("md5", struct answer, m.md5, COL_IF(struct answer, has_md5)),
	COL("machine", struct answer, m.machine, .how = ROW_SOME),
	COL("file", struct answer, m.file, .how = ROW_SOME),
};
static const struct rows answer_rows = {ROWS(struct answer, answer_columns)};

void fetch_print_answer_json(struct str url, const struct bot_message *m, struct buf *out)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(url.n + 1);
	struct answer a = {.m = *m,
			   .has_mtime = m->has & BOT_HAS_MTIME,
			   .has_size = m->has & BOT_HAS_SIZE,
			   .has_md5 = m->has & BOT_HAS_MD5};
	url_show(url, &shown);
	a.url = buf_str(&shown);
	rows_json_line(&answer_rows, &a, out);
}

void fetch_print_answer_text(struct str url, const struct bot_message *m, struct buf *out)
{
	buf_printf(out, "%-14s %3d %10llu  ", outcome_name(m->outcome), (int)m->status,
		   (unsigned long long)m->size);
	url_show(url, out);
	print_cause(m->outcome, m->cause, m->reason, out);
	buf_add_byte(out, '\n');
}
