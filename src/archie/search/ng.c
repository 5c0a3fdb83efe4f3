/* Sessions of the line protocol. All output of a session goes through one buffer, which is sent as
 * fast as the peer takes it. Lines wait while the buffer holds anything, a question is with the
 * queuer, or a request for a site is being sent. So each line gets one answer, in order, even if
 * the client sends many lines before it reads. */
#include "archie/search/ng.h"

#include "archie/archie.h"
#include "archie/mail/mailer_desk.h"
#include "archie/ng_peers.h"
#include "archie/ng_vars.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	PIECE = 64 << 10,        /* bytes that are sent at a time */
	SMALL_MOST = 1 << 20,    /* bytes of other answers, after a full one */
	QUESTION_MOST = 4 << 20, /* memory for what is made of variables */
	PATH_MEMORY = 4 << 20,   /* and of one path */
};

struct ng {
	struct domains_file *domains;
	char *self;
	struct archie_link *link;
	struct ng_peers *peers;
	struct mailer_desk *desk;
	struct link loads; /* sessions that asked for the load */
	bool load_asked;
	struct ng_counts counts;
};

struct ng_session {
	struct ng *ng;
	struct conn *conn;
	char from[ARCHIE_FROM_MOST + 1];
	struct ng_held held;
	enum ng_verb verb; /* of the request that is under way, or was last */
	bool asking;       /* the queuer; id is its number */
	uint64_t id;
	struct link load;             /* in ng->loads, while it waits for that */
	struct mailer_errand *errand; /* its request for a site, while that is being sent */
	struct buf out;               /* what is to be sent, from `sent` on */
	size_t sent, held_bytes;      /* held_bytes: of it, that are in the counts */
	struct buf ahead;             /* lines that wait, from ahead_at on, each with its end */
	size_t ahead_at, ahead_lines;
	bool ends;
};

static bool is_waiting(const struct ng_session *s)
{
	return s->asking || list_has(&s->load) || s->errand;
}

static bool session_busy(const struct ng_session *s)
{
	return is_waiting(s) || s->out.n || s->ends;
}

/* What is said */

static void session_pump(struct ng_session *s)
{
	bool more = true;
	s->ng->counts.held += s->out.n - s->held_bytes;
	s->held_bytes = s->out.n;
	while (more && s->sent < s->out.n) {
		struct str piece = str_head(str_from(buf_str(&s->out), s->sent), PIECE);
		s->sent += piece.n;
		more = conn_send(s->conn, piece);
	}
	if (s->sent < s->out.n)
		return;
	s->ng->counts.held -= s->held_bytes;
	s->held_bytes = 0;
	if (s->out.cap > PIECE)
		buf_free(&s->out);
	buf_clear(&s->out);
	s->sent = 0;
	if (s->ends)
		conn_finish(s->conn);
}

PRINTF_LIKE(2, 3) static void session_say(struct ng_session *s, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	buf_add(&s->out, text, MIN((size_t)MAX(n, 0), sizeof text - 1));
}

/* The last line of an answer that is none. text: of people, or of others. */
static void session_error(struct ng_session *s, const char *word, const char *text)
{
	s->ng->counts.errors++;
	buf_printf(&s->out, "ERROR %s ", word);
	names_escape(str_of(text), &s->out);
	buf_add_byte(&s->out, '\n');
}

/* Rows */

static void put_field(struct buf *out, struct str text)
{
	buf_add_byte(out, '\t');
	names_escape(text, out);
}

static void put_number(struct buf *out, int64_t v)
{
	char text[STR_DECIMAL_MAX];
	buf_add_byte(out, '\t');
	if (v < 0)
		buf_add_byte(out, '-');
	else
		buf_add(out, text, str_decimal(text, (uint64_t)v));
}

static void put_when(struct buf *out, int64_t time_s)
{
	buf_add_byte(out, '\t');
	ng_time_print(out, time_s);
}

/* What a line says of its site, and where that begins in the buffer. The texts of a site are those
 * of the row before as long as the site is, and hits come site by site. */
struct site_said {
	struct str host, address;
	int64_t listed_s;
	size_t at, n;
};

static void put_site(struct buf *out, const struct archie_row *row, struct site_said *said)
{
	if (said->n && said->host.p == row->host.p && said->address.p == row->address.p &&
	    said->listed_s == row->listed_s) {
		char *room = buf_room(out, said->n);
		if (room) {
			memcpy(room, out->p + said->at, said->n);
			buf_grew(out, said->n);
		}
		return;
	}
	*said = (struct site_said){row->host, row->address, row->listed_s, out->n, 0};
	put_field(out, row->host);
	put_field(out, row->address);
	put_when(out, row->listed_s);
	said->n = out->over ? 0 : out->n - said->at;
}

static void put_hit(struct buf *out, const struct archie_row *row, struct site_said *said)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(PATH_MEMORY);
	const struct names_entry *f = &row->file;
	buf_add_str(out, STR("HIT"));
	put_site(out, row, said);
	put_field(out, str_of(names_kind_name(f->kind)));
	put_field(out, f->mode[0] ? (struct str){f->mode, sizeof f->mode} : STR("-"));
	put_number(out, f->size);
	put_when(out, f->time_s);
	put_field(out, str_from(archie_row_path(row, &arena), 1));
}

static void put_row(struct buf *out, enum ng_verb verb, const struct archie_row *row,
		    struct site_said *said)
{
	if (verb == NG_FIND) {
		put_hit(out, row, said);
	} else if (verb == NG_WHATIS) {
		buf_add_str(out, STR("WHATIS"));
		put_field(out, row->file.name);
		put_field(out, row->text);
	} else {
		buf_add_str(out, STR("SITE"));
		put_field(out, row->host);
		put_field(out, row->address);
		put_when(out, row->listed_s);
		put_number(out, row->entries);
	}
	buf_add_byte(out, '\n');
}

/* The lines of an answer; what is too large for us is left out, and told. */
static void put_answer(struct ng_session *s, const struct archie_answer *a)
{
	struct ng_counts *counts = &s->ng->counts;
	size_t n = 0;
	uint64_t most = s->out.n + MIN((uint64_t)NG_ANSWER_MOST, NG_HELD_MOST - counts->held);
	struct site_said said = {0};
	bool cut = a->cut;
	for (; n < a->n; n++) {
		size_t at = s->out.n;
		put_row(&s->out, s->verb, &a->row[n], &said);
		if (s->out.over || s->out.n > most) {
			s->out.n = at;
			s->out.p[at] = 0;
			s->out.over = false;
			cut = true;
			break;
		}
	}
	buf_printf(&s->out, "OK %zu%s\n", n, cut ? " cut" : "");
	counts->results += n;
	counts->cut += cut;
}

/* Questions */

static void session_next(struct ng_session *s);

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct ng_session *s = ctx;
	if (s->out.n)
		return; /* it does not read */
	session_say(s, "QUEUE\t%" PRIu64 "\t%" PRId64 "\n", position, seconds);
	session_pump(s);
}

static void on_answered(void *ctx, const struct archie_answer *a, enum archie_refusal why,
			const char *text)
{
	struct ng_session *s = ctx;
	s->asking = false;
	if (!a)
		session_error(s, archie_refusal_words[why], text);
	else if (s->ng->counts.held >= NG_HELD_MOST)
		session_error(s, "busy", "too many answers wait to be read; try again later");
	else
		put_answer(s, a);
	session_next(s);
}

static const struct archie_link_ops link_ops = {.queued = on_queued, .answered = on_answered};

/* FIND, WHATIS, LIST */
static void run_question(struct ng_session *s, struct str rest)
{
	static const enum archie_what whats[NG_VERBS] = {
		[NG_FIND] = ARCHIE_FIND, [NG_WHATIS] = ARCHIE_WHATIS, [NG_LIST] = ARCHIE_SITES};
	struct arena arena = ARENA_INIT(QUESTION_MOST);
	struct archie_ask ask = {.what = whats[s->verb],
				 .niceness = (int)s->held.vars.niceness,
				 .verbose = s->held.vars.status,
				 .from = str_of(s->from)};
	struct err err;
	if (ng_vars_query(&s->held.vars, s->ng->domains, &arena, &ask.query, &err) < 0) {
		session_error(s, "bad", err.msg);
	} else {
		ask.query.pattern = rest;
		if (s->verb == NG_LIST)
			ask.query.maxhits = 0;
		s->asking = true;
		s->id = archie_link_ask(s->ng->link, &ask, &link_ops, s);
	}
	arena_free(&arena);
}

static void load_came(void *ctx, const struct archie_load *load)
{
	struct ng *ng = ctx;
	struct ng_load own = {.known = load != NULL}, other;
	struct ng_session *s;
	if (load) {
		own.queue = load->queue;
		own.wait_ms = (uint64_t)MAX(load->wait_us / US_PER_MS, INT64_C(0));
		snprintf(own.per_s, sizeof own.per_s, "%.2f", load->per_s);
	}
	ng->load_asked = false;
	/* their next lines may ask for it again */
	struct link told;
	list_init(&told);
	while ((s = LIST_FIRST(struct ng_session, &ng->loads, load))) {
		list_remove(&s->load);
		list_append(&told, &s->load);
	}
	while ((s = LIST_FIRST(struct ng_session, &told, load))) {
		list_remove(&s->load);
		ng_load_print(&s->out, ng->self, &own);
		for (size_t i = 0; i < ng_peers_count(ng->peers); i++) {
			ng_peers_load(ng->peers, i, &other);
			ng_load_print(&s->out, ng_peers_name(ng->peers, i), &other);
		}
		session_say(s, "OK %zu\n", ng_peers_count(ng->peers) + 1);
		session_next(s);
	}
}

/* Requests */

static void run_set(struct ng_session *s, struct str rest)
{
	size_t n = str_find_byte(rest, ' ');
	struct err err;
	if (ng_held_set(&s->held, s->ng->domains, str_head(rest, n), str_trim(str_from(rest, n)),
			&err) < 0)
		session_error(s, "bad", err.msg);
	else
		session_say(s, "OK 0\n");
}

static void run_domains(struct ng_session *s, struct str rest)
{
	(void)rest;
	struct arena arena = ARENA_INIT(DOMAINS_MEMORY_MOST);
	const struct domains d = domains_file_get(s->ng->domains, &arena);
	for (size_t i = 0; i < d.n; i++) {
		buf_add_str(&s->out, STR("DOMAIN"));
		put_field(&s->out, d.domain[i].name);
		put_field(&s->out, d.domain[i].members);
		buf_add_byte(&s->out, '\n');
	}
	session_say(s, "OK %zu\n", d.n);
	arena_free(&arena);
}

static void run_servers(struct ng_session *s, struct str rest)
{
	const struct ng *ng = s->ng;
	(void)rest;
	session_say(s, "SERVER\t%s\n", ng->self);
	for (size_t i = 0; i < ng_peers_count(ng->peers); i++)
		session_say(s, "SERVER\t%s\n", ng_peers_name(ng->peers, i));
	session_say(s, "OK %zu\n", ng_peers_count(ng->peers) + 1);
}

static void run_load(struct ng_session *s, struct str rest)
{
	(void)rest;
	list_append(&s->ng->loads, &s->load);
	if (s->ng->load_asked)
		return;
	s->ng->load_asked = true;
	archie_link_load(s->ng->link, load_came, s->ng);
}

static void site_asked(void *ctx, const struct err *why)
{
	struct ng_session *s = ctx;
	s->errand = NULL;
	if (!why) {
		session_say(s, "OK 0\n");
	} else {
		session_error(s,
			      why->code == ERR_USAGE  ? "refused"
			      : why->code == ERR_BUSY ? "busy"
						      : "failed",
			      mailer_told(why));
	}
	session_next(s);
}

/* HOST, and perhaps the address of a mailbox that is told what becomes of it. */
static void run_addnewsite(struct ng_session *s, struct str rest)
{
	struct str host = str_head(str_trim(rest), str_find_byte(str_trim(rest), ' '));
	struct str reply_to = str_trim(str_from(str_trim(rest), host.n));
	s->errand =
		mailer_desk_ask_site(s->ng->desk, host, reply_to, str_of(s->from), site_asked, s);
	if (!s->errand)
		session_error(s, "busy", "too many requests are being sent; try again later");
}

static void run_quit(struct ng_session *s, struct str rest)
{
	(void)rest;
	session_say(s, "OK 0\n");
	s->ends = true;
}

static void run_help(struct ng_session *s, struct str rest);

enum { ARGS_NONE, ARGS_MAY, ARGS_MUST };
static const struct ng_request {
	const char *name, *args, *help;
	int takes;
	void (*run)(struct ng_session *s, struct str rest); /* NULL: it never waits its turn */
} requests[NG_VERBS] = {
	[NG_SET] = {"SET", "VARIABLE VALUE", "sets a variable; without a value as at first",
		    ARGS_MUST, run_set},
	[NG_FIND] = {"FIND", "STRING", "files by their names", ARGS_MUST, run_question},
	[NG_WHATIS] = {"WHATIS", "STRING", "names by what they are for", ARGS_MUST, run_question},
	[NG_LIST] = {"LIST", "[EXPRESSION]", "sites, all or those whose name matches", ARGS_MAY,
		     run_question},
	[NG_DOMAINS] = {"DOMAINS", "", "pseudo-domains", ARGS_NONE, run_domains},
	[NG_SERVERS] = {"SERVERS", "", "this server and others", ARGS_NONE, run_servers},
	[NG_LOAD] = {"LOAD", "", "how busy they are", ARGS_NONE, run_load},
	[NG_ADDNEWSITE] = {"ADDNEWSITE", "HOST [ADDRESS]",
			   "asks for a site to be indexed, and who is told by mail", ARGS_MUST,
			   run_addnewsite},
	[NG_CANCEL] = {"CANCEL", "", "ends what was asked before and is not answered", ARGS_NONE,
		       NULL},
	[NG_HELP] = {"HELP", "", "says this", ARGS_NONE, run_help},
	[NG_QUIT] = {"QUIT", "", "ends the connection", ARGS_NONE, run_quit},
};

static void run_help(struct ng_session *s, struct str rest)
{
	(void)rest;
	for (size_t i = 0; i < NG_VERBS; i++)
		session_say(s, "HELP\t%s%s%s\t%s\n", requests[i].name,
			    requests[i].args[0] ? " " : "", requests[i].args, requests[i].help);
	for (size_t i = 0; i < NG_VARS; i++)
		session_say(s, "HELP\tSET %s\t%s\n", ng_var_specs[i].name, ng_var_specs[i].help);
	session_say(s, "OK %d\n", NG_VERBS + (int)NG_VARS);
}

/* The request that a line is, and what follows its first blank. NG_VERBS: it is none. */
static enum ng_verb line_verb(struct str line, struct str *ret_rest)
{
	size_t n = str_find_byte(line, ' '), verb = 0;
	struct str word = str_trim(str_head(line, n));
	while (verb < NG_VERBS && !str_eq_nocase(word, str_of(requests[verb].name)))
		verb++;
	*ret_rest = str_from(line, n + 1);
	return (enum ng_verb)verb;
}

static void session_run(struct ng_session *s, struct str line)
{
	struct str rest;
	enum ng_verb verb = line_verb(line, &rest);
	if (verb == NG_VERBS) {
		session_error(s, "unknown", "no such request; HELP names them");
		return;
	}
	s->ng->counts.requests[verb]++;
	s->verb = verb;
	if ((requests[verb].takes == ARGS_MUST && !rest.n) ||
	    (requests[verb].takes == ARGS_NONE && str_trim(rest).n))
		session_error(s, "bad", "not as many words as this request takes; HELP names them");
	else
		requests[verb].run(s, rest);
}

/* Sends what there is, and goes on with lines that wait. */
static void session_next(struct ng_session *s)
{
	struct str line;
	session_pump(s);
	while (!session_busy(s) && s->ahead_at < s->ahead.n) {
		struct str rest = str_from(buf_str(&s->ahead), s->ahead_at);
		size_t n = str_find_byte(rest, '\n');
		line = str_head(rest, n);
		s->ahead_at += n + 1;
		s->ahead_lines--;
		session_run(s, line);
		session_pump(s);
	}
	if (s->ahead_at == s->ahead.n) {
		buf_free(&s->ahead);
		s->ahead_at = 0;
	}
}

static void forget_question(struct ng_session *s)
{
	if (s->asking)
		archie_link_cancel(s->ng->link, s->id);
	s->asking = false;
	if (list_has(&s->load))
		list_remove(&s->load);
	if (s->errand)
		mailer_errand_forget(s->errand);
	s->errand = NULL;
}

static void session_cancel(struct ng_session *s)
{
	size_t n = s->ahead_lines + is_waiting(s);
	s->ng->counts.requests[NG_CANCEL]++;
	forget_question(s);
	for (size_t i = 0; i < n; i++)
		session_error(s, "cancelled", "as was asked");
	buf_free(&s->ahead);
	s->ahead_at = s->ahead_lines = 0;
	session_say(s, "OK %zu\n", n);
	if (s->out.over)
		conn_close(s->conn);
	else
		session_next(s);
}

void ng_session_line(struct ng_session *s, struct str line)
{
	struct str rest;
	if (s->ends)
		return;
	enum ng_verb verb = line_verb(line, &rest);
	if (verb == NG_CANCEL && !str_trim(rest).n) {
		session_cancel(s);
	} else if (!session_busy(s)) {
		session_run(s, line);
		session_next(s);
	} else if (s->ahead_lines == NG_LINES_AHEAD || s->ahead.n + line.n >= NG_BYTES_AHEAD) {
		session_error(s, "busy", "too many requests were sent ahead, closing");
		forget_question(s);
		s->ends = true;
		session_pump(s);
	} else {
		buf_add_str(&s->ahead, line);
		buf_add_byte(&s->ahead, '\n');
		s->ahead_lines++;
		/* a client that sent QUIT waits for all answers, and may have closed its side,
		 * which would cancel them: nothing more is read */
		if (verb == NG_QUIT && !str_trim(rest).n)
			conn_pause(s->conn);
	}
}

void ng_session_drained(struct ng_session *s)
{
	session_next(s);
}

/* Beginnings and ends */

struct ng_session *ng_session_new(struct ng *ng, struct conn *conn, const char *from)
{
	struct ng_session *s = mem_alloc(sizeof *s);
	*s = (struct ng_session){.ng = ng,
				 .conn = conn,
				 .out = BUF_INIT(NG_ANSWER_MOST + SMALL_MOST),
				 .ahead = BUF_INIT(NG_BYTES_AHEAD + 1)};
	snprintf(s->from, sizeof s->from, "%s", from);
	ng_held_init(&s->held);
	return s;
}

void ng_session_free(struct ng_session **s)
{
	if (!*s)
		return;
	forget_question(*s);
	(*s)->ng->counts.held -= (*s)->held_bytes;
	buf_free(&(*s)->out);
	buf_free(&(*s)->ahead);
	ng_held_free(&(*s)->held);
	mem_free(s);
}

int ng_new(struct ng **ret, const struct ng_options *options, struct err *err)
{
	struct ng *ng = mem_alloc(sizeof *ng);
	char folder[PATH_MAX];
	*ng = (struct ng){.self = mem_text(options->self)};
	list_init(&ng->loads);
	snprintf(folder, sizeof folder, "%s/archie", options->data);
	ng->domains = domains_file_new(folder);
	if (ng_peers_new(&ng->peers, options->asks_servers ? options->pool : NULL, options->servers,
			 ng->self, err) < 0 ||
	    mailer_desk_new(&ng->desk, conn_pool_loop(options->pool), &options->mailer, err) < 0) {
		ng_free(&ng);
		return -1;
	}
	ng->link = archie_link_new(options->pool, options->data);
	*ret = ng;
	return 0;
}

void ng_free(struct ng **ng)
{
	if (!*ng)
		return;
	archie_link_free(&(*ng)->link);
	mailer_desk_free(&(*ng)->desk);
	ng_peers_free(&(*ng)->peers);
	domains_file_free(&(*ng)->domains);
	mem_free(&(*ng)->self);
	mem_free(ng);
}

void ng_counts(const struct ng *ng, struct ng_counts *ret)
{
	*ret = ng->counts;
	ret->servers_up = ng_peers_up(ng->peers);
}
