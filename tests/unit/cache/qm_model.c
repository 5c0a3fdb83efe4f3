/* The operations of the model, each as the document says it: no index, no step that is spared. */
#include "unit/cache/qm_model.h"

#include "base/base.h"
#include "cache/cache_conf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const mimes[QM_MIMES] = {"text/html", "text/plain"};

uint64_t qm_provider(size_t key)
{
	return key / (QM_URLS * QM_MIMES) + 1;
}

const char *qm_mime(size_t key)
{
	return mimes[key % QM_MIMES];
}

void qm_url(size_t key, char *ret, size_t size)
{
	snprintf(ret, size, "http://h%" PRIu64 ".test/%zu", qm_provider(key),
		 key / QM_MIMES % QM_URLS);
}

void qm_fetch(const struct qm_notice *n, char *ret, size_t size)
{
	char url[64];
	qm_url(n->key, url, sizeof url);
	snprintf(ret, size, "%s%s", url, n->has_fetch ? "?f" : "");
}

size_t qm_key_of(uint64_t provider, struct str c, struct str mime)
{
	for (size_t k = 0; k < QM_KEYS; k++) {
		char url[64];
		qm_url(k, url, sizeof url);
		if (qm_provider(k) == provider && str_eq(c, str_of(url)) &&
		    str_eq(mime, str_of(qm_mime(k))))
			return k;
	}
	return QM_KEYS;
}

void qm_file_name(size_t file, char machine[DB_MACHINE_MAX + 1], char name[DB_FILE_MAX + 1])
{
	snprintf(machine, DB_MACHINE_MAX + 1, "m%zu", file % QM_MACHINES);
	snprintf(name, DB_FILE_MAX + 1, "%06zu/%03zu", file / 1000, file % 1000);
}

size_t qm_file_of(struct str machine, struct str name)
{
	char text[DB_FILE_MAX + 1], m[DB_MACHINE_MAX + 1], f[DB_FILE_MAX + 1];
	snprintf(text, sizeof text, STR_FMT, STR_ARG(name));
	size_t file = strtoul(text, NULL, 10) * 1000;
	file += strchr(text, '/') ? strtoul(strchr(text, '/') + 1, NULL, 10) : 0;
	qm_file_name(file, m, f);
	ENSURE(str_eq(machine, str_of(m)) && str_eq(name, str_of(f)));
	return file;
}

struct notice qm_notice_of(const struct qm_notice *n, struct arena *arena)
{
	char c[64], f[64];
	struct notice notice = {.op = n->op, .has = n->has, .mtime_s = n->mtime_s, .size = n->size};
	qm_url(n->key, c, sizeof c);
	qm_fetch(n, f, sizeof f);
	notice.c = str_of(c);
	notice.f = n->has_fetch ? str_of(f) : str_of("");
	notice.mime = str_of(qm_mime(n->key));
	notice.hours = str_of(n->hours);
	memset(notice.md5, (int)n->md5, sizeof notice.md5);
	return notice_copy(&notice, arena);
}

void qm_model_init(struct qm_model *m, int period, int64_t slot_us)
{
	*m = (struct qm_model){.period = period, .slot_us = slot_us};
	for (size_t p = 0; p < QM_PROVIDERS; p++)
		m->terms[p] = (struct qm_terms){UINT64_MAX, UINT64_MAX, ""};
}

/* Questions */

uint64_t qm_model_space(const struct qm_model *m, uint64_t provider)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < QM_KEYS; k++)
		sum += qm_provider(k) == provider && m->key[k].stored ? m->key[k].size : 0;
	return sum;
}

uint64_t qm_model_stored(const struct qm_model *m, uint64_t provider)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < QM_KEYS; k++)
		sum += qm_provider(k) == provider && m->key[k].stored;
	return sum;
}

uint64_t qm_model_queued(const struct qm_model *m, uint64_t provider)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < QM_KEYS; k++)
		sum += qm_provider(k) == provider && m->key[k].queued;
	return sum;
}

size_t qm_model_part(const struct qm_model *m, uint64_t set, int64_t slot, size_t ret[QM_KEYS])
{
	size_t n = 0;
	for (size_t k = 0; k < QM_KEYS; k++) {
		const struct qm_key *key = &m->key[k];
		if (!key->queued || key->set != set || key->slot != slot)
			continue;
		size_t at = n++;
		while (at > 0 && m->key[ret[at - 1]].order > key->order) {
			ret[at] = ret[at - 1];
			at--;
		}
		ret[at] = k;
	}
	return n;
}

struct hours qm_model_hours(const struct qm_model *m, size_t key)
{
	struct hours a, b;
	struct err err;
	const char *contract = m->terms[qm_provider(key) - 1].hours;
	ENSURE(hours_parse(str_of(contract), m->period, &a, &err) == 0);
	ENSURE(hours_parse(str_of(m->key[key].notice.hours), m->period, &b, &err) == 0);
	return hours_both(&a, &b);
}

int64_t qm_model_since(const struct qm_model *m, size_t k)
{
	const struct qm_key *key = &m->key[k];
	const struct qm_notice *n = &key->notice;
	bool is_other = (n->has & NOTICE_HAS_SIZE && n->size != key->size) ||
			(n->has & NOTICE_HAS_MD5 && key->has_md5 && n->md5 != key->md5);
	return key->stored && !is_other ? key->mtime_s : 0;
}

bool qm_model_receipt(const struct qm_model *m, size_t k, int64_t accepted_us, enum db_state *ret,
		      unsigned *ret_code)
{
	const struct qm_key *key = &m->key[k];
	*ret_code = 0;
	if (key->queued && !key->is_nothing) {
		*ret = DB_QUEUED;
	} else if (key->stored) {
		*ret = key->stored_us < accepted_us ? DB_UNCHANGED : DB_STORED;
	} else if (key->known) {
		*ret = key->fate;
		*ret_code = key->code;
	} else {
		return false;
	}
	return true;
}

/* Changes */

static void content_remove(struct qm_model *m, struct qm_key *key)
{
	if (key->stored)
		m->file[key->file] = QM_FILE_DOOMED;
	key->stored = false;
}

static void key_becomes(struct qm_key *key, enum db_state fate, unsigned code)
{
	key->known = true;
	key->fate = fate;
	key->code = code;
}

/* An error that is final: it is counted, and the content goes. */
static void key_refused(struct qm_model *m, size_t k, unsigned code)
{
	struct qm_key *key = &m->key[k];
	m->errors[qm_provider(k) - 1]++;
	content_remove(m, key);
	key_becomes(key, DB_FAILED, code);
}

static void key_failed(struct qm_model *m, size_t k, unsigned code)
{
	key_refused(m, k, code);
	m->key[k].queued = m->key[k].out = false;
}

/* "Insert a removal notification". */
static void key_removed(struct qm_model *m, size_t k)
{
	struct qm_key *key = &m->key[k];
	if (key->queued) {
		key->is_nothing = true;
		key->version++;
	}
	content_remove(m, key);
	key_becomes(key, DB_REMOVED, 0);
}

/* What is stored is still good; what was said of it before holds where nothing else is said. */
static void key_confirmed(struct qm_key *key, const struct qm_notice *n)
{
	struct qm_notice was = key->said;
	key->said = *n;
	key->said.has |= was.has & (NOTICE_HAS_MTIME | NOTICE_HAS_SIZE | NOTICE_HAS_MD5);
	key->said.mtime_s = n->has & NOTICE_HAS_MTIME ? n->mtime_s : was.mtime_s;
	key->said.size = n->has & NOTICE_HAS_SIZE ? n->size : was.size;
	key->said.md5 = n->has & NOTICE_HAS_MD5 ? n->md5 : was.md5;
}

/* All values that are given, of which there is at least one, are what the provider said last of
 * what is stored, or what was fetched. */
static bool is_unchanged(const struct qm_key *key, const struct qm_notice *n)
{
	const struct qm_notice *said = &key->said;
	bool same_mtime = (said->has & NOTICE_HAS_MTIME && said->mtime_s == n->mtime_s) ||
			  (key->mtime_s && key->mtime_s == n->mtime_s);
	bool same_size =
		(said->has & NOTICE_HAS_SIZE && said->size == n->size) || key->size == n->size;
	bool same_md5 = (said->has & NOTICE_HAS_MD5 && said->md5 == n->md5) ||
			(key->has_md5 && key->md5 == n->md5);
	return key->stored && n->has & (NOTICE_HAS_MTIME | NOTICE_HAS_SIZE | NOTICE_HAS_MD5) &&
	       (same_mtime || !(n->has & NOTICE_HAS_MTIME)) &&
	       (same_size || !(n->has & NOTICE_HAS_SIZE)) &&
	       (same_md5 || !(n->has & NOTICE_HAS_MD5));
}

/* Where contract and URL never allow it together, the URL's own next hour: the contract may be
 * another one by then. */
static int64_t slot_of(const struct qm_model *m, size_t k, const char *own, int64_t now_us)
{
	struct hours contract, h, both;
	struct err err;
	ENSURE(hours_parse(str_of(m->terms[qm_provider(k) - 1].hours), m->period, &contract,
			   &err) == 0);
	ENSURE(hours_parse(str_of(own), m->period, &h, &err) == 0);
	both = hours_both(&contract, &h);
	if (hours_none(&both))
		both = h;
	if (hours_allow(&both, now_us))
		return DB_NOW;
	return hours_slot(hours_next_us(&both, now_us), m->slot_us, m->period);
}

/* What is stored counts, and what is queued and not stored yet, by what was said of it. */
static bool is_beyond_quota(const struct qm_model *m, size_t k, const struct qm_notice *n)
{
	const struct qm_terms *t = &m->terms[qm_provider(k) - 1];
	uint64_t provider = qm_provider(k), files = qm_model_stored(m, provider);
	uint64_t space = qm_model_space(m, provider);
	uint64_t size = n->has & NOTICE_HAS_SIZE ? n->size : 0;
	for (size_t i = 0; i < QM_KEYS; i++) {
		const struct qm_key *other = &m->key[i];
		if (qm_provider(i) != provider || !other->queued || other->is_nothing ||
		    other->stored)
			continue;
		files++;
		space += other->notice.has & NOTICE_HAS_SIZE ? other->notice.size : 0;
	}
	if (m->key[k].stored)
		return size && space - m->key[k].size + size > t->quota_space;
	return files >= t->quota_files || (size ? space + size : space + 1) > t->quota_space;
}

/* The last notice for a row counts, at its place; other hours may mean another slot. */
static void key_renewed(struct qm_model *m, const struct qm_notice *n, int64_t now_us)
{
	struct qm_key *key = &m->key[n->key];
	if (key->slot != DB_BAD && strcmp(key->notice.hours, n->hours) != 0)
		key->slot = slot_of(m, n->key, n->hours, now_us);
	key->notice = *n;
	key->is_nothing = false;
	key->tries = 0;
	key->version++;
}

/* "Insert an update notification". */
static void key_updated(struct qm_model *m, const struct qm_set *set, const struct qm_notice *n,
			int64_t now_us)
{
	struct qm_key *key = &m->key[n->key];
	if (key->queued && !key->is_nothing) {
		key_renewed(m, n, now_us);
		return;
	}
	if (!key->queued && is_unchanged(key, n)) {
		key_confirmed(key, n);
		return;
	}
	if (is_beyond_quota(m, n->key, n)) {
		key_refused(m, n->key, CACHE_QUOTA);
		return;
	}
	if (key->queued) {
		key_renewed(m, n, now_us);
		return;
	}
	key->queued = true;
	key->is_nothing = key->out = false;
	key->tries = 0;
	key->version++;
	key->order = ++m->order;
	key->set = (uint64_t)(set - m->set) + 1;
	key->notice = *n;
	key->slot = slot_of(m, n->key, n->hours, now_us);
}

struct qm_set *qm_model_set(struct qm_model *m, uint64_t provider, uint64_t number, bool full,
			    int64_t at_us)
{
	ENSURE(m->sets < QM_SETS);
	struct qm_set *set = &m->set[m->sets++];
	*set = (struct qm_set){
		.provider = provider, .number = number, .is_full = full, .at_us = at_us};
	return set;
}

static void unnamed_remove(struct qm_model *m, uint64_t provider, uint64_t set)
{
	for (size_t k = 0; k < QM_KEYS; k++) {
		struct qm_key *key = &m->key[k];
		if (qm_provider(k) == provider && key->named_by != set &&
		    (key->stored || key->queued)) {
			key_removed(m, k);
			key->queued = key->out; /* what is not out need not be waited for */
		}
	}
}

void qm_model_absorb(struct qm_model *m, uint64_t number, size_t rows, int64_t now_us,
		     int64_t age_us)
{
	struct qm_set *set = &m->set[number - 1];
	for (; set->taken < set->n && rows > 0; set->taken++, rows--) {
		const struct qm_notice *n = &set->notice[set->taken];
		m->key[n->key].named_by = number;
		m->key[n->key].confirmed_us = age_us;
		if (n->op == NOTICE_UPDATE)
			key_updated(m, set, n, now_us);
		else if (n->op == NOTICE_REMOVE)
			key_removed(m, n->key);
	}
	if (set->taken < set->n || set->is_absorbed)
		return;
	if (set->is_full)
		unnamed_remove(m, set->provider, number);
	set->is_absorbed = true;
}

static void answer_stored(struct qm_model *m, struct qm_answer *a, int64_t now_us, int64_t age_us)
{
	struct qm_key *key = &m->key[a->key];
	uint64_t space = qm_model_space(m, qm_provider(a->key)) - (key->stored ? key->size : 0);
	if (a->mime[0] && strcmp(a->mime, qm_mime(a->key)) != 0)
		a->ret_code = CACHE_WRONG_MIME;
	else if (key->notice.has & NOTICE_HAS_MD5 && a->has_md5 && key->notice.md5 != a->md5)
		a->ret_code = CACHE_WRONG_MD5;
	else if (space + a->size > m->terms[qm_provider(a->key) - 1].quota_space)
		a->ret_code = CACHE_QUOTA;
	if (a->ret_code) {
		key_failed(m, a->key, a->ret_code);
		return;
	}
	content_remove(m, key);
	key->queued = key->out = false;
	key->stored = a->ret_kept = true;
	key->said = key->notice;
	key->file = a->file;
	key->size = a->size;
	key->mtime_s = a->mtime_s;
	key->md5 = a->md5;
	key->has_md5 = a->has_md5;
	key->stored_us = now_us;
	key->confirmed_us = age_us;
	m->file[a->file] = QM_FILE_KEPT;
}

void qm_model_done(struct qm_model *m, struct qm_answer *a, int64_t now_us, int64_t age_us)
{
	struct qm_key *key = &m->key[a->key];
	a->ret_kept = a->ret_again = false;
	a->ret_code = 0;
	if (a->end == DB_END_STORED && m->file[a->file] == QM_FILE_KEPT && key->stored &&
	    key->file == a->file) { /* said twice */
		a->ret_kept = true;
		return;
	}
	if (a->end == DB_END_STORED)
		m->file[a->file] = QM_FILE_DROPPED;
	if (!key->queued || key->order != a->order)
		return;
	key->out = false;
	if (key->is_nothing) {
		key->queued = false;
		return;
	}
	if (key->version != a->version || a->end == DB_END_PUT_BACK) {
		a->ret_again = true;
		return;
	}
	if (a->end == DB_END_STORED) {
		answer_stored(m, a, now_us, age_us);
	} else if (a->end == DB_END_UNCHANGED && key->notice.has & NOTICE_HAS_MD5 && key->has_md5 &&
		   key->md5 != key->notice.md5) {
		a->ret_code = CACHE_WRONG_MD5; /* the server has what it had, the provider not */
		key_failed(m, a->key, CACHE_WRONG_MD5);
	} else if (a->end == DB_END_UNCHANGED) {
		key->queued = false;
		key_confirmed(key, &key->notice);
		key->confirmed_us = age_us;
	} else if (a->end == DB_END_FAILED) {
		key_failed(m, a->key, a->code);
	} else if (a->end == DB_END_RETRY) {
		key->slot = DB_BAD;
		key->tries++;
		a->ret_again = true;
	}
}

void qm_model_deleted(struct qm_model *m, size_t file)
{
	ENSURE(m->file[file] == QM_FILE_DOOMED);
	m->file[file] = QM_FILE_DELETED;
}

void qm_model_expire(struct qm_model *m, int64_t before_us, int64_t now_us)
{
	(void)now_us;
	for (size_t k = 0; k < QM_KEYS; k++) {
		struct qm_key *key = &m->key[k];
		if (!key->stored || key->confirmed_us >= before_us)
			continue;
		content_remove(m, key);
		if (!key->queued)
			key_becomes(key, DB_REMOVED, 0);
	}
}
