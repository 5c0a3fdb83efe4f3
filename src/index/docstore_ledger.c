#include "index/docstore_ledger.h"

#include "base/cursor.h"

#include <inttypes.h>

enum { PIECE = 1 << 20 };

const struct record_kind ledger_kind = {
	.magic = "GARNERDL", .version = LEDGER_VERSION, .most = RECORD_MOST};

/* A change is a byte that says which one, and numbers. */
enum { NEXT = 1, FILE_IS, DEAD, GONE, MOVED, FORGET, CHANGES };

struct change {
	uint64_t v[4];
};

struct ledger_file *ledger_find(const struct ledger *l, uint32_t number)
{
	size_t from = 0, to = l->files;
	while (from < to) {
		size_t mid = (from + to) / 2;
		if (l->file[mid].number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from < l->files && l->file[from].number == number ? &l->file[from] : NULL;
}

struct ledger_moved *ledger_find_moved(const struct ledger *l, uint32_t number)
{
	for (size_t i = 0; i < l->nmoved; i++)
		if (l->moved[i].number == number)
			return &l->moved[i];
	return NULL;
}

void ledger_free(struct ledger *l)
{
	mem_free(&l->file);
	mem_free(&l->moved);
	ledger_dead_free(&l->dead);
	*l = LEDGER_INIT;
}

/* Each applies one change; false: it cannot be. */

static bool set_next(struct ledger *l, const struct change *c)
{
	if (c->v[0] < l->next || c->v[0] > BLOCK_FILES)
		return false;
	l->next = (uint32_t)c->v[0];
	return true;
}

/* Files that compaction made may come behind those that were begun meanwhile. */
static struct ledger_file *add_file(struct ledger *l, uint32_t number)
{
	size_t at = l->files;
	l->file = mem_resize(l->file, (l->files + 1) * sizeof *l->file);
	for (; at > 0 && l->file[at - 1].number > number; at--)
		l->file[at] = l->file[at - 1];
	l->file[at] = (struct ledger_file){.number = number};
	l->files++;
	return &l->file[at];
}

static bool set_file(struct ledger *l, const struct change *c)
{
	uint32_t number = (uint32_t)c->v[0];
	if (c->v[0] == 0 || c->v[0] >= BLOCK_FILES || c->v[1] < BLOCK_FILE_HEAD ||
	    c->v[1] > (uint64_t)1 << 31)
		return false;
	struct ledger_file *f = ledger_find(l, number);
	if (!f)
		f = add_file(l, number);
	if (c->v[1] < f->length || c->v[2] < f->docs || c->v[3] < f->text_bytes)
		return false;
	f->length = c->v[1];
	f->docs = c->v[2];
	f->text_bytes = c->v[3];
	l->next = MAX(l->next, number + 1);
	return true;
}

static bool set_dead(struct ledger *l, const struct change *c)
{
	struct ledger_file *f = ledger_find(l, block_addr_file((struct docaddr){c->v[0]}));
	if (!f || block_addr_at((struct docaddr){c->v[0]}) >= f->length || c->v[1] > UINT32_MAX)
		return false;
	bool is_new;
	*ledger_dead_put_new(&l->dead, c->v[0], &is_new) = (uint32_t)c->v[1];
	f->dead_docs++;
	f->dead_bytes += c->v[1];
	return is_new;
}

static bool set_gone(struct ledger *l, const struct change *c)
{
	struct ledger_file *f = c->v[0] < BLOCK_FILES ? ledger_find(l, (uint32_t)c->v[0]) : NULL;
	if (!f)
		return false;
	TABLE_EACH (ledger_dead, slot, &l->dead)
		if (block_addr_file((struct docaddr){slot->key}) == c->v[0])
			(void)ledger_dead_remove(&l->dead, slot->key);
	l->files--;
	memmove(f, f + 1, (size_t)(l->file + l->files - f) * sizeof *f);
	return true;
}

static bool set_moved(struct ledger *l, const struct change *c)
{
	if (c->v[0] == 0 || c->v[0] >= BLOCK_FILES || ledger_find_moved(l, (uint32_t)c->v[0]))
		return false;
	l->moved = mem_resize(l->moved, (l->nmoved + 1) * sizeof *l->moved);
	l->moved[l->nmoved++] = (struct ledger_moved){(uint32_t)c->v[0], c->v[1]};
	return true;
}

static bool set_forget(struct ledger *l, const struct change *c)
{
	struct ledger_moved *m =
		c->v[0] < BLOCK_FILES ? ledger_find_moved(l, (uint32_t)c->v[0]) : NULL;
	if (!m)
		return false;
	l->nmoved--;
	memmove(m, m + 1, (size_t)(l->moved + l->nmoved - m) * sizeof *m);
	return true;
}

static const struct {
	const char *name;
	unsigned numbers;
	bool (*apply)(struct ledger *l, const struct change *c);
} kinds[CHANGES] = {
	[NEXT] = {"next", 1, set_next},    [FILE_IS] = {"file", 4, set_file},
	[DEAD] = {"deleted", 2, set_dead}, [GONE] = {"gone", 1, set_gone},
	[MOVED] = {"moved", 2, set_moved}, [FORGET] = {"forget", 1, set_forget},
};

/* 1: the end of the record. */
static int next_change(struct reader *r, unsigned *ret_kind, struct change *ret)
{
	if (reader_left(r) == 0)
		return 1;
	unsigned kind = reader_u8(r);
	if (kind == 0 || kind >= CHANGES)
		return -1;
	struct change c = {0};
	for (unsigned i = 0; i < kinds[kind].numbers; i++)
		c.v[i] = reader_varint(r);
	*ret_kind = kind;
	*ret = c;
	return r->bad ? -1 : 0;
}

int ledger_apply(struct ledger *l, struct str record, const char *path, struct err *err)
{
	struct reader r = reader_of(record);
	struct change c;
	unsigned kind = 0;
	int rc;
	while ((rc = next_change(&r, &kind, &c)) == 0)
		if (!kinds[kind].apply(l, &c))
			return err_set(
				err, ERR_DAMAGED,
				"%s: the ledger of documents contradicts itself: %s %" PRIu64, path,
				kinds[kind].name, c.v[0]);
	return rc < 0 ? err_set(err, ERR_DAMAGED,
				"%s: a record of the ledger of documents cannot be read", path)
		      : 0;
}

static void put_change(struct buf *out, unsigned kind, const struct change *c)
{
	put_u8(out, (uint8_t)kind);
	for (unsigned i = 0; i < kinds[kind].numbers; i++)
		put_varint(out, c->v[i]);
}

void ledger_put_file(struct buf *out, const struct ledger_file *f)
{
	put_change(out, FILE_IS, &(struct change){{f->number, f->length, f->docs, f->text_bytes}});
}

void ledger_put_dead(struct buf *out, struct docaddr addr, uint32_t text_bytes)
{
	put_change(out, DEAD, &(struct change){{addr.v, text_bytes}});
}

void ledger_put_gone(struct buf *out, uint32_t number)
{
	put_change(out, GONE, &(struct change){{number}});
}

void ledger_put_moved(struct buf *out, const struct ledger_moved *m)
{
	put_change(out, MOVED, &(struct change){{m->number, m->docs}});
}

void ledger_put_forget(struct buf *out, uint32_t number)
{
	put_change(out, FORGET, &(struct change){{number}});
}

uint64_t ledger_weight(const struct ledger *l)
{
	return 64 + 24 * (uint64_t)l->files + 16 * (uint64_t)l->nmoved +
	       12 * (uint64_t)ledger_dead_count(&l->dead);
}

/* A ledger of many records is read as one of few is. */
static int ledger_hand_over(struct buf *out, size_t more_than, ledger_record_fn *take, void *ctx,
			    struct err *err)
{
	if (out->n <= more_than)
		return 0;
	ENSURE(!out->over);
	int rc = take(ctx, buf_str(out), err);
	buf_clear(out);
	return rc;
}

int ledger_print(const struct ledger *l, ledger_record_fn *take, void *ctx, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)2 * PIECE);
	put_change(&out, NEXT, &(struct change){{l->next}});
	for (size_t i = 0; i < l->nmoved; i++) {
		ledger_put_moved(&out, &l->moved[i]);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < l->files; i++) {
		ledger_put_file(&out, &l->file[i]);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	TABLE_EACH (ledger_dead, slot, &l->dead) {
		ledger_put_dead(&out, (struct docaddr){slot->key}, slot->value);
		if (ledger_hand_over(&out, PIECE, take, ctx, err) < 0)
			return -1;
	}
	return ledger_hand_over(&out, 0, take, ctx, err);
}

void ledger_show(struct str record, struct buf *out)
{
	struct reader r = reader_of(record);
	struct change c;
	unsigned kind;
	const char *between = "";
	int rc;
	while ((rc = next_change(&r, &kind, &c)) == 0) {
		buf_printf(out, "%s%s", between, kinds[kind].name);
		for (unsigned i = 0; i < kinds[kind].numbers; i++)
			buf_printf(out, " %" PRIu64, c.v[i]);
		between = "; ";
	}
	if (rc < 0)
		buf_printf(out, "%scannot be read", between);
}
