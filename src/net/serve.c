/* Shared by all roles that serve HTTP: the socket, the request log, readiness, and the end on a
 * signal. */
#include "net/serve.h"

#include "base/log.h"
#include "net/listener.h"
#include "net/net_section.h"
#include "role/notify.h"

#include <signal.h>
#include <unistd.h>

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct web_conf, listen), .fallback = "127.0.0.1:8080",
	 .moves = "net.port", .help = "Where pages and the JSON interface are served"},
	HTTP_NAME_SPECS(struct web_conf, names),
	ACCESS_LOG_SPEC(struct web_conf, access_log),
	{"max_listeners", VALUE_INT_AT(struct web_conf, max_listeners), .fallback = "1000",
	 .min = 1, .max = 100000, .help = "Open event streams; more are refused with 503"},
	DRAIN_SPEC(struct web_conf, drain_us, "5s"),
	HTTP_LIMIT_SPECS(struct web_conf, http),
};

const struct config_section web_section = {
	.name = "web",
	.help = "Pages, the JSON interface, metrics.",
	.size = sizeof(struct web_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

void web_base(const struct config *config, struct buf *out)
{
	static const char *const any[] = {"*:", "0.0.0.0:", "[::]:"};
	const struct web_conf *conf = config_get(config, &web_section);
	struct str url = str_of(conf->names.url), at = str_of(conf->listen);
	char host[256] = "localhost";
	if (url.n) {
		while (str_ends(url, STR("/")))
			url.n--;
		buf_add_str(out, url);
		return;
	}
	buf_add_text(out, "http://");
	if (at.n == 0 || str_starts(at, STR("unix:")) || str_ends(at, STR(":0"))) {
		buf_add_text(out, host);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(any); i++)
		if (str_starts(at, str_of(any[i]))) {
			(void)gethostname(host, sizeof host - 1);
			buf_printf(out, "%s:", host);
			at = str_from(at, strlen(any[i]));
		}
	buf_add_str(out, at);
}

static void log_request(void *ctx, const struct http_done *d)
{
	(void)ctx;
	if (d->fault)
		log_error(HTTP, d->fault, KV_TEXT("method", d->method), KV_STR("path", d->path),
			  KV_INT("status", d->status));
	else
		log_info(HTTP, d->whole ? "request" : "request broken off",
			 KV_TEXT("method", d->method), KV_STR("path", d->path),
			 KV_INT("status", d->status), KV_UINT("bytes", d->bytes),
			 KV_INT("us", d->took_us), KV_TEXT("address", d->address));
}

static void raise_limit(int64_t connections)
{
	uint64_t has, wants;
	if (listener_make_room(connections, &has, &wants) > 0)
		log_warn(HTTP, "too few descriptors for max_connections; raise LimitNOFILE",
			 KV_UINT("descriptors", has), KV_UINT("wanted", wants));
}

static void wait_for_end(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	while (sigwaitinfo(&set, NULL) < 0)
		;
}

int http_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	       struct err *err)
{
	const struct web_conf *web = config_get(env->config, &web_section);
	struct http_options options = *with;
	struct http_server *server;
	options.listen_fd = role_fd(env, "listen");
	options.names = web->names;
	options.counters = env->counters;
	options.log_all |= log_debugs(LOG_HTTP, 1);
	options.done = log_request;
	if (options.listen_fd < 0)
		return err_set(err, ERR_USAGE, "%s.listen is empty: say where to serve",
			       env->role->name);
	raise_limit(options.limits.max_connections);
	if (http_server_start(&server, &options, err) < 0)
		return -1;
	notify_send("READY=1\nSTATUS=serving");
	wait_for_end();
	notify_send("STOPPING=1");
	http_server_stop(&server, drain_us);
	return 0;
}
