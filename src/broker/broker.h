/* The query side of the broker, for pages and protocols: searching, answers as JSON, documents, how
 * it went with each source. */
#pragma once
#include "broker/document.h"
#include "broker/points.h"
#include "broker/search.h"
