/* Reads one request and sends one answer, each with a single system call if it is small. The
 * snapshot of the names stays open between searches and is refreshed before each one, which costs
 * one stat().
 *
 * During a search it polls the socket now and then: a message, or the end of the queuer, means that
 * nobody wants the answer any longer. */
#include "archie/searcher.h"

#include "archie/search/archie_wire.h"
#include "base/clock.h"
#include "base/fault.h"
#include "index/rx.h"
#include "net/framing.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	READ_BYTES = 64 << 10,
	OUT_KEPT = 1 << 20,
};

struct searcher {
	int fd;
	const char *folder;
	struct framing frame;
	struct names_reader *names; /* NULL: there are none yet */
	struct arena arena;         /* of one search */
	struct buf out;
	/* Of the search that runs. */
	struct archie_id id;
	int64_t limit_us, end_us; /* how long it may take; the end by the clock */
	bool stopped, late, found;
	struct archie_writer writer; /* its lists */
	struct archie_answer answer;
	enum archie_refusal why;
};

/* Whether it has to come to its end: asked by names now and then. */
static bool search_over(void *ctx)
{
	struct searcher *s = ctx;
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	if (!s->stopped && (framing_waiting(&s->frame) || poll(&p, 1, 0) == 1))
		s->stopped = true;
	if (clock_mono_us() >= s->end_us)
		s->late = true;
	return s->stopped || s->late;
}

/* A row of a file of which all is known. */
static bool add_file(struct searcher *s, uint32_t site, const struct names_entry *file)
{
	const struct archie_row row = {.file = *file, .url = {"", 0}};
	return archie_writer_row(&s->writer, site, &row);
}

static uint64_t most_of(const struct names_query *q)
{
	return q->maxhits ? MIN(q->maxhits, (uint64_t)ARCHIE_ROWS_MOST) : ARCHIE_ROWS_MOST;
}

/* Whether there are more rows than fit into an answer; a limit that the asker set does not count.
 */
static bool rows_left(const struct names_query *q, uint64_t total)
{
	return most_of(q) == ARCHIE_ROWS_MOST && total > q->offset &&
	       total - q->offset > ARCHIE_ROWS_MOST;
}

/* Files by their names */

static int find_files(struct searcher *s, const struct archie_ask *ask, struct err *err)
{
	struct names_query query = ask->query, *q = &query;
	struct names_hits hits;
	size_t at;
	if (q->offset > ARCHIE_OFFSET_MOST) {
		s->why = ARCHIE_BAD;
		return err_set(err, ERR_USAGE,
			       "the first %d hits can be looked at, not those from %" PRIu64 " on",
			       ARCHIE_OFFSET_MOST, q->offset);
	}
	q->maxhits = most_of(q);
	q->budget_us = s->limit_us;
	q->stop = search_over;
	q->stop_ctx = s;
	if (names_query(s->names, q, &s->arena, &hits, &at, err) < 0) {
		if (err->code != ERR_USAGE)
			return -1;
		s->why = ARCHIE_BAD;
		return at == SIZE_MAX ? -1 : err_in(err, "byte %zu of the expression", at + 1);
	}
	for (size_t i = 0; i < hits.n; i++) {
		const struct names_hit *hit = &hits.hit[i];
		struct archie_row row = {
			.file = {.name = hit->file.name, .links = -1, .size = -1, .time_s = -1},
			.mirrors = hit->mirrors};
		if (!q->no_files) {
			row.file = hit->file;
			row.url = STR("");
		}
		if (!archie_writer_row(&s->writer, hit->site, &row))
			break;
	}
	s->answer.total = hits.total;
	s->answer.exact = hits.exact;
	s->answer.cut = hits.cut;
	/* strangers read it, and the words have our files in them */
	s->answer.problem =
		hits.problem ? STR("the database is damaged: files may be missing") : STR("");
	return 0;
}

/* Descriptions */

static int find_descriptions(struct searcher *s, const struct archie_ask *ask, struct err *err)
{
	const struct names_query *q = &ask->query;
	struct names_description *d = NULL;
	size_t n = 0;
	int rc = names_whatis(s->folder, q->pattern, 0, &s->arena, &d, &n, err);
	if (rc < 0)
		return -1;
	if (rc == 1) {
		s->why = ARCHIE_EMPTY;
		return err_set(err, ERR_USAGE, "there are no descriptions on this server");
	}
	s->answer.total = n;
	s->answer.exact = true;
	s->answer.cut = rows_left(q, n);
	for (uint64_t i = q->offset; i < n && i - q->offset < most_of(q); i++) {
		const struct archie_row row = {
			.file = {.name = d[i].name, .links = -1, .size = -1, .time_s = -1},
			.text = d[i].text};
		if (!archie_writer_row(&s->writer, ARCHIE_NO_SITE, &row))
			break;
	}
	return 0;
}

/* Sites by their names */

/* An expression for host names, which have no capitals. */
struct host_match {
	struct buf text; /* folded; what it becomes */
	struct rx *rx;
	struct rx_run *run;
};

static int host_match_open(struct searcher *s, struct host_match *m, struct str pattern,
			   struct err *err)
{
	enum names_ed how; /* of ".*", NAMES_ED_NOTHING, the text is empty: any host */
	size_t at;
	*m = (struct host_match){.text = BUF_INIT((size_t)64 * NAMES_PATTERN_MOST)};
	if (!pattern.n)
		return 0; /* all */
	s->why = ARCHIE_BAD;
	if (names_ed(arena_lower(&s->arena, pattern), &m->text, &how, &at, err) < 0 ||
	    (how == NAMES_ED_RX && rx_compile_name(&m->rx, buf_str(&m->text), &at, err) < 0))
		return -1;
	if (m->rx)
		m->run = rx_run_new(m->rx);
	s->why = ARCHIE_NOT_REFUSED;
	return 0;
}

static void host_match_close(struct host_match *m)
{
	rx_run_free(&m->run);
	rx_free(&m->rx);
	buf_free(&m->text);
}

static bool host_matches(struct host_match *m, struct str host)
{
	if (m->run)
		return rx_matches(m->run, host);
	return m->text.n == 0 || str_find(host, buf_str(&m->text)) < host.n;
}

/* Whole labels at the end of a host name. */
static bool in_domain(struct str host, struct str domain)
{
	while (domain.n && domain.p[0] == '.')
		domain = str_from(domain, 1);
	if (domain.n == 0 || host.n < domain.n)
		return false;
	struct str end = str_from(host, host.n - domain.n);
	return str_eq_nocase(end, domain) &&
	       (end.n == host.n || host.p[host.n - domain.n - 1] == '.');
}

static bool in_domains(const struct names_query *q, struct str host)
{
	for (uint32_t i = 0; i < q->domains; i++)
		if (in_domain(host, q->domain[i]))
			return true;
	return q->domains == 0;
}

static int find_sites(struct searcher *s, const struct archie_ask *ask, struct err *err)
{
	static const struct archie_row row = {.file = {.links = -1, .size = -1, .time_s = -1},
					      .url = {"", 0}};
	const struct names_query *q = &ask->query;
	struct host_match m;
	size_t n;
	const struct names_site *site = names_sites(s->names, &n);
	int rc = host_match_open(s, &m, q->pattern, err);
	s->answer.exact = true;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (!in_domains(q, site[i].host) || !host_matches(&m, site[i].host))
			continue;
		uint64_t at = s->answer.total++;
		if (at >= q->offset && at - q->offset < most_of(q))
			(void)archie_writer_row(&s->writer, (uint32_t)i, &row);
	}
	s->answer.cut = rows_left(q, s->answer.total);
	host_match_close(&m);
	return rc;
}

/* One site */

static bool is_called(const struct names_site *site, struct str name)
{
	return str_eq_nocase(site->host, name) || str_eq(site->address, name);
}

static int site_of(struct searcher *s, const struct archie_ask *ask, uint32_t *ret, struct err *err)
{
	size_t n, i = 0;
	const struct names_site *site = names_sites(s->names, &n);
	struct str name = ask->query.sites ? ask->query.site[0] : STR("");
	while (i < n && !str_eq(site[i].key, name))
		i++;
	if (i == n)
		for (i = 0; i < n && !is_called(&site[i], name);)
			i++;
	*ret = (uint32_t)i;
	if (i < n)
		return 0;
	s->why = ARCHIE_EMPTY;
	return err_set(err, ERR_USAGE, "there is no site '" STR_FMT "'",
		       STR_ARG(str_head(name, NAMES_KEY_MOST)));
}

static int list_site(struct searcher *s, const struct archie_ask *ask, struct err *err)
{
	const struct names_query *q = &ask->query;
	uint32_t number;
	size_t n;
	const struct names_site *site = names_sites(s->names, &n);
	if (site_of(s, ask, &number, err) < 0)
		return -1;
	s->answer.total = site[number].entries;
	s->answer.exact = true;
	for (uint64_t i = 0; i < most_of(q) && q->offset + i < site[number].entries; i++) {
		struct names_entry e;
		int rc = names_get(s->names, number, q->offset + i, &s->arena, &e, err);
		if (rc < 0)
			return -1;
		if (rc == 1 || !add_file(s, number, &e))
			break;
		if (i % 256 == 255 && search_over(s)) {
			s->answer.cut = true;
			break;
		}
	}
	return 0;
}

/* Every file of a folder, from the first one on, until fn says true. */
static int folder_each(struct searcher *s, uint32_t site, struct str folder,
		       bool (*fn)(struct searcher *s, uint32_t site, const struct names_entry *e,
				  const struct names_query *q),
		       const struct names_query *q, struct err *err)
{
	uint64_t dir, line = 0;
	struct names_entry e;
	int rc = names_dir_find(s->names, site, folder, &dir, err);
	if (rc != 0)
		return rc;
	for (;;) {
		struct arena_mark mark = arena_mark(&s->arena);
		rc = names_dir_next(s->names, site, dir, &line, &s->arena, &e, err);
		if (rc != 0 || fn(s, site, &e, q))
			return rc < 0 ? -1 : 0;
		arena_reset(&s->arena, mark);
	}
}

static bool folder_row(struct searcher *s, uint32_t site, const struct names_entry *e,
		       const struct names_query *q)
{
	uint64_t at = s->answer.total++;
	if (at >= q->offset && at - q->offset < most_of(q))
		(void)add_file(s, site, e);
	s->writer.dir = q->pattern; /* the arena is given back */
	if (at % 256 != 255 || !search_over(s))
		return false;
	s->answer.cut = true;
	s->answer.exact = false;
	return true;
}

/* Whether this is the folder that is asked for: then it is empty. */
static bool folder_named(struct searcher *s, uint32_t site, const struct names_entry *e,
			 const struct names_query *q)
{
	size_t slash = str_after_last(q->pattern, '/');
	(void)site;
	s->found = e->kind == NAMES_DIR && str_eq(e->name, str_from(q->pattern, slash));
	return s->found;
}

static int list_folder(struct searcher *s, const struct archie_ask *ask, struct err *err)
{
	const struct names_query *q = &ask->query;
	uint32_t site;
	if (site_of(s, ask, &site, err) < 0)
		return -1;
	s->answer.exact = true;
	int rc = folder_each(s, site, q->pattern, folder_row, q, err);
	s->answer.cut = s->answer.cut || rows_left(q, s->answer.total);
	if (rc <= 0)
		return rc;
	size_t slash = str_after_last(q->pattern, '/');
	s->found = false;
	rc = folder_each(s, site, str_head(q->pattern, slash ? slash - 1 : 0), folder_named, q,
			 err);
	if (rc < 0 || s->found)
		return rc;
	s->why = ARCHIE_EMPTY;
	return err_set(err, ERR_USAGE, "there is no such folder on that site");
}

/* A search */

static int names_ready(struct searcher *s, struct err *err)
{
	int rc = s->names ? names_refresh(&s->names, err) : names_open(&s->names, s->folder, err);
	if (rc < 0)
		return -1;
	if (s->names)
		return 0;
	s->why = ARCHIE_EMPTY;
	return err_set(err, ERR_USAGE,
		       "there is no database yet: garner archie sites add, get and build "
		       "make one");
}

static int search_run(struct searcher *s, struct str bytes, struct err *err)
{
	static int (*const find[ARCHIE_WHATS])(struct searcher *, const struct archie_ask *,
					       struct err *) = {
		[ARCHIE_FIND] = find_files,    [ARCHIE_WHATIS] = find_descriptions,
		[ARCHIE_SITES] = find_sites,   [ARCHIE_SITE] = list_site,
		[ARCHIE_FOLDER] = list_folder,
	};
	struct archie_ask ask;
	const struct names_site *site = NULL;
	size_t sites = 0;
	s->why = ARCHIE_FAILED;
	if (archie_ask_decode(bytes, &s->arena, &ask, err) < 0)
		return -1;
	if (ask.what != ARCHIE_WHATIS && names_ready(s, err) < 0)
		return -1;
	if (s->names)
		site = names_sites(s->names, &sites);
	archie_writer_begin(&s->writer, site, arena_array(&s->arena, sites, sizeof(uint32_t)));
	return find[ask.what](s, &ask, err);
}

static int write_all(int fd, struct str bytes, struct err *err)
{
	while (bytes.n) {
		ssize_t sent = UNINTERRUPTED(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL));
		if (sent < 0)
			return err_sys(err, "the queuer");
		bytes = str_from(bytes, (size_t)sent);
	}
	return 0;
}

static int search_answer(struct searcher *s, struct str bytes, int64_t limit_us, struct err *err)
{
	struct archie_message m = {.id = s->id};
	int64_t cpu_us = clock_thread_us();
	struct err why;
	s->limit_us = limit_us;
	s->end_us = clock_mono_us() + limit_us;
	s->stopped = s->late = false;
	s->answer = (struct archie_answer){0};
	buf_clear(&s->out);
	FAULT("searcher.begun");
	if (search_run(s, bytes, &why) < 0) {
		m.why = s->why == ARCHIE_NOT_REFUSED ? ARCHIE_FAILED : s->why;
		m.text = str_of(why.msg);
		message_write(&archie_finds, ARCHIE_WORD_REFUSED, &m, &s->out);
	} else {
		m.exact = s->answer.exact;
		m.cut = s->answer.cut || s->writer.full;
		m.total = s->answer.total;
		m.problem = s->answer.problem;
		m.search_us = clock_thread_us() - cpu_us;
		archie_writer_end(&s->writer, &m);
		message_write(&archie_finds, ARCHIE_WORD_ANSWER, &m, &s->out);
	}
	FAULT("searcher.done");
	int rc = write_all(s->fd, buf_str(&s->out), err);
	if (s->out.cap > OUT_KEPT)
		buf_free(&s->out);
	arena_clear(&s->arena);
	return rc;
}

/* The socket */

/* 1: the other end is closed. */
static int read_more(struct searcher *s, char *to, struct err *err)
{
	ssize_t n = UNINTERRUPTED(recv(s->fd, to, READ_BYTES, 0));
	if (n < 0)
		return errno == ECONNRESET ? 1 : err_sys(err, "the queuer");
	if (n == 0)
		return 1;
	framing_put(&s->frame, (struct str){to, (size_t)n});
	return 0;
}

/* 0: a frame; 1: the other end is closed. */
static int next_frame(struct searcher *s, char *room, struct str *ret, struct err *err)
{
	for (;;) {
		int rc = framing_next(&s->frame, ret);
		if (rc == 0)
			return 0;
		framing_keep(&s->frame);
		rc = read_more(s, room, err);
		if (rc != 0)
			return rc;
	}
}

static int searcher_serve(struct searcher *s, char *room, struct err *err)
{
	struct str frame;
	struct archie_message m;
	int rc, word;
	while ((rc = next_frame(s, room, &frame, err)) == 0) {
		if (message_read(&archie_searches, frame, &word, &m, err) < 0)
			return -1;
		if (word == ARCHIE_WORD_STOP)
			continue; /* of what has ended meanwhile */
		s->id = m.id;
		if (search_answer(s, m.request, m.limit_us, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

int searcher_run(int fd, const char *folder, struct err *err)
{
	struct searcher s = {.fd = fd,
			     .folder = folder,
			     .arena = ARENA_INIT(SIZE_MAX),
			     .out = BUF_INIT(ARCHIE_ANSWER_MOST + 2 * ARCHIE_SMALL_MOST)};
	char *room = mem_alloc(READ_BYTES);
	framing_messages(&s.frame, &archie_searches, READ_BYTES);
	int rc = searcher_serve(&s, room, err);
	framing_free(&s.frame);
	names_close(&s.names);
	arena_free(&s.arena);
	archie_writer_free(&s.writer);
	buf_free(&s.out);
	mem_free(&room);
	return rc;
}
