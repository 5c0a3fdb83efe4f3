/* garner fetch --through: a source of URLs for a botm, as small as they come. What it knows it
 * knows in memory: ids begin with a random word, so that answers to an earlier process are told
 * from those to this one, and dropped. A botm that was killed repeats files without these ids, so
 * which files it has taken it knows by machine and name.
 *
 * A file is said to be kept only after its line was printed: who is killed in between has said
 * nothing, and no file stays that nobody has heard of. And it ends only when every machine has
 * noted what it is to keep: they are asked to delete a file that there is none of, and answer that
 * in its turn. One that was killed meanwhile repeats its answers first, and is told once more. */
#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/crawl/fetch.h"
#include "cmd/crawl/fetch_print.h"
#include "fetch/botm.h"
#include "fetch/botsource.h"
#include "role/listen.h"
#include "url/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define FLUSH_US (20 * US_PER_MS)
#define GOODBYE_US (5 * US_PER_S)
#define ASK_AGAIN_US (200 * US_PER_MS)
#define SETTLE_US US_PER_MIN /* how long a machine may be away at the end */

enum { FLUSH_BYTES = 64 << 10 };

struct item {
	struct str url;
	struct str machine, file; /* of its answer */
	bool is_answered, is_printed;
};

TABLE(taken_files, struct str, size_t, hash64, str_eq) /* "machine file": the item */

/* A machine that has answered. */
struct machine {
	struct str name;
	uint64_t told, asked, settled; /* verdicts; of those when it was asked, and that it noted */
};

struct through {
	struct fetch_report report;
	const struct fetch_options *options;
	struct loop *loop;
	struct tls *tls;
	struct botsource *source;
	struct arena arena;
	struct item *item;
	size_t n, room, next; /* next: the first that was never submitted */
	size_t *to_keep;      /* items whose line is in `out` */
	size_t keeps, keep_room;
	struct taken_files files;
	struct machine *machine;
	size_t machines, machine_room;
	uint64_t bad;      /* of those done, no URLs */
	int64_t settle_us; /* since when all is done; 0: it is not */
	char prefix[17];
	struct bot_message ask; /* what all requests have in common */
	struct loop_timer flush, settle;
	char text[URL_TEXT_MAX * 3];
};

static void through_ended(void *ctx)
{
	struct through *t = ctx;
	loop_stop(t->loop);
}

/* What is printed, and then said to be kept. */

static uint64_t through_under_way(void *ctx)
{
	const struct through *t = ctx;
	return t->next - (t->report.done - t->bad);
}

static struct bot_message item_answer(const struct through *t, size_t i, char id[BOT_ID_MAX + 1])
{
	const struct item *item = &t->item[i];
	snprintf(id, BOT_ID_MAX + 1, "%s-%zu", t->prefix, i);
	return (struct bot_message){.kind = BOT_FETCHED,
				    .has = BOT_HAS_ID | (item->machine.n ? BOT_HAS_MACHINE : 0u) |
					   (item->file.n ? BOT_HAS_FILE : 0u),
				    .id = str_of(id),
				    .machine = item->machine,
				    .file = item->file};
}

static struct machine *machine_of(struct through *t, struct str name)
{
	for (size_t i = 0; i < t->machines; i++)
		if (str_eq(t->machine[i].name, name))
			return &t->machine[i];
	struct machine *m = VEC_PUSH(t->machine, t->machines, t->machine_room);
	*m = (struct machine){.name = arena_str(&t->arena, name)};
	return m;
}

static void verdict_say(struct through *t, const struct bot_message *m, bool is_kept)
{
	if (m->machine.n)
		machine_of(t, m->machine)->told++;
	botsource_verdict(t->source, m, is_kept);
}

/* Whether all machines have noted what they were told; those that have not are asked. */
static void settle_run(void *ctx)
{
	struct through *t = ctx;
	bool is_settled = true;
	for (size_t i = 0; i < t->machines; i++) {
		struct machine *m = &t->machine[i];
		char id[BOT_ID_MAX + 1];
		if (m->settled == m->told)
			continue;
		is_settled = false;
		m->asked = m->told;
		snprintf(id, sizeof id, "%s-m-%zu", t->prefix, i);
		botsource_delete(t->source, str_of(id), m->name, STR("-"));
	}
	if (!is_settled && loop_now_us(t->loop) - t->settle_us < SETTLE_US) {
		loop_timer_in(t->loop, &t->settle, ASK_AGAIN_US);
		return;
	}
	if (!is_settled)
		log_warn(MAIN, "unreachable machine was not told which files to keep");
	botsource_drain(t->source, GOODBYE_US, through_ended, t);
}

static void on_deleted(void *ctx, struct str id, enum bot_deletion how)
{
	struct through *t = ctx;
	struct str prefix, mark;
	uint64_t i;
	if (str_cut(&id, '-', &prefix) != 0 || str_cut(&id, '-', &mark) != 0 || !id.p ||
	    !str_u64(id, &i) || i >= t->machines || how == BOT_DELETED_ABSENT)
		return; /* it is asked again */
	t->machine[i].settled = t->machine[i].asked;
	loop_timer_in(t->loop, &t->settle, 0);
}

static void settle_begin(struct through *t)
{
	if (t->settle_us)
		return;
	t->settle_us = loop_now_us(t->loop);
	t->settle = (struct loop_timer){.fn = settle_run, .ctx = t};
	settle_run(t);
}

static void lines_flush(void *ctx)
{
	struct through *t = ctx;
	char id[BOT_ID_MAX + 1];
	if (!fetch_report_flush(&t->report))
		return;
	for (size_t i = 0; i < t->keeps; i++) {
		struct bot_message m = item_answer(t, t->to_keep[i], id);
		t->item[t->to_keep[i]].is_printed = true;
		verdict_say(t, &m, true);
	}
	t->keeps = 0;
	if (t->report.done == t->report.urls && !t->report.stopped)
		settle_begin(t);
}

static void lines_flush_soon(struct through *t)
{
	if (t->report.out.n >= FLUSH_BYTES || t->report.done == t->report.urls)
		loop_timer_in(t->loop, &t->flush, 0);
	else if (!t->flush.set)
		loop_timer_in(t->loop, &t->flush, FLUSH_US);
}

static void line_print(struct through *t, struct str url, const struct bot_message *m)
{
	fetch_report_count(&t->report, m->outcome, m->size);
	if (t->options->json)
		fetch_print_answer_json(url, m, &t->report.out);
	else
		fetch_print_answer_text(url, m, &t->report.out);
}

/* The source. */

static bool item_of(const struct through *t, struct str id, size_t *ret)
{
	struct str prefix;
	uint64_t i;
	if (str_cut(&id, '-', &prefix) != 0 || !str_is(prefix, t->prefix) || !id.p ||
	    !str_u64(id, &i) || i >= t->n)
		return false;
	*ret = (size_t)i;
	return true;
}

static void on_room(void *ctx)
{
	struct through *t = ctx;
	while (t->next < t->n) {
		char id[BOT_ID_MAX + 1];
		struct bot_message m = t->ask;
		snprintf(id, sizeof id, "%s-%zu", t->prefix, t->next);
		m.id = str_of(id);
		m.url = t->item[t->next].url;
		if (botsource_submit(t->source, &m) != 0)
			return;
		t->next++;
	}
}

static struct str file_key(const struct bot_message *m, char room[2 * BOT_ID_MAX + 2])
{
	int n = snprintf(room, 2 * BOT_ID_MAX + 2, STR_FMT " " STR_FMT, STR_ARG(m->machine),
			 STR_ARG(m->file));
	return (struct str){room, (size_t)n};
}

static void on_answered(void *ctx, const struct bot_message *m)
{
	struct through *t = ctx;
	char key[2 * BOT_ID_MAX + 2];
	size_t i;
	if (!item_of(t, m->id, &i) || t->item[i].is_answered)
		return;
	struct item *item = &t->item[i];
	item->is_answered = true;
	item->machine = arena_str(&t->arena, m->machine);
	item->file = arena_str(&t->arena, m->file);
	if (m->file.n)
		*taken_files_put(&t->files, arena_str(&t->arena, file_key(m, key))) = i;
	line_print(t, item->url, m);
	*VEC_PUSH(t->to_keep, t->keeps, t->keep_room) = i;
	lines_flush_soon(t);
}

static void on_repeated(void *ctx, const struct bot_message *m)
{
	struct through *t = ctx;
	char key[2 * BOT_ID_MAX + 2];
	size_t *i = taken_files_get(&t->files, file_key(m, key));
	if (i && !t->item[*i].is_printed) /* its line comes first */
		lines_flush(t);
	if (!i || t->item[*i].is_printed)
		verdict_say(t, m, i != NULL);
}

/* The list. */

static int list_add(void *ctx, struct str text, struct err *err)
{
	struct through *t = ctx;
	struct url url;
	(void)err;
	int rc = url_parse(text, NULL, t->text, sizeof t->text, &url);
	t->report.urls++;
	if (rc == 0 && url.href.n > BOT_URL_MAX)
		rc = -URL_TOO_LONG;
	if (rc == 0) {
		*VEC_PUSH(t->item, t->n, t->room) =
			(struct item){.url = arena_str(&t->arena, url.href)};
		return 0;
	}
	const struct bot_message bad = {.outcome = OUTCOME_PERMANENT,
					.cause = STR("url"),
					.reason = str_of(url_error_text(rc))};
	line_print(t, text, &bad);
	t->bad++;
	return 0;
}

/* Beginning and end. */

static int ask_make(struct through *t, struct err *err)
{
	const struct fetch_options *o = t->options;
	int64_t since_us;
	unsigned char bits[8];
	if (fetch_check_options(o, err) < 0)
		return -1;
	if (o->output[0] || o->agent[0] || o->no_follow || o->list_all ||
	    o->wait_us != FETCH_WAIT_US)
		return err_set(
			err, ERR_USAGE,
			"--through: --output, --agent, --no-follow, --list-all and --wait "
			"are for garner's own robot; those of a botm have their own settings");
	t->ask = (struct bot_message){.kind = BOT_FETCH, .has = BOT_HAS_ID | BOT_HAS_URL};
	if (o->etag[0]) {
		t->ask.etag = str_of(o->etag);
		t->ask.has |= BOT_HAS_ETAG;
	}
	if (o->last_modified[0]) {
		if (!robot_date(str_of(o->last_modified), clock_wall_us(), &since_us) ||
		    since_us < 0)
			return err_set(err, ERR_USAGE, "--last-modified: '%s' is not a date",
				       o->last_modified);
		t->ask.since = (uint64_t)(since_us / US_PER_S);
		t->ask.has |= BOT_HAS_SINCE;
	}
	if (o->delay[0] && duration_parse(str_of(o->delay), &t->ask.delay_us))
		t->ask.has |= BOT_HAS_DELAY;
	if (getrandom(bits, sizeof bits, 0) != sizeof bits)
		return err_sys(err, "random bits");
	hex_print(bits, sizeof bits, t->prefix);
	return 0;
}

static int source_open(struct through *t, const struct botm_conf *conf, int *ret_fd,
		       struct err *err)
{
	static const struct botsource_ops ops = {
		.room = on_room,
		.answered = on_answered,
		.repeated = on_repeated,
		.deleted = on_deleted,
	};
	const struct botsource_options options = {
		.loop = t->loop,
		.limits = &conf->limits,
		.tls = t->tls,
		.overload = (unsigned)conf->overload,
		.ops = &ops,
		.ctx = t,
	};
	char name[256];
	if (listen_open(t->options->through, ret_fd, err) < 0 ||
	    server_may_listen(*ret_fd, t->tls, err) < 0 ||
	    listen_name(*ret_fd, name, sizeof name, err) < 0)
		return -1;
	t->source = botsource_new(&options);
	if (botsource_listen(t->source, *ret_fd, err) < 0)
		return -1;
	fprintf(stderr, "waiting for a botm on %s\n", name);
	return 0;
}

static int through_run(struct through *t, const struct config *config, int *fd, struct err *err)
{
	const struct botm_conf *conf = config_get(config, &botm_section);
	if (ask_make(t, err) < 0 || tls_new(&t->tls, &conf->tls, true, err) < 0 ||
	    loop_new(&t->loop, NULL, err) < 0 ||
	    fetch_each_url(t->report.call, t->options->from, list_add, t, err) < 0 ||
	    source_open(t, conf, fd, err) < 0)
		return -1;
	t->report.loop = t->loop;
	if (fetch_report_begin(&t->report, err) < 0)
		return -1;
	t->flush = (struct loop_timer){.fn = lines_flush, .ctx = t};
	t->report.begun_us = loop_now_us(t->loop);
	lines_flush_soon(t); /* of what cannot be asked for */
	if (loop_run(t->loop, err) < 0)
		return -1;
	if (t->report.stopped && t->report.err.code == ERR_NONE)
		lines_flush(t);
	return fetch_report_end(&t->report, "", err);
}

/* A socket of the file system goes while it is ours. */
static void socket_close(const char *address, int fd)
{
	struct str rest = str_of(address);
	struct err ignored; /* the next to listen there replaces it */
	if (fd < 0)
		return;
	if (str_starts(rest, STR("unix:")))
		(void)file_remove(address + strlen("unix:"), &ignored);
	close(fd);
}

int fetch_through(const struct cmd_call *call, const struct fetch_options *o,
		  const struct config *config, struct err *err)
{
	struct through t = {.options = o, .arena = ARENA_INIT(SIZE_MAX / 2)};
	t.report = (struct fetch_report){.call = call,
					 .options = o,
					 .under_way = through_under_way,
					 .ctx = &t,
					 .out = BUF_INIT(64 << 20)};
	int fd = -1, code;
	if (!cmd_has_role(call->program, &botm_role)) {
		err_set(err, ERR_USAGE, "--through: this program has no botm");
		return -1;
	}
	code = through_run(&t, config, &fd, err) < 0 ? -1 : fetch_report_code(&t.report);
	botsource_free(&t.source);
	if (t.loop) {
		loop_timer_stop(&t.flush);
		loop_timer_stop(&t.settle);
		loop_timer_stop(&t.report.progress);
		loop_free(&t.loop);
	}
	socket_close(o->through, fd);
	tls_free(&t.tls);
	taken_files_free(&t.files);
	arena_free(&t.arena);
	mem_free(&t.item);
	mem_free(&t.to_keep);
	mem_free(&t.machine);
	buf_free(&t.report.out);
	return code;
}
