/* What the tests against the model share: sets out of the dice, and what is compared. */
#include "unit/cache/qm_lab.h"

#include <stdio.h>

enum { PIECE_MOST = 8 };

void qm_lab_init(struct qm_lab *lab, uint64_t number)
{
	struct arena arena = lab->arena;
	*lab = (struct qm_lab){.number = number,
			       .seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1,
			       .now_us = INT64_C(1790000000) * US_PER_S,
			       .age_us = INT64_C(1000) * US_PER_S,
			       .arena = arena,
			       .did = "beginning"};
	qm_model_init(&lab->m, HOURS_DAY, US_PER_H);
}

void qm_lab_same(struct qm_lab *lab, int64_t there, int64_t model, const char *what)
{
	if (there != model)
		LAB_FAIL(lab, "%s: %" PRId64 ", by the model %" PRId64, what, there, model);
}

/* What is compared */

static void compare_tallies(struct qm_lab *lab)
{
	struct err err = {0};
	uint64_t queued = 0, stored = 0, in_queue, in_store;
	for (uint64_t i = 1; i <= QM_PROVIDERS; i++) {
		struct db_tally t;
		LAB_MUST(lab, db_tally(lab->db, i, &t, &err));
		LAB_SAME(lab, t.files, qm_model_stored(&lab->m, i), "stored files of a provider");
		LAB_SAME(lab, t.space, qm_model_space(&lab->m, i), "stored bytes of a provider");
		LAB_SAME(lab, t.queued, qm_model_queued(&lab->m, i), "queued rows of a provider");
		LAB_SAME(lab, t.errors, lab->m.errors[i - 1], "errors of a provider");
		queued += t.queued;
		stored += t.files;
	}
	LAB_MUST(lab, db_rows(lab->db, &in_queue, &in_store, &err));
	LAB_SAME(lab, in_queue, queued, "rows of the queue");
	LAB_SAME(lab, in_store, stored, "rows of the store");
}

static enum db_state plain_state(enum db_state s)
{
	return s == DB_WAITING || s == DB_FETCHING ? DB_QUEUED : s;
}

static void compare_receipt(struct qm_lab *lab, size_t k, int64_t accepted_us)
{
	struct db_receipt r;
	struct err err = {0};
	enum db_state state;
	unsigned code;
	char url[64];
	qm_url(k, url, sizeof url);
	int rc = db_receipt(lab->db, qm_provider(k), str_of(url), str_of(qm_mime(k)), accepted_us,
			    &lab->arena, &r, &err);
	if (rc < 0)
		LAB_MUST(lab, rc);
	bool known = qm_model_receipt(&lab->m, k, accepted_us, &state, &code);
	LAB_SAME(lab, rc, known ? 0 : 1, "whether a URL is known");
	if (!known)
		return;
	if (plain_state(r.state) != state)
		LAB_FAIL(lab, "%s is %s, by the model %s", url, db_state_name(r.state),
			 db_state_name(state));
	if (state == DB_FAILED)
		LAB_SAME(lab, r.code, code, "the code of a failure");
	bool is_out = state == DB_QUEUED && lab->m.key[k].out;
	if (!lab->notes_late)
		LAB_SAME(lab, r.state == DB_FETCHING, is_out, "whether it is fetched");
}

static void compare_store(struct qm_lab *lab)
{
	struct err err = {0};
	for (size_t k = 0; k < QM_KEYS; k++) {
		const struct qm_key *key = &lab->m.key[k];
		char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1], url[64];
		compare_receipt(lab, k, 0);
		if (!key->stored)
			continue;
		qm_url(k, url, sizeof url);
		qm_file_name(key->file, machine, file);
		LAB_SAME(lab,
			 db_has_file(lab->db, qm_provider(k),
				     notice_hash(str_of(url), str_of(qm_mime(k))), str_of(machine),
				     str_of(file), &err),
			 0, "whether a file is its row's");
	}
	uint64_t id = 0, doomed = 0, there = 0;
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	while (db_fsm_next(lab->db, id, str_of(""), &id, machine, file, &err) == 0) {
		LAB_SAME(lab, lab->m.file[qm_file_of(str_of(machine), str_of(file))],
			 QM_FILE_DOOMED, "a file that is to be deleted");
		there++;
	}
	for (size_t i = 0; i < lab->m.files; i++)
		doomed += lab->m.file[i] == QM_FILE_DOOMED;
	LAB_SAME(lab, there, doomed, "files to be deleted");
}

void qm_lab_compare(struct qm_lab *lab)
{
	compare_tallies(lab);
	compare_store(lab);
	arena_clear(&lab->arena);
}

/* Sets */

const char *qm_lab_hours(struct qm_lab *lab)
{
	static const char *const hours[] = {"", "", "", "0-8", "!9-17", "22-6"};
	return hours[qm_throw(lab, ARRAY_LEN(hours))];
}

static struct qm_notice some_notice(struct qm_lab *lab, uint64_t provider)
{
	struct qm_notice n = {.key = (provider - 1) * QM_URLS * QM_MIMES +
				     qm_throw(lab, QM_URLS * QM_MIMES),
			      .hours = qm_lab_hours(lab)};
	const struct qm_key *key = &lab->m.key[n.key];
	uint64_t op = qm_throw(lab, 10);
	n.op = op < 2 ? NOTICE_REMOVE : op == 2 ? NOTICE_NAMED : NOTICE_UPDATE;
	n.has = (unsigned)qm_throw(lab, 8);
	/* often what is stored, or nearly */
	n.mtime_s = key->stored && qm_throw(lab, 4) ? key->mtime_s : (int64_t)qm_throw(lab, 4) + 1;
	n.size = key->stored && qm_throw(lab, 4) ? key->size : qm_throw(lab, 4) * 100;
	n.md5 = key->stored && qm_throw(lab, 4) ? key->md5 : (unsigned)qm_throw(lab, 4);
	n.has_fetch = qm_throw(lab, 3) == 0;
	return n;
}

struct qm_set *qm_lab_set(struct qm_lab *lab)
{
	struct qm_set *set = qm_model_set(&lab->m, 1 + qm_throw(lab, QM_PROVIDERS), ++lab->numbers,
					  qm_throw(lab, 4) == 0, lab->now_us);
	set->n = qm_throw(lab, 3) ? 1 + qm_throw(lab, 6) : qm_throw(lab, QM_SET_MOST);
	for (size_t i = 0; i < set->n; i++)
		set->notice[i] = some_notice(lab, set->provider);
	return set;
}

void qm_lab_take(struct qm_lab *lab, const struct qm_set *set, bool was_there)
{
	struct buf text = BUF_INIT(1 << 20), block[PIECE_MOST];
	struct str piece[PIECE_MOST];
	struct err err = {0};
	size_t n = 0, sent = 0, urls = 0;
	for (size_t i = 0; i < set->n; i++) {
		struct notice notice = qm_notice_of(&set->notice[i], &lab->arena);
		notice_write(&notice, &text);
		urls += notice.op != NOTICE_NAMED;
		if (i + 1 < set->n && (qm_throw(lab, 4) || n + 1 == PIECE_MOST))
			continue;
		block[n] = BUF_INIT(1 << 20);
		notice_pack(buf_str(&text), &block[n]);
		piece[n] = buf_str(&block[n]);
		n++;
		buf_clear(&text);
	}
	struct db_take take = {.set = {.uns = "u1",
				       .number = set->number,
				       .provider = set->provider,
				       .is_full = set->is_full,
				       .urls = urls,
				       .at_us = set->at_us}};
	if (!was_there && qm_throw(lab, 5) == 0) { /* a connection that is lost */
		take.piece = piece;
		take.npieces = qm_throw(lab, n + 1);
		LAB_MUST(lab, db_take(lab->db, &take, 1, &err));
		LAB_MUST(lab, db_take_forget(lab->db, qm_throw(lab, 2) ? "u1" : NULL, &err));
	}
	do {
		size_t most = 1 + qm_throw(lab, n - sent + 1);
		take.piece = piece + sent;
		take.npieces = MIN(most, n - sent);
		sent += take.npieces;
		take.ends = sent == n;
		LAB_MUST(lab, db_take(lab->db, &take, 1, &err));
	} while (!take.ends);
	LAB_SAME(lab, take.was_there, was_there, "whether the set was there");
	LAB_SAME(lab, take.ret_set, set - lab->m.set + 1, "the number of a set");
	for (size_t i = 0; i < n; i++)
		buf_free(&block[i]);
	buf_free(&text);
}
