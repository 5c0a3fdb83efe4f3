/* What garner provider reads: the answers of a notification server, its own file, sitemaps and
 * rows. By the first byte. Whole and in pieces, answers and lists come out the same; a file that is
 * taken is written as it was; a session ends once at most. */
#include "base/hash.h"
#include "cache/lococa_client.h"
#include "cache/provider_file.h"
#include "cache/provider_read.h"
#include "net/conn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct hearing {
	struct lococa_client *client;
	struct buf story;
	unsigned ends;
};

static void put_fault(struct buf *out, const struct lococa_fault *f)
{
	buf_printf(out, "%u " STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT "\n", f->code,
		   STR_ARG(f->url), STR_ARG(f->c), STR_ARG(f->mime), STR_ARG(f->at));
}

static void heard_accepted(void *ctx, const struct lococa_info *i)
{
	struct hearing *h = ctx;
	buf_printf(&h->story, "%llu %zu %zu\n", (unsigned long long)i->seq, i->mimes, i->faults);
	for (size_t k = 0; k < i->faults; k++)
		put_fault(&h->story, &i->fault[k]);
	lococa_client_set(h->client, false, false);
}

static void heard_fault(void *ctx, const struct lococa_fault *f)
{
	put_fault(&((struct hearing *)ctx)->story, f);
}

static void heard_end(void *ctx, const struct lococa_end *end)
{
	struct hearing *h = ctx;
	ENSURE(++h->ends == 1);
	buf_printf(&h->story, "%d %u %llu\n", (int)end->how, end->code,
		   (unsigned long long)end->set);
}

static const struct lococa_client_ops ops = {
	.accepted = heard_accepted,
	.fault = heard_fault,
	.ended = heard_end,
};

static void hear_answers(struct conn_pool *pool, struct str text, size_t piece, struct buf *ret)
{
	struct hearing h = {.story = BUF_INIT((size_t)1 << 26)};
	struct err err;
	const struct lococa_client_options o = {.address = "127.0.0.1:1",
						.provider = 1,
						.password = STR("x"),
						.ops = &ops,
						.ctx = &h};
	ENSURE(lococa_client_new(&h.client, pool, &o, &err) == 0);
	for (; text.n; text = str_from(text, piece))
		lococa_client_hear(h.client, str_head(text, piece));
	lococa_client_free(&h.client);
	*ret = h.story;
}

static void try_answers(struct str text)
{
	const struct loop_options manual = {.manual = true};
	struct buf whole, pieces;
	struct loop *loop = NULL;
	struct err err;
	ENSURE(loop_new(&loop, &manual, &err) == 0);
	struct conn_pool *pool = conn_pool_new(loop, 1 << 20);
	hear_answers(pool, text, MAX(text.n, (size_t)1), &whole);
	hear_answers(pool, text, 3, &pieces);
	ENSURE(str_eq(buf_str(&whole), buf_str(&pieces)));
	buf_free(&whole);
	buf_free(&pieces);
	conn_pool_free(&pool);
	loop_free(&loop);
}

/* The sum is put right, or nothing would be read. */
static void try_file(struct str text)
{
	struct provider_file f = PROVIDER_FILE_INIT, again = PROVIDER_FILE_INIT;
	struct buf out = BUF_INIT((size_t)1 << 26), twice = BUF_INIT((size_t)1 << 26);
	struct err err;
	size_t end = text.n;
	while (end > 0 && text.p[end - 1] != '\n')
		end--;
	buf_add_str(&out, str_head(text, end));
	uint64_t sum = xxh64(buf_str(&out));
	buf_printf(&out, "end %016llx\n", (unsigned long long)sum);
	if (provider_file_parse(&f, buf_str(&out), "f", &err) == 0) {
		struct buf first = BUF_INIT((size_t)1 << 26);
		provider_file_print(&f, &first);
		ENSURE(provider_file_parse(&again, buf_str(&first), "f", &err) == 0);
		provider_file_print(&again, &twice);
		ENSURE(str_eq(buf_str(&first), buf_str(&twice)));
		ENSURE(again.sent.n == f.sent.n);
		buf_free(&first);
	}
	provider_file_free(&f);
	provider_file_free(&again);
	buf_free(&out);
	buf_free(&twice);
}

static struct str any_type(void *ctx, struct str url)
{
	(void)ctx, (void)url;
	return STR("text/html");
}

static int any_child(void *ctx, struct str url, struct err *err)
{
	(void)ctx, (void)url, (void)err;
	return 0;
}

static int read_list(enum provider_form form, struct str text, size_t piece,
		     struct provider_list *ret)
{
	const struct provider_read_options o = {.form = form,
						.list = ret,
						.prefix = STR("http://h/"),
						.type = any_type,
						.child = any_child};
	struct provider_read *r = provider_read_new(&o);
	struct err err;
	int rc = 0;
	for (; text.n && rc == 0; text = str_from(text, piece))
		rc = provider_read_put(r, str_head(text, piece), &err);
	if (rc == 0)
		rc = provider_read_end(r, &err);
	provider_read_free(&r);
	return rc;
}

static void try_list(enum provider_form form, struct str text)
{
	struct provider_list whole = PROVIDER_LIST_INIT, pieces = PROVIDER_LIST_INIT;
	int rc = read_list(form, text, MAX(text.n, (size_t)1), &whole);
	ENSURE(read_list(form, text, 3, &pieces) == rc);
	ENSURE(rc < 0 || whole.n == pieces.n);
	for (size_t i = 0; i < whole.n && rc == 0; i++)
		ENSURE(provider_url_cmp(&whole.url[i], &pieces.url[i]) == 0 &&
		       str_eq(whole.url[i].more, pieces.url[i].more));
	provider_list_free(&whole);
	provider_list_free(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	if (size == 0)
		return 0;
	struct str rest = str_from(text, 1);
	switch (text.p[0]) {
	case 'f':
		try_file(rest);
		break;
	case 's':
		try_list(PROVIDER_SITEMAP, rest);
		break;
	case 'r':
		try_list(PROVIDER_ROWS, rest);
		break;
	default:
		try_answers(rest);
	}
	return 0;
}
