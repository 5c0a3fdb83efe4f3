/* The way in which logs of SQLite are written: see sql_vfs.c. */
#pragma once

#define SQL_VFS "garner"

/* For sqlite3_open_v2() of a database that one process alone writes; as often as one likes, from
 * any thread. */
void sql_vfs_ready(void);
