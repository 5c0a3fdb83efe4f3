/* What a role's process is started with: its arguments and its environment. Pure. */
#pragma once
#include "base/arena.h"

struct launch {
	char **argv; /* both end in NULL */
	char **env;
	char *pid_text; /* inside env: where the child writes its pid; NULL when it has no sockets
			 */
};

struct launch_input {
	const char *self, *role, *conf; /* argv[0]; the role's name; the file with its settings */
	char *const *env;               /* ours; ends in NULL */
	const char *notify;             /* the form of $NOTIFY_SOCKET */
	const char *const *socket;      /* names of the sockets that it gets */
	size_t nsockets;
};

/* Everything lives in the arena. Settings in the environment (GARNER_...) are left out, because
 * they are in the file already and would win over it after a reload; GARNER_FAULTS is no setting
 * and stays. So are the variables of systemd that were meant for us. */
void launch_make(const struct launch_input *in, struct arena *arena, struct launch *ret);
