/* What send, sync and watch share: which trees and sitemaps are looked at. */
#pragma once
#include "cmd/cache/provider_push.h"

/* Those of the options, else of the settings, else those that were sent before. 0, or the exit
 * code. */
int provider_sync_sources(struct push *g, struct err *err);
/* Whether it is time to ask the cache, though nothing has changed. */
bool provider_is_due(const struct provider *p);
