/* The settings that listeners share, from the tables of their users: line servers, HTTP servers,
 * and TLS below both. Those tables inherit from this section, which inherits from none. Where a
 * role has its own default, that is used until a value is set here: a value here is meant for all
 * listeners, and a role's own section can still override it. */
#include "net/net_section.h"

#include "net/http.h"
#include "net/server.h"
#include "net/tls.h"

#define S struct net_conf

struct net_conf {
	int64_t port, drain_us;
	bool access_log;
	struct server_limits limits;
	struct http_limits http;
	struct tls_conf tls;
};

static const char *const any_port[] = {"0", NULL};

static const struct value_spec specs[] = {
	{"port", VALUE_INT_AT(S, port), "8080", 7600, 65000, .words = any_port,
	 .help = "Port of the role web. All other default ports keep their distance to it, also "
		 "those "
		 "that roles connect to: a second garner needs this and another data directory. "
		 "Addresses that are set do not move. 0: listeners without an address take free "
		 "ports, and the addresses of peers have to be set"},
	DRAIN_SPEC(S, drain_us, "5s"),
	ACCESS_LOG_SPEC(S, access_log),
	SERVER_LIMITS_AT(S, limits),
	HTTP_OWN_SPECS(S, http),
	TLS_SPECS(S, tls),
};

const struct config_section net_section = {
	.name = "net",
	.help = "Settings that all listeners share. A role makes an exception with the same key in "
		"its "
		"own section: [uns] idle. tls_shared_key and tls_ca apply to links between roles, "
		"not to providers at uns.listen; nothing here applies to [provider].",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};
