/* A database in a folder of its own, and what is done with it again and again. */
#pragma once
#include "unit/unit.h"

#include "base/clock.h"
#include "cache/db.h"
#include "unit/scratch.h"

#define HTML STR("text/html")

static struct db *db;
static struct err err;
static struct arena arena = ARENA_INIT(16 << 20);
static const char *folder;
static uint64_t numbers;
static struct db_terms terms;

#define DONE(call)                                          \
	do {                                                \
		if ((call) != 0)                            \
			fail_msg("%s: %s", #call, err.msg); \
	} while (0)

static inline void db_again(void)
{
	db_close(&db);
	DONE(db_open(&db, folder, DB_WRITE, &err));
}

static inline int play_begin(void **state)
{
	static int n;
	char name[16];
	(void)state;
	terms = (struct db_terms){.quota_files = UINT64_MAX,
				  .quota_space = UINT64_MAX,
				  .hours = hours_any,
				  .period = HOURS_DAY,
				  .slot_us = US_PER_H,
				  .now_us = 20000 * US_PER_DAY + 12 * US_PER_H,
				  .age_us = 1000,
				  .rows_max = 100};
	snprintf(name, sizeof name, "c%d", n++);
	folder = scratch(name);
	DONE(db_open(&db, folder, DB_WRITE, &err));
	return 0;
}

static inline int play_end(void **state)
{
	(void)state;
	db_close(&db);
	arena_free(&arena);
	return 0;
}

static inline uint64_t set_take(uint64_t provider, bool full, const struct notice *n, size_t count)
{
	struct buf text = BUF_INIT(1 << 20), piece = BUF_INIT(1 << 20);
	for (size_t i = 0; i < count; i++)
		notice_write(&n[i], &text);
	notice_pack(buf_str(&text), &piece);
	struct str pieces = buf_str(&piece);
	struct db_take take = {.set = {.uns = "u",
				       .number = ++numbers,
				       .provider = provider,
				       .is_full = full,
				       .urls = count,
				       .at_us = terms.now_us},
			       .piece = &pieces,
			       .npieces = count ? 1 : 0,
			       .ends = true};
	DONE(db_take(db, &take, 1, &err));
	assert_false(take.was_there);
	buf_free(&text);
	buf_free(&piece);
	return take.ret_set;
}

static inline struct db_absorbed set_absorb(uint64_t set)
{
	struct db_absorbed all = {0}, step = {0};
	while (!step.is_done) {
		DONE(db_absorb(db, set, &terms, &step, &err));
		all.queued += step.queued;
		all.updated += step.updated;
		all.unchanged += step.unchanged;
		all.removed += step.removed;
		all.failed += step.failed;
		all.named += step.named;
	}
	return all;
}

static inline struct notice page(const char *c)
{
	return (struct notice){.c = str_of(c), .mime = HTML};
}

static inline struct db_absorbed send(uint64_t provider, struct notice n)
{
	return set_absorb(set_take(provider, false, &n, 1));
}

static inline struct db_receipt receipt(uint64_t provider, const char *c)
{
	struct db_receipt r = {.state = DB_NSTATES};
	int rc = db_receipt(db, provider, str_of(c), HTML, 0, &arena, &r, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	if (rc == 1)
		r.state = DB_NSTATES;
	return r;
}

static inline struct db_tally tally(uint64_t provider)
{
	struct db_tally t;
	DONE(db_tally(db, provider, &t, &err));
	return t;
}

/* The first row of a part, sent. */
static inline struct db_row fetch(uint64_t set, int64_t slot)
{
	struct db_row row;
	DONE(db_next(db, set, slot, 0, &arena, &row, &err));
	DONE(db_sent(db, &row, 1, terms.now_us, &err));
	return row;
}

static inline struct db_done answer(const struct db_row *row, enum db_end end, const char *file)
{
	return (struct db_done){.row = row->row,
				.provider = row->provider,
				.version = row->version,
				.hash = row->hash,
				.end = end,
				.reason = STR("because"),
				.machine = STR("m"),
				.file = str_of(file),
				.mime = STR(""),
				.etag = STR("\"e\""),
				.size = 10,
				.quota_space = UINT64_MAX};
}

static inline struct db_done done(struct db_done d)
{
	terms.now_us++;
	DONE(db_done(db, &d, 1, terms.now_us, terms.age_us, &err));
	return d;
}

/* A URL of the provider that is stored, with that file. */
static inline void store(uint64_t provider, struct notice n, const char *file)
{
	uint64_t set = set_take(provider, false, &n, 1);
	assert_int_equal(set_absorb(set).queued, 1);
	struct db_row row = fetch(set, DB_NOW);
	assert_true(done(answer(&row, DB_END_STORED, file)).ret_kept);
}

/* Whether that file waits to be deleted. */
static inline bool dropped(const char *file)
{
	char machine[DB_MACHINE_MAX + 1], name[DB_FILE_MAX + 1];
	uint64_t id = 0;
	while (db_fsm_next(db, id, STR(""), &id, machine, name, &err) == 0)
		if (strcmp(name, file) == 0)
			return true;
	return false;
}

static inline void finding_fails(void *ctx, const struct db_finding *f)
{
	(void)ctx;
	fail_msg("%s", f->text);
}

static inline void db_sound(void)
{
	DONE(db_agrees(db, &err));
	DONE(db_check(db, false, NULL, finding_fails, NULL, &err));
}
