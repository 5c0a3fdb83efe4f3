/* Between the files that read and write queries. */
#pragma once
#include "index/query.h"

/* A number or a date; neither is set where the text is none. The text is kept, not copied. */
struct query_value query_value(struct str text);
