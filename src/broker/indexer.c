/* The words index of the broker: what is put into it, how it follows the registry, and how a new
 * one takes the place of the old. Folders: words answers questions; words.new is one that is being
 * built because words is not sound or has other settings. They are exchanged in one step when the
 * new one has everything. */
#include "broker/indexer.h"

#include "base/arena.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "broker/search.h"
#include "disk/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Every attribute is searched by its own name; these by another one, or by another one as well. */
static const struct {
	const char *soif, *words;
	bool both;
} renamed[] = {
	{"Partial-Text", "full-text", false},
	{"File-Size", "size", true},
	{"Last-Modification-Time", "modified", true},
	{"Update-Time", "gathered", true},
};

struct str indexer_name(struct str soif_name)
{
	for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
		if (!renamed[i].both && str_eq_nocase(soif_name, str_of(renamed[i].soif)))
			return str_of(renamed[i].words);
	return soif_name;
}

struct str indexer_compared(struct str soif_name)
{
	for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
		if (str_eq_nocase(soif_name, str_of(renamed[i].soif)))
			return str_of(renamed[i].words);
	return soif_name;
}

static const struct {
	const char *words;
	enum words_type type;
} columns[] = {
	{"size", WORDS_NUMBER},   {"modified", WORDS_DATE},  {"gathered", WORDS_DATE},
	{"oid", WORDS_NUMBER},    {SEARCH_SITE, WORDS_WORD}, {SEARCH_TYPE, WORDS_WORD},
	{"language", WORDS_WORD}, {"way", WORDS_WORD},       {"gatherer", WORDS_WORD},
};

/* What is ours to say of a document, whatever attributes it has. */
static const char *const others[] = {"url", "oid", SEARCH_SITE, "way", "gatherer"};
/* Those of them that are values only: their words stand elsewhere in the document, or nowhere. */
static const char *const wordless[] = {SEARCH_SITE, "way", "gatherer"};

/* Records that a step tells: more than a batch, so that it comes nearer while others are taken. */
enum { STEP = 10000 };
enum { OBJECT_ARENA = 192 << 20 }; /* bytes of an object that is read for it */

struct indexer {
	struct arena arena; /* paths */
	const char *folder, *words, *fresh;
	bool rebuilds; /* the writer works in `fresh` */
	struct registry *registry;
	struct docstore *docs;
	struct words_writer *writer;
	struct words_reader *reader; /* of what it writes */
	struct maintenance *maintenance;
	struct registry_scan *scan; /* of what it lacks */
	uint64_t place;             /* in the registry, up to which it was told */
	uint64_t end;               /* of the registry, when the scan began */
	bool follows;
	struct arena object;
};

static void index_settings(struct words_settings *ret)
{
	words_settings_default(ret);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		snprintf(ret->column[ret->columns].name, sizeof ret->column[0].name, "%s",
			 columns[i].words);
		ret->column[ret->columns++].type = columns[i].type;
	}
	for (size_t i = 0; i < ARRAY_LEN(wordless); i++)
		snprintf(ret->weight[ret->weights++].name, sizeof ret->weight[0].name, "%s",
			 wordless[i]);
}

/* Opening */

static int open_writer(struct indexer *ix, const char *folder, struct err *err)
{
	struct words_settings settings;
	struct words_options options = {.settings = &settings, .merges_elsewhere = true};
	index_settings(&settings);
	return words_writer_open(&ix->writer, folder, &options, err);
}

/* 0: the index in this folder is sound, of our settings, and no further than the registry. 1: there
 * is none. 2: it is not. */
static int look_at_index(const struct indexer *ix, const char *folder, struct err *err)
{
	struct words_reader *r = NULL;
	struct words_settings settings;
	struct words_note note;
	int rc = words_open(&r, folder, err);
	if (rc == 1)
		return 1;
	if (rc < 0)
		return err->code == ERR_SYSTEM || err->code == ERR_BUSY ? -1 : 2;
	index_settings(&settings);
	words_reader_note(r, &note);
	bool good = words_settings_same(words_settings(r), &settings) &&
		    note.follows <= registry_length(ix->registry);
	words_close(&r);
	if (good)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: it has other settings, or is of another registry",
		      folder);
	return 2;
}

/* Chooses where to write. An index that was being built goes on. */
static int choose_folder(struct indexer *ix, struct err *err)
{
	struct err why = {0};
	int old = look_at_index(ix, ix->words, &why);
	if (old < 0) {
		*err = why;
		return -1;
	}
	int fresh = old == 0 ? 2 : look_at_index(ix, ix->fresh, err);
	if (fresh < 0 || (fresh == 2 && tree_remove(ix->fresh, err) < 0))
		return -1;
	if (old == 1 && fresh == 0) {
		if (file_rename(ix->fresh, ix->words, err) < 0 || dir_sync(ix->folder, err) < 0)
			return -1;
	}
	ix->rebuilds = old == 2;
	if (ix->rebuilds && fresh != 0)
		log_warn(COLLECTOR, "rebuilding the words index from the documents",
			 KV_TEXT("why", why.msg));
	return 0;
}

/* What came since; nothing if the index has all. */
static int scan_on(struct indexer *ix, struct err *err)
{
	registry_scan_free(&ix->scan);
	ix->end = registry_length(ix->registry);
	ix->follows = ix->place == ix->end;
	return ix->follows ? 0 : registry_scan_open(&ix->scan, ix->registry, ix->place, err);
}

/* From where the index is on; from the beginning in a new one. One of an empty registry lacks
 * nothing: what comes first would otherwise be read back from the documents. */
static int begin_scan(struct indexer *ix, struct err *err)
{
	struct words_note note;
	struct registry_stats stats;
	words_noted(ix->writer, &note);
	registry_stats(ix->registry, &stats);
	bool empty = note.follows == 0 && stats.records == 0;
	ix->place = empty ? registry_length(ix->registry) : note.follows;
	return scan_on(ix, err);
}

static int open_index(struct indexer *ix, struct err *err)
{
	const char *folder = ix->rebuilds ? ix->fresh : ix->words;
	if (open_writer(ix, folder, err) < 0)
		return -1;
	int rc = words_open(&ix->reader, folder, err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s: no index", folder);
	return maintenance_open(&ix->maintenance, ix->writer, err);
}

static void close_index(struct indexer *ix)
{
	registry_scan_free(&ix->scan);
	maintenance_close(&ix->maintenance);
	words_close(&ix->reader);
	words_writer_close(&ix->writer);
}

/* A new index in `fresh`, from the beginning. */
static int begin_again(struct indexer *ix, struct err *err)
{
	close_index(ix);
	if (tree_remove(ix->fresh, err) < 0)
		return -1;
	ix->rebuilds = true;
	return open_index(ix, err) < 0 ? -1 : begin_scan(ix, err);
}

/* The place of the index may lie in what a compression wrote anew; then nobody knows what it lacks,
 * and it is built again. */
static int open_all(struct indexer *ix, struct err *err)
{
	if (choose_folder(ix, err) < 0 || open_index(ix, err) < 0)
		return -1;
	if (begin_scan(ix, err) == 0)
		return 0;
	if (err->code != ERR_USAGE)
		return -1;
	log_warn(COLLECTOR, "rebuilding the words index from the documents",
		 KV_TEXT("why", err->msg));
	return begin_again(ix, err);
}

int indexer_rebuild(struct indexer *ix, struct err *err)
{
	if (ix->rebuilds)
		return 1;
	log_info(COLLECTOR, "rebuilding the words index from the documents",
		 KV_TEXT("why", "ordered by the administrator"));
	return begin_again(ix, err);
}

int indexer_open(struct indexer **ret, const char *folder, struct registry *registry,
		 struct docstore *docs, struct err *err)
{
	struct indexer *ix = mem_alloc(sizeof *ix);
	ix->arena = ARENA_INIT(1 << 20);
	ix->object = ARENA_INIT(OBJECT_ARENA);
	ix->registry = registry;
	ix->docs = docs;
	ix->folder = arena_printf(&ix->arena, "%s", folder);
	ix->words = arena_printf(&ix->arena, "%s/words", folder);
	ix->fresh = arena_printf(&ix->arena, "%s/words.new", folder);
	if (open_all(ix, err) < 0) {
		indexer_close(&ix);
		return -1;
	}
	*ret = ix;
	return 0;
}

void indexer_close(struct indexer **ixp)
{
	struct indexer *ix = *ixp;
	if (!ix)
		return;
	close_index(ix);
	arena_free(&ix->object);
	arena_free(&ix->arena);
	mem_free(ixp);
}

/* Documents */

const struct registry_object *indexer_shown(const struct registry_object *object, size_t n)
{
	const struct registry_object *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (object[i].oid &&
		    (!best || object[i].update_time_s > best->update_time_s ||
		     (object[i].update_time_s == best->update_time_s && object[i].oid > best->oid)))
			best = &object[i];
	return best;
}

static void doc_add(struct words_doc *doc, struct words_attr *attr, struct str name,
		    struct str value)
{
	if (value.n)
		attr[doc->n++] = (struct words_attr){name, value};
}

static void doc_add_attr(struct words_doc *doc, struct words_attr *attr, const struct soif_attr *a)
{
	if (STR_AMONG_NOCASE(a->name, others))
		return;
	for (size_t i = 0; i < ARRAY_LEN(renamed); i++) {
		if (!str_eq_nocase(a->name, str_of(renamed[i].soif)))
			continue;
		doc_add(doc, attr, str_of(renamed[i].words), a->value);
		if (!renamed[i].both)
			return;
	}
	doc_add(doc, attr, a->name, a->value);
}

/* How a document came in, by the name of who told it: the crawl, a folder of SOIF, a gatherer. */
static struct str way_of(const struct indexer *ix, uint32_t point)
{
	size_t n;
	const struct registry_point *p = registry_points(ix->registry, &n);
	for (size_t i = 0; i < n; i++) {
		struct str name = str_of(p[i].name);
		if (p[i].number != point)
			continue;
		if (str_is(name, "crawl"))
			return STR("crawl");
		if (str_starts(name, STR("soif:")) || str_is(name, INDEXER_POINT_ADDED))
			return STR("soif");
		return STR("gatherer");
	}
	return STR("");
}

static void doc_of(const struct indexer *ix, const struct registry_object *shown,
		   const struct soif *obj, struct arena *arena, struct words_doc *ret)
{
	struct words_attr *attr = arena_array(arena, 2 * obj->n + ARRAY_LEN(others), sizeof *attr);
	struct words_doc doc = {.key = obj->url, .oid = shown->oid, .attr = attr};
	uint64_t time_s = 0;
	if (!soif_u64(obj, STR("Last-Modification-Time"), &time_s))
		(void)soif_u64(obj, STR("Update-Time"), &time_s);
	doc.time_s = (int64_t)time_s;
	for (size_t i = 0; i < obj->n; i++)
		doc_add_attr(&doc, attr, &obj->attr[i]);
	doc_add(&doc, attr, STR("url"), obj->url);
	doc_add(&doc, attr, STR("oid"), str_of(arena_printf(arena, "%u", shown->oid)));
	doc_add(&doc, attr, STR(SEARCH_SITE), search_host(obj->url));
	doc_add(&doc, attr, STR("way"), way_of(ix, shown->point));
	doc_add(&doc, attr, STR("gatherer"), shown->gatherer_name);
	*ret = doc;
}

static int add_doc(struct indexer *ix, const struct registry_object *shown, const struct soif *obj,
		   struct err *err)
{
	struct words_doc doc;
	struct err why;
	doc_of(ix, shown, obj, &ix->object, &doc);
	int rc = words_add(ix->writer, &doc, &why);
	if (rc == 0)
		return 0;
	*err = why;
	if (why.code == ERR_USAGE && words_delete(ix->writer, obj->url, &why) < 0)
		*err = why;
	return -1;
}

int indexer_put(struct indexer *ix, const struct registry_object *shown, const struct soif *obj,
		struct err *err)
{
	if (!ix->follows)
		return 0;
	int rc = add_doc(ix, shown, obj, err);
	arena_clear(&ix->object);
	return rc;
}

int indexer_drop(struct indexer *ix, struct str url, struct err *err)
{
	return ix->follows && words_delete(ix->writer, url, err) < 0 ? -1 : 0;
}

bool indexer_follows(const struct indexer *ix)
{
	return ix->follows && !ix->rebuilds;
}

bool indexer_rebuilds(const struct indexer *ix)
{
	return ix->rebuilds;
}

/* Commits */

static int commit_words(struct indexer *ix, uint64_t place, struct err *err)
{
	struct words_note note = {.follows = place};
	int rc = words_commit(ix->writer, &note, err);
	if (rc < 0)
		return -1;
	ix->place = place;
	FAULT("indexer.committed");
	if (words_refresh(&ix->reader, err) < 0)
		return -1;
	if (rc == 0)
		maintenance_merge(ix->maintenance);
	return 0;
}

int indexer_commit(struct indexer *ix, struct err *err)
{
	return ix->follows ? commit_words(ix, registry_length(ix->registry), err) : 0;
}

/* What it lacks */

/* The text of an object that cannot be read leaves it out, and is said. */
static int tell_shown(struct indexer *ix, const struct registry_object *shown, struct err *err)
{
	struct soif obj;
	struct err why = {0};
	int rc = docstore_get(ix->docs, shown->oid, &ix->object, &obj, &why);
	if (rc == 0)
		rc = add_doc(ix, shown, &obj, &why);
	else if (rc == 1)
		rc = err_set(&why, ERR_DAMAGED, "document %u is not in the store", shown->oid);
	if (rc == 0)
		return 0;
	if (why.code != ERR_DAMAGED && why.code != ERR_USAGE) {
		*err = why;
		return -1;
	}
	log_warn(COLLECTOR, "cannot index object", KV_STR("url", shown->url),
		 KV_TEXT("why", why.msg));
	return words_delete(ix->writer, shown->url, err) < 0 ? -1 : 0;
}

static int tell_url(struct indexer *ix, struct str url, struct err *err)
{
	struct registry_object *of_url;
	size_t n;
	if (registry_of_url(ix->registry, url, &ix->object, &of_url, &n, err) < 0)
		return -1;
	const struct registry_object *shown = indexer_shown(of_url, n);
	int rc = shown ? tell_shown(ix, shown, err) : words_delete(ix->writer, url, err);
	arena_clear(&ix->object);
	return MIN(rc, 0);
}

/* 1: there are no more records. A record that does not count any more has a later one. */
static int tell_some(struct indexer *ix, struct err *err)
{
	struct registry_record record;
	int rc = 0;
	for (unsigned i = 0; i < STEP && rc == 0; i++) {
		rc = registry_scan_next(ix->scan, &record, err);
		if (rc != 0)
			return rc;
		if (record.living || record.tombstone)
			rc = tell_url(ix, record.object.url, err);
		ix->place = record.next;
	}
	return rc;
}

static int take_place(struct indexer *ix, struct err *err)
{
	struct stat st;
	bool there = stat(ix->words, &st) == 0;
	close_index(ix);
	FAULT("indexer.exchange");
	int rc = there ? file_exchange(ix->fresh, ix->words, err)
		       : file_rename(ix->fresh, ix->words, err);
	if (rc < 0)
		return -1;
	FAULT("indexer.exchanged");
	if (dir_sync(ix->folder, err) < 0 || tree_remove(ix->fresh, err) < 0)
		return -1;
	ix->rebuilds = false;
	log_info(COLLECTOR, "new words index in use");
	return open_index(ix, err);
}

int indexer_step(struct indexer *ix, bool busy, struct err *err)
{
	if (!ix->follows) {
		int rc = tell_some(ix, err);
		uint64_t place = rc == 1 ? MAX(ix->place, ix->end) : ix->place;
		if (rc < 0 || commit_words(ix, place, err) < 0)
			return -1;
		if (rc == 0)
			return 0;
		return scan_on(ix, err);
	}
	if (!ix->rebuilds || busy)
		return 1;
	return take_place(ix, err) < 0 ? -1 : 1;
}

struct maintenance *indexer_maintenance(struct indexer *ix)
{
	return ix->maintenance;
}

int indexer_stats(struct indexer *ix, uint64_t *ret_docs, uint64_t *ret_behind, struct err *err)
{
	struct words_stats s;
	if (words_refresh(&ix->reader, err) < 0)
		return -1;
	words_stats(ix->reader, &s);
	*ret_docs = s.docs;
	*ret_behind = registry_length(ix->registry) - ix->place;
	return 0;
}
