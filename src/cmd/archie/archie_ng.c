/* garner archie ng: serves one client of the line protocol, for inetd, which passes the connection
 * as standard input and output. */
#include "archie/ng_role.h"
#include "cmd/archie/archie.h"
#include "cmd/commands.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

static int take_connection(int *ret_fd, struct err *err)
{
	int type;
	socklen_t n = sizeof type;
	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &n) < 0 || type != SOCK_STREAM)
		return err_set(err, ERR_USAGE,
			       "standard input is not a connection: inetd gives one; the role "
			       "archie-ng listens by itself");
	*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return *ret_fd < 0 ? err_sys(err, "standard input") : 0;
}

static int run_ng(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX];
	int fd = -1;
	if (cmd_config_data(call, &config, data, err) < 0 || take_connection(&fd, err) < 0)
		return -1;
	return archie_ng_serve(fd, config, data, err);
}

const struct command archie_ng_command = {
	.name = "ng",
	.summary = "answer one program that looks for files, for inetd",
	.description =
		"Speaks the protocol of the role archie-ng on the connection that is its standard "
		"input and output, and ends with it. The role archie-queuer has to run, and the "
		"command as the user of the roles, since it may have to keep a request in archie/ "
		"of the data directory. The loads of other servers are not known to it.",
	CMD_EXAMPLES({"1527 stream tcp nowait garner /usr/local/bin/garner garner archie ng",
		      "a line of inetd.conf"}),
	.run = run_ng,
};
