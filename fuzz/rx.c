/* Any bytes as a pattern and as lines: what is found lies in the line, is the same however it is
 * asked for, and contains the literals; a pattern without meaning is refused inside of it. */
#include "index/rx.h"

static bool line_contains(struct str text, struct str literal)
{
	return str_find(text, literal) < text.n;
}

static void check_literals(const struct rx *rx, struct str match)
{
	uint32_t n;
	const struct rx_group *g = rx_literals(rx, &n);
	for (uint32_t i = 0; i < n; i++) {
		bool has = false;
		for (uint32_t k = 0; k < g[i].n; k++) {
			ENSURE(g[i].literal[k].text.n > 0);
			has |= line_contains(match, g[i].literal[k].text);
		}
		ENSURE(has);
	}
}

static void check_line(const struct rx *rx, struct rx_run *run, struct str line)
{
	struct rx_match m;
	int rc = rx_find(run, line, 0, &m);
	ENSURE((rc == 0) == rx_matches(run, line));
	for (size_t from = 0; rc == 0; rc = rx_find(run, line, from, &m)) {
		ENSURE(m.at >= from && m.at <= line.n && m.n <= line.n - m.at);
		check_literals(rx, (struct str){line.p + m.at, m.n});
		from = m.at + (m.n ? m.n : 1);
		if (from > line.n)
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rx *rx = NULL;
	struct err err;
	size_t at = SIZE_MAX;
	if (size < 1 || size > 4096)
		return 0;
	struct str all = {(const char *)data + 1, size - 1}, pattern, line;
	if (str_cut(&all, '\n', &pattern) != 0)
		return 0;
	if (rx_compile(&rx, pattern, data[0] & 1, &at, &err) < 0) {
		ENSURE(!rx && at <= pattern.n);
		return 0;
	}
	struct rx_run *run = rx_run_new(rx);
	while (str_cut(&all, '\n', &line) == 0)
		check_line(rx, run, line);
	rx_run_free(&run);
	rx_free(&rx);
	return 0;
}
