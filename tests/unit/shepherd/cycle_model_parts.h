/* What the files of the model share. */
#pragma once
#include "unit/shepherd/cycle_model.h"
#include "url/equiv.h"

struct model_server {
	int64_t min_delay_us, delay_us;
	unsigned max_conn;
	uint64_t room; /* UINT64_MAX: no limit */
	bool tight;
};
struct model_server model_server(const struct world *w, const struct site *of);
bool model_same_server(const struct site *a, const struct site *b);
bool model_is_dead(const struct world *w, const struct site *site);
void model_filter(const struct world *w, const struct site *site, struct filter_site *ret);
double model_rate(const struct world *w); /* URLs in a second */
struct url_site model_url_site(const struct site *site);

struct index_item *model_add(struct world *w, struct footprint fp);
void model_remove(struct world *w, struct footprint fp);
/* Nothing is told, gone or planned yet. */
void model_begin(struct world *w);
void model_tell(struct world *w, struct footprint fp, enum change_op op, bool forgotten);
/* Tells it, and enters it in gone; does not remove it. */
void model_forget(struct world *w, const struct index_item *item, enum gone_reason reason);

int64_t model_now(const struct world *w); /* in seconds */
/* What the course says: URLs by type as they are now; something is due then, or before. */
void model_count(struct world *w);
void model_due(struct world *w, int64_t due_s);
