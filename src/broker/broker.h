/* The query side of the broker, for pages and protocols: searching, answers as JSON, documents. */
#pragma once
#include "broker/document.h"
#include "broker/search.h"
