/* "AGENT\nPATH\nrobots.txt": any file compiles to a form that passes its check, and the form says
 * what reading the file slowly says. The same bytes taken for a form are asked safely, and those
 * that pass the check by name. */
#include "../tests/support/robots_slow.h"

enum { WORK_MAX = 1 << 22 }; /* steps of the slow one */

static void as_form(struct str in)
{
	struct err err = {0};
	struct robots_sitemaps it = robots_sitemaps_of(in);
	struct str url;
	while (robots_sitemap_next(&it, &url) == 0)
		ENSURE(url.p >= in.p && url.p + url.n <= in.p + in.n);
	(void)robots_verdict(in, STR("/a/b.html?c=d/e%2F"));
	(void)robots_verdict(in, str_head(in, 300));
	(void)robots_crawl_delay_us(in);
	ENSURE(robots_check(in, &err) == 0 || (err.code == ERR_DAMAGED && err.msg[0]));
}

static void as_file(struct str agent, struct str path, struct str file)
{
	struct err err;
	struct buf form = BUF_INIT(ROBOTS_COMPILED_MAX);
	ENSURE(robots_compile(file, agent, &form, &err) == 0);
	struct str compiled = buf_str(&form);
	ENSURE(robots_check(compiled, &err) == 0);
	ENSURE(robots_crawl_delay_us(compiled) >= -1 && !form_was_cut(compiled));
	ENSURE(form_names_us(compiled) == slow_names(file, agent));
	struct robots_verdict fast = robots_verdict(compiled, path);
	if ((path.n + 1) * (file.n + 1) < WORK_MAX) {
		struct robots_verdict slow = slow_verdict(file, agent, path);
		ENSURE(fast.allowed == slow.allowed && fast.line == slow.line);
	}
	buf_free(&form);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size}, agent, path;
	if (size == 0 || size > 1 << 16)
		return 0;
	as_form(rest);
	if (str_cut(&rest, '\n', &agent) == 0 && str_cut(&rest, '\n', &path) == 0 && rest.p)
		as_file(agent, path, rest);
	return 0;
}
