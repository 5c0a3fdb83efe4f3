/* What an answer, or the lack of one, means for whoever asked. */
#pragma once
#include "fetch/curl_lib.h"
#include "fetch/robot.h"

struct robot_class {
	enum outcome outcome;
	enum robot_cause cause;
};

/* Of a complete answer over http. conditional: it was asked with validators; has_target: with a
 * Location. */
struct robot_class robot_class_http(int status, bool conditional, bool has_target);
/* Of a failed transfer. words: libcurl's own; ftp_reply: the last reply of an ftp server, 0 for
 * http. */
struct robot_class robot_class_curl(CURLcode code, const char *words, int ftp_reply);
/* Of a name that gave no address. */
struct robot_class robot_class_dns(enum dns_outcome outcome);
/* Whether such an answer leads elsewhere. */
bool robot_is_redirect(int status);
/* Whether a Retry-After means something there (RFC 9110, 10.2.3; RFC 6585, 4): some servers send it
 * with everything, and a 404 is no wish to be left alone. */
bool robot_obeys_retry(int status);
