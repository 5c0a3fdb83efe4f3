/* garner cache provider: the operator's side of contracts. The owner's side, bandwidth and hours,
 * is with garner provider set. */
#include "base/clock.h"
#include "cache/cache_conf.h"
#include "cmd/cache/cache.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

struct provider_options {
	const char *priority, *quota_files, *quota_space;
	bool remove, json;
};

struct provider_row {
	struct pidb_provider p;
	struct db_tally tally;
};

enum { OUT_MOST = 1 << 30 };

static int64_t period_begin(const struct cache_desk *d)
{
	const struct cache_conf *conf = config_get(d->config, &cache_section);
	return clock_wall_us() - conf->fullset_period_us;
}

static int row_tally(const struct cache_desk *d, struct provider_row *row, struct err *err)
{
	row->tally = (struct db_tally){0};
	return d->db ? db_tally(d->db, row->p.id, &row->tally, err) : 0;
}

/* Printing. */

COL_NAMER(print_wanted, enum pidb_wanted, pidb_wanted_name)

/* For people: what stands in the way of a set comes first. */
static void print_standing(const void *row, struct buf *out)
{
	const struct pidb_provider *p = row;
	const char *wanted = pidb_wanted_name(p->wanted);
	buf_add_text(out, !p->is_verified ? "not verified" : wanted ? wanted : "");
}

static const struct column contract_columns[] = {
	COL("priority", struct provider_row, p.priority, .label = "Priority"),
	COL("quota_files", struct provider_row, p.quota_files, .how = ROW_NULL | ROW_MOST),
	COL("quota_space", struct provider_row, p.quota_space, .how = ROW_NULL | ROW_MOST),
	COL("bandwidth", struct provider_row, p.bandwidth, .how = ROW_NULL),
	COL("hours", struct provider_row, p.hours),
};
static const struct rows contract_rows = {ROWS(struct provider_row, contract_columns)};
static const struct column stored_columns[] = {
	COL("files", struct provider_row, tally.files, .label = "Stored"),
	COL("bytes", struct provider_row, tally.space, .label = "Bytes", .unit = UNIT_BYTES),
};
static const struct rows stored_rows = {ROWS(struct provider_row, stored_columns)};
static const struct column provider_columns[] = {
	COL("provider", struct provider_row, p.id, .label = "Id"),
	COL("site", struct provider_row, p.site, .label = "Site"),
	COL("mail", struct provider_row, p.mail),
	COL("verified", struct provider_row, p.is_verified),
	COL("created", struct provider_row, p.created_us, .unit = UNIT_TIME),
	COL_GROUP("contract", struct provider_row, contract_rows),
	COL_GROUP("stored", struct provider_row, stored_rows),
	COL("queued", struct provider_row, tally.queued, .label = "Queued"),
	COL("open_sets", struct provider_row, tally.open_sets),
	COL("errors", struct provider_row, tally.errors, .label = "Errors"),
	COL_OF("wanted", struct provider_row, p.wanted, print_wanted),
	COL_OF(NULL, struct provider_row, p, print_standing, .label = "Wanted"),
	COL("fullsets_used", struct provider_row, p.fullsets_used),
	COL("sessions", struct provider_row, p.seq),
	COL("last_address", struct provider_row, p.last_address),
};
static const struct rows provider_rows = {ROWS(struct provider_row, provider_columns)};

static int list_all(const struct cmd_call *call, const struct cache_desk *d, bool as_json,
		    struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUT_MOST);
	struct provider_row row = {0};
	struct rows_list l;
	int rc;
	rows_list_begin(&l, &provider_rows, as_json, &out);
	while ((rc = pidb_next(d->pidb, row.p.id, period_begin(d), &row.p, err)) == 0 &&
	       (rc = row_tally(d, &row, err)) == 0)
		rows_list_add(&l, &row);
	rows_list_end(&l);
	if (rc < 0)
		return -1;
	if (l.n == 0 && !as_json)
		return err_set(err, ERR_NOTHING,
			       "there is no provider yet; garner provider register");
	cmd_print(call, &out);
	return l.n == 0;
}

static void put_line(struct text_table *t, const char *what, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static void put_line(struct text_table *t, const char *what, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text_table_add(t, "%s", what);
	text_table_add(t, "%s", text[0] ? text : "-");
}

static void put_limited(struct text_table *t, const char *what, uint64_t used, uint64_t quota,
			bool is_size)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(100);
	if (is_size)
		put_size_text(&text, used);
	else
		buf_printf(&text, "%" PRIu64, used);
	if (quota != UINT64_MAX) {
		buf_add_text(&text, " of ");
		if (is_size)
			put_size_text(&text, quota);
		else
			buf_printf(&text, "%" PRIu64, quota);
	}
	put_line(t, what, "%s%s", buf_text(&text), quota == UINT64_MAX ? ", without a quota" : "");
}

static int show_text(const struct cache_desk *d, const struct provider_row *row, struct buf *out,
		     struct err *err)
{
	const struct pidb_provider *p = &row->p;
	CLEANUP(buf_free) struct buf safe = BUF_INIT(4096);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct text_table t = {.ncolumns = 2};
	char **prefix;
	size_t n;
	put_line(&t, "provider", "%" PRIu64 "%s", p->id, p->is_verified ? "" : ", not verified");
	put_safe(&safe, str_of(p->site));
	put_line(&t, "site", "%s", buf_text(&safe));
	buf_clear(&safe);
	put_safe(&safe, str_of(p->mail));
	put_line(&t, "mail", "%s", buf_text(&safe));
	int rc = pidb_prefixes(d->pidb, p->id, &arena, &prefix, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		buf_clear(&safe);
		put_safe(&safe, str_of(prefix[i]));
		put_line(&t, "prefix", "%s", buf_text(&safe));
	}
	put_line(&t, "priority", "%" PRId64, p->priority);
	put_limited(&t, "files", row->tally.files, p->quota_files, false);
	put_limited(&t, "space", row->tally.space, p->quota_space, true);
	buf_clear(&safe);
	put_size_exact(&safe, p->bandwidth);
	put_line(&t, "bandwidth", p->bandwidth ? "%s a second" : "any", buf_text(&safe));
	put_line(&t, "hours", "%s", p->hours[0] ? p->hours : "any");
	put_line(&t, "queued", "%" PRIu64 " URLs, %" PRIu64 " sets to absorb", row->tally.queued,
		 row->tally.open_sets);
	put_line(&t, "errors", "%" PRIu64, row->tally.errors);
	put_line(&t, "full set", "%s",
		 p->wanted == PIDB_NOT_WANTED ? "not wanted" : pidb_wanted_name(p->wanted));
	put_line(&t, "sessions",
		 p->last_address[0] ? "%" PRIu64 ", the last one from %s" : "%" PRIu64 "%s", p->seq,
		 p->last_address);
	text_table_print(&t, out);
	text_table_free(&t);
	return rc;
}

static int no_such_provider(uint64_t id, struct err *err)
{
	return err_set(err, ERR_NOTHING, "there is no provider %" PRIu64, id);
}

static int show_one(const struct cmd_call *call, const struct cache_desk *d, uint64_t id,
		    bool as_json, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct provider_row row;
	int rc = pidb_get(d->pidb, id, period_begin(d), &row.p, err);
	if (rc == 1)
		return no_such_provider(id, err);
	if (rc < 0 || row_tally(d, &row, err) < 0)
		return -1;
	if (as_json)
		rows_json_line(&provider_rows, &row, &out);
	else if (show_text(d, &row, &out, err) < 0)
		return -1;
	return cmd_print(call, &out);
}

/* Changing. */

/* A number, or "none" for UINT64_MAX. */
static int quota_parse(const char *option, enum value_type type, const char *text, uint64_t *ret,
		       struct err *err)
{
	struct quota {
		int64_t number;
		uint64_t size;
	} quota = {0};
	struct arena arena = ARENA_INIT(1 << 16);
	const struct value_spec spec = {.name = option,
					.type = type,
					.offset = type == VALUE_INT ? offsetof(struct quota, number)
								    : offsetof(struct quota, size),
					.max = type == VALUE_INT ? 1e15 : INFINITY};
	if (strcmp(text, "none") == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	int rc = value_parse(&spec, str_of(text), &arena, &quota, err);
	arena_free(&arena);
	char shown[VALUE_SHOWN];
	if (rc < 0)
		return err_set(err, ERR_USAGE, "--%s: expected a %s, or none, got '%s'", option,
			       type == VALUE_INT ? "number" : "size such as 10G",
			       value_show(str_of(text), shown));
	*ret = type == VALUE_INT ? (uint64_t)quota.number : quota.size;
	return 0;
}

static int priority_parse(const char *text, int64_t *ret, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 16);
	const struct value_spec spec = {
		.name = "priority", .type = VALUE_INT, .min = -1000000, .max = 1000000};
	int rc = value_parse(&spec, str_of(text), &arena, ret, err);
	arena_free(&arena);
	return rc < 0 ? err_in(err, "--priority") : 0;
}

struct terms {
	int64_t priority;
	uint64_t files, space;
};

static int change_parse(const struct provider_options *o, struct terms *t, struct pidb_change *ret,
			struct err *err)
{
	*ret = (struct pidb_change){.priority = o->priority[0] ? &t->priority : NULL,
				    .quota_files = o->quota_files[0] ? &t->files : NULL,
				    .quota_space = o->quota_space[0] ? &t->space : NULL};
	if ((ret->priority && priority_parse(o->priority, &t->priority, err) < 0) ||
	    (ret->quota_files &&
	     quota_parse("quota-files", VALUE_INT, o->quota_files, &t->files, err) < 0) ||
	    (ret->quota_space &&
	     quota_parse("quota-space", VALUE_SIZE, o->quota_space, &t->space, err) < 0))
		return -1;
	return 0;
}

static int remove_one(const struct cmd_call *call, const struct cache_desk *d, uint64_t id,
		      bool as_json, struct err *err)
{
	int rc = pidb_deregister(d->pidb, id, clock_wall_us(), err);
	if (rc != 0)
		return rc < 0 ? -1 : no_such_provider(id, err);
	if (as_json)
		fprintf(call->out, "{\"provider\":%" PRIu64 "}\n", id);
	else
		fprintf(call->out,
			"provider %" PRIu64 " is gone; what is stored of it will be removed\n", id);
	return 0;
}

static int serve_one(const struct cmd_call *call, const struct cache_desk *d, uint64_t id,
		     struct err *err)
{
	const struct provider_options *o = call->options;
	struct pidb_change change;
	struct terms terms;
	if (o->remove)
		return remove_one(call, d, id, o->json, err);
	if (change_parse(o, &terms, &change, err) < 0)
		return -1;
	bool is_change = change.priority || change.quota_files || change.quota_space;
	if (is_change && pidb_change(d->pidb, id, &change, err) < 0)
		return -1;
	return show_one(call, d, id, o->json, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct provider_options *o = call->options;
	CLEANUP(cache_desk_close) struct cache_desk d = {0};
	uint64_t id = 0;
	bool changes = o->priority[0] || o->quota_files[0] || o->quota_space[0] || o->remove;
	if (call->argc == 0 && changes)
		return err_set(err, ERR_USAGE, "whose? garner cache provider ID ...");
	if (call->argc && (!str_u64(str_of(call->argv[0]), &id) || id == 0 || id > INT64_MAX))
		return err_set(err, ERR_USAGE, "expected the number of a provider, got '%.60s'",
			       call->argv[0]);
	if (cache_desk_open(call, &d, err) < 0)
		return -1;
	return call->argc ? serve_one(call, &d, id, err) : list_all(call, &d, o->json, err);
}

#define S struct provider_options
static const struct cmd_option options[] = {
	CMD_OPTION(0, "N", "priority", VALUE_TEXT_AT(S, priority),
		   .help = "the higher ones are fetched first; 0 at the beginning"),
	CMD_OPTION(0, "N", "quota-files", VALUE_TEXT_AT(S, quota_files),
		   .help = "how many files may be stored of it, or none for any number"),
	CMD_OPTION(0, "SIZE", "quota-space", VALUE_TEXT_AT(S, quota_space),
		   .help = "how many bytes, such as 10G, or none"),
	CMD_FLAG(0, "remove", S, remove, "end its registration, and remove what is stored of it"),
	CMD_FLAG(0, "json", S, json, "print everything as JSON"),
};

const struct command cache_provider_command = {
	.name = "provider",
	.summary = "show providers, or set what one of them may have",
	.description = "Without ID it lists all providers. Changes are in force at once; what is "
		       "stored beyond a quota that shrinks stays, and nothing new is taken. "
		       "Bandwidth and hours are the owner's to set: garner provider set.",
	CMD_OPTIONS(options, S),
	CMD_ARGS("[ID]", 0, 1, "the number of a provider"),
	CMD_EXAMPLES({"garner cache provider", "all of them"},
		     {"garner cache provider 17 --priority 5 --quota-files 2000000",
		      "its turn comes before others, and it may have more files"}),
	CMD_EXITS({1, "there is no such provider, or none at all"},
		  {ERR_DAMAGED, "a database is damaged"}),
	.run = run,
};
#undef S
