/* One process that keeps documents and their words until it is killed; for words_rounds.py.
 *
 *	words_worker points             the fault points of both stores, one a line
 *	words_worker write FOLDER N     makes N commits (0: for ever), with merges and compactions
 *	words_worker check FOLDER       what is there is just what some commit left; says which
 *	words_worker damage FOLDER N SEED  changes N bytes, one at a time, and looks at what is said
 *
 * What a commit changes follows from its number: about twenty of four hundred keys are put, with
 * the number in their text, or deleted. The key "commit" has the number of the last commit, so that
 * all of the state follows from one document. A line "N" on standard output means: commit N was
 * said to be durable. */
#include "index/segment.h"
#include "index/token.h"
#include "worker.h"

#include <unistd.h>

enum {
	KEYS = 400,
	CHANGES = 20,
	MERGE_EVERY = 7,
	MERGE_ALL_EVERY = 23,
	COMPACT_EVERY = 9,
	CHECKPOINT_EVERY = 5
};
static const char commit_key[] = "commit";

struct worker {
	char words[PATH_MAX], docs[PATH_MAX];
	struct docstore *store;
	struct words_note note; /* follows: the last oid that was given */
	struct words_writer *writer;
	struct words_reader *reader;
	struct arena arena;
	struct err err;
	uint64_t last; /* the commit that was there before the damage */
	bool wrong;    /* something was told that is not so */
};

/* Something is not as it should be, and nobody said so. */
static int wrong(struct worker *w, const char *what, const char *why)
{
	w->wrong = true;
	return fail(what, why);
}

/* What commit n does with its i-th key: the key's number; *ret_gone: deletes it. */
static unsigned change(uint64_t commit, unsigned i, bool *ret_gone)
{
	uint64_t r = mix(commit, i);
	*ret_gone = r / KEYS % 5 == 0;
	return (unsigned)(r % KEYS);
}

/* Which commit every key is of; 0: it is not there. */
static void state_after(uint64_t commits, uint64_t ret[KEYS])
{
	memset(ret, 0, KEYS * sizeof *ret);
	for (uint64_t c = 1; c <= commits; c++)
		for (unsigned i = 0; i < CHANGES; i++) {
			bool gone;
			unsigned key = change(c, i, &gone);
			ret[key] = gone ? 0 : c;
		}
}

/* Text of some kilobytes that follows from both. */
static void make(struct arena *arena, const char *key, uint64_t commit, struct soif *ret)
{
	struct buf text = BUF_INIT(1 << 20);
	uint64_t n = mix(commit, 77) % 600;
	buf_printf(&text, "key %s of commit c%" PRIu64 "\n", key, commit);
	for (uint64_t i = 0; i < n; i++)
		buf_printf(&text, "word%" PRIu64 " ", mix(commit + i, 5) % 1000);
	*ret = (struct soif){.type = STR("FILE"), .url = arena_str(arena, str_of(key))};
	soif_add(ret, arena, STR("Commit"), str_of(arena_printf(arena, "c%" PRIu64, commit)));
	soif_add(ret, arena, STR("Full-Text"), arena_str(arena, buf_str(&text)));
	buf_free(&text);
}

/* The oid that the index has for a key. 1: it does not have it. */
static int find(struct worker *w, struct str key, uint64_t *ret)
{
	size_t n;
	const struct words_part *part = words_parts(w->reader, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t doc;
		struct segment_column column;
		int rc = segment_find(part[i].segment, key, &doc, &w->err);
		if (rc < 0)
			return -1;
		if (rc == 1 || words_deleted(&part[i], doc))
			continue;
		if (segment_column(part[i].segment, SEGMENT_OID, &column, &w->err) < 0)
			return -1;
		*ret = (uint64_t)segment_number(&column, doc);
		return 0;
	}
	return 1;
}

/* The document of a key, by way of the index. */
static int get(struct worker *w, const char *key, struct soif *ret)
{
	uint64_t oid = 0;
	int rc = find(w, str_of(key), &oid);
	if (rc != 0)
		return rc;
	rc = docstore_get(w->store, oid, &w->arena, ret, &w->err);
	return rc == 1 ? wrong(w, key, "the index has it, the store does not") : rc;
}

/* 0 when there was none yet. */
static int last_commit(struct worker *w, uint64_t *ret)
{
	struct soif obj;
	int rc = get(w, commit_key, &obj);
	*ret = 0;
	if (rc == 0 && !str_u64(str_from(soif_get(&obj, STR("Commit")), 1), ret))
		return wrong(w, "commit", "is no number");
	return rc < 0 ? -1 : 0;
}

/* Writing */

static int add(struct worker *w, const struct soif *obj, uint64_t oid)
{
	struct words_attr attr[4];
	struct words_doc doc = {.key = obj->url, .oid = oid, .attr = attr, .n = obj->n};
	for (size_t i = 0; i < obj->n && i < ARRAY_LEN(attr); i++)
		attr[i] = (struct words_attr){obj->attr[i].name, obj->attr[i].value};
	return words_add(w->writer, &doc, &w->err);
}

static int refresh(struct worker *w)
{
	return words_refresh(&w->reader, &w->err) < 0 ? -1 : 0;
}

/* Puts a key's document, or deletes it; *old: what it replaces. */
static int apply(struct worker *w, uint64_t commit, const char *key, bool gone, uint64_t *old)
{
	struct soif obj;
	int rc = find(w, str_of(key), old);
	if (rc == 1)
		*old = 0;
	if (rc < 0)
		return -1;
	if (gone)
		return words_delete(w->writer, str_of(key), &w->err) < 0 ? -1 : 0;
	make(&w->arena, key, commit, &obj);
	rc = docstore_put(w->store, ++w->note.follows, &obj, &w->err);
	return rc < 0 ? -1 : add(w, &obj, w->note.follows);
}

static int delete_old(struct worker *w, const uint64_t *old, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (old[i] && docstore_delete(w->store, old[i], &w->err) < 0)
			return -1;
	return 0;
}

/* The documents are durable before the index that has their oids. */
static int make_commit(struct worker *w, uint64_t commit)
{
	uint64_t old[CHANGES + 1] = {0};
	for (unsigned i = 0; i < CHANGES; i++) {
		bool gone;
		char key[16];
		snprintf(key, sizeof key, "k%u", change(commit, i, &gone));
		if (apply(w, commit, key, gone, &old[i]) < 0)
			return -1;
	}
	if (apply(w, commit, commit_key, false, &old[CHANGES]) < 0 ||
	    docstore_sync(w->store, &w->note.docs, &w->err) < 0 ||
	    words_commit(w->writer, &w->note, &w->err) < 0)
		return -1;
	printf("%" PRIu64 "\n", commit);
	if (fflush(stdout) != 0)
		abort();
	arena_clear(&w->arena);
	return refresh(w) < 0 ? -1 : delete_old(w, old, ARRAY_LEN(old));
}

static int tidy(struct worker *w, uint64_t commit)
{
	if (commit % MERGE_EVERY == 0 && words_merge(w->writer, UINT64_MAX, &w->err) < 0)
		return -1;
	if (commit % MERGE_ALL_EVERY == 0 && words_merge_all(w->writer, &w->err) < 0)
		return -1;
	if (commit % CHECKPOINT_EVERY == 0 && docstore_checkpoint(w->store, &w->err) < 0)
		return -1;
	if (commit % COMPACT_EVERY == 0 && docstore_compact(w->store, 30, &w->err) < 0)
		return -1;
	return refresh(w);
}

/* What the index does not name was replaced before this process began, and is deleted now. */
static int delete_if_unknown(void *ctx, uint64_t oid, struct err *err)
{
	struct worker *w = ctx;
	struct soif obj;
	uint64_t named = 0;
	int rc = docstore_get(w->store, oid, &w->arena, &obj, &w->err);
	if (rc == 0)
		rc = find(w, obj.url, &named);
	arena_clear(&w->arena);
	return rc < 0 ? -1 : named != oid ? docstore_delete(w->store, oid, err) : 0;
}

static int delete_unknown(struct worker *w)
{
	return docstore_each(w->store, 1, delete_if_unknown, w, &w->err);
}

static int write_commits(struct worker *w, uint64_t n)
{
	uint64_t last, first;
	struct words_options options = {.memory = WORDS_MEMORY_MIN};
	if (words_writer_open(&w->writer, w->words, &options, &w->err) < 0)
		return -1;
	words_noted(w->writer, &w->note);
	if (docstore_open(&w->store, w->docs, &w->note.docs, NULL, &w->err) < 0 ||
	    words_open(&w->reader, w->words, &w->err) != 0 || delete_unknown(w) < 0 ||
	    last_commit(w, &first) < 0)
		return -1;
	for (last = first; n == 0 || last < first + n; last++)
		if (make_commit(w, last + 1) < 0 || tidy(w, last + 1) < 0)
			return -1;
	return 0;
}

/* Checking */

/* A word that only the documents of one commit have finds just these. */
static int check_word(struct worker *w, struct token_rules *rules, uint64_t commit, size_t want)
{
	struct query q;
	struct hits hits;
	char text[32];
	snprintf(text, sizeof text, "c%" PRIu64, commit);
	if (query_parse(str_of(text), &(struct query_options){0}, rules, &w->arena, &q, &w->err) <
	    0)
		return -1;
	q.limit = KEYS + 1;
	q.exact_total = true;
	if (words_query(w->reader, &q, &w->arena, &hits, &w->err) < 0)
		return -1;
	if (hits.total != want || hits.n != want) {
		fprintf(stderr, "words_worker: %s: found %zu, want %zu\n", text, hits.n, want);
		return wrong(w, text, "finds other documents than it should");
	}
	return 0;
}

static int check_key(struct worker *w, unsigned number, uint64_t commit)
{
	char key[16];
	struct soif got, want;
	snprintf(key, sizeof key, "k%u", number);
	int rc = get(w, key, &got);
	if (rc < 0)
		return -1;
	if (rc == 1)
		return commit ? wrong(w, key, "is missing") : 0;
	if (commit == 0)
		return wrong(w, key, "should be deleted");
	make(&w->arena, key, commit, &want);
	if (!str_eq(soif_get(&got, STR("Full-Text")), soif_get(&want, STR("Full-Text"))))
		return wrong(w, key, "has the text of another commit");
	return 0;
}

static int check_words(struct worker *w, const uint64_t state[KEYS], uint64_t last)
{
	struct token_rules *rules = NULL;
	int rc = token_rules_open(&rules, STR(""), &w->err);
	for (uint64_t c = last > 30 ? last - 30 : 1; c <= last && rc == 0; c++) {
		size_t want = c == last; /* the key "commit" */
		for (unsigned i = 0; i < KEYS; i++)
			want += state[i] == c;
		rc = check_word(w, rules, c, want);
	}
	token_rules_close(&rules);
	return rc;
}

/* 1: there is nothing yet. */
static int open_read(struct worker *w)
{
	int rc = words_open(&w->reader, w->words, &w->err);
	return rc == 0 ? docstore_open_read(&w->store, w->docs, &w->err) : rc;
}

static int verify(struct worker *w)
{
	struct words_note note;
	words_reader_note(w->reader, &note);
	return words_verify(w->reader, &w->err) < 0
		       ? -1
		       : docstore_verify(w->store, &note.docs, &w->err);
}

static int check_all(struct worker *w, uint64_t *ret_last)
{
	static uint64_t state[KEYS];
	if (last_commit(w, ret_last) < 0)
		return -1;
	state_after(*ret_last, state);
	for (unsigned i = 0; i < KEYS; i++)
		if (check_key(w, i, state[i]) < 0)
			return -1;
	return check_words(w, state, *ret_last);
}

static int check(struct worker *w)
{
	uint64_t last = 0;
	int rc = open_read(w);
	if (rc < 0 || (rc == 0 && (verify(w) < 0 || check_all(w, &last) < 0)))
		return -1;
	printf("%" PRIu64 "\n", last);
	return 0;
}

/* Damage */

static int list_files(struct victims *v, const char *folder, struct err *err)
{
	struct dir d;
	const char *name;
	if (dir_init(&d, folder, err) != 0)
		return -1;
	while (dir_next(&d, &name) == 0)
		/* What is changed in a table is found, or is not needed: docstore_damage.c */
		if (strcmp(name, "table") != 0)
			victims_add(v, folder, name, 0);
	dir_done(&d);
	return 0;
}

static void close_read(struct worker *w)
{
	words_close(&w->reader);
	docstore_close(&w->store);
	arena_clear(&w->arena);
}

/* Whatever is asked is answered rightly or not at all; and a look at all of it finds the damage. */
static int look_at_damage(struct worker *w)
{
	uint64_t now;
	int rc = open_read(w);
	if (rc == 0 && check_all(w, &now) == 0 && now != w->last)
		rc = wrong(w, "commit", "is another than it was");
	if (w->wrong)
		return -1;
	close_read(w);
	rc = open_read(w);
	if (rc == 0 && verify(w) == 0)
		return fail("verify", "nothing was found");
	if (rc == 1 || w->err.code != ERR_DAMAGED)
		return fail("not called damage", w->err.msg);
	close_read(w);
	return 0;
}

static int damage(struct worker *w, uint64_t n, uint64_t seed)
{
	static struct victims v;
	/* So that nothing is there which does not count. */
	if (words_writer_open(&w->writer, w->words, NULL, &w->err) < 0)
		return -1;
	words_noted(w->writer, &w->note);
	words_writer_close(&w->writer);
	if (docstore_open(&w->store, w->docs, &w->note.docs, NULL, &w->err) < 0 ||
	    docstore_checkpoint(w->store, &w->err) < 0)
		return -1;
	docstore_close(&w->store);
	if (open_read(w) != 0 || check_all(w, &w->last) < 0 || w->last == 0)
		return fail("damage", "the index is not sound to begin with");
	close_read(w);
	if (list_files(&v, w->words, &w->err) < 0 || list_files(&v, w->docs, &w->err) < 0)
		return -1;
	return damage_bytes(w, &v, n, seed, look_at_damage, &w->err);
}

static int begin(struct worker *w, const char *folder)
{
	snprintf(w->words, sizeof w->words, "%s/words", folder);
	snprintf(w->docs, sizeof w->docs, "%s/docs", folder);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct worker_ops ops = {begin, write_commits, check, damage, NULL};
	struct worker w = {.arena = ARENA_INIT(SIZE_MAX)};
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("docstore.", "words.");
	int code = worker_run(argc, argv, &ops, &w, &w.err);
	words_writer_close(&w.writer);
	words_close(&w.reader);
	docstore_close(&w.store);
	arena_free(&w.arena);
	return code;
}
