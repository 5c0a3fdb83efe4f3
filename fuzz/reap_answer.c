/* What a reapd sends to its master. What is read, written again, reads the same; and whatever it
 * says, no bucket is believed that is not whole. */
#include "bucket/bucket_attrs.h"
#include "shepherd/reap/reap_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_links(struct message_items items)
{
	struct reaper_link link;
	struct err err = {0};
	int rc;
	while ((rc = message_item_next(&reap_link_item, &items, &link, &err)) == 0)
		ENSURE(link.url.n && link.url.n <= URL_STRICT_MAX && !str_has_control(link.url));
	ENSURE(rc == 1 || (err.code == ERR_DAMAGED && err.msg[0]));
}

static void check_same(const struct reap_message *m, const struct reap_message *n)
{
	const struct reaper_answer *a = &m->answer, *b = &n->answer;
	ENSURE(m->id == n->id && a->code == b->code && a->status == b->status);
	ENSURE(str_eq(a->url, b->url) && str_eq(a->text, b->text) && str_eq(a->type, b->type));
	ENSURE(str_eq(a->bucket, b->bucket) && str_eq(a->body, b->body));
	ENSURE(m->links.n == n->links.n && str_eq(m->links.bytes, n->links.bytes));
	ENSURE(a->ago_us == b->ago_us && a->not_now_us == b->not_now_us && a->key == b->key);
	ENSURE(a->ended_s == b->ended_s && a->downloaded_s == b->downloaded_s &&
	       a->changed_s == b->changed_s);
}

static void check_answer(const struct reap_message *m)
{
	struct reaper_answer a = m->answer;
	struct reaper_job job = {.url = a.url, .etag = STR("e"), .md5 = STR("m")};
	struct err err = {0};
	a.key = 0; /* that of no address */
	check_links(m->links);
	if (reap_answer_check(&a, &job, INT64_MAX, NULL, &err) == 0)
		ENSURE(!a.bucket.n || bucket_check(a.bucket_type, a.bucket, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size};
	struct reap_message m, again;
	struct err err = {0};
	size_t n;
	int what, same;
	while (rest.n && message_frame(&reap_of_reapd, rest, &n) == 0) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(message_wire_most(&reap_of_reapd));
		struct str one = str_head(rest, n);
		rest = str_from(rest, n);
		if (message_read(&reap_of_reapd, one, &what, &m, &err) < 0) {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
			continue;
		}
		message_write(&reap_of_reapd, what, &m, &out);
		ENSURE(!out.over && out.n <= one.n);
		ENSURE(message_read(&reap_of_reapd, buf_str(&out), &same, &again, &err) == 0);
		check_same(&m, &again);
		if (what == REAP_DONE)
			check_answer(&m);
	}
	return 0;
}
