/* garner archie searcher: a process of the queuer's. It gives up what it does not need before it
 * looks at anything that a stranger has written: new privileges, files to write, processes. */
#include "archie/searcher.h"

#include "base/log.h"
#include "cmd/commands.h"
#include "extract/cage_door.h"

#include <limits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int is_socket(int fd, struct err *err)
{
	int type;
	socklen_t n = sizeof type;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM)
		return 0;
	return err_set(err, ERR_USAGE,
		       "garner archie-queuer starts searchers, with a socket as "
		       "standard input; it is not for people");
}

/* Nothing is written, nothing is started, and a core would tell what people look for. */
static void give_up(void)
{
	const struct rlimit none = {0, 0};
	(void)door_no_new_privileges();
	(void)setrlimit(RLIMIT_FSIZE, &none);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setrlimit(RLIMIT_NPROC, &none);
}

static int run(const struct cmd_call *call)
{
	char folder[PATH_MAX];
	struct err err;
	int rc = cmd_data_path(call, "archie", folder, sizeof folder);
	if (rc)
		return rc;
	(void)prctl(PR_SET_NAME, "archie-searcher");
	if (is_socket(STDIN_FILENO, &err) < 0)
		return cmd_fail(call, &err);
	give_up();
	if (searcher_run(STDIN_FILENO, folder, &err) < 0)
		return cmd_fail(call, &err);
	return 0;
}

const struct command archie_searcher_command = {
	.name = "searcher",
	.summary = "look for files on behalf of the queuer",
	.description = "The role archie-queuer starts as many of these as archie.searchers says, "
		       "and tells each on its standard input, a socket, what to look for. They "
		       "read the databases in archie/ of the data directory and write nothing.",
	.run = run,
};
