/* Answers and their meaning. Callbacks of libcurl must not call its multi functions: they note
 * what is to be done, and end a transfer by returning another value than they were given. Three
 * tables say what an answer means for the URL, the site and the crawl. */
#include "fetch/robot/robot_inner.h"

#include "base/value.h"

#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

/* What an answer means. */

static const char *const cause_names[] = {
#define X(symbol, name) name,
	ROBOT_CAUSES(X)
#undef X
};

const char *robot_cause_name(enum robot_cause c)
{
	ENSURE((unsigned)c < ROBOT_NCAUSES);
	return cause_names[c];
}

/* Whether such an answer leads elsewhere. */
static bool robot_is_redirect(int status)
{
	return status == 300 || status == 301 || status == 302 || status == 303 || status == 307 ||
	       status == 308;
}

bool robot_obeys_retry(int status)
{
	return status == 429 || status == 503 || robot_is_redirect(status);
}

/* Single codes; the others go by their hundreds. 206 and 304 answer a question that was not asked,
 * and 101 offers what nobody wanted. */
static const struct {
	int status;
	struct robot_class class;
} by_status[] = {
	{101, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{206, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{304, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{408, {OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER}},
	{420, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER}},
	{425, {OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER}},
	{429, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER}},
	{503, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER}},
	{511, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER}},
};

static const struct {
	int below;
	struct robot_class class;
} by_hundred[] = {
	{200, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{300, {OUTCOME_OK, ROBOT_CAUSE_ANSWER}},
	{400, {OUTCOME_PERMANENT, ROBOT_CAUSE_NO_TARGET}},
	{500, {OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER}},
	{INT32_MAX, {OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER}},
};

struct robot_class robot_class_http(int status, bool conditional, bool has_target)
{
	size_t i = 0;
	if (status == 304 && conditional)
		return (struct robot_class){OUTCOME_UNCHANGED, ROBOT_CAUSE_ANSWER};
	if (robot_is_redirect(status) && has_target)
		return (struct robot_class){OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER};
	for (size_t k = 0; k < ARRAY_LEN(by_status); k++)
		if (by_status[k].status == status)
			return by_status[k].class;
	while (status >= by_hundred[i].below)
		i++;
	return by_hundred[i].class;
}

/* All other codes are temporary failures of this one URL. */
static const struct {
	CURLcode code;
	struct robot_class class;
} by_curl[] = {
	{CURLE_UNSUPPORTED_PROTOCOL, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}}, /* HTTP/0.9 */
	{CURLE_URL_MALFORMAT, {OUTCOME_PERMANENT, ROBOT_CAUSE_URL}},
	{CURLE_COULDNT_RESOLVE_PROXY, {OUTCOME_CANCELLED, ROBOT_CAUSE_PROXY}},
	{CURLE_COULDNT_RESOLVE_HOST, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_DNS}},
	{CURLE_COULDNT_CONNECT, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_CONNECT}},
	{CURLE_OPERATION_TIMEDOUT, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_CONNECT}},
	{CURLE_WEIRD_SERVER_REPLY, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{CURLE_REMOTE_ACCESS_DENIED, {OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER}},
	{CURLE_REMOTE_FILE_NOT_FOUND, {OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER}},
	{CURLE_FTP_COULDNT_RETR_FILE, {OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER}},
	{CURLE_LOGIN_DENIED, {OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_LOGIN}},
	{CURLE_BAD_FUNCTION_ARGUMENT, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}}, /* its fields */
	{CURLE_HTTP2, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{CURLE_HTTP2_STREAM, {OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL}},
	{CURLE_OUT_OF_MEMORY,
	 {OUTCOME_LIMIT, ROBOT_CAUSE_HEAD_LINE}}, /* a bound of libcurl's own */
	{CURLE_SSL_CONNECT_ERROR, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_TLS}},
	{CURLE_PEER_FAILED_VERIFICATION, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_TLS}},
	{CURLE_SSL_ISSUER_ERROR, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_TLS}},
	{CURLE_SSL_CERTPROBLEM, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_TLS}},
	{CURLE_SSL_CIPHER, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_TLS}},
	{CURLE_SSL_CACERT_BADFILE, {OUTCOME_CANCELLED, ROBOT_CAUSE_TLS}}, /* our own setting */
	{CURLE_BAD_CONTENT_ENCODING, {OUTCOME_TEMPORARY, ROBOT_CAUSE_CODING}},
	{CURLE_FILESIZE_EXCEEDED, {OUTCOME_LIMIT, ROBOT_CAUSE_BODY}},
	{CURLE_PROXY, {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_PROXY}},
};

/* A refusal for now has a code of 400 to 499, one that lasts 500 to 599 (RFC 959). 421: the server
 * closes, for everybody. */
static struct robot_class of_ftp_reply(struct robot_class class, int reply)
{
	bool site = outcome_is_site(class.outcome) || reply == 421;
	if (reply >= 400 && reply < 500)
		class.outcome = site ? OUTCOME_SITE_TEMPORARY : OUTCOME_TEMPORARY;
	else if (reply >= 500 && class.outcome == OUTCOME_TEMPORARY)
		class.outcome = OUTCOME_PERMANENT;
	return class;
}

struct robot_class robot_class_curl(CURLcode code, const char *words, int ftp_reply)
{
	struct robot_class class = {OUTCOME_TEMPORARY, ROBOT_CAUSE_CUT};
	/* libcurl has one number for chunks that are none and for connections that broke. */
	if (code == CURLE_RECV_ERROR && strstr(words, "chunk"))
		class.cause = ROBOT_CAUSE_PROTOCOL;
	for (size_t i = 0; i < ARRAY_LEN(by_curl); i++)
		if (by_curl[i].code == code)
			class = by_curl[i].class;
	return ftp_reply ? of_ftp_reply(class, ftp_reply) : class;
}

struct robot_class robot_class_dns(enum dns_outcome outcome)
{
	static const struct robot_class class[] = {
		[DNS_FOUND] = {OUTCOME_OK, ROBOT_CAUSE_ANSWER},
		[DNS_BAD_NAME] = {OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_NO_NAME},
		[DNS_NO_NAME] = {OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_NO_NAME},
		[DNS_NO_ADDRESS] = {OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_NO_NAME},
		[DNS_FAILED] = {OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_DNS},
		[DNS_BROKEN] = {OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_DNS},
		[DNS_REFUSED] = {OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS},
	};
	return class[outcome];
}

/* Callbacks. */

#define SENT_LATE_US (US_PER_MS / 10)

bool request_stop(struct request *q, enum outcome outcome, enum robot_cause cause)
{
	if (!q->is_stopped)
		q->stop = (struct robot_class){outcome, cause};
	q->is_stopped = true;
	return false;
}

/* The answer. Each returns the bytes it was given, or something else to end the transfer. */

static bool is_ftp(const struct request *q)
{
	return q->job->target.protocol == URL_FTP;
}

/* The last check of the address: the one that libcurl is really connected to. */
static bool check_address(struct request *q)
{
	const char *ip = NULL;
	if (q->address_checked || q->robot->has_proxy)
		return true;
	q->address_checked = true;
	q->robot->curl->easy_getinfo(q->easy, CURLINFO_PRIMARY_IP, &ip);
	return (ip && strcmp(ip, q->address) == 0) ||
	       request_stop(q, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS);
}

size_t answer_header(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	const struct robot_limits *limits = &q->job->limits;
	n *= size;
	q->head_bytes += n;
	if (!check_address(q))
		return 0;
	if (n > limits->head_line)
		return request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD_LINE);
	if (q->head_bytes > limits->head)
		return request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_HEAD);
	if (is_ftp(q))
		return n;
	robot_head_line(&q->head, (struct str){p, n});
	if (q->head.status == 101)
		return request_stop(q, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
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

/* A file that comes by ftp has no head: what the server said of it, before it sent it. */
static void describe_ftp(struct request *q)
{
	curl_off_t filetime = -1, length = -1;
	q->robot->curl->easy_getinfo(q->easy, CURLINFO_FILETIME_T, &filetime);
	q->robot->curl->easy_getinfo(q->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	if (filetime >= 0)
		time_print_http(filetime * US_PER_S, q->head.last_modified);
	if (length > 0)
		q->head.length = length;
}

static int feed_sink(struct request *q, struct str bytes)
{
	struct robot_sink *sink = q->job->sink;
	const char *mime = q->job->mime;
	int rc = 0;
	if (is_document(q) && mime && strcasecmp(mime, q->head.mime) != 0) {
		request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_MIME);
		return -1;
	}
	if (!sink || !is_document(q))
		return 0;
	if (!q->sink_begun) {
		if (is_ftp(q))
			describe_ftp(q);
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

/* Takes a decoded piece of the body. A result other than 0 ends the transfer. */
static int take_decoded(void *ctx, struct str bytes)
{
	struct request *q = ctx;
	for (size_t i = 0; q->size + i < sizeof q->first && i < bytes.n; i++)
		q->first[q->size + i] = (unsigned char)bytes.p[i];
	bool is_over = q->size + bytes.n > q->job->limits.body;
	if (is_over && !(q->job->flags & ROBOT_CUT))
		return !request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_BODY);
	q->size += bytes.n;
	q->is_hashing = true;
	digest_add(q->md5, bytes.p, bytes.n);
	if (!(q->job->flags & ROBOT_NO_SHA256))
		digest_add(q->sha256, bytes.p, bytes.n);
	if (feed_sink(q, bytes) < 0)
		return 1;
	if (is_over)
		request_stop(q, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
	return is_over;
}

/* The page around an error need not be readable for the error to count. */
static int stop_undecoded(struct request *q, enum robot_cause cause)
{
	return is_document(q) ? !request_stop(q, OUTCOME_TEMPORARY, cause)
			      : !request_stop(q, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
}

static int decode_body(struct request *q, struct str bytes)
{
	const struct buf *coding = &q->head.coding;
	/* libcurl is told to take no coding off but chunks */
	if (q->head.has_odd_transfer)
		return stop_undecoded(q, ROBOT_CAUSE_PROTOCOL);
	if (coding->over || (coding->n && q->packed == bytes.n &&
			     decoder_new(&q->decoder, buf_str(coding), q->job->limits.body) < 0))
		return stop_undecoded(q, ROBOT_CAUSE_CODING);
	if (!q->decoder)
		return take_decoded(q, bytes);
	int rc = decoder_feed(q->decoder, bytes, take_decoded, q);
	if (rc == DECODER_LARGE)
		request_stop(q, OUTCOME_LIMIT, ROBOT_CAUSE_BODY);
	return rc == DECODER_LARGE ? 1 : rc < 0 ? stop_undecoded(q, ROBOT_CAUSE_CODING) : rc;
}

size_t answer_body(char *p, size_t size, size_t n, void *ctx)
{
	struct request *q = ctx;
	n *= size;
	if (leads_elsewhere(q)) {
		q->size += n;
		return q->size <= ROBOT_REDIRECT_BODY
			       ? n
			       : request_stop(q, OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER);
	}
	q->packed += n;
	if (n && decode_body(q, (struct str){p, n}))
		return 0;
	/* libcurl would wait for the end of the connection */
	if (q->head.is_identity && (int64_t)q->packed == q->head.length)
		return request_stop(q, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
	return n;
}

bool robot_is_over(const struct robot *r)
{
	return r->until_us != INT64_MAX && clock_mono_us() > r->until_us;
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
	if (robot_is_over(q->robot)) {
		request_stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
		return CURL_SOCKET_BAD;
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
	if (q && now_us - q->sent_us > MAX(SENT_LATE_US, q->job->rule.delay_us / 200)) {
		(void)!polite_sent(r->parts.polite, &q->job->lease, now_us);
		q->sent_us = now_us;
	}
}

/* Connected, and the request goes out next. Connecting takes its time, more with some than with
 * others: the delay must not count from before it. */
int answer_send(void *ctx, char *to, char *from, int to_port, int from_port)
{
	struct request *q = ctx;
	int64_t now_us = clock_mono_us();
	(void)to, (void)from, (void)to_port, (void)from_port;
	sent_by_now(q->robot, now_us);
	if (polite_sent(q->robot->parts.polite, &q->job->lease, now_us) != 0 ||
	    robot_is_over(q->robot)) {
		request_stop(q, OUTCOME_CANCELLED, ROBOT_CAUSE_LEASE);
		return CURL_PREREQFUNC_ABORT;
	}
	q->sent_us = now_us;
	q->robot->sending = q;
	return CURL_PREREQFUNC_OK;
}

/* The end of a request. */

/* Whether more should have come by the body's own coding; what we did not want does not count. */
static bool is_cut(const struct request *q)
{
	return q->decoder && q->size <= q->job->limits.body && !decoder_is_whole(q->decoder);
}

static struct robot_class class_of_end(struct request *q, CURLcode code)
{
	const struct job *job = q->job;
	long status = 0;
	bool conditional = job->etag || job->last_modified;
	if (is_ftp(q)) {
		q->robot->curl->easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
		q->head.status = (int)status;
	}
	if (q->is_stopped && q->stop.outcome != OUTCOME_OK)
		return q->stop;
	if (code == CURLE_BAD_CONTENT_ENCODING && q->head.has_odd_transfer)
		return (struct robot_class){OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL};
	if (code != CURLE_OK && !q->is_stopped)
		return robot_class_curl(code, q->words, is_ftp(q) ? (int)status : 0);
	if (is_document(q) && is_cut(q))
		return (struct robot_class){OUTCOME_TEMPORARY, ROBOT_CAUSE_CODING_CUT};
	if (is_ftp(q)) {
		long unmet = 0;
		q->robot->curl->easy_getinfo(q->easy, CURLINFO_CONDITION_UNMET, &unmet);
		return (struct robot_class){unmet ? OUTCOME_UNCHANGED : OUTCOME_OK,
					    ROBOT_CAUSE_ANSWER};
	}
	return robot_class_http(q->head.status, conditional, q->head.has_location);
}

/* Where libcurl knows only that we did not want more, in our own words. */
static void say_why(struct request *q, enum robot_cause cause)
{
	char shown[VALUE_SHOWN];
	const char *coding = value_show(buf_str(&q->head.coding), shown);
	if (cause == ROBOT_CAUSE_BODY)
		snprintf(q->words, sizeof q->words, "larger than %llu bytes%s, see robot.body_max",
			 (unsigned long long)q->job->limits.body, q->decoder ? " unpacked" : "");
	else if (cause == ROBOT_CAUSE_MIME)
		snprintf(q->words, sizeof q->words, "is %s",
			 q->head.mime[0] ? q->head.mime : "of no type");
	else if (cause == ROBOT_CAUSE_CODING)
		snprintf(q->words, sizeof q->words, "not what its coding (%s) makes", coding);
	else if (cause == ROBOT_CAUSE_CODING_CUT)
		snprintf(q->words, sizeof q->words, "ends before its coding (%s) does", coding);
}

struct robot_class answer_class(struct request *q, CURLcode code)
{
	struct robot_class class = class_of_end(q, code);
	say_why(q, class.cause);
	return class;
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

/* Ends the sink, which may still fail. */
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
