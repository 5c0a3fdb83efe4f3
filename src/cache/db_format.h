/* What garner check and garner dump know of cache/cache.db, and of the files that SQLite keeps
 * next to a database: doc/formats/cache-db.md, sqlite-log.md. */
#pragma once
#include "disk/format.h"

extern const struct format cache_db_format, sqlite_log_format;
