/* Files of what is known of robots.txt that others wrote: as a whole, and as the payloads of sound
 * records, since no chance finds the sums. Whatever is in them, the cache opens, keeps nothing for
 * longer than a day, gives only rules that are some, and writes what it reads back the same. */
#include "fetch/robots_cache.h"
#include "disk/record.h"
#include "fetch/robots.h"
#include "memory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_US (INT64_C(1794700800) * US_PER_S)

static const struct record_kind kind = {"GARNERRB", 1, 8 << 20};

static struct robots_cache *cache_of(const char *path)
{
	struct robots_cache *c = NULL;
	struct robots_cache_options o = {
		.path = path, .agent = STR("garner"), .bytes = 1 << 20, .now_us = NOW_US};
	struct err err;
	return robots_cache_new(&c, &o, NULL, &err) == 0 ? c : NULL;
}

static void nobody(void *ctx, const struct robots_answer *answer)
{
	(void)ctx, (void)answer;
}

/* The site that seeds are about, and one that nobody knows. */
static void ask(struct robots_cache *c, struct str site)
{
	struct robots_wait wait = {.done = nobody};
	struct robots_answer answer;
	struct err err;
	bool first;
	if (robots_cache_ask(c, site, NOW_US, &wait, &answer, &first) != 0) {
		ENSURE(first);
		robots_cache_cancel(&wait);
		return;
	}
	ENSURE(answer.until_us > NOW_US && answer.until_us <= NOW_US + ROBOTS_KEEP_US);
	ENSURE(robots_check(answer.compiled, &err) == 0 && answer.not_now_us == 0);
	(void)robots_verdict(answer.compiled, STR("/a/b?c"));
}

static void look(const char *path)
{
	struct err err;
	struct robots_cache *c = cache_of(path);
	if (!c)
		return;
	ENSURE(robots_cache_free(&c, &err) == 0);
	c = cache_of(path);
	ENSURE(c);
	ask(c, STR("http://a.test"));
	ask(c, STR("http://unknown.test"));
	ENSURE(robots_cache_free(&c, &err) == 0);
}

static void check_file(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memory_file(path);
	ENSURE(write(fd, data, size) == (ssize_t)size);
	look(path);
	memory_file_end(fd, path);
}

/* Each record is a byte that says how many hundreds follow. */
static void check_records(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memory_file(path);
	struct record_writer *w = NULL;
	struct record_group group = {0};
	struct err err;
	ENSURE(record_open(&w, path, &kind, 0600, NULL, &err) == 0);
	for (size_t at = 0; at < size;) {
		size_t n = MIN((size_t)(data[at] + 1) * 100, size - at - 1);
		struct str payload = {(const char *)data + at + 1, n};
		ENSURE(record_append(w, payload, &group, NULL, &err) == 0);
		at += n + 1;
	}
	ENSURE(record_close(&w, &err) == 0);
	look(path);
	memory_file_end(fd, path);
}

/* As rules from another process. */
static void check_rules(struct str rules)
{
	struct robots_cache *c = cache_of(NULL);
	struct robots_answer answer;
	struct err err;
	int rc = robots_cache_put(c, STR("http://a.test"), true, rules, NOW_US + 1, NOW_US, &err);
	ENSURE(rc == 0 || err.code == ERR_DAMAGED);
	ENSURE((robots_cache_known(c, STR("http://a.test"), NOW_US, &answer) == 0) == (rc == 0));
	ENSURE(robots_cache_free(&c, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_file(data, size);
	check_records(data, size);
	check_rules((struct str){(const char *)data, size});
	return 0;
}
