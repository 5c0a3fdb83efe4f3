/* What the two halves of the outbox share: its files, and what their names say. */
#pragma once
#include "archie/outbox.h"

#include <limits.h>

enum {
	OUTBOX_NAME_MOST = 96,
	OUTBOX_FILE_MOST = MAIL_MESSAGE_MOST + 1024, /* bytes */
};
#define OUTBOX_MAX_AGE_S (INT64_C(5) * 86400)

/* DUE.TRIES.BORN.RANDOM.SIZE.mail, numbers with leading zeros, so that names sort by when they are
 * due. */
struct outbox_name {
	uint64_t due_s;
	uint64_t tries; /* that failed */
	uint64_t born_s;
	uint64_t random;
	uint64_t size; /* bytes of the file */
};
void outbox_name_print(const struct outbox_name *name, char ret[OUTBOX_NAME_MOST]);
bool outbox_name_parse(struct str text, struct outbox_name *ret);

/* The payload of a file. */
struct outbox_file {
	char from[MAIL_ADDRESS_MOST + 1], to[MAIL_ADDRESS_MOST + 1];
	struct str message;
};
extern const struct rows outbox_fields;

/* archie/outbox of the data directory. */
void outbox_folder(const char *data, char ret[PATH_MAX]);
/* The data directory and what sends, for those who start a process. */
const char *outbox_data(const struct outbox *o);
const char *outbox_via(const struct outbox *o);
const char *outbox_login(const struct outbox *o);
