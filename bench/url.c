/* Area url: typical URLs from text to footprint, and the parts of the way. */
#include "bench.h"

#include "base/buf.h"
#include "base/hash.h"
#include "url/equiv.h"
#include "url/footprint.h"

#include <dlfcn.h>

enum { URLS = 2000000, REPEATS = 5 };

struct job {
	char *text;
	uint32_t *from; /* of each URL, and of the end */
	size_t n;
	struct equiv *equiv;
	uint64_t sum; /* so that nothing is left out */
};

static uint64_t roll(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static const char *const words[] = {
	"news",  "index",   "article", "2024",   "product", "catalog", "images", "view",
	"forum", "thread",  "page",    "search", "user",    "archive", "about",  "download",
	"wiki",  "special", "en",      "de",     "blog",    "tag",     "item",   "readme",
};

static const char *word(uint64_t *seed)
{
	return words[roll(seed) % ARRAY_LEN(words)];
}

/* As links are on pages: mostly clean, a query in every third, a fragment, an escape, upper case in
 * the host or dot segments now and then; each site has about fifty pages, in no order. */
static int one_url(uint64_t *seed, size_t n, char *ret, size_t cap)
{
	struct buf b = BUF_INIT(cap);
	uint64_t site = roll(seed) % (n / 50 + 1), r = roll(seed);
	buf_printf(&b, "%s://%s%s%ju.%s",
		   r % 4    ? "https"
		   : r % 64 ? "http"
			    : "HTTP",
		   r >> 8 & 1 ? "www." : "", words[site % ARRAY_LEN(words)], (uintmax_t)site,
		   (const char *[]){"com", "org", "example.cz", "co.uk"}[site % 4]);
	if ((r >> 16) % 32 == 0)
		buf_add_text(&b, ":8080");
	for (uint64_t depth = 1 + roll(seed) % 4; depth; depth--)
		buf_printf(&b, "/%s", word(seed));
	buf_printf(&b, "-%ju%s", (uintmax_t)(roll(seed) % 100000), r >> 24 & 1 ? ".html" : "");
	if ((r >> 32) % 20 == 0)
		buf_add_text(&b, "/../%7euser/A%20b");
	if ((r >> 40) % 3 == 0)
		buf_printf(&b, "?id=%ju&%s=%s", (uintmax_t)(roll(seed) % 1000000), word(seed),
			   word(seed));
	if ((r >> 48) % 10 == 0)
		buf_printf(&b, "#%s", word(seed));
	int len = (int)b.n;
	memcpy(ret, b.p, b.n);
	buf_free(&b);
	return len;
}

static struct job make(size_t n)
{
	struct job j = {
		.text = mem_array(n, 160), .from = mem_array(n + 1, sizeof *j.from), .n = n};
	uint64_t seed = 88172645463325252u;
	uint32_t at = 0;
	for (size_t i = 0; i < n; i++) {
		j.from[i] = at;
		at += (uint32_t)one_url(&seed, n, j.text + at, 160);
	}
	j.from[n] = at;
	return j;
}

static struct str text_of(const struct job *j, size_t i)
{
	return str_range(j->text + j->from[i], j->text + j->from[i + 1]);
}

static int parse_all(void *ctx)
{
	struct job *j = ctx;
	char room[URL_MAX];
	struct url u;
	for (size_t i = 0; i < j->n; i++) {
		if (url_parse(text_of(j, i), NULL, room, sizeof room, &u) < 0)
			return -1;
		j->sum += u.path.n;
	}
	return 0;
}

/* The way of every link that is found. */
static int footprint_all(void *ctx)
{
	struct job *j = ctx;
	char room[URL_MAX], strict[URL_STRICT_MAX];
	struct url u;
	for (size_t i = 0; i < j->n; i++) {
		if (url_parse(text_of(j, i), NULL, room, sizeof room, &u) < 0 ||
		    url_canon(&u, false, strict, sizeof strict, &u) < 0)
			return -1;
		struct footprint f = footprint_of(&u);
		j->sum += f.site ^ f.path;
	}
	return 0;
}

static int resolve_all(void *ctx)
{
	struct job *j = ctx;
	char base_room[URL_MAX], room[URL_MAX];
	struct url base, u;
	if (url_parse(STR("https://www.example.com/a/folder/page.html"), NULL, base_room,
		      sizeof base_room, &base) < 0)
		return -1;
	for (size_t i = 0; i < j->n; i++) {
		/* "//host/path..." without its scheme */
		struct str link = str_from(text_of(j, i), 6);
		if (url_parse(link, &base, room, sizeof room, &u) < 0)
			return -1;
		j->sum += u.path.n;
	}
	return 0;
}

static int equiv_all(void *ctx)
{
	struct job *j = ctx;
	char room[URL_MAX];
	struct url u;
	for (size_t i = 0; i < j->n; i++) {
		if (url_parse(text_of(j, i), NULL, room, sizeof room, &u) < 0)
			return -1;
		j->sum += equiv_site(j->equiv, url_site(&u)).host.n;
	}
	return 0;
}

static int loops_all(void *ctx)
{
	struct job *j = ctx;
	for (size_t i = 0; i < j->n; i++)
		j->sum += url_loops(text_of(j, i), NULL);
	return 0;
}

/* libcurl's URL parser, where the library is: it does less (no canonical form, no footprint). */
static struct curl {
	void *(*make)(void);
	int (*set)(void *u, int part, const char *text, unsigned flags);
	int (*get)(void *u, int part, char **ret, unsigned flags);
	void (*cleanup)(void *u);
	void (*free)(void *p);
} curl;

static bool curl_load(void)
{
	static const char *const names[] = {"curl_url", "curl_url_set", "curl_url_get",
					    "curl_url_cleanup", "curl_free"};
	void *library = dlopen("libcurl.so.4", RTLD_NOW), *symbol[ARRAY_LEN(names)];
	for (size_t i = 0; library && i < ARRAY_LEN(names); i++)
		if (!(symbol[i] = dlsym(library, names[i])))
			library = NULL;
	if (library)
		memcpy(&curl, symbol, sizeof curl);
	return library;
}

static int curl_all(void *ctx)
{
	struct job *j = ctx;
	char text[256], *href;
	void *u = curl.make();
	for (size_t i = 0; i < j->n / 10; i++) {
		struct str s = text_of(j, i);
		memcpy(text, s.p, s.n);
		text[s.n] = 0;
		if (curl.set(u, 0, text, 0) != 0 || curl.get(u, 0, &href, 0) != 0)
			return -1;
		j->sum += (unsigned char)href[8];
		curl.free(href);
	}
	curl.cleanup(u);
	return 0;
}

static struct equiv *mirrors(void)
{
	struct buf text = BUF_INIT((size_t)EQUIV_FILE_MAX);
	struct equiv *e;
	struct err err;
	for (unsigned i = 0; i < 100000; i++)
		buf_printf(&text, "http://mirror%u.com/\n http://%s%u.com/\n", i,
			   words[i % ARRAY_LEN(words)], i);
	if (equiv_parse(buf_str(&text), "mirrors", &e, &err) < 0)
		die("%s", err.msg);
	buf_free(&text);
	return e;
}

int main(void)
{
	struct bench b = bench_begin("url");
	struct job j = make((size_t)URLS * (size_t)b.scale);
	double n = (double)j.n;
	j.equiv = mirrors();
	printf("  %.0f URLs of %.1f bytes on average\n", n, (double)j.from[j.n] / n);
	struct bench_time parse = bench_measure(parse_all, &j, REPEATS);
	bench_row(&b, "parse", "URLs", n, parse);
	bench_row(&b, "canonical_footprint", "URLs", n, bench_measure(footprint_all, &j, REPEATS));
	bench_row(&b, "resolve", "URLs", n, bench_measure(resolve_all, &j, REPEATS));
	bench_row(&b, "parse_equiv", "URLs", n, bench_measure(equiv_all, &j, REPEATS));
	bench_row(&b, "loops", "URLs", n, bench_measure(loops_all, &j, REPEATS));
	if (curl_load()) {
		struct bench_time theirs = bench_measure(curl_all, &j, REPEATS);
		bench_row(&b, "libcurl_parse", "URLs", n / 10, theirs);
		bench_ratio(&b, "parse_vs_libcurl", theirs.cpu_s * 10 / parse.cpu_s);
	} else {
		printf("  rival libcurl: absent\n");
	}
	printf("  sum %jx\n", (uintmax_t)j.sum);
	equiv_free(&j.equiv);
	mem_free(&j.text);
	mem_free(&j.from);
	return bench_end(&b);
}
