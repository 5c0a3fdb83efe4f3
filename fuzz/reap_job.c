/* What a master sends to a reapd: jobs (first byte even) and rules (odd). What is read, written
 * again, reads the same. */
#include "shepherd/reap/reap_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(struct str bytes)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(REAP_JOB_MAX);
	struct reaper_job a, b;
	struct err err = {0};
	if (reap_job_read(bytes, &a, &err) != 0) {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		return;
	}
	ENSURE(a.url.n && a.url.n <= URL_STRICT_MAX && a.addr.family && a.addr.port);
	ENSURE(a.rule.delay_us >= 0 && a.rule.concurrent <= POLITE_CONCURRENT_MAX);
	ENSURE(a.limits.body <= BUCKET_DATA_MOST && a.limits.total_us >= 0);
	reap_job_write(&a, &out);
	ENSURE(!out.over && reap_job_read(buf_str(&out), &b, &err) == 0);
	ENSURE(str_eq(a.url, b.url) && str_eq(a.etag, b.etag) && str_eq(a.md5, b.md5) &&
	       str_eq(a.last_modified, b.last_modified) && addr_eq(a.addr, b.addr) &&
	       a.what == b.what && a.now_s == b.now_s && a.keep == b.keep &&
	       a.rule.delay_us == b.rule.delay_us && a.limits.idle_us == b.limits.idle_us);
}

static void check_rules(struct str bytes)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(REAP_RULES_MAX);
	struct reaper_rules a, b;
	struct err err = {0};
	if (reap_rules_read(bytes, &a, &err) != 0)
		return;
	reap_rules_write(&a, &out);
	ENSURE(reap_rules_read(buf_str(&out), &b, &err) == 0 && a.until_us == b.until_us);
	ENSURE(str_eq(a.site, b.site) && str_eq(a.compiled, b.compiled));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str bytes = {(const char *)data + 1, size - 1};
	if (data[0] % 2 == 0)
		check_job(bytes);
	else
		check_rules(bytes);
	return 0;
}
