/* The administrator: the password, and the table of commands. */
#include "broker/admin.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/value.h"
#include "net/addr.h"
#include "role/counters.h"
#include "role/password.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WAIT_LEAST_US = 1000000 };
#define FORGET_US (15 * US_PER_MIN) /* a wrong password, after the wait for it */
/* How long the collecting thread may take to come to an order. */
#define ORDER_US (30 * US_PER_S)
enum { DROP_MOST = 5000 }; /* objects that are looked for and deleted at a time */
enum { SAID_MOST = 4096 }; /* bytes of what an order has to say */

/* An address that gave wrong passwords. */
struct tried {
	struct addr from;
	unsigned failures; /* in a row */
	int64_t until_us;  /* nothing of it is looked at until then */
};

struct admin {
	struct admin_options options;
	atomic_bool stopped;
	struct tried tried[ADMIN_ADDRESSES];
	size_t ntried;
};

static int64_t admin_now_us(const struct admin *a)
{
	return a->options.now_us ? a->options.now_us() : clock_mono_us();
}

struct admin *admin_new(const struct admin_options *options)
{
	struct admin *a = mem_alloc(sizeof *a);
	a->options = *options;
	atomic_init(&a->stopped, false);
	return a;
}

void admin_free(struct admin **a)
{
	mem_free(a);
}

void admin_stop(struct admin *a)
{
	atomic_store(&a->stopped, true);
}

/* Answers */

/* One line, whatever the text is. */
static void add_line(struct buf *out, const char *code, struct str text)
{
	buf_add_text(out, code);
	for (size_t i = 0; i < text.n; i++)
		buf_add_byte(out, ascii_is_control(text.p[i]) ? '?' : text.p[i]);
	buf_add_byte(out, '\n');
}

static void say_done(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say_done(struct buf *out, const char *fmt, ...)
{
	char text[1024];
	va_list list;
	va_start(list, fmt);
	vsnprintf(text, sizeof text, fmt, list);
	va_end(list);
	add_line(out, "101 - ", str_of(text));
}

static void say_error(struct buf *out, const char *why)
{
	add_line(out, "111 - ERROR: ", str_of(why));
}

/* Commands. Each says by itself what it did; negative: err says why not. */

static int give_order(struct admin *a, const struct control_order *order, struct buf *out,
		      struct err *err)
{
	CLEANUP(buf_free) struct buf said = BUF_INIT(SAID_MOST);
	if (control_do(a->options.control, order, ORDER_US, &said, err) < 0)
		return -1;
	if (out)
		add_line(out, "101 - ", buf_str(&said));
	return 0;
}

/* Deleting */

/* "12", "OBJ12", "/object/12", "http://host/object/12". */
static bool oid_of(struct str text, uint32_t *ret)
{
	static const struct str folder = {"/object/", 8}, file = {"OBJ", 3};
	uint64_t oid;
	size_t at = str_find(text, folder);
	if (at < text.n)
		text = str_from(text, at + folder.n);
	else if (str_eq_nocase(str_head(text, file.n), file))
		text = str_from(text, file.n);
	if (!str_u64(text, &oid) || oid == 0 || oid > UINT32_MAX)
		return false;
	*ret = (uint32_t)oid;
	return true;
}

static int run_rem_path(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	uint32_t oid;
	size_t dropped = 0;
	if (!oid_of(rest, &oid))
		return err_set(err, ERR_USAGE,
			       "expected the number of an object: 12, OBJ12 or /object/12");
	if (give_order(
		    a,
		    &(struct control_order){
			    .kind = CONTROL_DROP, .oid = &oid, .oids = 1, .ret_dropped = &dropped},
		    NULL, err) < 0)
		return -1;
	if (dropped == 0)
		return err_set(err, ERR_USAGE, "there is no object %u", oid);
	say_done(out, "object %u was deleted; its source may tell it again", oid);
	return 0;
}

/* What is deleted by a query, and how far it came. */
struct dropping {
	struct str query;
	int64_t until_us; /* INT64_MAX: its time is not bounded */
	bool cut;         /* the time was over */
	size_t dropped;
	size_t left; /* that were found and not there any more */
};

/* Some of the documents that match; as a client finds them who gives no flags. */
static int find_matches(struct admin *a, struct dropping *d, uint32_t oid[DROP_MOST], size_t *ret,
			struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct search_hits *hits = NULL;
	const struct hit *hit;
	struct search_ask ask = {
		.words = d->query,
		.order = QUERY_ANYHOW,
		.limit = DROP_MOST,
		.match = {.exact = true, .parts = true, .classic = true},
		.cancel = &a->stopped,
	};
	if (d->until_us < INT64_MAX)
		ask.budget_us = MAX(d->until_us - clock_mono_us(), 1);
	if (search_begin(a->options.search, &ask, &arena, &hits, err) < 0)
		return -1;
	for (*ret = 0; *ret < DROP_MOST && (hit = search_next(hits)) != NULL; ++*ret)
		oid[*ret] = (uint32_t)hit->oid;
	d->cut = search_said(hits)->cut;
	search_end(&hits);
	return 0;
}

/* Deleting an object can uncover its twin, so this repeats until nothing matches. */
static int drop_matches(struct admin *a, struct dropping *d, struct err *err)
{
	uint32_t oid[DROP_MOST];
	size_t dropped;
	do {
		dropped = 0;
		if (find_matches(a, d, oid, &d->left, err) < 0)
			return -1;
		struct control_order order = {
			.kind = CONTROL_DROP, .oid = oid, .oids = d->left, .ret_dropped = &dropped};
		if (d->left && give_order(a, &order, NULL, err) < 0)
			return -1;
		d->dropped += dropped;
	} while (dropped && !d->cut && !atomic_load(&a->stopped));
	return 0;
}

static int run_rem_query(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	struct dropping d = {
		.query = rest,
		.until_us = clock_mono_us() + atomic_load(a->options.life_us),
	};
	int rc = drop_matches(a, &d, err);
	const char *were = d.dropped == 1 ? " was" : "s were";
	if (rc < 0 && d.dropped)
		(void)err_then(err, "%zu object%s deleted before", d.dropped, were);
	if (rc < 0)
		return -1;
	if (atomic_load(&a->stopped))
		return err_set(err, ERR_BUSY, "the broker ends; %zu object%s deleted before",
			       d.dropped, were);
	if (d.cut)
		return err_set(err, ERR_PARTLY,
			       "the lifetime of the query was over; %zu object%s deleted until "
			       "then, ask again for the others",
			       d.dropped, were);
	say_done(out, "%zu object%s deleted%s", d.dropped, were,
		 d.dropped == 0   ? ""
		 : d.dropped == 1 ? "; its source may tell it again"
				  : "; their sources may tell them again");
	if (d.left)
		say_done(out, "deleted objects are found until the index has been built again");
	return 0;
}

/* The event log */

static int switch_log(struct admin *a, struct str type, bool on, struct buf *out, struct err *err)
{
	if (events_enable(a->options.events, type, on, err) < 0)
		return -1;
	say_done(out, "events of type " STR_FMT " are %s logged, until the next start",
		 STR_ARG(type), on ? "now" : "no longer");
	return 0;
}

static int run_add_log(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	return switch_log(a, rest, true, out, err);
}

static int run_rem_log(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	return switch_log(a, rest, false, out, err);
}

static int run_rotate_log(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(PATH_MAX);
	(void)rest;
	if (events_rotate(a->options.events, clock_wall_us(), &name, err) < 0)
		return -1;
	say_done(out, "the event log up to now is %s", buf_text(&name));
	return 0;
}

/* Variables and statistics */

struct set_value {
	int64_t us;
};

static const struct variable {
	struct value_spec spec; /* as the section broker has it, with its bounds */
	const char *old;        /* as old configurations have it */
	bool lifetime;
	enum collector_time set; /* of the others */
} variables[] = {
	{{"max_lifetime", VALUE_TIME_AT(struct set_value, us), .min = 10e6, .max = 86400e6},
	 .old = "Glimpse-MaxLife",
	 .lifetime = true},
	{{"collect_every", VALUE_TIME_AT(struct set_value, us), .min = 1e6, .max = 31536000e6},
	 .old = "Collection-Interval",
	 .set = COLLECTOR_COLLECT_EVERY},
	{{"expire_every", VALUE_TIME_AT(struct set_value, us), .min = 1e6, .max = 31536000e6},
	 .set = COLLECTOR_EXPIRE_EVERY},
	{{"remember_deleted", VALUE_TIME_AT(struct set_value, us), .min = 1e6, .max = 31536000e6},
	 .set = COLLECTOR_REMEMBER_DELETED},
};

static const struct variable *find_variable(struct str name)
{
	static const struct str section = {"broker.", 7};
	if (str_starts(name, section))
		name = str_from(name, section.n);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (str_eq_nocase(name, str_of(variables[i].spec.name)) ||
		    (variables[i].old && str_eq_nocase(name, str_of(variables[i].old))))
			return &variables[i];
	return NULL;
}

/* A number alone is seconds, as old configurations have it. */
static int parse_time(const struct variable *v, struct str text, int64_t *ret, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 16);
	struct set_value value;
	char seconds[64];
	uint64_t number;
	if (str_u64(text, &number)) {
		int n = snprintf(seconds, sizeof seconds, "%llus", (unsigned long long)number);
		text = (struct str){seconds, (size_t)n};
	}
	if (value_parse(&v->spec, text, &arena, &value, err) < 0)
		return err_in(err, "%s", v->spec.name);
	*ret = value.us;
	return 0;
}

static int set_variable(struct admin *a, const struct variable *v, int64_t us, struct err *err)
{
	if (!v->lifetime)
		return give_order(
			a, &(struct control_order){.kind = CONTROL_SET, .set = v->set, .us = us},
			NULL, err);
	atomic_store(a->options.life_us, us);
	return 0;
}

static int run_set(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	size_t n = 0;
	int64_t us = 0;
	while (n < rest.n && !ascii_is_blank(rest.p[n]) && rest.p[n] != '=')
		n++;
	const struct variable *v = find_variable(str_head(rest, n));
	if (!v)
		return err_set(err, ERR_USAGE,
			       "expected one of max_lifetime, collect_every, expire_every and "
			       "remember_deleted; all others are set in the configuration, which "
			       "#restart reads again");
	rest = str_trim(str_from(rest, n));
	if (rest.n && rest.p[0] == '=')
		rest = str_trim(str_from(rest, 1));
	if (parse_time(v, rest, &us, err) < 0 || set_variable(a, v, us, err) < 0)
		return -1;
	CLEANUP(buf_free) struct buf shown = BUF_INIT(64);
	duration_print(&shown, us);
	say_done(out, "%s is %s, until the next start or #restart", v->spec.name, buf_text(&shown));
	return 0;
}

static int run_stats(struct admin *a, struct str rest, struct buf *out, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view view;
	char path[PATH_MAX];
	(void)rest;
	snprintf(path, sizeof path, "%s/run/counters/broker", a->options.data);
	int rc = counters_read(path, &arena, &view, err);
	if (rc > 0)
		return err_set(err, ERR_USAGE, "nothing is counted here");
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < view.n; i++) {
		const struct counter_value *v = &view.value[i];
		say_done(out, STR_FMT "%s" STR_FMT "%s: %lld - " STR_FMT, STR_ARG(v->name),
			 v->labels.n ? "{" : "", STR_ARG(v->labels), v->labels.n ? "}" : "",
			 (long long)v->value, STR_ARG(v->help));
	}
	return 0;
}

static const struct admin_command {
	const char *name;
	const char *arg; /* what follows it, for people; NULL: nothing */
	bool quiet;      /* what follows it is not logged: it may be a password by mistake */
	bool quoted;     /* what follows it is one thing, which may stand in quotes */
	int (*run)(struct admin *a, struct str rest, struct buf *out, struct err *err);
	int (*log)(struct events *events, struct err *err); /* where run is NULL */
	const char *done;                                   /* by log() */
	enum control_kind order; /* where both are NULL: what the collecting thread is told */
} commands[] = {
	{"#add-log", "a type of event", .quoted = true, .run = run_add_log},
	{"#add-object", "the name of a file below broker/add", .quoted = true,
	 .order = CONTROL_ADD},
	{"#clean-broker", NULL, .order = CONTROL_CLEAN},
	{"#close-log", NULL, .log = events_close,
	 .done = "the event log is closed, and nothing is logged until #open-log"},
	{"#collection", NULL, .order = CONTROL_COLLECT},
	{"#do-stats", NULL, .run = run_stats},
	{"#flush-log", NULL, .log = events_flush, .done = "the event log is on disk"},
	{"#full-index", NULL, .order = CONTROL_FULL},
	{"#incremental-index", NULL, .order = CONTROL_INDEX},
	{"#open-log", NULL, .log = events_open, .done = "the event log is open"},
	{"#rem-log", "a type of event", .quoted = true, .run = run_rem_log},
	{"#rem-object-path", "the number of an object", .quoted = true, .run = run_rem_path},
	{"#rem-object-query", "a query", .run = run_rem_query},
	{"#restart", NULL, .order = CONTROL_RESTART},
	{"#rotate-log", NULL, .run = run_rotate_log},
	{"#set", "a name and a value", .quiet = true, .run = run_set},
	{"#shutdown", NULL, .order = CONTROL_SHUTDOWN},
};

static const struct admin_command *find_command(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_eq_nocase(name, str_of(commands[i].name)))
			return &commands[i];
	return NULL;
}

static void say_commands(struct buf *out)
{
	CLEANUP(buf_free) struct buf names = BUF_INIT(1000);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		buf_printf(&names, "%s%s", i ? ", " : "there is no such command; there are ",
			   commands[i].name);
	say_error(out, buf_text(&names));
}

static struct str without_quotes(struct str s)
{
	bool quoted = s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
	return quoted ? (struct str){s.p + 1, s.n - 2} : s;
}

static int run_command(struct admin *a, const struct admin_command *c, struct str rest,
		       struct buf *out, struct err *err)
{
	if (c->quoted)
		rest = without_quotes(rest);
	if (c->arg && rest.n == 0)
		return err_set(err, ERR_USAGE, "%s: expected %s after it", c->name, c->arg);
	if (!c->arg && rest.n)
		return err_set(err, ERR_USAGE, "%s: nothing may follow it", c->name);
	if (c->run)
		return c->run(a, rest, out, err);
	if (c->log) {
		int rc = c->log(a->options.events, err);
		if (rc == 0)
			say_done(out, "%s", c->done);
		return rc;
	}
	return give_order(a, &(struct control_order){.kind = c->order, .text = rest}, out, err);
}

static void obey_request(struct admin *a, const struct request *r, const char *peer,
			 struct buf *out)
{
	const struct admin_command *c = find_command(r->command);
	struct events *events = a->options.events;
	int64_t began_us = clock_mono_us();
	struct err err = {0};
	if (!c) {
		say_commands(out);
		return;
	}
	struct str rest = str_trim(r->rest);
	event_write(events, ADMIN, peer, KV_TEXT("command", c->name),
		    KV_STR("rest", c->quiet ? STR("") : rest));
	int rc = run_command(a, c, rest, out, &err);
	if (rc < 0)
		say_error(out, err.msg);
	event_write(events, ADMIN_RETURN, peer, KV_TEXT("command", c->name),
		    KV_TEXT("result", rc < 0 ? err.msg : "done"),
		    KV_DURATION("took", clock_mono_us() - began_us));
}

/* Passwords */

static struct addr tried_address(const char *peer)
{
	struct addr a;
	if (!addr_parse(str_of(peer ? peer : ""), &a))
		return (struct addr){0}; /* of this machine, by a Unix socket */
	return addr_server(&a);
}

static void forget_old(struct admin *a, int64_t now_us)
{
	for (size_t i = 0; i < a->ntried;)
		if (now_us - a->tried[i].until_us > FORGET_US)
			a->tried[i] = a->tried[--a->ntried];
		else
			i++;
}

static struct tried *find_tried(struct admin *a, const struct addr *from)
{
	for (size_t i = 0; i < a->ntried; i++)
		if (addr_eq(a->tried[i].from, *from))
			return &a->tried[i];
	return NULL;
}

/* Where there is no room the one goes that has waited longest. */
static struct tried *new_tried(struct admin *a, const struct addr *from)
{
	struct tried *t = &a->tried[0];
	if (a->ntried < ADMIN_ADDRESSES)
		t = &a->tried[a->ntried++];
	else
		for (size_t i = 1; i < a->ntried; i++)
			if (a->tried[i].until_us < t->until_us)
				t = &a->tried[i];
	*t = (struct tried){.from = *from};
	return t;
}

static void say_wait(struct buf *out, const char *what, int64_t wait_us)
{
	char text[200];
	snprintf(text, sizeof text, "%s; the next from this address is looked at in %lld s", what,
		 (long long)((wait_us + US_PER_S - 1) / US_PER_S));
	say_error(out, text);
}

/* 0: it is the administrator. Else how long the answer has to wait. */
static int64_t check_password(struct admin *a, const struct request *r, const char *peer,
			      struct buf *out)
{
	struct addr from = tried_address(peer);
	struct err err;
	int64_t now_us = admin_now_us(a);
	forget_old(a, now_us);
	struct tried *t = find_tried(a, &from);
	if (t && now_us < t->until_us) {
		say_wait(out, "a password was wrong", t->until_us - now_us);
		return t->until_us - now_us;
	}
	int rc = password_check(a->options.password, r->password, &err);
	if (rc == 0) {
		if (t)
			*t = a->tried[--a->ntried];
		return 0;
	}
	if (rc < 0) {
		say_error(out, err.msg);
		return WAIT_LEAST_US;
	}
	if (!t)
		t = new_tried(a, &from);
	int64_t wait_us = backoff_us(++t->failures, WAIT_LEAST_US, ADMIN_WAIT_MOST_US);
	t->until_us = now_us + wait_us;
	say_wait(out, "the password is wrong", wait_us);
	return wait_us;
}

int64_t admin_run(struct admin *a, const struct request *r, const char *peer, struct buf *out)
{
	if (!a->options.password || !*a->options.password) {
		say_error(out, "this broker has no administrator: set broker.password to a line "
			       "that 'garner password' makes");
		return 0;
	}
	int64_t wait_us = check_password(a, r, peer, out);
	if (wait_us == 0)
		obey_request(a, r, peer, out);
	return wait_us;
}
