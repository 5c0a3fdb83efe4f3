/* fetch-curl LIST PAGES IN-FLIGHT keep|new: the least that a fetcher over libcurl can do, to
 * measure the robot against: libcurl's multi interface on epoll, one thread, numbers for addresses,
 * each body through MD5 and SHA-256. LIST has a URL a line; PAGES requests go round it. Prints CPU
 * and wall seconds of the measured part, and the number of failures. */
#include "bench.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <sys/epoll.h>
#include <unistd.h>

struct slot {
	CURL *easy;
	EVP_MD_CTX *md5, *sha256;
};

struct page {
	char *url;
	struct curl_slist *to; /* the address, which a robot has from its own resolver */
};

static struct {
	CURLM *multi;
	int epoll;
	struct page *page;
	long pages, next, total, done, failed;
	bool keep;
	long wait_ms; /* -1: for ever */
	double wait_from;
} loop = {.wait_ms = -1};

static size_t take_body(char *p, size_t size, size_t n, void *ctx)
{
	struct slot *s = ctx;
	EVP_DigestUpdate(s->md5, p, size * n);
	EVP_DigestUpdate(s->sha256, p, size * n);
	return size * n;
}

static int watch(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct epoll_event event = {.data.fd = fd};
	(void)easy, (void)ctx;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
		       (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
	if (!known)
		curl_multi_assign(loop.multi, fd, &loop);
	if (epoll_ctl(loop.epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
		epoll_ctl(loop.epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
	return 0;
}

static int set_wait(CURLM *multi, long ms, void *ctx)
{
	(void)multi, (void)ctx;
	loop.wait_ms = ms;
	loop.wait_from = bench_wall_s();
	return 0;
}

static void start(struct slot *s)
{
	const struct page *page = &loop.page[loop.next++ % loop.pages];
	curl_easy_setopt(s->easy, CURLOPT_URL, page->url);
	curl_easy_setopt(s->easy, CURLOPT_CONNECT_TO, page->to);
	EVP_DigestInit_ex(s->md5, EVP_md5(), NULL);
	EVP_DigestInit_ex(s->sha256, EVP_sha256(), NULL);
	curl_multi_add_handle(loop.multi, s->easy);
}

static void finish(struct slot *s, CURLcode code)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	long status = 0;
	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	EVP_DigestFinal_ex(s->md5, sum, NULL);
	EVP_DigestFinal_ex(s->sha256, sum, NULL);
	loop.done++;
	loop.failed += code != CURLE_OK || status != 200;
	curl_multi_remove_handle(loop.multi, s->easy);
	if (loop.next < loop.total)
		start(s);
}

static void make_slot(struct slot *s)
{
	static struct curl_slist closing = {(char *)"Connection: close", NULL};
	s->easy = curl_easy_init();
	s->md5 = EVP_MD_CTX_new();
	s->sha256 = EVP_MD_CTX_new();
	curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
	curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_BUFFERSIZE, 102400L);
	curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(s->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(s->easy, CURLOPT_TIMEOUT, 30L);
	curl_easy_setopt(s->easy, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
	curl_easy_setopt(s->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (!loop.keep) {
		curl_easy_setopt(s->easy, CURLOPT_FORBID_REUSE, 1L);
		curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, &closing);
	}
}

static void collect(void)
{
	CURLMsg *m;
	int left;
	while ((m = curl_multi_info_read(loop.multi, &left)))
		if (m->msg == CURLMSG_DONE) {
			char *slot;
			CURLcode code = m->data.result;
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &slot);
			finish((struct slot *)(void *)slot, code);
		}
}

static int left_ms(void)
{
	double left = (double)loop.wait_ms - (bench_wall_s() - loop.wait_from) * 1e3;
	return loop.wait_ms < 0 ? -1 : left > 0 ? (int)left + 1 : 0;
}

static void turn(void)
{
	struct epoll_event event[256];
	int running, n = epoll_wait(loop.epoll, event, 256, left_ms());
	for (int i = 0; i < n; i++) {
		uint32_t e = event[i].events;
		curl_multi_socket_action(loop.multi, event[i].data.fd,
					 (e & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
						 (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
						 (e & EPOLLERR ? CURL_CSELECT_ERR : 0),
					 &running);
	}
	if (loop.wait_ms >= 0 && left_ms() == 0) {
		loop.wait_ms = -1;
		curl_multi_socket_action(loop.multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	collect();
}

static void run(struct slot *slot, long slots, long total)
{
	loop.next = loop.done = 0;
	loop.total = total;
	for (long i = 0; i < slots && loop.next < total; i++)
		start(&slot[i]);
	while (loop.done < total)
		turn();
}

static int read_list(const char *path)
{
	char *line = NULL;
	size_t cap = 0, room = 0;
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
		line[strcspn(line, "\n")] = 0;
		if ((size_t)loop.pages == room)
			loop.page = realloc(loop.page, (room = room * 2 + 64) * sizeof *loop.page);
		char *host = strstr(line, "//") + 2, to[128];
		snprintf(to, sizeof to, "::%.*s", (int)strcspn(host, "/"), host);
		loop.page[loop.pages++] = (struct page){strdup(line), curl_slist_append(NULL, to)};
	}
	fclose(f);
	return loop.pages ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc != 5 || read_list(argv[1]) < 0) {
		fprintf(stderr, "usage: fetch-curl LIST PAGES IN-FLIGHT keep|new\n");
		return 2;
	}
	long pages = strtol(argv[2], NULL, 10), slots = strtol(argv[3], NULL, 10);
	struct slot *slot = calloc((size_t)slots, sizeof *slot);
	loop.keep = strcmp(argv[4], "keep") == 0;
	curl_global_init(CURL_GLOBAL_ALL);
	loop.multi = curl_multi_init();
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	curl_multi_setopt(loop.multi, CURLMOPT_MAXCONNECTS, 2000L);
	curl_multi_setopt(loop.multi, CURLMOPT_SOCKETFUNCTION, watch);
	curl_multi_setopt(loop.multi, CURLMOPT_TIMERFUNCTION, set_wait);
	for (long i = 0; i < slots; i++)
		make_slot(&slot[i]);
	run(slot, slots, loop.pages < pages ? loop.pages : pages); /* to warm up */
	double cpu = bench_cpu_s(), wall = bench_wall_s();
	run(slot, slots, pages);
	printf("%.6f %.6f %ld\n", bench_cpu_s() - cpu, bench_wall_s() - wall, loop.failed);
	return 0;
}
