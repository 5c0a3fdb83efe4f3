/* The database against a slow model of it: a few URLs, random sets and answers, restarts in
 * between, in one half of the runs with hashes that are equal. After each step both say the same of
 * every URL, every row and every count. */
#include "cache/db/db_inner.h"
#include "unit/cache/db_play.h"
#include "unit/dice.h"

enum { PROVIDERS = 2, URLS = 7, OUT = 6 };

struct model_url {
	char c[24];
	uint64_t row, set, version; /* row 0: it is not queued */
	int64_t slot, wants_s;
	bool is_nothing, is_sent, is_stored;
	int64_t mtime_s; /* as it was said of what is stored; 0: not */
	char file[16];
	enum db_state gone; /* DB_NSTATES: it is not */
	uint64_t seen;
};

static struct model_url model[PROVIDERS + 1][URLS];
static struct db_row out[OUT];
static size_t outs;
static uint64_t seed, rows, files;

static uint64_t roll(uint64_t n)
{
	return dice(&seed) % n;
}

static int64_t few_hashes(struct str c, struct str mime)
{
	return notice_hash(c, mime) & 1;
}

static void model_restart(bool equal)
{
	db_again();
	if (equal)
		(db)->hash = few_hashes;
	for (size_t p = 1; p <= PROVIDERS; p++)
		for (size_t i = 0; i < URLS; i++)
			model[p][i].is_sent = false;
}

static void model_update(struct model_url *u, uint64_t set, int64_t mtime_s)
{
	u->seen = set;
	if (u->row) {
		u->version++;
		u->is_nothing = false;
		u->wants_s = mtime_s;
	} else if (!u->is_stored || !mtime_s || mtime_s != u->mtime_s) {
		u->row = ++rows;
		u->set = set;
		u->slot = DB_NOW;
		u->version = 1;
		u->is_nothing = false;
		u->wants_s = mtime_s;
	}
}

static void model_remove(struct model_url *u)
{
	if (u->row) {
		u->version++;
		u->is_nothing = true;
	}
	u->is_stored = false;
	u->gone = DB_REMOVED;
}

static void model_full(size_t p, uint64_t set)
{
	for (size_t i = 0; i < URLS; i++) {
		struct model_url *u = &model[p][i];
		if ((!u->row && !u->is_stored) || u->seen >= set)
			continue;
		if (u->row && !u->is_sent)
			u->row = 0;
		model_remove(u);
	}
}

static void step_set(bool equal)
{
	size_t p = 1 + roll(PROVIDERS), n = roll(6), which[6];
	bool full = roll(4) == 0;
	struct notice notice[6];
	for (size_t i = 0; i < n; i++) {
		which[i] = roll(URLS);
		notice[i] = page(model[p][which[i]].c);
		notice[i].op = roll(4)           ? NOTICE_UPDATE
			       : roll(2) && full ? NOTICE_NAMED
						 : NOTICE_REMOVE;
		if (notice[i].op == NOTICE_NAMED && roll(2))
			notice[i].mime = STR("");
		notice[i].mtime_s = (int64_t)roll(3);
		notice[i].has = notice[i].mtime_s ? NOTICE_HAS_MTIME : 0;
	}
	uint64_t set = set_take(p, full, notice, n);
	struct db_absorbed a = {0};
	terms.rows_max = 1 + roll(4);
	while (!a.is_done) {
		DONE(db_absorb(db, set, &terms, &a, &err));
		if (!full && roll(6) == 0) /* of a full set, what is sent makes a difference */
			model_restart(equal);
	}
	for (size_t i = 0; i < n; i++) {
		struct model_url *u = &model[p][which[i]];
		if (notice[i].op == NOTICE_UPDATE)
			model_update(u, set, notice[i].mtime_s);
		else if (notice[i].op == NOTICE_REMOVE)
			model_remove(u);
		u->seen = set;
	}
	if (full)
		model_full(p, set);
}

static struct model_url *model_first(uint64_t set, int64_t slot)
{
	struct model_url *first = NULL;
	for (size_t p = 1; p <= PROVIDERS; p++)
		for (size_t i = 0; i < URLS; i++) {
			struct model_url *u = &model[p][i];
			if (u->row && u->set == set && u->slot == slot &&
			    (!first || u->row < first->row))
				first = u;
		}
	return first;
}

static void step_fetch(void)
{
	struct model_url *u = &model[1 + roll(PROVIDERS)][roll(URLS)];
	struct db_row row;
	if (!u->row || outs == OUT)
		return;
	u = model_first(u->set, u->slot);
	DONE(db_next(db, u->set, u->slot, 0, &arena, &row, &err));
	assert_int_equal(row.row, u->row);
	assert_int_equal(row.version, u->version);
	assert_int_equal(row.is_nothing, u->is_nothing);
	assert_int_equal(row.notice.mtime_s, u->wants_s);
	assert_str(row.notice.c, u->c);
	assert_str(row.etag, u->is_stored ? "\"e\"" : "");
	DONE(db_sent(db, &row, 1, terms.now_us, &err));
	u->is_sent = true;
	out[outs++] = row;
}

static struct model_url *model_of(const struct db_row *row)
{
	for (size_t i = 0; i < URLS; i++)
		if (model[row->provider][i].row == row->row)
			return &model[row->provider][i];
	return NULL;
}

/* What the answer means to the row that it is for. Returns whether the file is kept. */
static bool model_done(struct model_url *u, enum db_end end, const char *file, bool *ret_again)
{
	*ret_again = true;
	switch (end) {
	case DB_END_STORED:
		u->is_stored = true;
		snprintf(u->file, sizeof u->file, "%s", file);
		u->mtime_s = u->wants_s;
		break;
	case DB_END_UNCHANGED:
		if (!u->is_stored)
			return false;
		u->mtime_s = u->wants_s ? u->wants_s : u->mtime_s;
		break;
	case DB_END_RETRY:
		u->slot = DB_BAD;
		return false;
	case DB_END_FAILED:
		u->is_stored = false;
		u->gone = DB_FAILED;
		break;
	default:
		return false;
	}
	u->row = 0;
	*ret_again = false;
	return end == DB_END_STORED;
}

static void step_done(void)
{
	char file[16];
	if (!outs)
		return;
	size_t at = roll(outs);
	struct db_row row = out[at];
	struct model_url *u = model_of(&row);
	enum db_end end = (enum db_end)roll(DB_ENDS);
	bool kept = false, again = false;
	snprintf(file, sizeof file, "f%llu", (unsigned long long)++files);
	struct db_done d = done(answer(&row, end, file));
	if (u) {
		u->is_sent = false;
		if (u->is_nothing)
			u->row = 0;
		else if (u->version != row.version)
			again = true;
		else
			kept = model_done(u, end, file, &again);
	}
	assert_int_equal(d.ret_kept, kept);
	assert_int_equal(d.ret_again, again);
	assert_int_equal(dropped(file), false);
	out[at] = out[--outs];
}

static enum db_state model_state(const struct model_url *u)
{
	if (u->row && !u->is_nothing)
		return u->is_sent ? DB_FETCHING : u->slot == DB_BAD ? DB_WAITING : DB_QUEUED;
	return u->is_stored ? DB_STORED : u->gone;
}

static void model_compare(void)
{
	for (uint64_t p = 1; p <= PROVIDERS; p++) {
		struct db_tally t = tally(p);
		uint64_t stored = 0, queued = 0;
		for (size_t i = 0; i < URLS; i++) {
			const struct model_url *u = &model[p][i];
			struct db_receipt r = receipt(p, u->c);
			if (r.state != model_state(u))
				fail_msg("%s of %llu: %d, want %d", u->c, (unsigned long long)p,
					 r.state, model_state(u));
			if (r.state == DB_STORED)
				assert_str(r.file, u->file);
			stored += u->is_stored;
			queued += u->row != 0;
		}
		assert_int_equal(t.files, stored);
		assert_int_equal(t.space, 10 * stored);
		assert_int_equal(t.queued, queued);
	}
}

static void run(uint64_t first_seed, bool equal)
{
	seed = first_seed;
	rows = files = outs = 0;
	memset(model, 0, sizeof model);
	for (size_t p = 1; p <= PROVIDERS; p++)
		for (size_t i = 0; i < URLS; i++) {
			model[p][i].gone = DB_NSTATES;
			snprintf(model[p][i].c, sizeof model[p][i].c, "http://a/%zu", i);
		}
	model_restart(equal);
	for (int step = 0; step < (unit_thorough() ? 3000 : 120); step++) {
		uint64_t kind = roll(10);
		if (kind < 3)
			step_set(equal);
		else if (kind < 6)
			step_fetch();
		else if (kind < 9)
			step_done();
		else
			model_restart(equal);
		model_compare();
		if (step % 20 == 0)
			db_sound();
	}
	db_sound();
}

static void test_it_does_what_the_model_does(void **state)
{
	(void)state;
	run(5, false);
}

static void test_it_does_so_where_hashes_are_equal(void **state)
{
	(void)state;
	run(6, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_it_does_what_the_model_does),
		T(test_it_does_so_where_hashes_are_equal),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
