/* What garner dump and garner check know of databases: doc/formats/database.md. */
#pragma once
#include "disk/format.h"

/* application_id and version (user_version) of each. */
enum {
	DATABASE_CACHE = 0x47634462, /* "GcDb" */
	DATABASE_CACHE_VERSION = 1,
	DATABASE_PIDB = 0x47504944, /* "GPID" */
	DATABASE_PIDB_VERSION = 1,
	DATABASE_SMALL = 0x47534d4c, /* "GSML" */
	DATABASE_SMALL_VERSION = 1,
};
#define DATABASE_CACHE_REMEDY                                                                      \
	"stop qm and try 'garner cache check --fix'; otherwise move cache.db away and start: the " \
	"providers are asked for all their URLs again"
#define DATABASE_PIDB_REMEDY "put back the last backup of it: garner cannot make it anew"
#define DATABASE_SMALL_REMEDY                                                                     \
	"the first role that starts while no other has it open sets it aside and keeps what can " \
	"be read"

extern const struct format database_format;
