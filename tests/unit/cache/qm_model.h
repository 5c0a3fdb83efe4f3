/* A slow model of the cache's queue: what document 004, section 6, and the rules for sets say, with
 * arrays that are walked from end to end. There are few URLs, so that they meet each other often:
 * each provider has the same ones, each with two types. A key is one of (provider, URL, type).
 *
 * The model knows what is in the queue and in which order, what is stored, what has become of each
 * key, what was counted, and which files are kept, dropped or to be deleted. It does not know row
 * numbers: its own order of arrival stands for them. */
#pragma once
#include "cache/db.h"

enum {
	QM_PROVIDERS = 3,
	QM_URLS = 9,
	QM_MIMES = 2,
	QM_KEYS = QM_PROVIDERS * QM_URLS * QM_MIMES,
	QM_SET_MOST = 24, /* notices of one set */
	QM_SETS = 256,    /* of one world */
	QM_FILES = 4096,
	QM_MACHINES = 2,
};

struct qm_notice {
	size_t key;
	enum notice_op op;
	unsigned has;
	int64_t mtime_s;
	uint64_t size;
	unsigned md5;      /* each byte of it */
	const char *hours; /* "" or one of qm_hours */
	bool has_fetch;    /* f is not c */
};

struct qm_set {
	uint64_t provider, number; /* of its uns */
	bool is_full;
	int64_t at_us;
	struct qm_notice notice[QM_SET_MOST];
	size_t n, taken; /* so many were absorbed */
	bool is_absorbed;
};

struct qm_key {
	/* The queue. */
	bool queued, is_nothing, out;
	uint64_t order, set; /* set: 1 and up, as the database numbers them */
	int64_t slot;
	unsigned tries;
	uint64_t version;
	struct qm_notice notice;
	uint64_t named_by; /* the last full set that named it */
	/* What is stored. */
	bool stored;
	struct qm_notice said; /* by the provider, of what is stored */
	size_t file;
	uint64_t size;
	int64_t mtime_s; /* 0: not known */
	unsigned md5;
	bool has_md5;
	int64_t stored_us;    /* wall clock, when it was fetched */
	int64_t confirmed_us; /* of the clock of ages */
	/* What has become of it, where it is neither queued nor stored. */
	bool known;
	enum db_state fate;
	unsigned code;
};

enum qm_file_state {
	QM_FILE_NONE,
	QM_FILE_FETCHED,
	QM_FILE_KEPT,
	QM_FILE_DROPPED,
	QM_FILE_DOOMED,
	QM_FILE_DELETED
};

struct qm_terms {
	uint64_t quota_files, quota_space;
	const char *hours;
};

struct qm_model {
	struct qm_key key[QM_KEYS];
	struct qm_set set[QM_SETS]; /* set[i] is number i + 1 */
	size_t sets;
	enum qm_file_state file[QM_FILES];
	size_t files;
	uint64_t order;
	uint64_t errors[QM_PROVIDERS];
	struct qm_terms terms[QM_PROVIDERS];
	int period;
	int64_t slot_us;
};

/* How the keys are written. */
uint64_t qm_provider(size_t key);
void qm_url(size_t key, char *ret, size_t size); /* c */
void qm_fetch(const struct qm_notice *n, char *ret, size_t size);
const char *qm_mime(size_t key);
size_t qm_key_of(uint64_t provider, struct str c, struct str mime); /* QM_KEYS: none */
void qm_file_name(size_t file, char machine[DB_MACHINE_MAX + 1], char name[DB_FILE_MAX + 1]);
size_t qm_file_of(struct str machine, struct str name);
/* As it is written; slices of `text`, of at least 3 * NOTICE_URL_MAX bytes. */
struct notice qm_notice_of(const struct qm_notice *n, struct arena *arena);

/* Operations. */
void qm_model_init(struct qm_model *m, int period, int64_t slot_us);
struct qm_set *qm_model_set(struct qm_model *m, uint64_t provider, uint64_t number, bool full,
			    int64_t at_us);
/* Absorbs all of it that was not; rows: so many notices at most. */
void qm_model_absorb(struct qm_model *m, uint64_t set, size_t rows, int64_t now_us, int64_t age_us);
/* A fetch of the key ended; `version` is that of the row when it was sent. *ret_kept: its file is.
 */
struct qm_answer {
	size_t key;
	uint64_t order, version;
	enum db_end end;
	unsigned code;
	size_t file; /* of STORED */
	const char *mime;
	uint64_t size;
	int64_t mtime_s;
	unsigned md5;
	bool has_md5;
	bool ret_kept, ret_again;
	unsigned ret_code;
};
void qm_model_done(struct qm_model *m, struct qm_answer *a, int64_t now_us, int64_t age_us);
void qm_model_deleted(struct qm_model *m, size_t file);
/* What was not confirmed since then goes. */
void qm_model_expire(struct qm_model *m, int64_t before_us, int64_t now_us);

/* Questions. */
uint64_t qm_model_space(const struct qm_model *m, uint64_t provider);
uint64_t qm_model_stored(const struct qm_model *m, uint64_t provider);
uint64_t qm_model_queued(const struct qm_model *m, uint64_t provider);
/* Since when a row's content may be unchanged, for its server; 0: its server is not asked, for
 * there is none, or the provider says that it is another one. */
int64_t qm_model_since(const struct qm_model *m, size_t key);
struct hours qm_model_hours(const struct qm_model *m, size_t key);
/* The keys of a part in their order; how many. */
size_t qm_model_part(const struct qm_model *m, uint64_t set, int64_t slot, size_t ret[QM_KEYS]);
/* Of a notice that was accepted at that time. Only states that do not depend on what is out and
 * what waits: those three are one, DB_QUEUED. false: nothing is known. */
bool qm_model_receipt(const struct qm_model *m, size_t key, int64_t accepted_us, enum db_state *ret,
		      unsigned *ret_code);
