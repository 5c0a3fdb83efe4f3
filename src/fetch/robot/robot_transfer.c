/* Requests: libcurl's multi interface on our loop. Callbacks from inside libcurl must not call its
 * functions, so they only note what is to be done. */
#include "fetch/robot/robot_inner.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPT(q, option, value) \
	ENSURE((q)->robot->curl->easy_setopt((q)->easy, CURLOPT_##option, value) == CURLE_OK)
#define MULTI_OPT(sh, option, value) \
	ENSURE((sh)->robot->curl->multi_setopt((sh)->multi, CURLMOPT_##option, value) == CURLM_OK)

/* Every how many events of a socket the bytes on the wire are counted. */
enum { WIRE_EVENTS = 32, WIRE_SLACK = 64 << 10 };

/* Connections that a multi handle of libcurl is to have, and some for those that get more servers
 * than others. */
enum { SHARD_CONNECTIONS = 64, SHARD_SLACK = 16 };

#define TICK_US (50 * US_PER_MS) /* how exactly times are kept */

static void link_active(struct request *q)
{
	struct robot *r = q->robot;
	list_append(&r->active, &q->link);
	if (!r->tick.set)
		loop_timer_every(r->parts.loop, &r->tick, TICK_US);
}

static void request_finish(struct request *q, CURLcode code)
{
	struct robot *r = q->robot;
	struct robot_class class = answer_class(q, code);
	ENSURE(r->curl->multi_remove_handle(q->shard->multi, q->easy) == CURLM_OK);
	list_remove(&q->link);
	class = answer_end(q, class);
	r->stats.under_way--;
	request_ended(q, class);
}

static struct request *request_of(struct robot *r, CURL *easy)
{
	char *p = NULL;
	r->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &p);
	return (struct request *)(void *)p;
}

static void shard_collect(struct shard *sh)
{
	struct robot *r = sh->robot;
	CURLMsg *m;
	int left;
	while ((m = r->curl->multi_info_read(sh->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			request_finish(request_of(r, m->easy_handle), m->data.result);
}

static void shard_act(struct shard *sh, curl_socket_t fd, int what)
{
	int running;
	ENSURE(sh->robot->curl->multi_socket_action(sh->multi, fd, what, &running) == CURLM_OK);
	if (sh->robot->sending)
		sent_by_now(sh->robot, clock_mono_us());
	shard_collect(sh);
}

/* Limits that libcurl does not keep: time without a byte, bytes on the wire, the lease. */

/* 0: it does not say. */
static uint64_t wire_bytes(int fd)
{
	struct tcp_info info;
	socklen_t n = sizeof info;
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 ? info.tcpi_bytes_received : 0;
}

bool robot_wire_is_over(int fd, uint64_t base, uint64_t limit)
{
	uint64_t bytes = wire_bytes(fd);
	return bytes > base && bytes - base > limit;
}

/* What is packed small, or wrapped in much, does not show up in the body. A kept connection counts
 * from the first look on. */
static bool wire_is_over(struct sock *s)
{
	if (s->events == WIRE_EVENTS && s->is_kept)
		s->wire_base = wire_bytes(s->fd);
	return robot_wire_is_over(s->fd, s->wire_base, s->request->wire_limit);
}

/* From outside of libcurl's callbacks. Always negative: the request is over. */
static int request_give_up(struct request *q, enum outcome outcome, enum robot_cause cause)
{
	long connected = 0;
	curl_off_t connect_us = 0;
	q->robot->curl->easy_getinfo(q->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
	q->robot->curl->easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &connected);
	if (cause == ROBOT_CAUSE_IDLE && connected > 0 && connect_us == 0) {
		outcome = OUTCOME_SITE_TEMPORARY;
		cause = ROBOT_CAUSE_CONNECT;
	}
	request_stop(q, outcome, cause);
	request_finish(q, CURLE_ABORTED_BY_CALLBACK);
	return -1;
}

/* When an ftp server answers EPSV at once, libcurl 7.88 waits for neither a socket nor a time
 * before it makes the second connection. A change of what is paused makes it look again. */
static void ftp_nudge(struct request *q, int64_t now_us)
{
	const struct curl_lib *curl = q->robot->curl;
	if (q->job->target.protocol != URL_FTP || now_us - q->active_us < TICK_US)
		return;
	curl->easy_pause(q->easy, CURLPAUSE_RECV);
	curl->easy_pause(q->easy, CURLPAUSE_CONT);
}

/* Negative: the request is over. */
static int check_limits(struct request *q, int64_t now_us)
{
	const struct robot_limits *limits = &q->job->limits;
	if (!q->sent_us &&
	    robot_is_over(q->robot)) /* libcurl's own timer may have read the socket */
		return request_give_up(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
	if (now_us - q->started_us >= limits->total_us)
		return request_give_up(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_TIME);
	if (now_us - q->active_us >= limits->idle_us)
		return request_give_up(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_IDLE);
	if (now_us - q->renewed_us < POLITE_LEASE_US / 4)
		return 0;
	q->renewed_us = now_us;
	if (polite_renew(q->robot->parts.polite, &q->job->lease, now_us) == 0)
		return 0;
	return request_give_up(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
}

/* Looking at all requests now and then costs less than a timer for each. What ends meanwhile may
 * begin others, which come last and are passed again by the next look. */
static void on_tick(void *ctx)
{
	struct robot *r = ctx;
	int64_t now_us = loop_now_us(r->parts.loop);
	LIST_EACH (struct request, q, &r->active, link)
		ftp_nudge(q, now_us);
	for (struct link *at = r->active.next, *next; at != &r->active; at = next) {
		struct request *q = LIST_OF(struct request, at, link);
		next = at->next;
		if (q->started_us < now_us && check_limits(q, now_us) < 0)
			next = r->active.next; /* the list is not what it was */
	}
	if (list_is_empty(&r->active))
		loop_timer_stop(&r->tick);
}

/* Sockets and the timer of libcurl's. */

static void sock_end(struct sock *s);

static void on_ready(void *ctx, unsigned what)
{
	struct sock *s = ctx; /* may be gone after the call */
	struct robot *r = s->robot;
	if (!s->request) { /* what nobody has asked for, or the end: libcurl will find out */
		sock_end(s);
		return;
	}
	s->request->active_us = loop_now_us(r->parts.loop);
	if (!s->request->sent_us && robot_is_over(r)) /* nor may TLS be begun */
		(void)request_give_up(s->request, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
	else if (++s->events % WIRE_EVENTS == 0 && wire_is_over(s))
		(void)request_give_up(s->request, OUTCOME_LIMIT, ROBOT_CAUSE_WIRE);
	else
		shard_act(s->shard, s->fd, what & LOOP_READ ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
}

/* By descriptor, so that a closed one is found: libcurl does not always say that it has closed a
 * socket before the next one gets its number, and the loop would take that for the one it knows. */
static struct sock **sock_at(struct robot *r, int fd)
{
	size_t n = (size_t)fd;
	if (n >= r->nsocks) {
		size_t more = MAX(n + 1, r->nsocks * 2);
		r->sock_of = mem_resize(r->sock_of, more * sizeof(struct sock *));
		memset(r->sock_of + r->nsocks, 0, (more - r->nsocks) * sizeof(struct sock *));
		r->nsocks = more;
	}
	return &r->sock_of[n];
}

static struct sock *sock_new(struct shard *sh, int fd)
{
	struct robot *r = sh->robot;
	struct sock *s = LIST_FIRST(struct sock, &r->free_socks, link);
	if (s)
		list_remove(&s->link);
	else
		s = mem_alloc(sizeof *s);
	*s = (struct sock){.robot = r, .shard = sh, .fd = fd, .io = {.fn = on_ready, .ctx = s}};
	list_prepend(&r->socks, &s->link);
	*sock_at(r, fd) = s;
	ENSURE(r->curl->multi_assign(sh->multi, fd, s) == CURLM_OK);
	return s;
}

static int on_close(void *ctx, curl_socket_t fd)
{
	struct robot *r = ctx;
	struct sock *s = *sock_at(r, fd);
	if (s && !s->request)
		sock_end(s);
	else if (s)
		loop_io_end(&s->io);
	return close(fd);
}

static void sock_end(struct sock *s)
{
	struct robot *r = s->robot;
	loop_io_end(&s->io);
	if (*sock_at(r, s->fd) == s)
		*sock_at(r, s->fd) = NULL;
	list_remove(&s->link);
	list_prepend(&r->free_socks, &s->link);
}

/* libcurl is done with it for now. One that waits for the next request stays watched, which saves
 * two calls of the system for each. */
static void sock_rest(struct sock *s)
{
	if (s->io.want == LOOP_READ)
		s->request = NULL;
	else
		sock_end(s);
}

static struct sock *sock_of(struct shard *sh, int fd)
{
	struct sock *s = *sock_at(sh->robot, fd);
	if (!s || s->request || s->shard != sh)
		return sock_new(sh, fd);
	ENSURE(sh->robot->curl->multi_assign(sh->multi, fd, s) == CURLM_OK);
	return s;
}

/* A socket belongs to one request at a time: nothing is sent side by side over one connection. */
static void sock_belongs(struct sock *s, struct request *q)
{
	if (s->request == q)
		return;
	s->is_kept = q->job->flags & ROBOT_KEEP;
	s->request = q;
	s->events = 0;
	s->wire_base = 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct shard *sh = ctx;
	struct sock *s = known;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			sock_rest(s);
		return 0;
	}
	if (!s)
		s = sock_of(sh, fd);
	sock_belongs(s, request_of(sh->robot, easy));
	loop_io_want(sh->robot->parts.loop, &s->io, fd,
		     (what & CURL_POLL_IN ? (unsigned)LOOP_READ : 0) |
			     (what & CURL_POLL_OUT ? (unsigned)LOOP_WRITE : 0));
	return 0;
}

static void on_due(void *ctx)
{
	shard_act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* What is to be done now is done in the next round of the loop, together with what else is begun in
 * this one: servers are woken less often, and an event of a socket may do it before. */
static int on_timer(CURLM *multi, long ms, void *ctx)
{
	struct shard *sh = ctx;
	struct loop *loop = sh->robot->parts.loop;
	(void)multi;
	if (ms < 0)
		loop_timer_stop(&sh->timer);
	else
		loop_timer_in(loop, &sh->timer, ms * US_PER_MS);
	return 0;
}

/* Making requests. */

static struct request *request_new(struct robot *r)
{
	struct request *q = mem_alloc(sizeof *q);
	q->robot = r;
	robot_head_init(&q->head, str_of(r->agent));
	q->md5 = digest_new("md5");
	q->sha256 = digest_new("sha256");
	q->to.data = q->to_text;
	q->closing.data = (char *)"Connection: close";
	return q;
}

static void request_free(struct request *q)
{
	robot_head_free(&q->head);
	digest_free(&q->md5);
	digest_free(&q->sha256);
	mem_free(&q);
}

#define SET(r, easy, option, value) \
	ENSURE((r)->curl->easy_setopt(easy, CURLOPT_##option, value) == CURLE_OK)

/* What all requests have in common. */
static CURL *make_model(struct robot *r)
{
	const struct robot_conf *conf = &r->conf;
	CURL *easy = r->curl->easy_init();
	if (!easy)
		return NULL;
	SET(r, easy, WRITEFUNCTION, answer_body);
	SET(r, easy, HEADERFUNCTION, answer_header);
	SET(r, easy, OPENSOCKETFUNCTION, answer_socket);
	SET(r, easy, CLOSESOCKETFUNCTION, on_close);
	SET(r, easy, CLOSESOCKETDATA, r);
	SET(r, easy, PREREQFUNCTION, answer_send);
	SET(r, easy, BUFFERSIZE, (long)ROBOT_BUFFER);
	SET(r, easy, NOSIGNAL, 1L);
	SET(r, easy, PROXY, conf->proxy ? conf->proxy : "");
	/* otherwise the variable no_proxy would lead past the proxy, and so past the policy */
	SET(r, easy, NOPROXY, "");
	SET(r, easy, PROTOCOLS_STR, "http,https,ftp");
	SET(r, easy, HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	SET(r, easy, ACCEPT_ENCODING, decoder_accepts);
	SET(r, easy, HTTP_CONTENT_DECODING, 0L);
	SET(r, easy, USERAGENT, r->user_agent);
	SET(r, easy, PATH_AS_IS, 1L);
	/* numbers, too, go through its cache of names, which is walked at the end of each request
	 */
	SET(r, easy, DNS_CACHE_TIMEOUT, 0L);
	SET(r, easy, MAXAGE_CONN, (long)MAX(conf->keep_us / US_PER_S, 1));
	SET(r, easy, SSL_VERIFYPEER, conf->verify ? 1L : 0L);
	SET(r, easy, SSL_VERIFYHOST, conf->verify ? 2L : 0L);
	if (conf->ca_file && conf->ca_file[0])
		SET(r, easy, CAINFO, conf->ca_file);
	return easy;
}

/* A handle serves one request: libcurl 7.88 keeps a pointer to the last field of the answer before,
 * and an answer that begins with a folded line makes it write there. */
static void make_handle(struct request *q)
{
	q->easy = q->robot->curl->easy_duphandle(q->robot->model);
	if (!q->easy)
		die("libcurl cannot make another handle");
	OPT(q, PRIVATE, q);
	OPT(q, ERRORBUFFER, q->words);
	OPT(q, WRITEDATA, q);
	OPT(q, HEADERDATA, q);
	OPT(q, OPENSOCKETDATA, q);
	OPT(q, PREREQDATA, q);
	if (!(q->job->flags & ROBOT_CUT))
		OPT(q, MAXFILESIZE_LARGE,
		    (curl_off_t)MIN(q->job->limits.body, (uint64_t)INT64_MAX));
}

/* Nodes and texts are our own: libcurl only reads the list. */
static void tell_headers(struct request *q)
{
	const struct job *job = q->job;
	bool keep = job->flags & ROBOT_KEEP;
	struct curl_slist *list = keep ? NULL : &q->closing;
	if (job->etag) {
		q->none_match = (struct curl_slist){q->none_match_text, list};
		snprintf(q->none_match_text, sizeof q->none_match_text, "If-None-Match: %s",
			 job->etag);
		list = &q->none_match;
	}
	if (job->last_modified) {
		q->modified_since = (struct curl_slist){q->modified_since_text, list};
		snprintf(q->modified_since_text, sizeof q->modified_since_text,
			 "If-Modified-Since: %s", job->last_modified);
		list = &q->modified_since;
	}
	OPT(q, HTTPHEADER, list);
	OPT(q, FORBID_REUSE, keep ? 0L : 1L);
}

static void tell_ftp(struct request *q)
{
	const struct job *job = q->job;
	bool folder = job->target.path.p[job->target.path.n - 1] == '/';
	int64_t since_us;
	OPT(q, FILETIME, 1L);
	/* over a kept control connection the next data connection now and then stays silent */
	OPT(q, FORBID_REUSE, 1L);
	if (folder && job->flags & ROBOT_LIST_ALL)
		OPT(q, CUSTOMREQUEST, "LIST -lR");
	if (!folder && job->last_modified &&
	    robot_date(str_of(job->last_modified), q->wall_us, &since_us)) {
		OPT(q, TIMECONDITION, (long)CURL_TIMECOND_IFMODSINCE);
		OPT(q, TIMEVALUE_LARGE, (curl_off_t)(since_us / US_PER_S));
	}
}

/* "::192.0.2.1:80": whatever the URL's host and port, connect to this one. */
static void tell_address(struct request *q)
{
	struct addr a = q->job->addr[q->job->at];
	bool is_v6 = a.family == AF_INET6;
	if (q->robot->has_proxy)
		return;
	a.scope = 0;
	addr_print(&a, q->address);
	snprintf(q->to_text, sizeof q->to_text, "::%s%.70s%s:%u", is_v6 ? "[" : "", q->address,
		 is_v6 ? "]" : "", q->job->target.port);
	OPT(q, CONNECT_TO, &q->to);
}

static void request_begin(struct request *q, struct job *job)
{
	const struct robot_limits *limits = &job->limits;
	q->job = job;
	job->request = q;
	q->started_us = q->active_us = q->renewed_us = job->lease.start_us;
	q->wall_us = clock_wall_us();
	q->sent_us = 0;
	q->head_bytes = q->packed = q->size = 0;
	q->wire_limit = limits->body + limits->head + limits->body / 8 + WIRE_SLACK;
	q->is_hashing = q->is_stopped = q->address_checked = q->sink_begun = q->sink_failed = false;
	q->words[0] = 0;
	robot_head_begin(&q->head, q->wall_us);
}

static struct shard *shard_of(struct robot *r, const struct addr *a)
{
	return &r->shard[hash64((struct str){(const char *)a->b, addr_bytes(a)}) % r->nshards];
}

void request_start(struct job *job)
{
	struct robot *r = job->robot;
	struct request *q = LIST_FIRST(struct request, &r->free_requests, link);
	if (q)
		list_remove(&q->link);
	else
		q = request_new(r);
	q->shard = shard_of(r, &job->addr[job->at]);
	request_begin(q, job);
	make_handle(q);
	OPT(q, URL, job->target.text);
	tell_address(q);
	if (job->target.protocol == URL_FTP)
		tell_ftp(q);
	else
		tell_headers(q);
	r->stats.under_way++;
	r->stats.requests++;
	ENSURE(r->curl->multi_add_handle(q->shard->multi, q->easy) == CURLM_OK);
	link_active(q);
}

void request_release(struct request *q)
{
	struct robot *r = q->robot;
	unsigned char unused[32];
	if (q->is_hashing) {
		digest_end(q->md5, unused, sizeof unused);
		digest_end(q->sha256, unused, sizeof unused);
	}
	decoder_free(&q->decoder);
	r->curl->easy_cleanup(q->easy);
	q->easy = NULL;
	q->job->request = NULL;
	q->job = NULL;
	list_prepend(&r->free_requests, &q->link);
}

void request_drop(struct request *q)
{
	struct robot *r = q->robot;
	ENSURE(r->curl->multi_remove_handle(q->shard->multi, q->easy) == CURLM_OK);
	list_remove(&q->link);
	(void)answer_end(q, (struct robot_class){OUTCOME_CANCELLED, ROBOT_CAUSE_STOPPED});
	r->stats.under_way--;
}

static int shard_init(struct shard *sh, struct robot *r, struct err *err)
{
	*sh = (struct shard){
		.robot = r, .multi = r->curl->multi_init(), .timer = {.fn = on_due, .ctx = sh}};
	if (!sh->multi)
		return err_set(err, ERR_SYSTEM, "libcurl cannot make a multi handle");
	MULTI_OPT(sh, SOCKETFUNCTION, on_socket);
	MULTI_OPT(sh, SOCKETDATA, sh);
	MULTI_OPT(sh, TIMERFUNCTION, on_timer);
	MULTI_OPT(sh, TIMERDATA, sh);
	MULTI_OPT(sh, PIPELINING, (long)CURLPIPE_NOTHING);
	MULTI_OPT(sh, MAXCONNECTS, (long)(r->conf.at_once / (int64_t)r->nshards + SHARD_SLACK));
	return 0;
}

static int shards_new(struct robot *r, struct err *err)
{
	size_t n = (size_t)MAX(r->conf.at_once / SHARD_CONNECTIONS, 1);
	r->shard = mem_alloc(n * sizeof *r->shard);
	r->nshards = n;
	for (size_t i = 0; i < n; i++)
		if (shard_init(&r->shard[i], r, err) < 0)
			return -1;
	return 0;
}

static void shards_free(struct robot *r)
{
	for (size_t i = 0; i < r->nshards; i++) {
		if (r->shard[i].multi)
			r->curl->multi_cleanup(r->shard[i].multi);
		loop_timer_stop(&r->shard[i].timer);
	}
	mem_free(&r->shard);
}

int transfers_new(struct robot *r, struct err *err)
{
	list_init(&r->active);
	list_init(&r->free_requests);
	list_init(&r->socks);
	list_init(&r->free_socks);
	r->curl = curl_load(err);
	if (!r->curl)
		return -1;
	r->model = make_model(r);
	if (!r->model)
		return err_set(err, ERR_SYSTEM, "libcurl cannot make a handle");
	r->tick = (struct loop_timer){.fn = on_tick, .ctx = r};
	return shards_new(r, err);
}

void transfers_free(struct robot *r)
{
	LIST_EACH (struct request, q, &r->free_requests, link)
		request_free(q);
	if (r->model)
		r->curl->easy_cleanup(r->model);
	shards_free(r);
	/* libcurl has closed them all; what it did not say is said here */
	LIST_EACH (struct sock, s, &r->socks, link)
		sock_end(s);
	LIST_EACH (struct sock, s, &r->free_socks, link)
		mem_free(&s);
	mem_free(&r->sock_of);
	curl_memory_drop();
	loop_timer_stop(&r->tick);
}
