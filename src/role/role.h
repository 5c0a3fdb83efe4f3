/* Roles: what `garner ROLE` runs in the foreground and `garner up` supervises. A room defines a
 * `const struct role`, src/cmd/roles.c lists it; that is all it takes.
 * Before run() is called: the configuration is loaded, the instance lock is taken, the counters are
 * open, every setting of type VALUE_LISTEN or VALUE_UDP is a socket (inherited or our own), and
 * SIGTERM, SIGINT and SIGHUP are blocked, for the role's loop to own. */
#pragma once
#include "role/config.h"
#include "role/counters.h"

struct role_socket {
	const char *key; /* the name of the setting */
	int fd;          /* -1: the setting is empty */
};

struct role_env {
	const struct role *role;
	const char *name; /* of this process: the role's, or "bot@2" where it runs several times */
	const struct config *config;
	const char *data;   /* the data directory, absolute */
	uint64_t disk_free; /* bytes that must be free there for anything new to be fetched */
	struct counters *counters;
	struct role_socket *socket;
	size_t nsockets;
	/* Reads the configuration again, as the start did; the caller frees it. */
	int (*load)(const struct role_env *env, struct config **ret, struct err *err);
	const void *load_ctx; /* load()'s own */
	bool supervised;      /* by garner up, which starts it again when it ends */
};

/* An option of `garner ROLE` that is short for a setting: --name, or -name as the old programs had
 * it. */
struct role_flag {
	const char *name;
	const char *set; /* "SECTION.KEY=VALUE", as after -s */
	const char *help;
};

struct role_said {
	const struct config_said *said;
	size_t n;
};

/* A file that `garner ROLE FILE` may be given, as the old programs were: what it says are settings,
 * over those of the configuration and below -s. */
struct role_file {
	const char *arg;  /* "CONF", for help */
	const char *help; /* one sentence */
	/* Reads it into the arena. before: what holds without it. Each line of `warnings` is one.
	 * ERR_USAGE: err names the file and the line. */
	int (*read)(const char *path, const struct config *before, struct arena *arena,
		    struct role_said *ret, struct buf *warnings, struct err *err);
};

struct role {
	const char *name;
	bool old_name;       /* a program was called so before garner: make install links it */
	bool only_named;     /* garner up runs it only where up.roles names it */
	const char *apart;   /* a role that must have another data directory; NULL: none */
	const char *summary; /* one line for help */
	const char *description;
	/* "archie": it also listens on the Unix socket run/archie, for other roles and programs of
	 * this machine: role_fd(env, "run"). Anyone who can enter run/ can connect. NULL: it has
	 * none.
	 */
	const char *run_socket;
	const char *scheme; /* "http": a person looks at scheme://ADDRESS/; NULL: not for people */
	/* NULL: no settings. Where it has `several`, the role may run several times. */
	const struct config_section *section;
	/* "daemons": the setting, a number, of how many processes of it garner up runs where
	 * up.roles names it once: ROLE@1, ROLE@2 ... Those whose VALUE_UDP setting is the same have
	 * each a socket at that address, and all packets of a client come to the same one. NULL:
	 * one process. */
	const char *processes;
	const struct role_flag *flags;
	size_t nflags;
	const struct role_file *file; /* NULL: it takes none */
	const struct counter_def *counters;
	size_t ncounters;
	/* What the types of its settings cannot say: keys, who could connect, whom it connects to;
	 * of the section, or of one of its instances. Asked by garner config check, and before each
	 * start. ERR_USAGE names the section and the key. NULL: nothing. */
	int (*check)(const struct config *config, const struct config_section *section,
		     struct err *err);
	/* Calls notify_send("READY=1") once it serves; drains and returns 0 on SIGTERM, SIGINT. */
	int (*run)(struct role_env *env, struct err *err);
};

/* The socket of a VALUE_LISTEN or VALUE_UDP setting, -1 when it is empty. */
static inline int role_fd(const struct role_env *env, const char *key)
{
	for (size_t i = 0; i < env->nsockets; i++)
		if (strcmp(env->socket[i].key, key) == 0)
			return env->socket[i].fd;
	die("role %s asked for the socket of '%s', which is not one of its settings",
	    env->role->name, key);
}
