/* Endpoints: where to listen or connect, in text: "127.0.0.1:8080", "[::1]:8080", "*:80",
 * "unix:/path". */
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	};
	socklen_t len;
	bool both;               /* "*": IPv6 and IPv4 */
	char scope[IF_NAMESIZE]; /* of "[fe80::1%eth0]", "" for none */
};

/* Looks at the form alone. */
int endpoint_parse(struct str text, struct endpoint *ret, struct err *err);
/* The other form, of datagrams: "udp:127.0.0.1:1525", "udp:[::1]:1525", "udp:*:1525". */
int endpoint_parse_udp(struct str text, struct endpoint *ret, struct err *err);
/* Whether a text is of that form, or would be. */
bool endpoint_is_udp(struct str text);
