/* The role `rs`: the registration server of the cache, served and dressed as the pages of web are.
 */
#include "cmd/cache/role_rs.h"

#include "cache/rs.h"
#include "net/layout.h"
#include "net/serve.h"

static int run(struct role_env *env, struct err *err)
{
	static const struct rs_frame frame = {http_serve, layout_style};
	return rs_run(env, &frame, err);
}

const struct role rs_role = {
	.name = "rs",
	.only_named = true,
	.summary = "register providers of the content cache",
	.description =
		"Serves the pages and the interface by which owners of sites become providers: "
		"they register, put a secret into a file on their site, which is fetched at once, "
		"and may then say what changed (garner provider send, to the role uns). On their "
		"own page they set hours and bandwidth, see what was fetched and what will be, and "
		"the receipt of each URL.\n\n"
		"It listens on the loopback address unless told otherwise. Names, settings of "
		"connections and the way it ends are as those of the role web; it answers to "
		"web.url and web.names. Beyond this machine it belongs after a proxy that speaks "
		"TLS, since passwords go through it; all clients have the proxy's address then, "
		"which rs.registers_per_day has to allow for.",
	.scheme = "http",
	.section = &rs_section,
	.counters = rs_counters,
	.ncounters = RS_NCOUNTERS,
	.check = rs_conf_check,
	.run = run,
};
