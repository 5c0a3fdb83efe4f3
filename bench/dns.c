/* DNS: names from the cache, and new names from a server on this machine (a process of its own,
 * whose CPU is not counted) beside getaddrinfo() with the same server. */
#include "bench.h"
#include "net/dns_inner.h"
#include "net/loop.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPEATS = 5, NAMES = 100000, AT_ONCE = 256 };

struct job {
	struct loop *loop;
	struct dns *dns;
	size_t names; /* of the cache that are asked for */
	long n;
	long serial; /* so that new names are new */
	long begun, done, failed;
};

struct look {
	struct job *job;
	struct dns_wait wait;
};

static char name[NAMES][40];

/* A question for an address is answered with one; any other with none. */
static size_t answer(unsigned char *p, size_t n)
{
	static const unsigned char record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0,
					       14,   16, 0, 4, 8, 8, 8, 8};
	size_t at = 12;
	while (at < n && p[at])
		at += p[at] + 1u;
	at += 5;
	if (at > n)
		return 0;
	bool a = p[at - 3] == DNS_A;
	p[2] = 0x81;
	p[3] = 0x80;
	p[7] = a;
	p[11] = 0; /* what EDNS added is cut off */
	if (a)
		memcpy(p + at, record, sizeof record);
	return at + (a ? sizeof record : 0);
}

static void serve(int fd)
{
	unsigned char p[2048];
	struct sockaddr_in from;
	for (;;) {
		socklen_t len = sizeof from;
		ssize_t n = recvfrom(fd, p, 1024, 0, (struct sockaddr *)&from, &len);
		size_t m = n > 0 ? answer(p, (size_t)n) : 0;
		if (m)
			sendto(fd, p, m, 0, (struct sockaddr *)&from, len);
	}
}

static pid_t start_server(uint16_t *ret_port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof sa;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 4 << 20;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -1;
	*ret_port = ntohs(sa.sin_port);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
	}
	close(fd);
	return pid;
}

static int from_cache(void *ctx)
{
	struct job *job = ctx;
	struct dns_result r;
	struct dns_wait wait = {0};
	for (size_t i = 0, at = 0; i < (size_t)job->n; i++, at = at + 1 < job->names ? at + 1 : 0) {
		if (dns_lookup(job->dns, str_of(name[at]), DNS_ANY, &wait, &r) != 0 || r.n == 0)
			return -1;
	}
	return 0;
}

static void ask_next(struct look *l);

static void told(void *ctx, const struct dns_result *r)
{
	struct look *l = ctx;
	l->job->failed += r->n == 0;
	if (++l->job->done == l->job->n)
		loop_stop(l->job->loop);
	else
		ask_next(l);
}

static void ask_next(struct look *l)
{
	struct job *job = l->job;
	struct dns_result r;
	char host[40];
	if (job->begun == job->n)
		return;
	job->begun++;
	int n = snprintf(host, sizeof host, "new%ld.bench.test", job->serial++);
	if (dns_lookup(job->dns, (struct str){host, (size_t)n}, DNS_ANY, &l->wait, &r) == 0)
		told(l, &r);
}

static int from_server(void *ctx)
{
	struct job *job = ctx;
	static struct look looks[AT_ONCE];
	struct err err;
	job->begun = job->done = job->failed = 0;
	for (size_t i = 0; i < AT_ONCE; i++) {
		looks[i] = (struct look){.job = job};
		looks[i].wait = (struct dns_wait){.done = told, .ctx = &looks[i]};
		ask_next(&looks[i]);
	}
	return loop_run(job->loop, &err) < 0 || job->failed ? -1 : 0;
}

static int by_getaddrinfo(void *ctx)
{
	struct job *job = ctx;
	struct addrinfo *found;
	char host[40];
	for (long i = 0; i < job->n; i++) {
		snprintf(host, sizeof host, "rival%ld.bench.test", job->serial++);
		const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
		if (getaddrinfo(host, "80", &hints, &found) != 0)
			return -1;
		freeaddrinfo(found);
	}
	return 0;
}

/* Fills the cache with the names, in another order than they are asked for later. */
static int fill(struct job *job)
{
	struct dns_result r;
	static struct dns_wait wait[NAMES];
	job->done = job->failed = 0;
	job->n = job->begun = NAMES;
	struct look look = {.job = job};
	for (size_t i = 0; i < NAMES; i++) {
		char *host = name[i * 7919 % NAMES];
		snprintf(host, sizeof name[0], "www.host%zu.bench.test", i);
		wait[i] = (struct dns_wait){.done = told, .ctx = &look};
		if (dns_lookup(job->dns, str_of(host), DNS_ANY, &wait[i], &r) != 1)
			return -1;
	}
	struct err err;
	return loop_run(job->loop, &err) < 0 || job->failed ? -1 : 0;
}

static int open_job(struct job *job, const struct policy *policy, const char *server,
		    struct err *err)
{
	struct dns_conf conf = {.servers = {&server, 1},
				.timeout_us = 5 * US_PER_S,
				.tries = 3,
				.at_once = AT_ONCE,
				.entries = 4 * NAMES,
				.bytes = (uint64_t)256 << 20,
				.ttl_min_us = US_PER_MIN,
				.ttl_max_us = US_PER_DAY};
	if (loop_new(&job->loop, NULL, err) < 0)
		return -1;
	return dns_new(&job->dns, job->loop, &conf, policy, err);
}

static void measure_cache(struct bench *b, const char *label, struct job *job, size_t names)
{
	char ns[64];
	job->names = names;
	job->n = 1000000L * b->scale;
	struct bench_time t = bench_measure(from_cache, job, REPEATS);
	bench_row(b, label, "lookups", (double)job->n, t);
	snprintf(ns, sizeof ns, "%s_ns", label);
	bench_figure(b, ns, t.cpu_s * 1e9 / (double)job->n, "ns");
}

static void measure_server(struct bench *b, struct job *job, uint16_t port)
{
	const double n = 20000.0 * b->scale, rival_n = 5000.0 * b->scale;
	job->n = (long)n;
	struct bench_time ours = bench_measure(from_server, job, REPEATS);
	bench_row(b, "new_names", "lookups", n, ours);
	res_init();
	_res.nscount = 1;
	_res.nsaddr_list[0] = (struct sockaddr_in){.sin_family = AF_INET,
						   .sin_port = htons(port),
						   .sin_addr = {htonl(INADDR_LOOPBACK)}};
	job->n = (long)rival_n;
	struct bench_time rival = bench_measure(by_getaddrinfo, job, REPEATS);
	bench_row(b, "getaddrinfo", "lookups", rival_n, rival);
	bench_ratio(b, "new_names_vs_getaddrinfo_cpu", rival.cpu_s / rival_n / (ours.cpu_s / n));
	bench_ratio(b, "new_names_vs_getaddrinfo_wall", rival.wall_s / rival_n / (ours.wall_s / n));
}

int main(void)
{
	uint16_t port = 0;
	pid_t server = start_server(&port);
	struct policy *policy = NULL;
	struct job job = {0};
	struct err err = {.msg = "no server"};
	char text[32];
	snprintf(text, sizeof text, "127.0.0.1:%u", port);
	if (server < 0 || policy_new(&policy, &(struct value_list){0}, &err) < 0 ||
	    open_job(&job, policy, text, &err) < 0 || fill(&job) < 0) {
		fprintf(stderr, "bench: %s\n", err.msg);
		return 1;
	}
	struct bench b = bench_begin("dns");
	measure_cache(&b, "hit_of_1000", &job, 1000);
	measure_cache(&b, "hit_of_10000", &job, 10000);
	measure_cache(&b, "hit_of_100000", &job, NAMES);
	measure_server(&b, &job, port);
	dns_free(&job.dns);
	loop_free(&job.loop);
	policy_free(&policy);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return bench_end(&b);
}
