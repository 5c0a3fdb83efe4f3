/* Shared by roles and the supervisor: the folders below run/, and the sockets in a role's
 * settings. */
#pragma once
#include "cmd/command.h"

/* A setting of type VALUE_LISTEN or VALUE_UDP that is not empty. */
struct role_listen {
	const char *key, *text; /* the text is the configuration's */
	bool in_run;            /* not a setting: the text is the name of a Unix socket in run/ */
};
enum { ROLE_MOST_LISTENS = 16 }; /* more in one section is a broken promise */

/* Lists the addresses of a role or an instance ("bot@2"), in the order of its table; returns their
 * number. */
size_t role_listens(const struct role *role, const char *name, const struct config *config,
		    struct role_listen ret[ROLE_MOST_LISTENS]);

/* The role's `check` for the process of this name, if it has one. */
int role_check(const struct role *role, const char *name, const struct config *config,
	       struct err *err);

int role_listen_open(const struct role_listen *listen, const struct config *config, int *ret_fd,
		     struct err *err);

/* Makes DATA with run/, run/locks and run/counters. */
int run_dirs_make(const char *data, struct err *err);
/* "DATA/run/FOLDER/NAME"; without a folder (NULL) "DATA/run/NAME". */
int run_path(const char *data, const char *folder, const char *name, char *ret, size_t cap,
	     struct err *err);
