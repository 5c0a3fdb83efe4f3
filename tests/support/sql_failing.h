/* A driver of store/sql.h that fails on purpose. */
#pragma once
#include "store/sql.h"

/* The nth call from now on that can fail does so, without reaching the database, and so do all
 * after it if `stays`; 0: none will. */
void sql_fail_at(struct sql *s, unsigned nth, bool stays);
