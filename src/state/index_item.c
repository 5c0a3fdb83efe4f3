#include "state/url_index.h"

#include "base/clock.h"

#include <inttypes.h>

enum { TYPE_NO_TARGET = 16 };

const char *const item_type_names[ITEM_TYPES] = {"sleeping", "new",       "gathered", "error",
						 "qkey",     "temporary", "zombie"};

void footprint_key(struct footprint fp, unsigned char ret[FOOTPRINT_KEY])
{
	for (unsigned i = 0; i < 8; i++) {
		ret[i] = (unsigned char)(fp.site >> (56 - 8 * i));
		ret[8 + i] = (unsigned char)(fp.path >> (56 - 8 * i));
	}
}

struct footprint footprint_of_key(const void *p)
{
	return (struct footprint){order_u64(p), order_u64((const char *)p + 8)};
}

static unsigned char *put(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (unsigned char)(v >> 8 * i);
	return p;
}

void item_put_where(struct buf *out, uint64_t where)
{
	put_varint(out, where >= ITEM_NOWHERE ? 0 : where + 1);
}

uint64_t item_take_where(struct reader *r)
{
	uint64_t v = reader_varint(r);
	if (v > ITEM_NOWHERE)
		r->bad = true;
	return v == 0 || v > ITEM_NOWHERE ? ITEM_NOWHERE : v - 1;
}

void index_item_write(const struct index_item *item, unsigned char ret[INDEX_ITEM])
{
	unsigned char *p = ret;
	footprint_key(item->fp, p);
	p += FOOTPRINT_KEY;
	p = put(p, item->where, 6);
	p = put(p, item->status, 2);
	p = put(p, item->last_seen_s, 4);
	p = put(p, item->stable_s, 4);
	p = put(p, item->due_s, 4);
	p = put(p, item->since_day, 2);
	*p++ = (unsigned char)(item->type | (item->no_target ? TYPE_NO_TARGET : 0));
	*p++ = item->flags;
	*p++ = item->retry;
	*p++ = item->weight;
	*p++ = item->freq;
	*p++ = item->download_ds;
	*p++ = item->section;
	ENSURE(p == ret + INDEX_ITEM);
}

int index_item_read(const unsigned char p[INDEX_ITEM], struct index_item *ret, struct err *err)
{
	struct reader r = reader_of((struct str){(const char *)p, INDEX_ITEM});
	struct index_item item = {.fp = footprint_of_key(p)};
	reader_skip(&r, FOOTPRINT_KEY);
	item.where = reader_u32le(&r);
	item.where |= (uint64_t)reader_u16le(&r) << 32;
	item.status = reader_u16le(&r);
	item.last_seen_s = reader_u32le(&r);
	item.stable_s = reader_u32le(&r);
	item.due_s = reader_u32le(&r);
	item.since_day = reader_u16le(&r);
	uint8_t type = reader_u8(&r);
	item.no_target = type & TYPE_NO_TARGET;
	item.flags = reader_u8(&r);
	item.retry = reader_u8(&r);
	item.weight = reader_u8(&r);
	item.freq = reader_u8(&r);
	item.download_ds = reader_u8(&r);
	item.section = reader_u8(&r);
	type &= (uint8_t)~TYPE_NO_TARGET;
	if (type >= ITEM_TYPES || type == ITEM_TEMPORARY)
		return err_set(err, ERR_DAMAGED, "an index item has the type %u", type);
	item.type = (enum item_type)type;
	*ret = item;
	return 0;
}

bool index_item_has_bucket(const struct index_item *item)
{
	return item->where != ITEM_NOWHERE && !(item->flags & ITEM_CONTRIB) &&
	       item->type != ITEM_QKEY;
}

static void print_time(struct buf *out, const char *name, uint32_t s)
{
	if (s == 0)
		return;
	buf_printf(out, " %s ", name);
	time_print(out, s * US_PER_S, 0);
}

void index_item_print(const struct index_item *item, struct buf *out)
{
	static const char letters[] = "IRUEFCWP";
	char fp[FOOTPRINT_TEXT];
	buf_printf(out, "%s %-8s ", footprint_print(item->fp, fp), item_type_names[item->type]);
	for (unsigned i = 0; i < 8; i++)
		buf_add_byte(out, item->flags >> i & 1 ? letters[i] : '-');
	buf_add_byte(out, item->no_target ? 'T' : '-');
	if (item->where == ITEM_NOWHERE)
		buf_add_text(out, " -");
	else
		buf_printf(out, " %" PRIx64, item->where);
	buf_printf(out, " status %u retry %u weight %u freq %u time %u section %u", item->status,
		   item->retry, item->weight, item->freq, item->download_ds, item->section);
	print_time(out, "since",
		   (uint32_t)MIN(item->since_day * 86400ul, (unsigned long)UINT32_MAX));
	print_time(out, "seen", item->last_seen_s);
	print_time(out, "stable", item->stable_s);
	print_time(out, "due", item->due_s);
}
