/* What comes back: callbacks of libcurl's, which may call none of its multi functions; they note
 * down what is to be done, and answer something else than what they were given to end a transfer.
 */
#include "fetch/robot_inner.h"

#include <stdio.h>
#include <sys/socket.h>

#define SENT_LATE_US (US_PER_MS / 10)

void request_stop(struct request *q, enum outcome outcome, enum robot_cause cause)
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
	request_stop(q, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS);
	return false;
}

size_t answer_header(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	const struct robot_limits *limits = &q->job->limits;
	n *= size;
	q->head_bytes += n;
	if (!check_address(q))
		return 0;
	if (n > limits->head_line) {
		request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD_LINE);
		return 0;
	}
	if (q->head_bytes > limits->head) {
		request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD);
		return 0;
	}
	if (is_ftp(q))
		return n;
	robot_head_line(&q->head, (struct str){p, n});
	if (q->head.status == 101) {
		request_stop(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
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
		request_stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_SINK);
	}
	return rc;
}

size_t answer_body(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	n *= size;
	if (leads_elsewhere(q)) {
		q->size += n;
		if (q->size <= ROBOT_REDIRECT_BODY)
			return n;
		request_stop(q, OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER);
		return 0;
	}
	for (size_t i = 0; q->size + i < sizeof q->first && i < n; i++)
		q->first[q->size + i] = (unsigned char)p[i];
	bool is_over = q->size + n > q->job->limits.body;
	if (is_over && !(q->job->flags & JOB_ROBOTS_TXT)) {
		request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_BODY);
		return 0;
	}
	q->size += n;
	q->is_hashing = true;
	digest_add(q->md5, p, n);
	if (!(q->job->flags & ROBOT_NO_SHA256))
		digest_add(q->sha256, p, n);
	if (feed_sink(q, (struct str){p, n}) < 0)
		return 0;
	/* libcurl would wait for the end of the connection */
	bool is_all = q->head.is_identity && (int64_t)q->size == q->head.length;
	if (is_over || is_all) {
		request_stop(q, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
		return 0;
	}
	return n;
}

/* The socket is made here, and nowhere does libcurl get one to an address that was not checked. */
curl_socket_t answer_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct request *q = ctx;
	const struct addr *checked = &q->job->addr[q->job->at];
	struct addr a;
	(void)purpose;
	if (!q->robot->has_proxy) {
		if (!addr_from_sockaddr(&to->addr, to->addrlen, &a) ||
		    a.family != checked->family || memcmp(a.b, checked->b, addr_bytes(&a)) != 0 ||
		    policy_refuses(q->robot->parts.policy, &a)) {
			request_stop(q, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS);
			return CURL_SOCKET_BAD;
		}
	}
	q->robot->stats.connections++;
	return socket(to->family, to->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
}

/* Between what is noted down of a request and its first byte the system may have let others run:
 * where that may have been half a percent of the delay, it counts from here. */
void sent_by_now(struct robot *r, int64_t now_us)
{
	struct request *q = r->sending;
	r->sending = NULL;
	if (q && now_us - q->sent_us > MAX(SENT_LATE_US, q->job->rule.delay_us / 200))
		(void)!polite_sent(r->parts.polite, &q->job->lease, now_us);
}

/* Connected, and the request goes out next. Connecting takes its time, more with some than with
 * others: the delay must not count from before it. */
int answer_send(void *ctx, char *to, char *from, int to_port, int from_port)
{
	struct request *q = ctx;
	int64_t now_us = clock_mono_us();
	(void)to, (void)from, (void)to_port, (void)from_port;
	sent_by_now(q->robot, now_us);
	q->sent_us = now_us;
	q->robot->sending = q;
	if (polite_sent(q->robot->parts.polite, &q->job->lease, now_us) == 0)
		return CURL_PREREQFUNC_OK;
	request_stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
	return CURL_PREREQFUNC_ABORT;
}

/* The end of a request. */

struct robot_class answer_class(struct request *q, CURLcode code)
{
	const struct job *job = q->job;
	long status = 0;
	bool conditional = job->etag || job->last_modified;
	if (is_ftp(q)) {
		q->robot->curl.easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
		q->head.status = (int)status;
	}
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

/* The sink is told how it ended, and may have the last word. */
struct robot_class answer_end(struct request *q, struct robot_class class)
{
	bool complete = class.outcome == OUTCOME_OK;
	if (complete && feed_sink(q, STR("")) < 0) { /* an empty body is one, too */
		class = q->stop;
		complete = false;
	}
	if (q->sink_begun) {
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
	return class;
}
