/* What a master sends to a reapd: what is read keeps its bounds, and what is written of it is read
 * as the same. */
#include "shepherd/reap/reap_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const struct reap_message *m)
{
	struct reaper_job job = m->job;
	struct err err = {0};
	if (reap_job_check(&job, &err) < 0) {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		return;
	}
	ENSURE(m->id && job.url.n && job.url.n <= URL_STRICT_MAX && job.addr.family &&
	       job.addr.port);
	ENSURE(job.rule.delay_us >= 0 && job.rule.concurrent >= 1 &&
	       job.rule.concurrent <= POLITE_CONCURRENT_MAX);
	ENSURE(job.limits.body <= BUCKET_DATA_MOST && job.limits.total_us >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size};
	struct reap_message m, again;
	struct err err = {0};
	size_t n;
	int what, same;
	while (rest.n && message_frame(&reap_of_master, rest, &n) == 0) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(message_wire_most(&reap_of_master));
		struct str one = str_head(rest, n);
		rest = str_from(rest, n);
		if (message_read(&reap_of_master, one, &what, &m, &err) < 0) {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
			continue;
		}
		if (what == REAP_JOB)
			check_job(&m);
		ENSURE(m.lease_us <= REAP_LEASE_MOST_US && m.rules.until_us >= 0);
		message_write(&reap_of_master, what, &m, &out);
		ENSURE(!out.over && out.n <= one.n);
		ENSURE(message_read(&reap_of_master, buf_str(&out), &same, &again, &err) == 0);
		ENSURE(same == what && str_eq(again.job.url, m.job.url) &&
		       str_eq(again.rules.compiled, m.rules.compiled));
	}
	return 0;
}
