/* The query side of the broker, for pages and protocols: searching, and answers as JSON. */
#pragma once
#include "broker/search.h"
