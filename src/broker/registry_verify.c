/* Everything that the registry says, looked at; and its files for people. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/value.h"
#include "broker/registry_inner.h"

#include <fcntl.h>
#include <inttypes.h>

struct verify {
	struct registry *r;
	struct registry_dead may_lack; /* records whose flag a killed writer may not have set */
	uint64_t records, deleted, valid;
	uint64_t listed[REGISTRY_LISTS]; /* entries of the tables that are right */
	uint32_t changed;
};

static int verify_failed(const struct verify *v, uint64_t at, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: byte %" PRIu64 ": %s", v->r->file.path, at, what);
}

/* A record of the tables' part has all its entries, or none. */
static int verify_listed(struct verify *v, const struct registry_raw *raw, bool dead,
			 struct err *err)
{
	const struct registry_object *o = &raw->object;
	const struct registry_tables *t = &v->r->tables;
	int rc = registry_tables_has(t, REGISTRY_BY_URL, registry_url_key(o->url), raw->at, err);
	if (rc != 0)
		return rc < 0 || dead ? MIN(rc, 0)
				      : verify_failed(v, raw->at, "not in the tables", err);
	if (raw->tombstone)
		return verify_failed(v, raw->at, "a tombstone is in the tables", err);
	v->listed[REGISTRY_BY_URL]++;
	const struct {
		enum registry_list list;
		bool has;
		uint64_t key;
		const char *wrong;
	} others[] = {
		{REGISTRY_BY_MD5, o->md5.n > 0,
		 registry_md5_key(o->gatherer_name, o->gatherer_host, o->md5, o->oid),
		 "its MD5 is not in the tables"},
		{REGISTRY_BY_OID, o->oid > 0, o->oid, "its oid is not in the tables"},
	};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		enum registry_list list = others[i].list;
		if (!others[i].has)
			continue;
		if ((rc = registry_tables_has(t, list, others[i].key, raw->at, err)) != 0)
			return rc < 0 ? -1 : verify_failed(v, raw->at, others[i].wrong, err);
		v->listed[list]++;
	}
	return 0;
}

static int verify_record(void *ctx, const struct registry_raw *raw, struct err *err)
{
	struct verify *v = ctx;
	const struct registry_object *o = &raw->object;
	int dead = registry_lives(v->r, raw, err);
	if (dead < 0)
		return -1;
	v->records++;
	v->deleted += (uint64_t)dead;
	v->valid += !dead;
	if (raw->flag != (uint32_t)dead &&
	    !(dead && raw->flag == 0 && registry_dead_get(&v->may_lack, raw->at)))
		return verify_failed(v, raw->at + REGISTRY_FLAG,
				     dead ? "the flag of a record that does not count is not 1"
					  : "the flag of a record that counts is not 0",
				     err);
	if (o->changed_s < v->changed)
		return verify_failed(v, raw->at, "a record is older than the one before it", err);
	v->changed = o->changed_s;
	if (o->oid > v->r->last.oids || o->point > v->r->points.n)
		return verify_failed(v, raw->at, "an oid or a point that was never given", err);
	return raw->at < v->r->tables.length ? verify_listed(v, raw, dead, err) : 0;
}

/* How registry.commit ends, if this is a reader. */
static int commits_closed(struct registry *r, bool *ret, struct err *err)
{
	enum record_ending ending = RECORD_CLOSED;
	*ret = true;
	if (r->writes)
		return 0;
	if (record_ending(r->path[REGISTRY_COMMIT], &registry_commit_kind, record_tell(r->reader),
			  &ending, err) < 0)
		return -1;
	*ret = ending == RECORD_CLOSED;
	return 0;
}

int registry_counts_check(const struct registry *r, bool closed, bool *ret_right, struct err *err)
{
	struct registry_counts is;
	const struct registry_commit *last = &r->last;
	uint64_t records = 0, ended = 0, tombstones = 0;
	if (registry_header_read(&r->file, &is, err) < 0)
		return -1;
	bool same = is.records == last->records && is.deleted == last->deleted &&
		    is.valid == last->valid;
	for (size_t i = r->recent.n; i > 0 && r->recent.entry[i - 1].at >= last->from; i--) {
		records++;
		ended += r->recent.entry[i - 1].kills != 0;
		tombstones += r->recent.entry[i - 1].tombstone;
	}
	bool before = is.records == last->records - records &&
		      is.deleted == last->deleted - ended - tombstones &&
		      is.valid == last->valid + tombstones - (records - ended);
	*ret_right = same || (before && !closed);
	return 0;
}

static int verify_header(struct verify *v, bool closed, struct err *err)
{
	bool right;
	if (registry_counts_check(v->r, closed, &right, err) < 0)
		return -1;
	return right ? 0 : verify_failed(v, 8, "the counts are not those of the last commit", err);
}

static int verify_counts(const struct verify *v, struct err *err)
{
	const struct registry *r = v->r;
	if (v->records != r->last.records || v->deleted != r->last.deleted ||
	    v->valid != r->last.valid)
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu64 " records, %" PRIu64 " deleted, %" PRIu64
			       " valid; the last commit says %" PRIu64 ", %" PRIu64 ", %" PRIu64,
			       r->file.path, v->records, v->deleted, v->valid, r->last.records,
			       r->last.deleted, r->last.valid);
	for (unsigned i = 0; r->tables.file && i < REGISTRY_LISTS; i++)
		if (v->listed[i] != r->tables.n[i])
			return err_set(err, ERR_DAMAGED,
				       "%s: list %u has %" PRIu64 " entries, %" PRIu64
				       " are of records",
				       r->path[REGISTRY_TABLES], i, r->tables.n[i], v->listed[i]);
	return 0;
}

static int verify_once(struct verify *v, struct err *err)
{
	struct registry *r = v->r;
	bool closed;
	struct registry_tables on_disk = {0};
	static const struct records_known nothing;
	if (records_verify(&registry_commit_format, r->path[REGISTRY_COMMIT], &nothing, err) < 0 ||
	    commits_closed(r, &closed, err) < 0)
		return -1;
	/* Damaged ones were passed over when it was opened. */
	int rc = registry_tables_open(&on_disk, r->path[REGISTRY_TABLES], err);
	if (rc == 0)
		rc = registry_tables_verify(&on_disk, r->path[REGISTRY_TABLES], err);
	registry_tables_close(&on_disk);
	if (rc < 0)
		return -1;
	for (size_t i = r->recent.n; !closed && i > 0; i--) {
		const struct registry_entry *e = &r->recent.entry[i - 1];
		if (e->at < r->last.from)
			break;
		if (e->kills)
			*registry_dead_put(&v->may_lack, e->kills) = 1;
	}
	if (verify_header(v, closed, err) < 0 ||
	    registry_each_committed(r, 0, verify_record, v, err) < 0)
		return -1;
	return verify_counts(v, err);
}

int registry_verify(struct registry *r, struct err *err)
{
	enum { TRIES = 10 };
	int rc = -1;
	if (r->writes && r->recent.n > r->committed)
		return err_set(err, ERR_USAGE, "%s: verified only between commits", r->folder);
	for (unsigned i = 0; i < TRIES; i++) {
		struct verify v = {.r = r};
		struct err ignored;
		rc = verify_once(&v, err);
		registry_dead_free(&v.may_lack);
		/* A reader looks again if somebody committed meanwhile. */
		if (rc == 0 || r->writes || registry_refresh(r, &ignored) != 0)
			break;
	}
	return rc;
}

/* Files for people */

static bool registry_claims(struct str head)
{
	return str_starts(head, STR("GREG"));
}

static void print_text(const void *member, struct buf *out)
{
	const struct str *s = member;
	for (size_t i = 0; i < s->n; i++) {
		unsigned char c = (unsigned char)s->p[i];
		if (c < 0x20 || c == 0x7f || c == '\\')
			buf_printf(out, "\\x%02x", c);
		else
			buf_add_byte(out, (char)c);
	}
}

#define S struct registry_object
static const struct column object_columns[] = {
	COL_OF("URL", S, url, print_text),
	COL_OF("Gatherer-Name", S, gatherer_name, print_text),
	COL_OF("Gatherer-Host", S, gatherer_host, print_text),
	COL_OF("Gatherer-Version", S, gatherer_version, print_text),
	COL_OF("MD5", S, md5, print_text, .how = ROW_BLANK),
	COL_OF("Description", S, description, print_text, .how = ROW_BLANK),
	COL("oid", S, oid),
	COL("point", S, point),
	COL("Update-Time", S, update_time_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
	COL("Last-Modification-Time", S, last_modification_time_s, .unit = UNIT_TIME_S,
	    .how = ROW_NULL),
	COL("Refresh-Rate", S, refresh_rate_s),
	COL("Time-to-Live", S, time_to_live_s),
	COL("changed", S, changed_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
	COL("stored", S, stored_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
};
const struct rows registry_object_rows = {ROWS(S, object_columns)};
#undef S

static int print_registry(const char *path, struct printer *p, struct err *err)
{
	struct file f = FILE_INIT;
	struct registry_counts counts;
	struct registry_walk walk;
	struct registry_raw raw;
	uint64_t size;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	if (registry_header_read(&f, &counts, err) < 0 || file_size(&f, &size, err) < 0) {
		file_drop(&f);
		return -1;
	}
	buf_printf(&p->out, "%" PRIu32 " records, %" PRIu32 " deleted, %" PRIu32 " valid\n",
		   counts.records, counts.deleted, counts.valid);
	registry_walk_begin(&walk, &f, REGISTRY_HEADER, size);
	while ((rc = registry_walk_next(&walk, &raw, err)) == 0) {
		buf_printf(&p->out, "\n%s at %" PRIu64 ", flag %" PRIu32 "\n",
			   raw.tombstone ? "tombstone" : "object", raw.at, raw.flag);
		rows_lines(&registry_object_rows, &raw.object, ":", 0, 0, &p->out);
		printer_step(p);
	}
	registry_walk_end(&walk);
	file_drop(&f);
	return MIN(rc, 0);
}

/* Texts */

/* The files of documents have what was committed with the registry. */
static int verify_mark(struct registry *r, const char *docs_folder, struct err *err)
{
	struct docstore_mark mark;
	struct err ignored;
	int rc;
	do { /* a compaction may have removed what an older commit speaks of */
		registry_docs(r, &mark);
		rc = docstore_check_mark(docs_folder, &mark, err);
	} while (rc < 0 && registry_refresh(r, &ignored) == 0);
	return rc;
}

/* A text that is not there was perhaps deleted after a newer commit. */
static int verify_lost(const struct registry *r, const struct registry_object *o, struct err *err)
{
	struct registry *now = NULL;
	int rc = registry_open_read(&now, r->folder, err);
	if (rc == 0)
		rc = registry_has_oid(now, o->oid, err);
	registry_close(&now);
	if (rc != 0)
		return MIN(rc, 0);
	char url[VALUE_SHOWN];
	return err_set(err, ERR_DAMAGED, "%s: the text %" PRIu32 " of %s is not in the documents",
		       r->path[REGISTRY_FILE], o->oid, value_show(o->url, url));
}

static int verify_texts(struct registry *r, struct docstore *docs, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_scan *scan = NULL;
	struct registry_record record;
	int rc = registry_scan_open(&scan, r, 0, err);
	while (rc == 0 && (rc = registry_scan_next(scan, &record, err)) == 0) {
		struct docstore_part part = {.most = 1};
		struct str text;
		if (!record.living || !record.object.oid)
			continue;
		arena_clear(&arena);
		rc = docstore_read_part(docs, record.object.oid, &part, &arena, &text, err);
		if (rc == 1)
			rc = verify_lost(r, &record.object, err);
	}
	registry_scan_free(&scan);
	arena_free(&arena);
	return MIN(rc, 0);
}

/* Without a table there is nothing to look texts up in; the next start makes it again. */
static int verify_docs(struct registry *r, struct err *err)
{
	CLEANUP(docstore_close) struct docstore *docs = NULL;
	CLEANUP(mem_free) char *folder = mem_printf("%s/docs", r->folder);
	struct err ignored;
	int rc = verify_mark(r, folder, err);
	if (rc == 0 && docstore_open_read(&docs, folder, &ignored) == 0)
		rc = verify_texts(r, docs, err);
	return rc;
}

static int verify_folder(const char *path, struct err *err)
{
	CLEANUP(registry_close) struct registry *r = NULL;
	CLEANUP(mem_free) char *folder = file_folder(path);
	int rc = registry_open_read(&r, folder, err);
	if (rc == 0)
		rc = registry_verify(r, err);
	return rc == 0 ? verify_docs(r, err) : rc;
}

const struct format registry_format = {
	.name = "registry",
	.file = "broker/registry",
	.claims = registry_claims,
	.help = "which objects the broker has",
	.remedy = DOCSTORE_REMEDY,
	.print = print_registry,
	.verify = verify_folder,
};

const struct format registry_commit_format = {
	.name = "registry-commit",
	.file = "broker/registry.commit",
	.magic = "GARNERRG",
	.version = 1,
	.help = "what of the registry counts, and how far each point was read",
	.remedy = DOCSTORE_REMEDY,
	.records = &registry_commit_kind,
	.show = registry_commit_show,
};

static int print_tables(const char *path, struct printer *p, struct err *err)
{
	struct registry_tables t = {0};
	int rc = registry_tables_open(&t, path, err);
	if (rc != 0)
		return rc;
	buf_printf(&p->out,
		   "base %" PRIu64 ", length %" PRIu64 "\nby URL %" PRIu64 ", by MD5 %" PRIu64
		   ", by oid %" PRIu64 "\n",
		   t.base, t.length, t.n[REGISTRY_BY_URL], t.n[REGISTRY_BY_MD5],
		   t.n[REGISTRY_BY_OID]);
	registry_tables_close(&t);
	return 0;
}

static int verify_tables(const char *path, struct err *err)
{
	struct registry_tables t = {0};
	int rc = registry_tables_open(&t, path, err);
	if (rc == 0)
		rc = registry_tables_verify(&t, path, err);
	registry_tables_close(&t);
	return rc;
}

const struct format registry_tables_format = {
	.name = "registry-tables",
	.file = "broker/registry.tables",
	.magic = "GARNERRT",
	.version = 1,
	.help = "where the record of an object lies in the registry",
	.remedy = "remove it: the broker makes it again at its start",
	.print = print_tables,
	.verify = verify_tables,
};
