/* One URL for `garner extract`, fetched as `garner fetch` does: robots.txt, politeness, policy. */
#pragma once
#include "cmd/command.h"

struct extract_fetched {
	struct buf body;
	struct buf url, content_type, robots; /* of the last hop; the headers as they were meant */
};

/* The buffers are the caller's, with the limits that it wants. ERR_REMOTE: it was not fetched. */
int extract_fetch(const struct config *config, struct str url, struct extract_fetched *ret,
		  struct err *err);
