#include "fetch/robot_class.h"

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

bool robot_is_redirect(int status)
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

/* What is not here is trouble of this one URL for now. */
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
		[DNS_REFUSED] = {OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS},
	};
	return class[outcome];
}
