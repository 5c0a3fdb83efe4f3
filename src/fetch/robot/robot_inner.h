/* Inside the robot: jobs (robot.c) and the requests that they make (robot_transfer.c). */
#pragma once
#include "base/hash.h"
#include "base/list.h"
#include "fetch/robot.h"
#include "fetch/robot/decoder.h"
#include "fetch/robots_cache.h"
#include "net/curl.h"
#include "net/loop.h"

enum {
	ROBOT_ADDRESSES = 3,            /* of one host that are tried */
	ROBOT_REDIRECT_BODY = 64 << 10, /* of a redirect: read for the connection's sake */
	ROBOT_BUFFER = (32 << 10) - 1,  /* of libcurl, for each request; it adds a byte */
};

/* What an answer, or the lack of one, means for the caller (robot_answer.c); of a
 * name without address robot_class_dns() says it. */

/* Of a complete answer over http. conditional: it was asked with validators; has_target: with a
 * Location. */
struct robot_class robot_class_http(int status, bool conditional, bool has_target);
/* Of a failed transfer. words: libcurl's own; ftp_reply: the last reply of an ftp server, 0 for
 * http. */
struct robot_class robot_class_curl(CURLcode code, const char *words, int ftp_reply);

/* A URL as it is asked for: without fragment, user name and password. */
struct target {
	char *text;
	size_t n;
	struct str host; /* slices of text */
	struct str path; /* and query */
	enum url_protocol protocol;
	enum url_host_kind host_kind;
	uint16_t port;
};

struct job {
	struct robot *robot;
	struct link link;   /* all jobs */
	struct link queued; /* not begun, or waiting for a free request */
	robot_done_fn *done;
	void *ctx;
	struct target target;
	char *etag, *last_modified; /* NULL: none */
	char *mime, *within;        /* the same */
	struct robot_limits limits;
	struct polite_rule rule;
	bool has_rule;               /* of its own */
	struct addr address;         /* the only one of own_host; family 0: as DNS says */
	char *own_host;              /* with an address: the host of the first hop; else NULL */
	struct robot_handle *handle; /* its owner's; NULL: none */
	struct robot_sink *sink;
	unsigned flags, redirects;
	struct addr addr[ROBOT_ADDRESSES];
	size_t naddrs, at; /* the one that is in use */
	struct dns_wait dns;
	struct robots_wait robots;
	struct loop_timer timer; /* waits for politeness */
	int64_t patience_us;
	struct lease lease;
	int64_t begun_us, hop_us, resolve_us;
	struct request *request; /* NULL: none is under way */
};

/* libcurl walks all kept connections of a multi handle once a second, and finds one among them by a
 * table that does not grow. So there are several, and a server's requests all go to the same. */
struct shard {
	struct robot *robot;
	CURLM *multi;
	struct loop_timer timer; /* when libcurl wants to be called */
};

/* One request: a handle of libcurl and what belongs to it, used again and again. */
struct request {
	struct robot *robot;
	struct link link; /* those under way, or free ones */
	struct job *job;
	struct shard *shard;
	CURL *easy; /* made for each */
	struct robot_head head;
	struct digest *md5, *sha256;
	struct curl_slist to, none_match, modified_since, closing;
	char to_text[ADDR_SHOWN + 8], address[ADDR_SHOWN];
	char none_match_text[ROBOT_ETAG_MAX + 32], modified_since_text[ROBOT_DATE_MAX + 32];
	char words[CURL_ERROR_SIZE];
	int64_t started_us, active_us, renewed_us, wall_us;
	int64_t sent_us;                               /* when it was let go; 0: it was not */
	uint64_t head_bytes, packed, size, wire_limit; /* packed: the body as it came */
	struct decoder *decoder;                       /* NULL: there is nothing to take off */
	unsigned char first[4];                        /* of the body */
	bool is_hashing;                               /* the digests have begun */
	bool is_stopped;                               /* by us, for `stop` */
	struct robot_class stop;
	struct err sink_err;
	bool address_checked, sink_begun, sink_failed;
};

/* A socket of libcurl's on the loop. */
struct sock {
	struct robot *robot;
	struct shard *shard;
	struct request *request;
	struct link link; /* all, or free ones */
	struct loop_io io;
	int fd;
	unsigned events;
	bool is_kept;
	uint64_t wire_base; /* bytes that had come before */
};

struct robot {
	struct robot_parts parts;
	struct robot_conf conf;
	const struct curl_lib *curl;
	struct shard *shard;
	size_t nshards;
	CURL *model; /* what all handles are copied from */
	char *agent; /* the product token */
	char *user_agent;
	bool has_proxy, closing;
	int64_t until_us; /* robot_until() */
	struct link jobs;
	struct link fresh, ready; /* jobs: not begun; waiting for a free request */
	struct link active, free_requests;
	struct request
		*sending; /* the last one that was let go; it has gone when libcurl comes back */
	struct link socks, free_socks; /* all, spare ones */
	struct sock **sock_of;         /* by descriptor */
	size_t nsocks;
	struct loop_later later; /* fresh jobs */
	struct loop_timer more;  /* those of them that are left for the next round */
	struct loop_timer tick, sync;
	struct robot_stats stats;
	char room[URL_TEXT_MAX * 3 + 64];
};

/* robot_answer.c */
size_t answer_header(char *p, size_t size, size_t n, void *request);
size_t answer_body(char *p, size_t size, size_t n, void *request);
curl_socket_t answer_socket(void *request, curlsocktype purpose, struct curl_sockaddr *to);
int answer_send(void *request, char *to, char *from, int to_port, int from_port);
/* Whether robot_until() is over. */
bool robot_is_over(const struct robot *r);
/* What was let go last is on its way by now. */
void sent_by_now(struct robot *r, int64_t now_us);
/* It is to end, for this; the first reason counts. Always false, which is also the 0 that ends a
 * transfer when a callback of libcurl returns it. */
bool request_stop(struct request *q, enum outcome outcome, enum robot_cause cause);
/* What the end of a transfer means; before the handle is taken from libcurl's list, and after. */
struct robot_class answer_class(struct request *q, CURLcode code);
struct robot_class answer_end(struct request *q, struct robot_class class);

/* robot_transfer.c */
int transfers_new(struct robot *r, struct err *err);
void transfers_free(struct robot *r);
/* Begins the job's request; its lease is held. request_ended() will be called, never from here. */
void request_start(struct job *job);
/* Ends a request without a word. */
void request_drop(struct request *q);
/* Whether more bytes than the limit have come over a connection since it had brought `base`. false
 * where nobody can tell. */
bool robot_wire_is_over(int fd, uint64_t base, uint64_t limit);
/* After the end, when nothing more is to be known of it. */
void request_release(struct request *q);

/* robot.c: a request is over, with a lease that is still to be given back. */
void request_ended(struct request *q, struct robot_class class);
