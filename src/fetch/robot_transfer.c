/* Requests: libcurl's multi interface on our loop. libcurl calls back from inside its functions,
 * and there none of them may be called: callbacks only note down what is to be done. */
#include "fetch/robot_inner.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define OPT(q, option, value) \
	ENSURE((q)->robot->curl.easy_setopt((q)->easy, CURLOPT_##option, value) == CURLE_OK)
#define MULTI_OPT(r, option, value) \
	ENSURE((r)->curl.multi_setopt((r)->multi, CURLMOPT_##option, value) == CURLM_OK)

/* Every how many events of a socket the bytes on the wire are counted. */
enum { WIRE_EVENTS = 32, WIRE_SLACK = 64 << 10 };

static void stop(struct request *q, enum outcome outcome, enum robot_cause cause)
{
	if (q->is_stopped)
		return;
	q->is_stopped = true;
	q->stop = (struct robot_class){outcome, cause};
}

/* The answer. Each returns the bytes it was given, or something else to end the transfer. */

static bool is_ftp(const struct request *q)
{
	return q->job->target.protocol == URL_FTP;
}

/* The last look at the address: whom libcurl really talks to. */
static bool check_address(struct request *q)
{
	const char *ip = NULL;
	if (q->address_checked || q->robot->has_proxy)
		return true;
	q->address_checked = true;
	q->robot->curl.easy_getinfo(q->easy, CURLINFO_PRIMARY_IP, &ip);
	if (ip && strcmp(ip, q->address) == 0)
		return true;
	stop(q, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS);
	return false;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	const struct robot_limits *limits = &q->job->limits;
	n *= size;
	q->head_bytes += n;
	if (!check_address(q))
		return 0;
	if (n > limits->head_line) {
		stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD_LINE);
		return 0;
	}
	if (q->head_bytes > limits->head) {
		stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD);
		return 0;
	}
	if (is_ftp(q))
		return n;
	robot_head_line(&q->head, (struct str){p, n});
	if (q->head.status == 101) {
		stop(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
		return 0;
	}
	return n;
}

/* Whether what comes is a document, or the page around an error or a redirect. */
static bool is_document(const struct request *q)
{
	return is_ftp(q) ||
	       (q->head.status >= 200 && q->head.status < 300 && q->head.status != 206);
}

static bool leads_elsewhere(const struct request *q)
{
	return !is_ftp(q) && robot_is_redirect(q->head.status) && q->head.has_location;
}

static int feed_sink(struct request *q, struct str bytes)
{
	struct robot_sink *sink = q->job->sink;
	int rc = 0;
	if (!sink || !is_document(q))
		return 0;
	if (!q->sink_begun) {
		rc = sink->ops->begin(sink, &q->head, &q->sink_err);
		q->sink_begun = rc == 0;
	}
	if (rc == 0 && bytes.n)
		rc = sink->ops->write(sink, bytes, &q->sink_err);
	if (rc < 0) {
		q->sink_failed = true;
		stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_SINK);
	}
	return rc;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	n *= size;
	if (leads_elsewhere(q)) {
		q->size += n;
		if (q->size <= ROBOT_REDIRECT_BODY)
			return n;
		stop(q, OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER);
		return 0;
	}
	for (size_t i = 0; q->size + i < sizeof q->first && i < n; i++)
		q->first[q->size + i] = (unsigned char)p[i];
	if (q->size + n > q->job->limits.body) {
		stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_BODY);
		return 0;
	}
	q->size += n;
	digest_add(q->md5, p, n);
	digest_add(q->sha256, p, n);
	if (feed_sink(q, (struct str){p, n}) < 0)
		return 0;
	/* libcurl would wait for the end of the connection */
	if (q->head.is_identity && (int64_t)q->size == q->head.length) {
		stop(q, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
		return 0;
	}
	return n;
}

/* The socket is made here, and nowhere does libcurl get one to an address that was not checked. */
static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct request *q = ctx;
	const struct addr *checked = &q->job->addr[q->job->at];
	struct addr a;
	(void)purpose;
	if (!q->robot->has_proxy) {
		if (!addr_from_sockaddr(&to->addr, to->addrlen, &a) ||
		    a.family != checked->family || memcmp(a.b, checked->b, addr_bytes(&a)) != 0 ||
		    policy_refuses(q->robot->parts.policy, &a)) {
			stop(q, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS);
			return CURL_SOCKET_BAD;
		}
	}
	q->robot->stats.connections++;
	return socket(to->family, to->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
}

/* Connected, and the request goes out next. Connecting takes its time, more with some than with
 * others: the delay must not count from before it. */
static int on_send(void *ctx, char *to, char *from, int to_port, int from_port)
{
	struct request *q = ctx;
	(void)to, (void)from, (void)to_port, (void)from_port;
	if (polite_sent(q->robot->parts.polite, &q->job->lease, clock_mono_us()) == 0)
		return CURL_PREREQFUNC_OK;
	stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
	return CURL_PREREQFUNC_ABORT;
}

/* The end of a request. */

static struct robot_class class_of(struct request *q, CURLcode code)
{
	const struct job *job = q->job;
	long status = 0;
	bool conditional = job->etag || job->last_modified;
	q->robot->curl.easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
	if (is_ftp(q))
		q->head.status = (int)status;
	if (q->is_stopped && q->stop.outcome != OUTCOME_OK)
		return q->stop;
	if (code == CURLE_BAD_CONTENT_ENCODING && q->head.has_odd_transfer)
		return (struct robot_class){OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL};
	if (code != CURLE_OK && !q->is_stopped)
		return robot_class_curl(code, q->words, is_ftp(q) ? (int)status : 0);
	if (is_ftp(q)) {
		long unmet = 0;
		q->robot->curl.easy_getinfo(q->easy, CURLINFO_CONDITION_UNMET, &unmet);
		return (struct robot_class){unmet ? OUTCOME_UNCHANGED : OUTCOME_OK,
					    ROBOT_CAUSE_ANSWER};
	}
	return robot_class_http(q->head.status, conditional, q->head.has_location);
}

/* What marks a byte order is stronger than what the head says. */
static void look_at_bom(struct request *q)
{
	const unsigned char *b = q->first;
	const char *charset = NULL;
	if (q->size >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf)
		charset = "utf-8";
	else if (q->size >= 2 && b[0] == 0xff && b[1] == 0xfe)
		charset = "utf-16le";
	else if (q->size >= 2 && b[0] == 0xfe && b[1] == 0xff)
		charset = "utf-16be";
	if (charset)
		snprintf(q->head.charset, sizeof q->head.charset, "%s", charset);
}

static void finish(struct request *q, CURLcode code)
{
	struct robot *r = q->robot;
	struct robot_class class = class_of(q, code);
	ENSURE(r->curl.multi_remove_handle(r->multi, q->easy) == CURLM_OK);
	loop_timer_stop(&q->timer);
	if (class.outcome == OUTCOME_OK && feed_sink(q, STR("")) < 0) /* an empty one is one, too */
		class = q->stop;
	if (q->sink_begun) {
		bool complete = class.outcome == OUTCOME_OK;
		q->sink_begun = false;
		if (q->job->sink->ops->end(q->job->sink, complete, &q->sink_err) < 0 && complete) {
			q->sink_failed = true;
			class = (struct robot_class){OUTCOME_CANCELLED, ROBOT_CAUSE_SINK};
		}
	}
	if (q->sink_failed)
		snprintf(q->words, sizeof q->words, "%.*s", (int)sizeof q->words - 1,
			 q->sink_err.msg);
	look_at_bom(q);
	r->stats.under_way--;
	request_ended(q, class);
}

static struct request *request_of(struct robot *r, CURL *easy)
{
	char *p = NULL;
	r->curl.easy_getinfo(easy, CURLINFO_PRIVATE, &p);
	return (struct request *)(void *)p;
}

static void collect(struct robot *r)
{
	CURLMsg *m;
	int left;
	while ((m = r->curl.multi_info_read(r->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			finish(request_of(r, m->easy_handle), m->data.result);
}

static void act(struct robot *r, curl_socket_t fd, int what)
{
	int running;
	ENSURE(r->curl.multi_socket_action(r->multi, fd, what, &running) == CURLM_OK);
	collect(r);
}

/* Limits that libcurl does not keep: time without a byte, bytes on the wire, the lease. */

static uint64_t wire_bytes(int fd)
{
	struct tcp_info info;
	socklen_t n = sizeof info;
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 ? info.tcpi_bytes_received : 0;
}

/* What is packed small, or wrapped in much, does not show up in the body. A kept connection counts
 * from the first look on. */
static bool wire_is_over(struct sock *s)
{
	uint64_t bytes = wire_bytes(s->fd);
	if (s->events == WIRE_EVENTS && s->is_kept)
		s->wire_base = bytes;
	return bytes - s->wire_base > s->request->wire_limit;
}

/* From outside of libcurl's callbacks. */
static void give_up(struct request *q, enum outcome outcome, enum robot_cause cause)
{
	long connected = 0;
	curl_off_t connect_us = 0;
	q->robot->curl.easy_getinfo(q->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
	q->robot->curl.easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &connected);
	if (cause == ROBOT_CAUSE_IDLE && connected > 0 && connect_us == 0) {
		outcome = OUTCOME_SITE_TEMPORARY;
		cause = ROBOT_CAUSE_CONNECT;
	}
	stop(q, outcome, cause);
	finish(q, CURLE_ABORTED_BY_CALLBACK);
}

static void set_timer(struct request *q)
{
	const struct robot_limits *limits = &q->job->limits;
	int64_t due_us = MIN(q->active_us + limits->idle_us, q->started_us + limits->total_us);
	due_us = MIN(due_us, q->renewed_us + POLITE_LEASE_US / 2);
	loop_timer_in(q->robot->parts.loop, &q->timer, due_us - loop_now_us(q->robot->parts.loop));
}

static void on_time(void *ctx)
{
	struct request *q = ctx;
	const struct robot_limits *limits = &q->job->limits;
	int64_t now_us = loop_now_us(q->robot->parts.loop);
	if (now_us - q->started_us >= limits->total_us) {
		give_up(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_TIME);
		return;
	}
	if (now_us - q->active_us >= limits->idle_us) {
		give_up(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_IDLE);
		return;
	}
	if (now_us - q->renewed_us >= POLITE_LEASE_US / 2) {
		q->renewed_us = now_us;
		if (polite_renew(q->robot->parts.polite, &q->job->lease, now_us) != 0) {
			give_up(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
			return;
		}
	}
	set_timer(q);
}

/* Sockets and the timer of libcurl's. */

static void on_ready(void *ctx, unsigned what)
{
	struct sock *s = ctx; /* may be gone after the call */
	struct robot *r = s->robot;
	s->request->active_us = loop_now_us(r->parts.loop);
	if (++s->events % WIRE_EVENTS == 0 && wire_is_over(s))
		give_up(s->request, OUTCOME_LIMIT, ROBOT_CAUSE_WIRE);
	else
		act(r, s->fd, what & LOOP_READ ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
}

static struct sock *sock_new(struct robot *r, int fd)
{
	struct sock *s = r->free_socks;
	if (s)
		r->free_socks = s->next;
	else
		s = mem_alloc(sizeof *s);
	*s = (struct sock){.robot = r, .fd = fd, .io = {.fn = on_ready, .ctx = s}};
	s->next = r->socks;
	s->at = &r->socks;
	if (s->next)
		s->next->at = &s->next;
	r->socks = s;
	ENSURE(r->curl.multi_assign(r->multi, fd, s) == CURLM_OK);
	return s;
}

static void sock_end(struct sock *s)
{
	struct robot *r = s->robot;
	loop_io_end(&s->io);
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	s->next = r->free_socks;
	r->free_socks = s;
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
	struct robot *r = ctx;
	struct sock *s = known;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			sock_end(s);
		return 0;
	}
	if (!s)
		s = sock_new(r, fd);
	sock_belongs(s, request_of(r, easy));
	loop_io_want(r->parts.loop, &s->io, fd,
		     (what & CURL_POLL_IN ? (unsigned)LOOP_READ : 0) |
			     (what & CURL_POLL_OUT ? (unsigned)LOOP_WRITE : 0));
	return 0;
}

static void on_due(void *ctx)
{
	act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
	struct robot *r = ctx;
	(void)multi;
	loop_timer_stop(&r->timer);
	if (ms == 0)
		loop_later(r->parts.loop, &r->act);
	else if (ms > 0)
		loop_timer_in(r->parts.loop, &r->timer, ms * US_PER_MS);
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
	q->timer = (struct loop_timer){.fn = on_time, .ctx = q};
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

/* A handle serves one request: libcurl 7.88 keeps a pointer to the last field of the answer before,
 * and an answer that begins with a folded line makes it write there. Making one costs 1.5 us. */
static void make_handle(struct request *q)
{
	struct robot *r = q->robot;
	q->easy = r->curl.easy_init();
	if (!q->easy)
		die("libcurl makes no more handles");
	OPT(q, PRIVATE, q);
	OPT(q, ERRORBUFFER, q->words);
	OPT(q, WRITEFUNCTION, on_body);
	OPT(q, WRITEDATA, q);
	OPT(q, HEADERFUNCTION, on_header);
	OPT(q, HEADERDATA, q);
	OPT(q, OPENSOCKETFUNCTION, on_open);
	OPT(q, OPENSOCKETDATA, q);
	OPT(q, PREREQFUNCTION, on_send);
	OPT(q, PREREQDATA, q);
	OPT(q, BUFFERSIZE, (long)ROBOT_BUFFER);
	OPT(q, NOSIGNAL, 1L);
	OPT(q, PROXY, r->conf.proxy ? r->conf.proxy : "");
	OPT(q, PROTOCOLS_STR, "http,https,ftp");
	OPT(q, HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	OPT(q, ACCEPT_ENCODING, "");
	OPT(q, USERAGENT, r->user_agent);
	OPT(q, PATH_AS_IS, 1L);
	OPT(q, MAXAGE_CONN, (long)MAX(r->conf.keep_us / US_PER_S, 1));
	OPT(q, MAXFILESIZE_LARGE, (curl_off_t)MIN(q->job->limits.body, (uint64_t)INT64_MAX));
	OPT(q, SSL_VERIFYPEER, r->conf.verify ? 1L : 0L);
	OPT(q, SSL_VERIFYHOST, r->conf.verify ? 2L : 0L);
	if (r->conf.ca_file && r->conf.ca_file[0])
		OPT(q, CAINFO, r->conf.ca_file);
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
	if (folder && job->flags & ROBOT_LIST_ALL)
		OPT(q, CUSTOMREQUEST, "LIST -lR");
	if (!folder && job->last_modified &&
	    robot_date(str_of(job->last_modified), q->wall_us, &since_us)) {
		OPT(q, TIMECONDITION, (long)CURL_TIMECOND_IFMODSINCE);
		OPT(q, TIMEVALUE_LARGE, (curl_off_t)(since_us / US_PER_S));
	}
}

static void tell_address(struct request *q)
{
	struct addr a = q->job->addr[q->job->at];
	if (q->robot->has_proxy)
		return;
	a.scope = 0;
	a.port = q->job->target.port;
	addr_print(&a, q->address);
	memcpy(q->to_text, "::", 2);
	addr_print_port(&a, q->to_text + 2);
	OPT(q, CONNECT_TO, &q->to);
}

static void request_begin(struct request *q, struct job *job)
{
	const struct robot_limits *limits = &job->limits;
	q->job = job;
	job->request = q;
	q->started_us = q->active_us = q->renewed_us = loop_now_us(q->robot->parts.loop);
	q->wall_us = clock_wall_us();
	q->head_bytes = q->size = 0;
	q->wire_limit = limits->body + limits->head + limits->body / 8 + WIRE_SLACK;
	q->is_stopped = q->address_checked = q->sink_begun = q->sink_failed = false;
	q->words[0] = 0;
	robot_head_begin(&q->head, q->wall_us);
}

void request_start(struct job *job)
{
	struct robot *r = job->robot;
	struct request *q = r->free_requests;
	if (q)
		r->free_requests = q->next_free;
	else
		q = request_new(r);
	request_begin(q, job);
	make_handle(q);
	OPT(q, URL, job->target.text);
	tell_address(q);
	if (is_ftp(q))
		tell_ftp(q);
	else
		tell_headers(q);
	r->stats.under_way++;
	r->stats.requests++;
	ENSURE(r->curl.multi_add_handle(r->multi, q->easy) == CURLM_OK);
	set_timer(q);
}

void request_release(struct request *q)
{
	struct robot *r = q->robot;
	unsigned char unused[32];
	digest_end(q->md5, unused, sizeof unused);
	digest_end(q->sha256, unused, sizeof unused);
	r->curl.easy_cleanup(q->easy);
	q->easy = NULL;
	q->job->request = NULL;
	q->job = NULL;
	q->next_free = r->free_requests;
	r->free_requests = q;
}

void request_drop(struct request *q)
{
	struct robot *r = q->robot;
	struct err ignored;
	ENSURE(r->curl.multi_remove_handle(r->multi, q->easy) == CURLM_OK);
	loop_timer_stop(&q->timer);
	if (q->sink_begun)
		(void)q->job->sink->ops->end(q->job->sink, false, &ignored);
	q->sink_begun = false;
	r->stats.under_way--;
}

int transfers_new(struct robot *r, struct err *err)
{
	if (curl_lib_load(&r->curl, err) < 0)
		return -1;
	r->multi = r->curl.multi_init();
	if (!r->multi)
		return err_set(err, ERR_SYSTEM, "libcurl makes no multi handle");
	r->timer = (struct loop_timer){.fn = on_due, .ctx = r};
	r->act = (struct loop_later){.fn = on_due, .ctx = r};
	MULTI_OPT(r, SOCKETFUNCTION, on_socket);
	MULTI_OPT(r, SOCKETDATA, r);
	MULTI_OPT(r, TIMERFUNCTION, on_timer);
	MULTI_OPT(r, TIMERDATA, r);
	MULTI_OPT(r, PIPELINING, (long)CURLPIPE_NOTHING);
	MULTI_OPT(r, MAXCONNECTS, (long)r->conf.at_once);
	return 0;
}

void transfers_free(struct robot *r)
{
	for (struct request *q = r->free_requests, *next; q; q = next) {
		next = q->next_free;
		request_free(q);
	}
	if (r->multi)
		r->curl.multi_cleanup(r->multi);
	while (r->socks) /* libcurl has closed them all; what it did not say is said here */
		sock_end(r->socks);
	for (struct sock *s = r->free_socks, *next; s; s = next) {
		next = s->next;
		mem_free(&s);
	}
	loop_timer_stop(&r->timer);
	loop_later_cancel(&r->act);
}
