/* broker.conf, the file of the old Broker: lines "Name value", which become settings.
 *
 *   # our broker
 *   Directory       /var/lib/broker
 *   Port            8501
 *   Glimpse-MaxLife 60
 *
 * Names are known in any case. What has no counterpart here is a warning with its line, because
 * files of real brokers have such names; a value that cannot be is refused. */
#pragma once
#include "role/password.h"
#include "role/role.h"

enum {
	BROKER_CONF_FILE = 1 << 20, /* bytes */
	BROKER_CONF_LINE = 4096,    /* bytes */
	BROKER_CONF_WARNINGS = 100, /* that are told one by one */
};

struct broker_conf_ask {
	const char *path;   /* for messages */
	const char *listen; /* where the port is without this file: its address stays */
	/* Makes the line that the configuration wants of a password in plain text. */
	int (*hash)(struct str password, char ret[PASSWORD_LINE], struct err *err);
};

/* All of it lies in the arena. ERR_USAGE: err names file and line. Values are looked at as far as
 * the settings do not do that themselves. A password is in no message. */
int broker_conf_parse(struct str text, const struct broker_conf_ask *ask, struct arena *arena,
		      struct role_said *ret, struct buf *warnings, struct err *err);
