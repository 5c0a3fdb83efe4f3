/* The frame of every role: configuration, instance lock, counters, listening sockets, signals. */
#include "cmd/system/role_main.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "disk/lock.h"
#include "disk/tree.h"
#include "role/listen.h"
#include "role/notify.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_listen(const struct value_spec *spec)
{
	return spec->type == VALUE_LISTEN || spec->type == VALUE_UDP;
}

size_t role_listens(const struct role *role, const char *name, const struct config *config,
		    struct role_listen ret[ROLE_MOST_LISTENS])
{
	size_t n = 0;
	if (role->run_socket)
		ret[n++] = (struct role_listen){"run", role->run_socket, true};
	if (!role->section)
		return n;
	const char *base = config_get(config, config_instance(config, role->section, name)), *text;
	for (size_t i = 0; i < role->section->nspecs; i++) {
		const struct value_spec *spec = &role->section->specs[i];
		if (!is_listen(spec))
			continue;
		memcpy(&text, base + spec->offset, sizeof text);
		if (!text || !*text)
			continue;
		ENSURE(n < ROLE_MOST_LISTENS);
		ret[n++] = (struct role_listen){spec->name, text, false};
	}
	return n;
}

int role_check(const struct role *role, const char *name, const struct config *config,
	       struct err *err)
{
	if (!role->check)
		return 0;
	return role->check(config, config_instance(config, role->section, name), err);
}

int run_path(const char *data, const char *folder, const char *name, char *ret, size_t cap,
	     struct err *err)
{
	int n = snprintf(ret, cap, "%s/run/%s%s%s", data, folder ? folder : "", folder ? "/" : "",
			 name);
	if (n < 0 || (size_t)n >= cap)
		return err_set(err, ERR_USAGE, "%s: the path of the data directory is too long",
			       data);
	return 0;
}

/* The permissions of run/ decide who may connect; connecting needs write permission on the socket.
 */
static int open_in_run(const char *name, const struct config *config, int *ret_fd, struct err *err)
{
	char data[PATH_MAX], path[PATH_MAX], text[PATH_MAX + sizeof "unix:"];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 ||
	    run_path(data, NULL, name, path, sizeof path, err) < 0)
		return -1;
	snprintf(text, sizeof text, "unix:%s", path);
	if (listen_open(text, ret_fd, err) < 0)
		return -1;
	if (chmod(path, 0666) == 0)
		return 0;
	err_sys(err, "%s", path);
	close(*ret_fd);
	return -1;
}

int role_listen_open(const struct role_listen *listen, const struct config *config, int *ret_fd,
		     struct err *err)
{
	return listen->in_run ? open_in_run(listen->text, config, ret_fd, err)
			      : listen_open(listen->text, ret_fd, err);
}

int run_dirs_make(const char *data, struct err *err)
{
	static const char *const folders[] = {"locks", "counters"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (run_path(data, NULL, folders[i], path, sizeof path, err) < 0 ||
		    dir_make(path, DIR_MODE, err) < 0)
			return -1;
	return 0;
}

/* Before any thread: the role's loop owns them. */
static int own_signals(struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(err, "cannot block signals");
	return 0;
}

static int open_socket(const struct role_listen *listen, const struct config *config, int *ret_fd,
		       struct err *err)
{
	int fd = notify_socket(listen->key);
	char address[256];
	if (fd < 0) {
		if (role_listen_open(listen, config, &fd, err) < 0)
			return err_in(err, "%s", listen->key);
		if (listen_name(fd, address, sizeof address, err) < 0) {
			close(fd);
			return -1;
		}
		log_info(ROLE, "listening", KV_TEXT("setting", listen->key),
			 KV_TEXT("address", address));
	}
	*ret_fd = fd;
	return 0;
}

/* One entry per VALUE_LISTEN or VALUE_UDP setting, also for those that are empty. */
static int open_sockets(struct role_env *env, struct err *err)
{
	struct role_listen listens[ROLE_MOST_LISTENS];
	size_t n = role_listens(env->role, env->name, env->config, listens), next = 0;
	const struct config_section *section = env->role->section;
	if (env->role->run_socket) {
		struct role_socket *s = &env->socket[env->nsockets++];
		*s = (struct role_socket){.key = listens[next].key, .fd = -1};
		if (open_socket(&listens[next++], env->config, &s->fd, err) < 0)
			return -1;
	}
	for (size_t i = 0; section && i < section->nspecs; i++) {
		const char *key = section->specs[i].name;
		if (!is_listen(&section->specs[i]))
			continue;
		ENSURE(env->nsockets < ROLE_MOST_LISTENS);
		struct role_socket *s = &env->socket[env->nsockets++];
		*s = (struct role_socket){.key = key, .fd = -1};
		if (next < n && strcmp(listens[next].key, key) == 0 &&
		    open_socket(&listens[next++], env->config, &s->fd, err) < 0)
			return -1;
	}
	return 0;
}

static void close_sockets(struct role_env *env)
{
	for (size_t i = 0; i < env->nsockets; i++)
		if (env->socket[i].fd >= 0)
			close(env->socket[i].fd);
}

static int open_counters(struct role_env *env, struct err *err)
{
	const struct role *role = env->role;
	char path[PATH_MAX];
	if (run_path(env->data, "counters", env->name, path, sizeof path, err) < 0)
		return -1;
	return counters_create(&env->counters, path, env->name, role->counters, role->ncounters,
			       clock_wall_us(), err);
}

static int run_locked(struct role_env *env, struct err *err)
{
	int rc = open_counters(env, err);
	if (rc == 0)
		rc = open_sockets(env, err);
	FAULT("role.open");
	if (rc == 0)
		rc = env->role->run(env, err);
	FAULT("role.ended");
	close_sockets(env);
	counters_close(&env->counters);
	return rc;
}

/* Each of the two asks after it has its own lock, so one of them at least sees the other. */
static int stay_apart(const char *data, const struct role *role, struct err *err)
{
	char path[PATH_MAX];
	int64_t pid;
	if (!role->apart)
		return 0;
	if (run_path(data, "locks", role->apart, path, sizeof path, err) < 0)
		return -1;
	int rc = lock_holder(path, &pid, err);
	if (rc == 0)
		return err_set(
			err, ERR_BUSY,
			"garner %s runs on this data directory (process %lld), and garner %s "
			"needs another: -s data=DIR",
			role->apart, (long long)pid, role->name);
	return rc < 0 ? -1 : 0;
}

static int load_again(const struct role_env *env, struct config **ret, struct err *err)
{
	return cmd_config_quiet(env->load_ctx, ret, err);
}

/* Whether the configuration is the one that garner up writes for its roles. */
static bool is_supervised(const struct cmd_call *call, const char *data)
{
	char path[PATH_MAX];
	struct err ignored;
	return call->input.file &&
	       run_path(data, NULL, "up.conf", path, sizeof path, &ignored) == 0 &&
	       strcmp(call->input.file, path) == 0;
}

static int run_role(const struct cmd_call *call, const struct role *role, const char *name,
		    const struct config *config, struct err *err)
{
	struct role_socket sockets[ROLE_MOST_LISTENS];
	char data[PATH_MAX], path[PATH_MAX];
	struct lock lock;
	if (own_signals(err) < 0 || role_check(role, name, config, err) < 0 ||
	    cmd_data_dir(config, data, sizeof data, err) < 0 || run_dirs_make(data, err) < 0 ||
	    run_path(data, "locks", name, path, sizeof path, err) < 0 ||
	    lock_take(&lock, path, err) < 0)
		return -1;
	FAULT("role.locked");
	tree_remove_left(data);
	const struct global_conf *global = config_get(config, &global_section);
	struct role_env env = {.role = role,
			       .name = name,
			       .config = config,
			       .data = data,
			       .disk_free = global->disk_free,
			       .socket = sockets,
			       .load = load_again,
			       .load_ctx = call,
			       .supervised = is_supervised(call, data)};
	int rc = stay_apart(data, role, err);
	if (rc == 0)
		rc = run_locked(&env, err);
	lock_free(&lock);
	return rc;
}

int role_main(const struct cmd_call *call, const struct role *role, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	const char *name = call->input.instance ? call->input.instance : role->name;
	int code = 0;
	if (cmd_config(call, &config, err) < 0)
		return -1;
	log_start(name, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, name); /* for ps and top; it was started as "exe" */
	if (run_role(call, role, name, config, err) < 0) {
		if (err->code == ERR_DAMAGED)
			log_error(ROLE, err->msg, KV_TEXT("help", "garner check says what to do"));
		else
			log_error(ROLE, err->msg);
		code = err->code;
	}
	log_flush();
	return code;
}
