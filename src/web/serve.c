/* What the roles that serve HTTP share: the socket, the log of requests, readiness, and the end on
 * a signal. */
#include "web/serve.h"

#include "base/log.h"
#include "net/listener.h"
#include "role/notify.h"

#include <signal.h>

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

int web_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	      struct err *err)
{
	struct http_options options = *with;
	struct http_server *server;
	options.listen_fd = role_fd(env, "listen");
	options.names = *web_names(env->config);
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
