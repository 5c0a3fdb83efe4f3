/* The role `uns`: settings, counters, threads, and the order in which they begin and end. */
#include "cache/uns.h"

#include "base/endpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "cache/uns/uns_inner.h"
#include "net/net_section.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
	LINK_MEMORY = 256 << 20,
	SPOOL_BUDGET = 64 << 20, /* bytes of notices that wait for the disk */
	DISK_THREADS = 3,        /* unsdb in and out, and what is read of sets, take one each */
};

#define S struct uns_conf

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(S, listen), .fallback = "127.0.0.1:8194", .moves = "net.port",
	 .help = "where providers connect: an address with a port, or unix:PATH"},
	{"plain", VALUE_BOOL_AT(S, plain), .fallback = "no",
	 .help = "allow other machines to connect without TLS, which sends their passwords in the "
		 "clear"},
	{"qm", VALUE_TEXT_AT(S, qm), .fallback = "127.0.0.1:8192", .moves = "net.port",
	 .help = "address of the queue manager"},
	{"set_max", VALUE_INT_AT(S, set_max), .fallback = "10000000", .min = 1, .max = 1e12,
	 .help = "maximum number of URLs in one set, including invalid ones"},
	{"set_bytes", VALUE_SIZE_AT(S, set_bytes), .fallback = "4G", .min = 65536, .max = INFINITY,
	 .help = "maximum size of one set, in bytes"},
	{"set_time", VALUE_TIME_AT(S, set_us), .fallback = "6h", .min = 0, .max = INFINITY,
	 .help = "time within which a set must arrive; 0: no limit"},
	{"unsdb_max", VALUE_SIZE_AT(S, unsdb_max), .fallback = "1G", .min = 0, .max = INFINITY,
	 .help = "size of the sets waiting for the queue manager above which sets are refused"},
	DRAIN_SPEC(S, drain_us, "5s"),
	SERVER_LIMITS_AT(S, limits),
	TLS_SPECS_FROM(S, tls, NULL, "net.tls_cert", "net.tls_key", NULL),
	{"qm_tls_shared_key", VALUE_PATH_AT(S, tls_qm.shared_key),
	 .help = "the connection to the queue manager is encrypted by the key in this file, as "
		 "tls_shared_key",
	 .inherits = "net.tls_shared_key"},
	{"qm_tls_cert", VALUE_PATH_AT(S, tls_qm.cert),
	 .help = "our certificate for the queue manager, as tls_cert", .inherits = "net.tls_cert"},
	{"qm_tls_key", VALUE_PATH_AT(S, tls_qm.key), .help = "the key of qm_tls_cert, as tls_key",
	 .inherits = "net.tls_key"},
	{"qm_tls_ca", VALUE_PATH_AT(S, tls_qm.ca),
	 .help = "who may vouch for the queue manager, as tls_ca", .inherits = "net.tls_ca"},
};

const struct config_section uns_section = {
	.name = ROLE,
	.help = "The update notification server: providers tell it what has changed.",
	.size = sizeof(S),
	.several = true,
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct uns_now {
	struct uns_counts sessions;
	struct uns_out_counts out;
	struct server_stats server;
	uint64_t spooling; /* bytes */
};

#define COUNTED(member) COUNTER_AT(struct uns_now, member)
static const struct counter_def counter_defs[] = {
	{"sessions", NULL, COUNTER_TOTAL, "Providers that were let in.",
	 COUNTED(sessions.sessions)},
	{"refused_logins", NULL, COUNTER_TOTAL, "Providers that were not.",
	 COUNTED(sessions.refused_logins)},
	{"sets", NULL, COUNTER_TOTAL, "Sets that were accepted.", COUNTED(sessions.sets)},
	{"refused_sets", NULL, COUNTER_TOTAL, "Sets that were rejected.",
	 COUNTED(sessions.refused_sets)},
	{"urls", NULL, COUNTER_TOTAL, "URLs of sets that were right.", COUNTED(sessions.urls)},
	{"wrong_urls", NULL, COUNTER_TOTAL, "URLs of sets in error.", COUNTED(sessions.wrong_urls)},
	{"receipts", NULL, COUNTER_TOTAL, "Sets whose receipts were asked for.",
	 COUNTED(sessions.receipts)},
	{"passed_sets", NULL, COUNTER_TOTAL, "Sets that went straight to the queue manager.",
	 COUNTED(out.passed)},
	{"stored_sets", NULL, COUNTER_TOTAL, "Sets that went into unsdb.", COUNTED(out.stored)},
	{"drained_sets", NULL, COUNTER_TOTAL, "Sets that the queue manager took out of unsdb.",
	 COUNTED(out.drained)},
	{"unstorable_sets", NULL, COUNTER_TOTAL,
	 "Sets that could not be written to unsdb, and were rejected.", COUNTED(out.failed)},
	{"accepted", NULL, COUNTER_TOTAL, "Connections that came in.",
	 COUNTED(server.listeners.accepted)},
	{"refused", NULL, COUNTER_TOTAL, "Connections that were one too many.",
	 COUNTED(server.listeners.refused)},
	{"connections", NULL, COUNTER_GAUGE, "Connections now.", COUNTED(server.inside)},
	{"waiting_sets", NULL, COUNTER_GAUGE, "Sets that are whole and not on disk yet.",
	 COUNTED(out.waiting)},
	{"spooling_bytes", NULL, COUNTER_GAUGE, "Bytes of sets that wait to be written.",
	 COUNTED(spooling)},
	{"unsdb_bytes", NULL, COUNTER_GAUGE, "Bytes of unsdb.", COUNTED(out.unsdb_bytes)},
	{"unsdb_sets", NULL, COUNTER_GAUGE, "Sets that wait in unsdb.", COUNTED(out.unsdb_sets)},
	{"queue_manager", NULL, COUNTER_GAUGE, "1: the queue manager takes sets.",
	 COUNTED(out.is_here)},
};

/* Settings. */

static int check_plain(bool is_plain, const struct tls *tls, const struct sockaddr *at, size_t n,
		       const char *name, struct err *err)
{
	if (is_plain || tls || tls_trusts(NULL, at, n))
		return 0;
	return err_set(err, ERR_USAGE,
		       "listen: other machines reach %s, and would say their passwords for anyone "
		       "to hear: set tls_cert and tls_key, or tls_shared_key; or plain = yes where "
		       "nobody listens",
		       name);
}

static int check_listen(const struct uns_conf *conf, struct err *err)
{
	struct tls *tls = NULL;
	struct endpoint at;
	int rc = MIN(tls_new(&tls, &conf->tls, true, err), 0);
	if (rc == 0 && conf->listen && conf->listen[0]) {
		rc = endpoint_parse(str_of(conf->listen), &at, err);
		if (rc == 0)
			rc = check_plain(conf->plain, tls, &at.any, at.len, conf->listen, err);
	}
	tls_free(&tls);
	return rc;
}

static int uns_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct uns_conf *conf = config_get(config, of);
	struct tls *tls = NULL;
	int rc = check_listen(conf, err);
	if (rc == 0)
		rc = MIN(tls_new(&tls, &conf->tls_qm, false, err), 0);
	if (rc == 0 && outgoing_may_connect(conf->qm, "", tls, err) < 0)
		rc = err_in(err, "qm");
	tls_free(&tls);
	return rc < 0 ? err_in(err, "%s", of->name) : 0;
}

/* Telling. */

static void disk_look(struct uns *u)
{
	uint64_t left;
	struct err err;
	if (file_space(u->folder, &left, NULL, &err) == 0)
		u->disk_is_full = left < u->role.env->disk_free;
}

static void tell_counters(void *ctx)
{
	struct uns *u = ctx;
	struct uns_now now = {.sessions = u->counts, .spooling = uns_spools_held(u->spools)};
	disk_look(u);
	if (u->disk_is_full)
		uns_sessions_look(u);
	uns_out_counts(u->out, &now.out);
	server_stats(u->server, &now.server);
	role_loop_tell_of(&u->role, &now,
			  "%" PRIu64 " connections, %" PRIu64 " sets accepted, %" PRIu64
			  " in unsdb%s",
			  now.server.inside, now.sessions.sets, now.out.unsdb_sets,
			  now.out.is_here ? "" : ", no queue manager");
}

static void role_drained(void *ctx)
{
	struct uns *u = ctx;
	loop_stop(u->role.loop);
}

static void role_drain(void *ctx)
{
	struct uns *u = ctx;
	if (u->is_ending)
		return;
	u->is_draining = true;
	uns_sessions_look(u);
	server_drain(u->server, u->conf->drain_us, role_drained, u);
}

/* Beginning. */

/* A file of this instance: the second one's is cache/unsdb@2. */
static void file_of(const struct uns *u, const char *name, char ret[PATH_MAX])
{
	const char *instance = strchr(u->role.env->name, '@');
	snprintf(ret, PATH_MAX, "%.*s/%s%s", PATH_MAX - 64, u->folder, name,
		 instance ? instance : "");
}

static int listen_make(struct uns *u, int *ret_fd, struct err *err)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;
	int fd = role_fd(u->role.env, "listen");
	if (fd < 0)
		return err_set(err, ERR_USAGE, "%s.listen is empty: there is nothing to do",
			       u->role.env->name);
	if (tls_new(&u->role.tls, &u->conf->tls, true, err) < 0 ||
	    tls_new(&u->role.tls_out, &u->conf->tls_qm, false, err) < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return err_sys(err, "cannot tell where it listens");
	*ret_fd = fd;
	return check_plain(u->conf->plain, u->role.tls, (struct sockaddr *)&at, n, u->conf->listen,
			   err);
}

static int pools_make(struct uns *u, struct err *err)
{
	const struct pool_options disk = {.threads = DISK_THREADS};
	const struct pool_options one = {.threads = 1};
	return pool_new(&u->disk, &disk, err) < 0 || pool_new(&u->hashes, &one, err) < 0 ||
			       pool_new(&u->reads, &one, err) < 0
		       ? -1
		       : 0;
}

/* Where the file system has no files without a name, a kill may have left some with one. */
static int spools_make(struct uns *u, struct err *err)
{
	char folder[PATH_MAX], path[PATH_MAX + 256];
	const char *name;
	struct dir left;
	file_of(u, "spool", folder);
	if (dir_make(folder, DIR_MODE, err) < 0 || dir_init_own(&left, folder, err) < 0)
		return -1;
	int rc = 0;
	while (rc == 0 && dir_next(&left, &name) == 0) {
		snprintf(path, sizeof path, "%s/%s", folder, name);
		rc = MIN(file_remove(path, err), 0);
	}
	dir_done(&left);
	u->spools = uns_spools_new(folder, SPOOL_BUDGET);
	return rc;
}

static int uns_make(struct uns *u, struct err *err)
{
	uint64_t has, wants;
	int fd = -1;
	if (listen_make(u, &fd, err) < 0 ||
	    file_below(u->role.env->data, "cache", u->folder, err) < 0 ||
	    dir_make(u->folder, DIR_MODE, err) < 0 || role_loop_open(&u->role, err) < 0 ||
	    pools_make(u, err) < 0 || pidb_open(&u->pidb, u->folder, err) < 0)
		return -1;
	/* each session may have a spool */
	if (listener_make_room(2 * u->conf->limits.max_connections, &has, &wants) != 0)
		log_warn(ROLE, "too few file descriptors", KV_UINT("has", has),
			 KV_UINT("wants", wants));
	u->login = login_new(u->pidb);
	u->conns = conn_pool_new(u->role.loop, LINK_MEMORY);
	disk_look(u);
	file_of(u, "unsdb", u->unsdb);
	if (spools_make(u, err) < 0 || uns_out_new(&u->out, u, err) < 0)
		return -1;
	u->server = server_new(u->role.loop, &uns_protocol, &u->conf->limits, u->role.tls, u);
	return server_listen(u->server, fd, err);
}

/* Connections first; then sets that wait, and then the threads of sessions, which hear of these,
 * before anything goes that they use. */
static void uns_end(struct uns *u)
{
	u->is_ending = true;
	server_free(&u->server);
	uns_out_stop(u->out);
	pool_free(&u->disk);
	if (u->role.loop)
		loop_poll(u->role.loop);
	uns_out_end(u->out);
	uns_sessions_end(u);
	pool_free(&u->hashes);
	pool_free(&u->reads);
	uns_out_free(&u->out);
	uns_spools_free(&u->spools);
	conn_pool_free(&u->conns);
	login_free(&u->login);
	db_close(&u->db);
	pidb_close(&u->pidb);
	role_loop_close(&u->role);
}

static int uns_run(struct role_env *env, struct err *err)
{
	struct uns u = {
		.role = {.env = env, .tell = tell_counters, .drain = role_drain, .ctx = &u},
		.conf = config_get(env->config, &uns_section),
		.cache = config_get(env->config, &cache_section),
	};
	list_init(&u.sessions);
	int rc = uns_make(&u, err);
	if (rc == 0)
		rc = role_loop_run(&u.role, err);
	uns_end(&u);
	return rc;
}

const struct role uns_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "hear from providers what has changed",
	.description =
		"The update notification server: providers (garner provider) connect to it, say "
		"who "
		"they are, hear what became of what they said before, and send a set of URLs that "
		"are new, changed or gone. A set is accepted when the queue manager (the role qm) "
		"has it on disk; while that is away, sets are kept in cache/unsdb. "
		"doc/protocols/lococa.md has the protocol.",
	.section = &uns_section,
	.counters = counter_defs,
	.ncounters = ARRAY_LEN(counter_defs),
	.check = uns_check,
	.run = uns_run,
};
