/* Fetches: rows go out as turns and hours say, and answers come back. Each answer is held against
 * its row in the database (done()), whatever is remembered here: the row may have been notified
 * again, removed, or answered before, by an earlier process too. */
#include "base/ascii.h"
#include "base/fault.h"
#include "cache/cache_conf.h"
#include "cache/qm/qm_codes.h"
#include "cache/qm/qm_core_inner.h"

#include <inttypes.h>
#include <stdio.h>

/* Ids. Sums of digits: 8 of the provider, 12 of row, 8 of version, 2 of tries, 12 of set, 16 of the
 * hash, and dashes are 63; what is longer than that is never counted up to. */

static void id_print(const struct db_row *row, char ret[BOT_ID_MAX + 1])
{
	int n = snprintf(ret, BOT_ID_MAX + 1,
			 "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%x-%" PRIx64 "-%" PRIx64, row->row,
			 row->version, row->provider, row->tries, row->set, (uint64_t)row->hash);
	ENSURE(n > 0 && n <= BOT_ID_MAX);
}

static bool id_number(struct str *rest, uint64_t *ret)
{
	size_t n = str_find_byte(*rest, '-');
	struct str digits = str_head(*rest, n);
	*ret = 0;
	if (digits.n == 0 || digits.n > 16)
		return false;
	for (size_t i = 0; i < digits.n; i++) {
		int v = ascii_hex(digits.p[i]);
		if (v < 0)
			return false;
		*ret = *ret << 4 | (unsigned)v;
	}
	*rest = str_from(*rest, MIN(n + 1, rest->n));
	return true;
}

static bool id_read(struct str text, struct qm_id *ret)
{
	uint64_t tries, hash;
	if (!id_number(&text, &ret->row) || !id_number(&text, &ret->version) ||
	    !id_number(&text, &ret->provider) || !id_number(&text, &tries) ||
	    !id_number(&text, &ret->set) || !id_number(&text, &hash) || text.n)
		return false;
	ret->tries = (unsigned)MIN(tries, (uint64_t)UINT32_MAX);
	ret->hash = (int64_t)hash;
	return true;
}

/* Answers. */

void qm_core_answered(struct qm_core *c, const struct bot_message *m)
{
	struct qm_answer *a = VEC_PUSH(c->answer, c->answers, c->answers_room);
	ENSURE(c->in_round);
	*a = (struct qm_answer){.m = bot_message_copy(m, &c->arena)};
	a->is_ours = id_read(a->m.id, &a->id);
}

static struct db_done done_of(struct qm_core *c, const struct qm_answer *a,
			      const struct qm_class *class)
{
	const struct bot_message *m = &a->m;
	const struct qm_contract *contract;
	struct db_done d = {
		.row = a->id.row,
		.provider = a->id.provider,
		.version = a->id.version,
		.hash = a->id.hash,
		.end = class->end,
		.code = class->code,
		.reason = qm_reason_of(m, class->code),
		.machine = m->machine,
		.file = m->file,
		.mime = str_head(m->mime, str_find_byte(m->mime, ';')),
		.etag = m->etag,
		.size = m->size,
		.mtime_s = m->has & BOT_HAS_MTIME ? (int64_t)m->mtime : 0,
		.has_md5 = m->has & BOT_HAS_MD5,
	};
	memcpy(d.md5, m->md5, sizeof d.md5);
	d.mime = str_trim(d.mime);
	d.quota_space =
		qm_contract_of(c, a->id.provider, &contract) == 0 ? contract->quota_space : 0;
	return d;
}

static void answer_count(struct qm_core *c, const struct db_done *d, enum turn_end turn)
{
	struct qm_core_counts *n = &c->counts;
	if (turn == TURN_SITE)
		n->site_errors++;
	if (d->end == DB_END_STORED && d->ret_kept) {
		n->stored++;
		n->bytes += d->size;
	} else if (d->ret_again) {
		n->retried += d->end == DB_END_RETRY;
		n->put_back += d->end != DB_END_RETRY;
	} else if (d->end == DB_END_FAILED || d->ret_code) {
		n->failed++;
	} else if (d->end == DB_END_UNCHANGED) {
		n->confirmed++;
	}
}

/* Who asks for receipts is told of waits that are worth it. */
static int provider_wait_note(struct qm_core *c, uint64_t provider, struct err *err)
{
	static const char *const words[] = {
		[TURN_WAITS_BANDWIDTH] = "for the bandwidth of the contract",
		[TURN_WAITS_HOURS] = "for the hours of the contract",
		[TURN_WAITS_SITE] = "after an error of the site",
	};
	enum turn_wait why;
	int64_t until = turns_until(c->turns, provider, c->now.mono_us, &why);
	int64_t wait = until - c->now.mono_us;
	if (wait < QM_WAIT_TOLD_US)
		return 0;
	return db_hold(c->db, provider, clock_sane_us(c->now.wall_us) + wait, str_of(words[why]),
		       err);
}

/* The provider whose URL it was goes on, where it is the one that is out. */
static int answer_turn(struct qm_core *c, const struct qm_answer *a, const struct qm_class *class,
		       struct err *err)
{
	struct qm_known *k = qm_providers_get(&c->providers, a->id.provider);
	if (!k || k->out.row != a->id.row || k->out.version != a->id.version ||
	    k->out.tries != a->id.tries)
		return 0;
	k->out.row = 0;
	/* what came is paid for, whether or not it is stored */
	int64_t until = turns_ended(c->turns, a->id.provider, class->turn,
				    a->m.has & BOT_HAS_SIZE ? a->m.size : 0, c->now.mono_us);
	if (provider_wait_note(c, a->id.provider, err) < 0)
		return -1;
	return until ? qm_parts_park(c, a->id.provider, until, err) : 0;
}

/* After the database has decided. */
static int answer_follow(struct qm_core *c, struct qm_answer *a, const struct qm_class *class,
			 const struct db_done *d, struct err *err)
{
	answer_count(c, d, class->turn);
	if (answer_turn(c, a, class, err) < 0)
		return -1;
	if (class->end == DB_END_RETRY && d->ret_again &&
	    qm_part_add(c, a->id.provider, a->id.set, DB_BAD, false, err) < 0)
		return -1;
	a->is_kept = class->end == DB_END_STORED && d->ret_kept;
	if (class->end != DB_END_STORED || d->ret_kept)
		return 0;
	/* an answer that is said once more: of the same file, or of another one */
	int rc = db_has_file(c->db, a->id.provider, a->id.hash, a->m.machine, a->m.file, err);
	a->is_kept = rc == 0;
	c->counts.dropped += rc == 1;
	return MIN(rc, 0);
}

static bool is_storable(const struct qm_answer *a)
{
	return a->is_ours && (a->m.outcome != OUTCOME_OK || (a->m.machine.n && a->m.file.n));
}

/* Files that a botm had when it was killed, and whose questions it does not know any more. */
static int files_find(struct qm_core *c, struct err *err)
{
	struct db_file *file = arena_array(&c->arena, c->answers, sizeof *file);
	size_t n = 0;
	for (size_t i = 0; i < c->answers; i++) {
		struct qm_answer *a = &c->answer[i];
		if (str_starts(a->m.id, STR(BOT_FILE_ID)) && a->m.file.n)
			file[n++] = (struct db_file){a->m.machine, a->m.file, &a->is_kept};
	}
	if (n == 0)
		return 0;
	if (db_find_files(c->db, file, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		c->counts.dropped += !*file[i].ret;
	return 0;
}

int qm_answers_done(struct qm_core *c, struct err *err)
{
	size_t n = 0;
	if (c->answers == 0)
		return 0;
	struct db_done *done = arena_array(&c->arena, c->answers, sizeof *done);
	struct qm_class *class = arena_array(&c->arena, c->answers, sizeof *class);
	for (size_t i = 0; i < c->answers; i++) {
		const struct qm_answer *a = &c->answer[i];
		if (!is_storable(a))
			continue;
		class[n] = qm_class_of(&a->m, a->id.tries, c->o.retries);
		done[n] = done_of(c, a, &class[n]);
		n++;
	}
	FAULT("qm.done");
	if (n && db_done(c->db, done, n, c->now.wall_us, c->now.age_us, err) < 0)
		return -1;
	n = 0;
	for (size_t i = 0; i < c->answers; i++) {
		struct qm_answer *a = &c->answer[i];
		if (!is_storable(a))
			continue;
		if (answer_follow(c, a, &class[n], &done[n], err) < 0)
			return -1;
		n++;
	}
	qm_deletes_again(c);
	return files_find(c, err);
}

void qm_answers_tell(struct qm_core *c)
{
	for (size_t i = 0; i < c->answers; i++) {
		FAULT("qm.verdict");
		c->o.ops->verdict(c->o.ctx, &c->answer[i].m, c->answer[i].is_kept);
	}
}

/* Rows. */

struct hours qm_row_hours(const struct qm_core *c, const struct qm_contract *contract,
			  const struct db_row *row)
{
	if (row->notice.hours.n == 0)
		return contract->hours;
	struct hours own = hours_kept(row->notice.hours, c->o.period);
	return hours_both(&contract->hours, &own);
}

/* Ends a row that is not asked for. */
static int row_end(struct qm_core *c, const struct db_row *row, enum db_end end, unsigned code,
		   struct err *err)
{
	struct db_done d = {
		.row = row->row,
		.provider = row->provider,
		.version = row->version,
		.hash = row->hash,
		.end = end,
		.code = code,
		.reason = str_of(code ? cache_code_text(code) : ""),
		.quota_space = UINT64_MAX,
	};
	c->counts.failed += end == DB_END_FAILED;
	return db_done(c->db, &d, 1, c->now.wall_us, c->now.age_us, err);
}

static void row_submit(struct qm_core *c, const struct turn *turn, const struct db_row *row,
		       const struct qm_contract *contract, struct str within)
{
	char id[BOT_ID_MAX + 1];
	id_print(row, id);
	struct bot_message m = {
		.kind = BOT_FETCH,
		.has = BOT_HAS_ID | BOT_HAS_URL | BOT_HAS_MIME | BOT_HAS_WITHIN | BOT_HAS_DELAY |
		       BOT_HAS_ROBOTS,
		.id = str_of(id),
		.url = notice_fetch(&row->notice),
		.mime = row->notice.mime,
		.within = within,
		.etag = row->etag,
		.since = (uint64_t)row->since_s,
		.size_max = contract->quota_space,
	};
	m.has |= (row->etag.n ? BOT_HAS_ETAG : 0) | (row->since_s > 0 ? BOT_HAS_SINCE : 0) |
		 (contract->quota_space != UINT64_MAX ? BOT_HAS_SIZE_MAX : 0);
	struct qm_known *k = qm_providers_get(&c->providers, row->provider);
	k->out = (struct qm_out){row->row, row->version, row->tries};
	turns_sent(c->turns, turn, row->row, c->now.mono_us);
	*VEC_PUSH(c->sent, c->nsent, c->sent_room) =
		(struct qm_sent){row->provider, k->out, c->now.mono_us, c->now.wall_us};
	c->counts.sent++;
	c->room--;
	c->o.ops->submit(c->o.ctx, &m);
}

/* Rows of a part that have to wait for another slot are moved together. */
struct moves {
	struct db_row row[QM_MOVES];
	size_t n;
	int64_t slot;
};

static int moves_do(struct qm_core *c, struct moves *m, struct err *err)
{
	size_t n = m->n;
	m->n = 0;
	c->counts.moved += n;
	return n ? db_move(c->db, m->row, n, m->slot, err) : 0;
}

static int row_move(struct qm_core *c, const struct turn *turn, const struct db_row *row,
		    const struct hours *hours, struct moves *m, struct err *err)
{
	int64_t next = hours_next_us(hours, clock_sane_us(c->now.wall_us));
	int64_t slot = qm_slot_at(c, next);
	if (next < 0) /* its hours and those of the contract never meet, as yet */
		slot = qm_slot_at(c, c->now.wall_us - c->o.slot_us);
	if (slot == turn->slot) {
		turns_skip(c->turns, turn, row->row);
		return 0;
	}
	if (m->n == QM_MOVES || (m->n && m->slot != slot))
		if (moves_do(c, m, err) < 0)
			return -1;
	m->slot = slot;
	m->row[m->n++] = *row;
	return 0;
}

/* What becomes of a row. 0: it is not asked for; 1: the turn is over. */
static int row_try(struct qm_core *c, const struct turn *turn, const struct qm_contract *contract,
		   const struct db_row *row, struct moves *moves, struct err *err)
{
	struct str within;
	if (row->is_nothing)
		return row_end(c, row, DB_END_PUT_BACK, 0, err);
	struct hours hours = qm_row_hours(c, contract, row);
	if (!hours_allow(&hours, clock_sane_us(c->now.wall_us)))
		return row_move(c, turn, row, &hours, moves, err);
	if (turn->waits) {
		int64_t until = turns_rest(c->turns, turn, row->tries, c->now.mono_us);
		int rc = until ? db_start(c->db, turn->set, turn->slot,
					  qm_park_slot(c, until + c->o.slot_us - 1), err)
			       : 0;
		return rc < 0 ? rc : 1;
	}
	if (c->o.ops->within(c->o.ctx, row->provider, notice_fetch(&row->notice), &c->arena,
			     &within) != 0)
		return row_end(c, row, DB_END_FAILED, CACHE_PREFIX, err);
	row_submit(c, turn, row, contract, within);
	return 1;
}

/* A part has no further row; but rows of a time slot may have been passed over, which wait for the
 * next time that the slot has its turn, unless that has come meanwhile. */
static int part_end(struct qm_core *c, const struct turn *turn, const struct qm_contract *contract,
		    struct err *err)
{
	struct db_row row;
	if (turn->slot == DB_BAD) {
		turns_passed(c->turns, turn);
		return 0;
	}
	turns_remove(c->turns, turn->provider, turn->set, turn->slot);
	if (turn->slot < 0)
		return 0;
	int rc = db_next(c->db, turn->set, turn->slot, 0, &c->arena, &row, err);
	if (rc)
		return MIN(rc, 0);
	struct hours hours = qm_row_hours(c, contract, &row);
	if (row.is_nothing || hours_allow(&hours, clock_sane_us(c->now.wall_us))) {
		turns_add(c->turns, turn->provider, turn->set, turn->slot, false);
		return 0;
	}
	return db_start(c->db, turn->set, turn->slot, turn->slot, err);
}

static int turn_take(struct qm_core *c, struct turn *turn, const struct qm_contract *contract,
		     struct err *err)
{
	struct moves moves = {0};
	struct db_row row;
	int rc = 0;
	for (; rc == 0 && c->scan > 0; c->scan--) {
		rc = db_next(c->db, turn->set, turn->slot, turn->after, &c->arena, &row, err);
		if (rc == 1) {
			rc = moves_do(c, &moves, err);
			return rc < 0 ? rc : part_end(c, turn, contract, err);
		}
		if (rc == 0)
			rc = row_try(c, turn, contract, &row, &moves, err);
		turn->after = row.row;
	}
	if (rc == 0) /* the next round goes on with it */
		turns_yield(c->turns, turn->provider, c->now.mono_us);
	return rc < 0 ? rc : moves_do(c, &moves, err);
}

static int provider_hold(struct qm_core *c, uint64_t provider, const struct hours *hours,
			 struct err *err)
{
	int64_t wall = clock_sane_us(c->now.wall_us), next = hours_next_us(hours, wall);
	int64_t wait = next < 0 ? US_PER_DAY : next - wall;
	int64_t until = turns_hold(c->turns, provider, c->now.mono_us + wait, c->now.mono_us);
	if (provider_wait_note(c, provider, err) < 0)
		return -1;
	return until ? qm_parts_park(c, provider, until, err) : 0;
}

int qm_fill(struct qm_core *c, size_t step, struct err *err)
{
	struct turn turn;
	c->scan = MAX(step, c->room);
	while (c->room && c->scan && turns_next(c->turns, c->now.mono_us, &turn) == 0) {
		const struct qm_contract *contract;
		int rc = qm_contract_look(c, turn.provider, err);
		if (rc == 1) /* and so it may be another one's turn */
			continue;
		if (rc < 0)
			return rc;
		if (qm_contract_of(c, turn.provider, &contract) != 0)
			turns_clear(c->turns, turn.provider, NULL, NULL);
		else if (!hours_allow(&contract->hours, clock_sane_us(c->now.wall_us)))
			rc = provider_hold(c, turn.provider, &contract->hours, err);
		else
			rc = turn_take(c, &turn, contract, err);
		if (rc < 0)
			return rc;
	}
	c->is_more |= c->scan == 0;
	return 0;
}
