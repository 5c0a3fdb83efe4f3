/* Merge of hostile streams: the first byte says how many there are and what records look like, then
 * the bytes are dealt out. What comes out is in order, lies inside the streams and is all of them,
 * or the merge says that they are damaged. */
#include "disk/merge_inner.h"

enum { MOST = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
	struct order order;
	size_t bytes[MOST];
	struct buf last; /* the record before, and its stream */
	uint32_t input;
	bool some;
};

static void check_record(struct check *c, const struct merge_record *r)
{
	ENSURE(r->input < MOST);
	c->bytes[r->input] += r->rec.n + (c->order.size ? 0 : ORDER_LENGTH);
	int cmp = c->some ? order_compare(&c->order, buf_str(&c->last), r->rec) : -1;
	ENSURE(cmp <= 0 && r->first == (cmp < 0));
	ENSURE(r->first || r->input >= c->input);
	c->input = r->input;
	buf_clear(&c->last);
	buf_add_str(&c->last, r->rec);
	c->some = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 1 << 16)
		return 0;
	struct check c = {.last = BUF_INIT(1 << 16)};
	size_t n = data[0] % MOST + 1, each = (size - 2) / n;
	c.order.size = data[0] / MOST % 24;
	c.order.key_at = c.order.size ? data[1] % c.order.size : data[1] % 4;
	c.order.key_len = c.order.size ? 0 : data[1] / 4 % 20;
	struct stream_reader reader[MOST], *in[MOST];
	for (size_t i = 0; i < n; i++) {
		reader[i] = stream_over((struct str){(const char *)data + 2 + i * each, each});
		in[i] = &reader[i];
	}
	struct err err = {0};
	struct merge *m;
	c.order = order_checked(&c.order);
	ENSURE(merge_new(&m, &c.order, in, n, &err) == 0);
	struct merge_record r;
	int rc;
	while ((rc = merge_next(m, &r, &err)) == 0)
		check_record(&c, &r);
	ENSURE(rc == 1 || err.code == ERR_DAMAGED);
	for (size_t i = 0; i < n && rc == 1; i++)
		ENSURE(c.bytes[i] == each);
	merge_free(&m);
	buf_free(&c.last);
	return 0;
}
