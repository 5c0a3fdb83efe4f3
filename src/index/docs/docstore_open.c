/* Opening a document store to write: what lies beyond the mark goes, and the table becomes that of
 * the mark. Oids ascend, so that what counts is known by the highest one up to the mark. The table
 * is made sound and durable first; then files are cut and removed, so that no reader is led to what
 * is gone. A file that was cut is not appended to again: readers may have seen what was there. */
#include "base/fault.h"
#include "base/vec.h"
#include "index/docs/docstore_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Files of a folder */

/* The number of a file of ours. */
static bool parse_name(const char *name, const char *kind, uint32_t *ret)
{
	struct str s = str_of(name);
	uint64_t number;
	if (!str_ends(s, str_of(kind)) || !str_u64(str_head(s, s.n - strlen(kind)), &number) ||
	    number == 0 || number >= BLOCK_FILES)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* 1: it is gone. */
static int found_read(const char *folder, uint32_t number, struct found_file *ret, struct err *err)
{
	char path[PATH_MAX], head[BLOCK_FILE_HEAD];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct found_file is = {.id.number = number};
	struct block_file id;
	struct err why;
	size_t got;
	store_path(folder, number, ".docs", path);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	if (file_size(&f, &is.size, err) < 0 || file_read(&f, head, sizeof head, 0, &got, err) < 0)
		return -1;
	is.sound = block_file_head_read((struct str){head, got}, path, &id, &why) == 0 &&
		   id.number == number;
	if (is.sound)
		is.id = id;
	*ret = is;
	return 0;
}

int found_list(struct found_files *ret, const char *folder, struct err *err)
{
	struct found_files f = {0};
	struct found_file is;
	struct dir d;
	const char *name;
	uint32_t number;
	int rc = dir_init(&d, folder, err);
	if (rc != 0)
		return rc;
	while (rc >= 0 && dir_next(&d, &name) == 0) { /* sorted: eight digits, as numbers are */
		if (!parse_name(name, ".docs", &number))
			continue;
		rc = found_read(folder, number, &is, err);
		if (rc == 0)
			*VEC_PUSH(f.file, f.n, f.room) = is;
	}
	dir_done(&d);
	if (rc < 0) {
		found_free(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

void found_free(struct found_files *f)
{
	mem_free(&f->file);
	*f = (struct found_files){0};
}

uint64_t found_counts(const struct found_file *f, const struct docstore_mark *mark)
{
	if (mark->file == 0)
		return 0;
	if (f->sound && f->id.compacted)
		return f->size;
	return f->id.number > mark->file    ? 0
	       : f->id.number == mark->file ? MIN(mark->length, f->size)
					    : f->size;
}

static bool mark_same(const struct docstore_mark *a, const struct docstore_mark *b)
{
	return a->file == b->file && a->length == b->length;
}

static bool mark_before(const struct docstore_mark *a, const struct docstore_mark *b)
{
	return a->file < b->file || (a->file == b->file && a->length < b->length);
}

static const struct found_file *found_number(const struct found_files *f, uint32_t number)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->file[i].id.number == number)
			return &f->file[i];
	return NULL;
}

bool found_headless(const struct found_file *is, const struct store_file *known)
{
	return is->id.number == known->number && known->compacted && !is->sound;
}

int found_headless_refuse(const char *folder, uint32_t number, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s/%08" PRIu32 ".docs: does not begin as a file of documents does", folder,
		       number);
}

/* A file that compaction made when this was what counted. */
static const struct found_file *found_cover(const struct found_files *f,
					    const struct docstore_mark *mark)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->file[i].sound && f->file[i].id.compacted &&
		    mark_same(&f->file[i].id.covers, mark))
			return &f->file[i];
	return NULL;
}

int found_check_mark(const struct found_files *found, const struct docstore_mark *mark,
		     const char *folder, struct err *err)
{
	const struct found_file *f = found_number(found, mark->file);
	if (mark->file == 0 || (f && f->size >= mark->length) || (!f && found_cover(found, mark)))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s/%08" PRIu32 ".docs: has %" PRIu64 " bytes, %" PRIu64 " were committed",
		       folder, mark->file, f ? f->size : 0, mark->length);
}

/* Counting, and the table */

int store_count(struct docstore *ds, struct err *err)
{
	struct store_file *f = NULL;
	if (ds->counted)
		return 0;
	for (size_t i = 0; i < ds->nfiles; i++) {
		ds->file[i].dead_docs = ds->file[i].docs;
		ds->file[i].dead_bytes = ds->file[i].text_bytes;
	}
	uint64_t n = MIN(ds->top + 1, table_slots(&ds->table));
	for (uint64_t oid = 1; oid < n; oid++) {
		struct table_slot slot = table_raw(&ds->table, oid);
		if (slot.addr == 0)
			continue;
		if (!f || f->number != block_addr_file(slot.addr))
			f = store_file_find(ds, block_addr_file(slot.addr));
		if (!f)
			continue;
		f->dead_docs -= f->dead_docs > 0;
		f->dead_bytes -= MIN(f->dead_bytes, (uint64_t)slot.bytes);
	}
	f = appender_open(&ds->end) ? store_file_find(ds, ds->end.is.number) : NULL;
	const struct block_maker *b = &ds->end.block;
	if (f && b->docs) { /* not in the table yet */
		f->dead_docs -= MIN(f->dead_docs, (uint64_t)b->docs);
		f->dead_bytes -= MIN(f->dead_bytes, (uint64_t)b->text.n);
	}
	ds->counted = table_check(&ds->table, err) == 0;
	return ds->counted ? 0 : -1;
}

int store_save(struct docstore *ds, struct err *err)
{
	struct table_state s = {.mark = ds->synced, .top = ds->synced_top};
	if (store_count(ds, err) < 0)
		return -1;
	pthread_rwlock_rdlock(&ds->lock);
	s.next = ds->next;
	pthread_rwlock_unlock(&ds->lock);
	for (size_t i = 0; i < ds->nfiles; i++) {
		struct store_file f = ds->file[i];
		if (!f.compacted && f.number > ds->synced.file)
			continue; /* the next start looks at it */
		if (f.number == ds->synced.file) {
			f.docs = ds->synced_is.docs;
			f.text_bytes = ds->synced_is.text_bytes;
		}
		*VEC_PUSH(s.file, s.files, s.file_room) = f;
	}
	int rc = table_save(&ds->table, &s, err);
	table_state_free(&s);
	if (rc == 0)
		ds->unsaved = 0;
	return rc;
}

struct taking {
	struct doc_table *table;
	struct store_file *f; /* counted in it, if not NULL */
	uint64_t top;         /* the highest that was seen */
	uint64_t most;        /* higher ones do not count */
	bool there_only;      /* only of documents that are there */
	bool slots;           /* they are changed at all */
	struct err *err;
};

static int take_doc(void *ctx, uint64_t addr, const struct block_doc *doc)
{
	struct taking *t = ctx;
	struct table_slot slot = {addr, (uint32_t)doc->n};
	if (t->f) {
		t->f->docs++;
		t->f->text_bytes += doc->n;
	}
	if (doc->oid > t->most)
		return 0;
	t->top = MAX(t->top, doc->oid);
	if (!t->slots)
		return 0;
	if (t->there_only) {
		/* A copy has a higher number than what it was made from. */
		uint64_t now =
			table_has_room(t->table, doc->oid) ? table_raw(t->table, doc->oid).addr : 0;
		if (now && block_addr_file(now) <= block_addr_file(addr))
			table_set(t->table, doc->oid, slot);
		return 0;
	}
	if (table_grow(t->table, doc->oid, t->err) < 0)
		return -1;
	table_set(t->table, doc->oid, slot);
	return 0;
}

int store_take_over(struct docstore *ds, const struct store_file *f, struct err *err)
{
	struct taking t = {.table = &ds->table,
			   .most = DOCSTORE_OID_MOST,
			   .there_only = true,
			   .slots = true,
			   .err = err};
	return blocks_walk(ds->folder, f->number, BLOCK_FILE_HEAD, f->length, take_doc, &t, err);
}

/* Opening */

struct opening {
	struct docstore *ds;
	struct docstore_mark mark;
	struct found_files found;
	struct table_state state;
	bool made;   /* the table is new */
	bool change; /* its state is to be written */
	bool merge;  /* files may be there that compaction would have removed */
	uint64_t cut;
	uint32_t headless; /* a compacted file that the table knows, and which does not begin so */
};

static struct store_file *add_found(struct opening *o, const struct found_file *is)
{
	struct store_file *f = store_file_add(o->ds, is->id.number);
	f->compacted = is->id.compacted;
	f->length = found_counts(is, &o->mark);
	return f;
}

static int walk_found(struct opening *o, const struct found_file *is, uint64_t from,
		      struct taking *t, struct err *err)
{
	t->table = &o->ds->table;
	t->err = err;
	t->f = store_file_find(o->ds, is->id.number);
	return blocks_walk(o->ds->folder, is->id.number, from, t->f->length, take_doc, t, err);
}

/* A new table from all blocks: compacted files last, since a document in two files was moved. */
static int make_table(struct opening *o, struct err *err)
{
	char path[PATH_MAX];
	struct docstore *ds = o->ds;
	struct taking t = {.most = DOCSTORE_OID_MOST, .slots = true};
	snprintf(path, sizeof path, "%s/table.new", ds->folder);
	table_close(&ds->table);
	FAULT("docstore.table.new");
	int rc = table_create(&ds->table, path, err);
	for (int compacted = 0; rc == 0 && compacted < 2; compacted++)
		for (size_t i = 0; rc == 0 && i < o->found.n; i++) {
			const struct found_file *is = &o->found.file[i];
			if (is->id.compacted != compacted || found_counts(is, &o->mark) == 0)
				continue;
			(void)add_found(o, is);
			rc = walk_found(o, is, BLOCK_FILE_HEAD, &t, err);
			t.top = MAX(t.top, is->id.covers_top);
		}
	ds->top = t.top;
	o->made = o->change = o->merge = true;
	return rc;
}

/* The highest oid up to the mark, where the table is further. */
static int find_top(struct opening *o, uint64_t *ret, struct err *err)
{
	struct taking t = {.most = DOCSTORE_OID_MOST};
	const struct found_file *is = found_number(&o->found, o->mark.file);
	if (!is) {
		is = found_cover(&o->found, &o->mark);
		*ret = is ? is->id.covers_top : 0;
		return 0;
	}
	struct store_file *f = store_file_find(o->ds, is->id.number);
	if (!f)
		f = add_found(o, is);
	f->docs = f->text_bytes = 0;
	if (walk_found(o, is, BLOCK_FILE_HEAD, &t, err) < 0)
		return -1;
	*ret = t.top;
	return 0;
}

/* What came after the place up to which the table is durable. */
static int catch_up(struct opening *o, struct err *err)
{
	struct taking t = {.top = o->state.top, .most = DOCSTORE_OID_MOST, .slots = true};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->found.n; i++) {
		const struct found_file *is = &o->found.file[i];
		uint32_t number = is->id.number;
		if (is->id.compacted || number < o->state.mark.file ||
		    found_counts(is, &o->mark) == 0)
			continue;
		bool known = number == o->state.mark.file;
		if (!store_file_find(o->ds, number))
			(void)add_found(o, is);
		rc = walk_found(o, is, known ? o->state.mark.length : BLOCK_FILE_HEAD, &t, err);
	}
	o->ds->top = t.top;
	o->change |= t.top > o->state.top;
	return rc;
}

/* Files that the table does not know: made by a compaction that did not end, or to be removed by
 * one that did, or too many to be told. */
static int take_unknown(struct opening *o, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->found.n; i++) {
		const struct found_file *is = &o->found.file[i];
		if (store_file_find(o->ds, is->id.number) || found_counts(is, &o->mark) == 0)
			continue;
		struct taking t = {
			.most = o->ds->top, .there_only = true, .slots = is->id.compacted};
		(void)add_found(o, is);
		rc = walk_found(o, is, BLOCK_FILE_HEAD, &t, err);
		o->merge = o->change = true;
	}
	return rc;
}

/* The table that is there becomes that of the mark. ERR_DAMAGED: it is of no use. */
static int use_table(struct opening *o, struct err *err)
{
	struct docstore *ds = o->ds;
	const struct table_state *s = &o->state;
	int rc = table_open(&ds->table, ds->table_path, true, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: there is none", ds->table_path);
	if (rc < 0 || table_load(&ds->table, &o->state, err) < 0)
		return -1;
	if (s->mark.file && !found_number(&o->found, s->mark.file) &&
	    !found_cover(&o->found, &s->mark) && !mark_before(&o->mark, &s->mark))
		return err_set(err, ERR_DAMAGED, "%s: it is of other documents", ds->table_path);
	for (size_t i = 0; i < s->files; i++) {
		const struct found_file *is = found_number(&o->found, s->file[i].number);
		if (is && found_headless(is, &s->file[i]))
			o->headless = is->id.number;
		if (!is || found_counts(is, &o->mark) == 0)
			continue;
		struct store_file *f = add_found(o, is);
		f->compacted = s->file[i].compacted;
		f->docs = s->file[i].docs;
		f->text_bytes = s->file[i].text_bytes;
	}
	ds->next = MAX(ds->next, s->next);
	if (mark_before(&o->mark, &s->mark)) {
		o->change = true;
		rc = find_top(o, &ds->top, err);
	} else {
		rc = catch_up(o, err);
	}
	return rc == 0 ? take_unknown(o, err) : rc;
}

static int ready_table(struct opening *o, struct err *err)
{
	struct docstore *ds = o->ds;
	struct err why;
	int rc = use_table(o, &why);
	if (rc == 0)
		return 0;
	if (why.code != ERR_DAMAGED) {
		*err = why;
		return -1;
	}
	ds->nfiles = 0;
	return make_table(o, err);
}

/* The table has slots up to the highest oid that counts, and is durable. */
static int settle_table(struct opening *o, struct err *err)
{
	char path[PATH_MAX];
	struct docstore *ds = o->ds;
	uint64_t n = table_slots(&ds->table);
	for (uint64_t oid = ds->top + 1; oid < n && !o->change; oid++)
		o->change = table_raw(&ds->table, oid).addr != 0;
	table_clear_from(&ds->table, ds->top + 1);
	struct store_file *f = store_file_find(ds, o->mark.file);
	ds->synced = o->mark;
	ds->synced_top = ds->top;
	if (f)
		ds->synced_is = *f;
	if (o->change && store_save(ds, err) < 0)
		return -1;
	if (!o->made)
		return table_check(&ds->table, err);
	snprintf(path, sizeof path, "%s/table.new", ds->folder);
	FAULT("docstore.table.rename");
	if (file_rename(path, ds->table_path, err) < 0 || dir_sync(ds->folder, err) < 0)
		return -1;
	table_close(&ds->table);
	if (table_open(&ds->table, ds->table_path, true, err) != 0)
		return -1;
	table_state_free(&o->state);
	return table_load(&ds->table, &o->state, err);
}

static int cut_file(struct opening *o, const struct found_file *is, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t length = found_counts(is, &o->mark);
	store_path(o->ds->folder, is->id.number, ".docs", path);
	if (length == 0) {
		FAULT("docstore.sweep");
		o->cut += is->size;
		return MIN(file_remove(path, err), 0);
	}
	if (length >= is->size)
		return 0;
	FAULT("docstore.cut");
	int rc = file_open(&f, path, O_RDWR, 0, err);
	if (rc == 1)
		return 0;
	o->cut += is->size - length;
	return rc < 0 || file_truncate(&f, length, err) < 0 ? -1 : file_sync(&f, err);
}

/* What a writer left that was killed while it made it. */
static int sweep_name(const struct docstore *ds, const char *name, uint32_t *next, struct err *err)
{
	char path[PATH_MAX];
	uint32_t number;
	bool copy = parse_name(name, ".docs.new", &number);
	if (copy)
		*next = MAX(*next, number + 1);
	if (!copy && strcmp(name, "table.new") != 0)
		return 0;
	snprintf(path, sizeof path, "%s/%s", ds->folder, name);
	FAULT("docstore.sweep.new");
	return MIN(file_remove(path, err), 0);
}

static int sweep_new(struct docstore *ds, struct err *err)
{
	struct dir d;
	const char *name;
	int rc = dir_init_own(&d, ds->folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc == 0 && dir_next(&d, &name) == 0)
		rc = sweep_name(ds, name, &ds->next, err);
	dir_done(&d);
	return rc;
}

/* Files that have no documents any more, but for what the mark needs. */
static int remove_empty(struct opening *o, struct err *err)
{
	struct docstore *ds = o->ds;
	char path[PATH_MAX];
	if (store_count(ds, err) < 0)
		return -1;
	for (size_t i = ds->nfiles; i-- > 0;) {
		const struct found_file *is = found_number(&o->found, ds->file[i].number);
		if (ds->file[i].dead_docs < ds->file[i].docs || is->id.number == o->mark.file ||
		    mark_same(&is->id.covers, &o->mark))
			continue;
		store_path(ds->folder, is->id.number, ".docs", path);
		FAULT("docstore.sweep.empty");
		if (file_remove(path, err) < 0)
			return -1;
		store_file_forget(ds, is->id.number);
	}
	table_moved(&ds->table);
	return 0;
}

/* Goes on in the file of the mark, where that is possible. */
static int resume_end(struct opening *o, struct err *err)
{
	struct docstore *ds = o->ds;
	const struct found_file *is = found_number(&o->found, o->mark.file);
	const struct store_file *f = store_file_find(ds, o->mark.file);
	if (!is || !f || is->size > f->length || f->length >= BLOCK_FILE_FULL)
		return 0;
	return MIN(appender_resume(&ds->end, ds->folder, f, err), 0);
}

static int open_by_mark(struct opening *o, struct err *err)
{
	struct docstore *ds = o->ds;
	if (found_list(&o->found, ds->folder, err) < 0 || sweep_new(ds, err) < 0)
		return -1;
	if (o->found.n)
		ds->next = MAX(ds->next, o->found.file[o->found.n - 1].id.number + 1);
	if (found_check_mark(&o->found, &o->mark, ds->folder, err) < 0 || ready_table(o, err) < 0)
		return -1;
	if (!o->made && o->headless) /* else it would be taken for one that was never committed */
		return found_headless_refuse(ds->folder, o->headless, err);
	for (size_t i = 0; i < o->found.n; i++) { /* their numbers are not to be used again */
		uint64_t length = found_counts(&o->found.file[i], &o->mark);
		o->change |= length == 0 || length < o->found.file[i].size;
	}
	if (settle_table(o, err) < 0)
		return -1;
	for (size_t i = 0; i < o->found.n; i++)
		if (cut_file(o, &o->found.file[i], err) < 0)
			return -1;
	if (o->merge && remove_empty(o, err) < 0)
		return -1;
	return dir_sync(ds->folder, err) < 0 ? -1 : resume_end(o, err);
}

int docstore_open(struct docstore **ret, const char *folder, const struct docstore_mark *mark,
		  struct docstore_opened *ret_is, struct err *err)
{
	struct docstore *ds = docstore_new(folder);
	struct opening o = {.ds = ds, .mark = mark ? *mark : (struct docstore_mark){0}};
	ds->writes = true;
	int rc = dir_make(folder, DIR_MODE, err);
	if (rc == 0)
		rc = lock_take(&ds->taken, folder, err);
	if (rc == 0)
		rc = open_by_mark(&o, err);
	bool remade = o.made && o.mark.file;
	found_free(&o.found);
	table_state_free(&o.state);
	if (rc < 0) {
		docstore_close(&ds);
		return -1;
	}
	if (ret_is)
		*ret_is = (struct docstore_opened){o.cut, remade};
	*ret = ds;
	return 0;
}
