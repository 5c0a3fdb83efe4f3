/* Host queues: ten million URLs over a hundred thousand servers, in memory and mostly in a file;
 * five million on one server. An operation is one push, one take or one done.
 * Time is virtual: whoever has to wait moves the clock. */
#include "fetch/hostq.h"
#include "base/hash.h"
#include "bench.h"

#include <stdlib.h>
#include <unistd.h>

enum { RUNS = 2 }; /* the first one warms the memory */

struct load {
	const char *name;
	long urls;
	uint32_t servers;
	uint64_t memory;
	struct polite_rule rule;
	bool any_user; /* numbers of the caller that have nothing to do with each other */
};

struct result {
	double wall_s, cpu_s;
	double beside; /* bytes for each URL, in memory and on disk, without the URL itself */
	double rss_mib;
	uint64_t spilled;
};

static int failed(const struct err *err)
{
	fprintf(stderr, "bench: %s\n", err->msg);
	return -1;
}

static qkey server(uint64_t number)
{
	struct qkey_addr a = {
		.b = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number}};
	return qkey_of(&a, 80);
}

static double rss_mib(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long size = 0, resident = 0;
	if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* Of random servers, as links come; returns the bytes of all URLs, negative on failure. */
static double push_all(struct hostq *q, const struct load *load, struct err *err)
{
	static char url[256];
	double bytes = 0;
	for (long i = 0; i < load->urls; i++) {
		uint64_t dice = hash_u64((uint64_t)i + 1), host = dice % load->servers;
		memcpy(url, "https://www.host-", 17);
		int n = 17;
		for (uint64_t v = host + 100000; v; v /= 10)
			url[n++] = (char)('0' + v % 10);
		memcpy(url + n, ".example/folder/page-", 21);
		n += 21;
		for (uint64_t v = dice >> 24; v && n < 80; v >>= 4)
			url[n++] = "0123456789abcdef"[v & 15];
		unsigned priority = dice >> 60 == 0 ? 0 : 1;
		if (hostq_push(q, server(host), priority, (struct str){url, (size_t)n},
			       load->any_user ? dice : (uint64_t)i, err) < 0)
			return failed(err);
		bytes += n;
	}
	return bytes;
}

static long take_all(struct hostq *q, struct err *err)
{
	int64_t now_us = US_PER_DAY, wait;
	struct hostq_job job;
	long n = 0;
	for (;;) {
		int rc = hostq_take(q, now_us, &job, &wait, err);
		if (rc < 0)
			return failed(err);
		if (rc == 0) {
			n++;
			hostq_done(q, &job, OUTCOME_OK, now_us);
		} else if (wait == INT64_MAX) {
			return n;
		} else {
			now_us += wait;
		}
	}
}

static double beside_each(const struct hostq *q, double bytes)
{
	struct hostq_counts c;
	hostq_count(q, &c);
	return ((double)c.memory + (double)c.disk - bytes) / (double)c.urls;
}

static int run_once(const struct load *load, const char *folder, struct result *ret)
{
	struct hostq_options o = {.rule = load->rule, .memory = load->memory, .folder = folder};
	struct hostq_counts c;
	struct hostq *q = NULL;
	struct err err;
	if (hostq_new(&q, &o, &err) < 0)
		return failed(&err);
	double rss = rss_mib(), wall = bench_wall_s(), cpu = bench_cpu_s();
	double bytes = push_all(q, load, &err);
	double pushed = bench_cpu_s() - cpu;
	ret->rss_mib = rss_mib() - rss;
	ret->beside = beside_each(q, bytes);
	hostq_count(q, &c);
	ret->spilled = c.spilled;
	if (bytes < 0 || take_all(q, &err) != load->urls)
		return -1;
	ret->wall_s = bench_wall_s() - wall;
	ret->cpu_s = bench_cpu_s() - cpu;
	printf("  %-32s %.0f MiB of URLs, push %.3f us, take and done %.3f us each (CPU)\n", "",
	       bytes / (1 << 20), pushed * 1e6 / (double)load->urls,
	       (ret->cpu_s - pushed) * 1e6 / 2 / (double)load->urls);
	hostq_free(&q);
	return 0;
}

static int run(struct bench *b, const struct load *load, const char *folder)
{
	struct result r = {0};
	char label[64];
	for (int i = 0; i < RUNS; i++)
		if (run_once(load, folder, &r) < 0)
			return -1;
	struct bench_time t = {.wall_s = r.wall_s, .cpu_s = r.cpu_s, .repeats = 1};
	bench_row(b, load->name, "operations", 3.0 * (double)load->urls, t);
	snprintf(label, sizeof label, "%s_beside", load->name);
	bench_figure(b, label, r.beside, "bytes/url");
	printf("  %-32s %10.2f bytes beside each URL, %.0f MiB resident, %llu in the file\n", "",
	       r.beside, r.rss_mib, (unsigned long long)r.spilled);
	return 0;
}

/* What the caller's numbers cost where they are not near each other; the rest is as in `load`. */
static int any_users(struct bench *b, const struct load *load)
{
	struct load tenth = *load;
	struct hostq_options o = {.rule = load->rule, .memory = load->memory};
	struct hostq *q = NULL;
	struct err err;
	tenth.any_user = true;
	tenth.urls /= 10;
	tenth.servers /= 10;
	if (hostq_new(&q, &o, &err) < 0)
		return failed(&err);
	double bytes = push_all(q, &tenth, &err);
	if (bytes < 0)
		return -1;
	double beside = beside_each(q, bytes);
	bench_figure(b, "any_user_beside", beside, "bytes/url");
	printf("  %-32s %10.2f bytes beside each URL with random numbers of 64 bits\n", "", beside);
	hostq_free(&q);
	return 0;
}

int main(void)
{
	const char *build = getenv("BUILD");
	const char *folder = build ? build : ".";
	struct bench b = bench_begin("hostq");
	const struct polite_rule polite = {.delay_us = 10 * US_PER_S, .concurrent = 1};
	const struct polite_rule quick = {.delay_us = 0, .concurrent = 4};
	const struct load loads[] = {
		{"spread", 10000000L * b.scale, 100000, UINT64_C(8) << 30, polite},
		{"spilled", 10000000L * b.scale, 100000, UINT64_C(256) << 20, polite},
		{"one_server", 5000000L * b.scale, 1, UINT64_C(64) << 20, quick},
	};
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
		if (run(&b, &loads[i], folder) < 0)
			return 1;
	if (any_users(&b, &loads[0]) < 0)
		return 1;
	return bench_end(&b);
}
