/* What garner doctor looks at in the content cache. Its roles may be on several machines, so one
 * that is not here is a warning and not a failure. */
#include "cmd/cache/cache.h"
#include "cmd/system/doctor.h"
#include "cmd/system/text.h"
#include "role/status.h"

#include <inttypes.h>

enum { SPILLED_MUCH = 16 << 20 };

void doctor_cache_roles(const struct patient *p, struct finding *f)
{
	/* each needs the next one, or what it does waits */
	static const struct {
		const char *role, *needs, *what;
	} chain[] = {
		{"uns", "qm", "sets wait in cache/unsdb"},
		{"uns", "rs", "nobody can register"},
		{"qm", "uns", "no sets come in"},
		{"qm", "botm", "nothing is fetched, and nothing deleted"},
		{"botm", "bot", "nothing is fetched"},
	};
	CLEANUP(buf_free) struct buf there = BUF_INIT(200);
	static const char *const parts[] = {"rs", "uns", "qm", "botm", "bot"};
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0)
		return;
	bool is_cache = status_has_role(&s, "uns") || status_has_role(&s, "qm");
	for (size_t i = 0; is_cache && i < ARRAY_LEN(parts); i++)
		if (status_has_role(&s, parts[i]))
			buf_printf(&there, "%s%s", there.n ? ", " : "", parts[i]);
	if (is_cache)
		finding_set(f, FINDING_OK, "%s", buf_text(&there));
	for (size_t i = 0; is_cache && i < ARRAY_LEN(chain); i++)
		if (status_has_role(&s, chain[i].role) && !status_has_role(&s, chain[i].needs)) {
			finding_set(f, FINDING_WARN, "%s runs, but not %s, on this machine: %s",
				    chain[i].role, chain[i].needs, chain[i].what);
			finding_mend(f, "name it in up.roles, or start it: garner %s",
				     chain[i].needs);
			break;
		}
	status_free(&s);
}

void doctor_cache_rows(const struct patient *p, struct finding *f)
{
	char folder[PATH_MAX + 8];
	uint64_t queued, stored;
	struct db *db = NULL;
	struct err err;
	snprintf(folder, sizeof folder, "%s/cache", p->data);
	if (!cache_is_there(folder))
		return;
	int rc = db_open(&db, folder, DB_READ, &err);
	if (rc == 0)
		rc = db_rows(db, &queued, &stored, &err);
	if (rc == 0)
		finding_set(f, FINDING_OK, "%" PRIu64 " URLs stored, %" PRIu64 " queued", stored,
			    queued);
	if (rc < 0) {
		finding_fail(f, &err);
		if (err.code == ERR_DAMAGED)
			finding_mend(f, "stop qm; garner cache check --fix; start it");
	}
	db_close(&db);
}

void doctor_cache_sets(const struct patient *p, struct finding *f)
{
	CLEANUP(buf_free) struct buf size = BUF_INIT(64);
	struct cache_summary s;
	struct err err;
	int rc = cache_summarize(p->data, &s, &err);
	if (rc == 1 || (rc < 0 && err.code == ERR_DAMAGED))
		return; /* of a damaged one the check before this one speaks */
	if (rc < 0) {
		finding_fail(f, &err);
		return;
	}
	put_size_text(&size, s.spilled);
	if (s.spilled > SPILLED_MUCH) {
		finding_set(f, FINDING_WARN,
			    "%s of sets wait in cache/unsdb; beyond uns.unsdb_max none is taken",
			    buf_text(&size));
		finding_mend(f, "garner status: qm has to run, and not be full");
	} else if (s.crashed) {
		finding_set(f, FINDING_NOTE,
			    "something was lost: a full set is wanted of %" PRIu64 " provider%s",
			    s.crashed, s.crashed == 1 ? "" : "s");
		finding_mend(f, "nothing; they are told, and garner provider sync sends it");
	} else {
		finding_set(f, FINDING_OK,
			    "%" PRIu64 " provider%s, %" PRIu64 " sets to absorb, %" PRIu64
			    " files to delete",
			    s.providers, s.providers == 1 ? "" : "s", s.open_sets, s.deletions);
	}
}
