/* garner archie searcher: a process of the queuer. It gives up what it does not need before it
 * reads anything that a stranger has written: new privileges, writing files, processes. */
#include "archie/searcher.h"

#include "base/log.h"
#include "cmd/commands.h"
#include "extract/cage_door.h"
#include "index/rx.h"

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

/* Nothing is written, nothing is started, and a core would tell what people look for. Where the
 * kernel lacks one of these, the others hold. */
static void give_up(const char *folder)
{
	const struct rlimit none = {0, 0};
	struct err ignored;
	(void)rx_load(&ignored); /* where it cannot be, expressions say so */
	(void)door_no_new_privileges();
	(void)door_landlock(folder);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setrlimit(RLIMIT_NPROC, &none);
}

static int run(const struct cmd_call *call, struct err *err)
{
	(void)prctl(PR_SET_NAME, "archie-searcher");
	if (is_socket(STDIN_FILENO, err) < 0)
		return -1;
	give_up(call->argv[0]);
	return searcher_run(STDIN_FILENO, call->argv[0], err);
}

const struct command archie_searcher_command = {
	.name = "searcher",
	.summary = "look for files on behalf of the queuer",
	CMD_ARGS("FOLDER", 1, 1, "the folder with the databases, archie/ of the data directory"),
	.description = "The role archie-queuer starts as many of these as archie.searchers says, "
		       "and tells each on its standard input, a socket, what to look for. They "
		       "read the databases in FOLDER and write nothing.",
	.run = run,
};
