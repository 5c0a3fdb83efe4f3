/* garner shep filter: what the rules of the crawl decide for URLs, and which rule it was. */
#include "cmd/crawl/shep_filter.h"

#include "base/clock.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"
#include "state/state.h"
#include "url/footprint.h"

#include <inttypes.h>
#include <limits.h>

enum {
	OUT_MOST = 16 << 20,
	LINE_TEXT = PATH_MAX + 32,
	VALUE_TEXT_MAX = 512,
};

struct filter_options {
	const char *type;
	bool json;
};

int shep_filter_load(const struct cmd_call *call, const struct config *config, char *ret_path,
		     struct filter **ret, struct err *err)
{
	char data[PATH_MAX], folder[PATH_MAX];
	if (!cmd_has_role(call->program, &shepherd_role))
		return 1;
	if (cmd_data_dir(config, data, sizeof data, err) < 0 ||
	    file_below(data, "shepherd", folder, err) < 0 ||
	    file_below(data, FILTER_FILE, ret_path, err) < 0)
		return -1;
	return crawl_load_filter(crawl_conf_of(config), folder, ret, err);
}

/* Sites */

int shep_filter_newest(const struct config *config, struct states **ret_states, struct state **ret,
		       struct err *err)
{
	char data[PATH_MAX], folder[PATH_MAX];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 ||
	    file_below(data, "shepherd", folder, err) < 0)
		return -1;
	int rc = states_open(ret_states, folder, false, err);
	if (rc == 0)
		rc = state_open(ret, *ret_states, "current", err);
	return MIN(rc, 0);
}

int shep_filter_count(struct state *st, qkey key, uint64_t *ret, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct site site;
	*ret = 0;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0)
		*ret += site.qkey == key;
	return MIN(rc, 0);
}

/* What a state knows of a site, for the rules; of one that it does not know: nothing. */
static int where_of_site(struct state *st, struct url_site site, struct filter_where *ret,
			 struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	const struct site *found = NULL;
	*ret = (struct filter_where){0};
	int rc = state_sites_scan(st, &scan, err);
	if (rc == 0)
		rc = sites_scan_find(scan, footprint_site(site), &found, err);
	if (rc)
		return MIN(rc, 0);
	ret->known = true;
	ret->qkey = found->qkey;
	return ret->qkey ? shep_filter_count(st, ret->qkey, &ret->key_sites, err) : 0;
}

/* Values */

static void print_schema(const struct schema *s, struct buf *out)
{
	static const struct value_spec share = {NULL, VALUE_REAL};
	for (unsigned i = 0; i < s->n; i++) {
		buf_printf(out, "%s%u:", i ? "," : "", s->freq[i]);
		value_print(&share, &s->share[i], out);
	}
}

/* As one would write it in the file. */
static void print_value(const struct filter_site *s, enum filter_output output, struct buf *out)
{
	if (output == FILTER_REFRESH_SCHEMA)
		print_schema(s->schema, out);
	else
		value_print(&filter_site_specs[output], s, out);
}

/* Answers */

/* An output, its value (NULL: it has none), and the rule that decided (NULL: none did). */
struct told {
	const char *output, *value, *by;
};
static const struct column told_columns[] = {
	COL("output", struct told, output),
	COL("value", struct told, value),
	COL("by", struct told, by),
};
static const struct rows told_rows = {ROWS(struct told, told_columns)};

struct answer {
	struct str url;
	bool rejected;
	struct told told[2 + FILTER_OUTPUTS];
	size_t n;
	struct arena arena;
};
static const struct column answer_columns[] = {
	COL("url", struct answer, url),
	COL("rejected", struct answer, rejected),
	COL_LIST("outputs", struct answer, told, n, told_rows),
};
static const struct rows answer_rows = {ROWS(struct answer, answer_columns)};

static const char *rule_text(const struct filter *f, uint32_t line, struct arena *arena)
{
	char by[LINE_TEXT];
	return line ? arena_text(arena, str_of(filter_line_text(f, line, by, sizeof by))) : NULL;
}

static void answer_fill(const struct filter *f, const struct filter_url *u,
			const struct filter_site *s, struct answer *a)
{
	size_t n;
	const struct filter_section *sections = filter_sections(f, &n);
	a->rejected = u->reject;
	a->told[a->n++] = (struct told){u->reject ? "reject" : "accept", NULL,
					rule_text(f, u->reject_line, &a->arena)};
	a->told[a->n++] = (struct told){"section", sections[u->section].name,
					rule_text(f, u->section_line, &a->arena)};
	for (enum filter_output i = 0; i < FILTER_OUTPUTS; i++) {
		CLEANUP(buf_free) struct buf value = BUF_INIT(VALUE_TEXT_MAX);
		if (s->line[i] == 0)
			continue;
		print_value(s, i, &value);
		a->told[a->n++] = (struct told){filter_site_specs[i].name,
						arena_text(&a->arena, buf_str(&value)),
						rule_text(f, s->line[i], &a->arena)};
	}
}

static void print_told(const struct told *t, struct buf *out)
{
	CLEANUP(buf_free) struct buf both = BUF_INIT((size_t)VALUE_TEXT_MAX * 2);
	buf_printf(&both, "%s%s%s", t->output, t->value ? "=" : "", t->value ? t->value : "");
	buf_printf(out, "    %-24s %s\n", buf_text(&both), t->by ? t->by : "no rule");
}

static void print_answer(const struct filter *f, struct str url, const struct filter_url *u,
			 const struct filter_site *s, bool json, struct buf *out)
{
	struct answer a = {.url = url, .arena = ARENA_INIT(1 << 20)};
	answer_fill(f, u, s, &a);
	if (json) {
		rows_json_line(&answer_rows, &a, out);
	} else {
		put_safe(out, url);
		buf_add_byte(out, '\n');
		for (size_t i = 0; i < a.n; i++)
			print_told(&a.told[i], out);
	}
	arena_free(&a.arena);
}

/* 0, or the exit code: 1 where the URL is rejected. */
/* 1: the URL is rejected. */
static int answer_url(const struct cmd_call *call, const struct filter *f, struct state *st,
		      const char *text, struct err *err)
{
	const struct filter_options *o = call->options;
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct filter_where where = {0};
	struct filter_site s;
	struct filter_url u;
	struct url url;
	int rc = url_parse(str_of(text), NULL, room, sizeof room, &url);
	if (rc == 0)
		rc = url_canon(&url, true, strict, sizeof strict, &url);
	if (rc != 0)
		return url_fail(rc, str_of(text), err);
	if (st && where_of_site(st, url_site(&url), &where, err) < 0)
		return -1;
	filter_url(f, &url, str_of(o->type), &where, &u);
	filter_site(f, url_site(&url), &where, &s);
	struct buf out = BUF_INIT(OUT_MOST);
	print_answer(f, url.href, &u, &s, o->json, &out);
	cmd_print(call, &out);
	return u.reject;
}

static int run(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(filter_free) struct filter *f = NULL;
	CLEANUP(states_close) struct states *states = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	char path[PATH_MAX];
	int code = 0;
	if (cmd_config(call, &config, err) < 0)
		return -1;
	int rc = shep_filter_load(call, config, path, &f, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "this program has no role shepherd");
	if (rc < 0 || shep_filter_newest(config, &states, &st, err) < 0)
		return -1;
	for (int i = 0; i < call->argc; i++) {
		rc = answer_url(call, f, st, call->argv[i], err);
		code = MAX(code, rc < 0 ? cmd_fail(call, err) : rc);
	}
	return code;
}

static const struct cmd_option options[] = {
	CMD_OPTION(
		't', "TYPE", "type", VALUE_TEXT_AT(struct filter_options, type), .fallback = "",
		.help = "media type of the document, such as text/html; default: the type that the "
			"end of the path suggests"),
	CMD_FLAG('j', "json", struct filter_options, json, "print JSON, an object for each URL"),
};

const struct command shep_filter_command = {
	.name = "filter",
	.summary = "show what the rules of the crawl decide for URLs",
	.description =
		"Applies the rules of shepherd/cf/filter in the data directory, after the settings "
		"shepherd.follow, shepherd.max_depth and shepherd.no_delay. Shows for each URL "
		"whether it is accepted, its section, and the values set for its site, each with "
		"the line that decided. net and key_sites use what the crawl knows of the site; "
		"for a site that it does not know, the server is unknown. doc/filter.md describes "
		"the syntax, share/doc/garner/filter is a sample.",
	CMD_OPTIONS(options, struct filter_options),
	CMD_ARGS("URL...", 1, -1, NULL),
	CMD_EXAMPLES({"garner shep filter https://example.org/a.pdf", "whether it would be taken"},
		     {"garner -s shepherd.follow=all shep filter https://example.org/",
		      "the same, if links to all sites were followed"}),
	CMD_EXITS({1, "a URL is rejected"}, {ERR_DAMAGED, "the list of sites is damaged"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run,
};
