/* garner why: what is known of a URL, and what will happen to it. */
#include "state/why.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "broker/search.h"
#include "cmd/commands.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"

#include <limits.h>

struct why_options {
	bool json;
};

static const struct cmd_option options[] = {
	CMD_FLAG(0, "json", struct why_options, json, "print JSON"),
};

struct answer {
	struct str url;
	bool crawl, indexed; /* crawl: there is one */
	struct why why;
};

static const char *const known_words[] = {[WHY_NEVER] = "never",
					  [WHY_FOUND] = "found",
					  [WHY_KNOWN] = "known",
					  [WHY_GONE] = "forgotten"};

/* The last try: of the journals that are kept, else what the index remembers of it. */
static int64_t tried_us(const struct why *w)
{
	return w->last.time_us ? w->last.time_us : (int64_t)w->item.last_seen_s * US_PER_S;
}

static uint16_t status_of(const struct why *w)
{
	return w->last.time_us ? w->last.status : w->item.status;
}

static enum item_type type_of(const struct why *w)
{
	bool newer = w->last.time_us && w->last.type != ITEM_TEMPORARY;
	return newer ? w->last.type : w->item.type;
}

/* When it will be tried next, seconds since 1970; 0: with the next cycle; -1: never. */
static int64_t next_s(const struct why *w, const struct crawl_conf *conf)
{
	uint32_t due = w->last.time_us ? w->last.due_s : w->item.due_s;
	int64_t refresh_s = tried_us(w) / US_PER_S + conf->refresh_us / US_PER_S;
	switch (type_of(w)) {
	case ITEM_NEW:
		return due;
	case ITEM_GATHERED:
		return due ? due : refresh_s;
	case ITEM_ERROR:
		return w->item.flags & ITEM_INITIAL ? refresh_s : -1;
	default:
		return -1;
	}
}

static const char *date_text(struct arena *arena, int64_t us)
{
	struct buf out = BUF_INIT(64);
	time_print(&out, us, 0);
	char *text = arena_text(arena, buf_str(&out));
	buf_free(&out);
	return text;
}

static void print_known(FILE *out, const struct answer *a, const struct crawl_conf *conf,
			struct arena *arena)
{
	const struct why *w = &a->why;
	char text[64];
	int64_t next = next_s(w, conf);
	fprintf(out, "known since:  %.10s%s\n", date_text(arena, w->item.since_day * US_PER_DAY),
		w->item.flags & ITEM_INITIAL ? ", added by hand" : "");
	fprintf(out, "state:        %s\n", item_type_names[type_of(w)]);
	if (tried_us(w))
		fprintf(out, "last try:     %s, %s\n", date_text(arena, tried_us(w)),
			w->reason[0] ? w->reason : crawl_status_text(status_of(w), text));
	else
		fprintf(out, "last try:     none yet\n");
	if (next < 0)
		fprintf(out, "next try:     none; once it is forgotten, a link makes it new\n");
	else if (next * US_PER_S <= clock_wall_us())
		fprintf(out, "next try:     in the next cycle\n");
	else
		fprintf(out, "next try:     %s\n", date_text(arena, next * US_PER_S));
}

static void print_why(FILE *out, const struct answer *a, const struct crawl_conf *conf,
		      struct arena *arena)
{
	const struct why *w = &a->why;
	fprintf(out, "%.*s\n", (int)a->url.n, a->url.p);
	if (!a->crawl)
		fprintf(out, "unknown:      nothing was ever gathered here\n");
	else if (w->known == WHY_KNOWN)
		print_known(out, a, conf, arena);
	else if (w->known == WHY_FOUND)
		fprintf(out, "found:        will be known when this cycle ends\n");
	else if (w->known == WHY_GONE)
		fprintf(out, "forgotten:    %s, %s\n", date_text(arena, w->gone.time_us),
			gone_reason_names[w->gone.reason]);
	else if (w->remembered_us)
		fprintf(out, "unknown:      never seen, or forgotten before %s\n",
			date_text(arena, w->remembered_us));
	else
		fprintf(out, "unknown:      no page links to it, or its site was not added\n");
	fprintf(out, "indexed:      %s\n", a->indexed ? "yes" : "no");
}

static void print_json(struct buf *out, const struct answer *a, const struct crawl_conf *conf)
{
	const struct why *w = &a->why;
	struct jsonw j = JSONW_INIT(out);
	char text[64];
	jsonw_object(&j);
	jsonw_put_str(&j, "url", a->url);
	jsonw_put_text(&j, "known", a->crawl ? known_words[w->known] : "never");
	jsonw_put_bool(&j, "indexed", a->indexed);
	if (w->known == WHY_KNOWN) {
		int64_t next = next_s(w, conf);
		jsonw_put_bool(&j, "by_hand", w->item.flags & ITEM_INITIAL);
		jsonw_put_text(&j, "type", item_type_names[type_of(w)]);
		jsonw_put_time(&j, "since", w->item.since_day * US_PER_DAY);
		jsonw_put_uint(&j, "status", status_of(w));
		jsonw_put_text(&j, "reason",
			       w->reason[0] ? w->reason : crawl_status_text(status_of(w), text));
		if (tried_us(w))
			jsonw_put_time(&j, "tried", tried_us(w));
		jsonw_key(&j, "next");
		if (next < 0)
			jsonw_null(&j);
		else
			jsonw_time(&j, next * US_PER_S);
	}
	if (w->known == WHY_GONE) {
		jsonw_put_text(&j, "reason", gone_reason_names[w->gone.reason]);
		jsonw_put_time(&j, "forgotten", w->gone.time_us);
	}
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

static int is_indexed(const char *data, struct str url, struct arena *arena, bool *ret,
		      struct err *err)
{
	CLEANUP(search_close) struct search *s = NULL;
	struct soif doc;
	if (search_open(&s, data, err) < 0)
		return -1;
	int rc = search_document(s, url, arena, &doc, err);
	*ret = rc == 0;
	return rc < 0 ? -1 : 0;
}

static int run(const struct cmd_call *call)
{
	const struct why_options *o = call->options;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX], room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url;
	struct err err;
	struct answer a = {.crawl = true};
	int code = cmd_config(call, &config);
	if (code != 0)
		return code;
	int rc = url_parse(str_of(call->argv[0]), NULL, room, sizeof room, &url);
	if (rc == 0)
		rc = url_canon(&url, true, strict, sizeof strict, &url);
	if (rc != 0) {
		url_fail(rc, str_of(call->argv[0]), &err);
		return cmd_fail(call, &err);
	}
	a.url = url.href;
	rc = cmd_data_dir(config, data, sizeof data, &err);
	if (rc == 0)
		rc = why_ask(data, &url, &a.why, &err);
	a.crawl = rc != 1;
	if (rc >= 0)
		rc = is_indexed(data, url.href, &arena, &a.indexed, &err);
	if (rc < 0)
		return cmd_fail(call, &err);
	const struct crawl_conf *conf = crawl_conf_of(config);
	if (o->json) {
		print_json(&out, &a, conf);
		cmd_print(call, &out);
	} else {
		print_why(call->out, &a, conf, &arena);
	}
	return a.crawl && a.why.known != WHY_NEVER ? 0 : 1;
}

const struct command why_command = {
	.name = "why",
	.summary = "tell what is known of a URL and what will happen to it",
	.description = "Since when it is known, what came of the last try, when it is tried next, "
		       "whether it is indexed; or when it was forgotten and why.",
	CMD_OPTIONS(options, struct why_options),
	.args = "URL",
	.min_args = 1,
	.max_args = 1,
	CMD_EXAMPLES({"garner why https://example.org/page.html", "where this page stands"}),
	CMD_EXITS({1, "nothing is known of it"}),
	.run = run,
};
