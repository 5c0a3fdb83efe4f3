/* What a reapd sends to its master: a line of an answer and its parts. What is read, written again,
 * reads the same; and whatever it says, no bucket is believed that is not whole. */
#include "bucket/bucket_attrs.h"
#include "shepherd/reap/reap_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line without its verb. */
static int read_all(struct str bytes, struct arena *arena, struct reaper_answer *ret)
{
	struct str line, arg[8];
	struct reap_parts parts;
	struct err err = {0};
	size_t n = 0;
	if (str_cut(&bytes, '\n', &line) != 0 || !bytes.p)
		return -1;
	while (n < ARRAY_LEN(arg) && str_cut(&line, ' ', &arg[n]) == 0)
		n++;
	int rc = reap_parts_read(arg, n, &parts, &err);
	if (rc == 0)
		rc = reap_answer_read(&parts, bytes, arena, ret, &err);
	ENSURE(rc == 0 || (err.code == ERR_DAMAGED && err.msg[0]));
	return rc;
}

static void check_same(const struct reaper_answer *a, const struct reaper_answer *b)
{
	ENSURE(a->id == b->id && a->code == b->code && a->status == b->status);
	ENSURE(str_eq(a->url, b->url) && str_eq(a->text, b->text) && str_eq(a->type, b->type));
	ENSURE(str_eq(a->bucket, b->bucket) && str_eq(a->body, b->body) && a->links == b->links);
	ENSURE(a->ago_us == b->ago_us && a->not_now_us == b->not_now_us && a->key == b->key);
	ENSURE(a->ended_s == b->ended_s && a->downloaded_s == b->downloaded_s &&
	       a->changed_s == b->changed_s);
	for (size_t i = 0; i < a->links; i++)
		ENSURE(str_eq(a->link[i].url, b->link[i].url) &&
		       a->link[i].is_sitemap == b->link[i].is_sitemap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	CLEANUP(buf_free) struct buf out = BUF_INIT(64 << 20);
	struct str bytes = {(const char *)data, size};
	struct reaper_answer a, b;
	struct err err = {0};
	if (read_all(bytes, &arena, &a) != 0)
		return 0;
	reap_answer_write(&a, &out);
	ENSURE(read_all(str_from(buf_str(&out), 5), &arena, &b) == 0);
	check_same(&a, &b);
	struct reaper_job job = {.url = a.url, .etag = STR("e"), .md5 = STR("m")};
	a.key = 0; /* that of no address */
	if (reap_answer_check(&a, &job, INT64_MAX, NULL, &err) == 0)
		ENSURE(!a.bucket.n || bucket_check(a.bucket_type, a.bucket, &err) == 0);
	return 0;
}
