/* Inside of garner provider: its settings, its file, and what its commands share. */
#pragma once
#include "cache/provider_file.h"
#include "cmd/command.h"
#include "disk/lock.h"
#include "net/tls.h"

struct provider_conf {
	const char *rs, *uns, *file;
	const char *tree, *prefix, *sitemap, *index;
	int64_t check_us, timeout_us;
	bool plain;
	struct tls_conf tls;
};
extern const struct config_section provider_section;
/* Whether its servers have addresses that the password may go to, and its keys can be read. */
int provider_conf_check(const struct config *config, struct err *err);

/* One call of a command. */
struct provider {
	const struct cmd_call *call;
	struct config *config;
	const struct provider_conf *conf;
	char path[PATH_MAX]; /* of the file */
	struct provider_file file;
	struct lock lock;
	bool there; /* the file is */
	bool locked;
};

enum provider_need {
	PROVIDER_ANY,        /* whatever there is */
	PROVIDER_REGISTERED, /* with id and password */
};
/* Reads settings and file; writes: nobody else changes the file meanwhile. To be closed in any
 * case. */
int provider_open(struct provider *p, const struct cmd_call *call, enum provider_need need,
		  bool writes, struct err *err);
void provider_close(struct provider *p);
int provider_save(struct provider *p, struct err *err);

extern const struct command provider_register_command, provider_verify_command,
	provider_secret_command, provider_password_command, provider_deregister_command,
	provider_status_command, provider_set_command, provider_receipts_command,
	provider_send_command, provider_sync_command, provider_watch_command,
	provider_forget_command;
