/* Index pages: the first line is the URL of the folder, the rest the page. Whatever it says, names
 * are names of files, each once, and right below the folder; and the lines that are written of them
 * are as many as there are names. */
#include "archie/getter/walk_page.h"
#include "extract/extract.h"

enum { MEMORY = 4 << 20 };

static void check_entries(const struct walk_entry *e, size_t n, struct str url)
{
	struct buf lines = BUF_INIT((size_t)1 << 26);
	size_t ends = 0;
	for (size_t i = 0; i < n; i++) {
		ENSURE(e[i].name.n > 0 && !memchr(e[i].name.p, '/', e[i].name.n) &&
		       !memchr(e[i].name.p, '\n', e[i].name.n) &&
		       !memchr(e[i].name.p, 0, e[i].name.n));
		ENSURE(str_starts(e[i].url, url) && e[i].size >= -1 && e[i].time_s >= -1);
		for (size_t k = 0; k < i && i < 100; k++)
			ENSURE(!str_eq(e[i].name, e[k].name));
		walk_entry_print(&e[i], &lines);
	}
	for (size_t i = 0; i < lines.n; i++)
		ends += lines.p[i] == '\n';
	ENSURE(lines.over || ends == n);
	buf_free(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size}, line;
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct walk_entry *e = NULL;
	size_t n = 0;
	if (size == 0 || size > 64 << 10 || str_cut(&rest, '\n', &line) != 0 || !rest.p)
		return 0;
	struct str url = str_starts(line, STR("http://a.test/")) && str_ends(line, STR("/"))
				 ? line
				 : STR("http://a.test/pub/");
	struct extract *x = extract_new();
	void *memory = mem_alloc(MEMORY);
	struct extract_job job = {.url = url, .content_type = STR("text/html"), .body = rest};
	struct extract_result result;
	struct out out;
	out_begin(&out, memory, MEMORY, 0);
	extract_run(x, &job, &out, &result);
	struct attrs attrs = {out.attr, out.n, out.n};
	if (walk_page_read(&attrs, url, 3600, &arena, &e, &n) == 0)
		check_entries(e, n, url);
	mem_free(&memory);
	extract_free(&x);
	arena_free(&arena);
	return 0;
}
