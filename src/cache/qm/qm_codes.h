/* What an answer of the robots means for the queue: how the fetch ended, the code that a provider
 * is told (doc/protocols/lococa.md), and what follows for the provider's turn. */
#pragma once
#include "cache/db.h"
#include "cache/qm/turns.h"
#include "fetch/bot_wire.h"

struct qm_class {
	enum db_end end;
	enum turn_end turn;
	unsigned code; /* 0: none */
};
/* tries: how often the URL has failed before; retries: how often it may be tried again. */
struct qm_class qm_class_of(const struct bot_message *fetched, unsigned tries, unsigned retries);
/* In words: the robot's, or ours for the code. Slices of the message, or constant. */
struct str qm_reason_of(const struct bot_message *fetched, unsigned code);
