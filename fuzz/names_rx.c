/* Any bytes as an expression for names, extended or of ed, and as names: what the literals of the
 * expression let through is all that matches, and an expression of ed is one of rx.h or is refused
 * inside of it. */
#include "index/names/names_exec.h"

static bool has_literal(struct str name, const struct rx_literal *l)
{
	if (l->begins && !str_starts(name, l->text))
		return false;
	if (l->ends && !str_ends(name, l->text))
		return false;
	return str_find(name, l->text) < name.n;
}

static bool passes_literals(const struct rx *rx, struct str name)
{
	uint32_t n;
	const struct rx_group *g = rx_literals(rx, &n);
	for (uint32_t i = 0; i < n; i++) {
		bool has = false;
		for (uint32_t k = 0; k < g[i].n; k++) {
			ENSURE(g[i].literal[k].text.n > 0);
			has |= has_literal(name, &g[i].literal[k]);
		}
		if (!has)
			return false;
	}
	return true;
}

static void check_name(const struct rx *rx, struct rx_run *run, struct str name)
{
	struct rx_match m;
	bool matches = rx_find(run, name, 0, &m) == 0;
	ENSURE(!matches || passes_literals(rx, name));
	ENSURE(matches == rx_matches(run, name));
}

static void check_names(struct str pattern, struct str names)
{
	struct rx *rx = NULL;
	struct err err;
	struct str name;
	size_t at = SIZE_MAX;
	if (rx_compile_name(&rx, pattern, &at, &err) < 0) {
		ENSURE(!rx && at <= pattern.n);
		return;
	}
	struct rx_run *run = rx_run_new(rx);
	rx_run_memory(run, 1 << 16);
	while (str_cut(&names, '/', &name) == 0)
		check_name(rx, run, name);
	rx_run_free(&run);
	rx_free(&rx);
}

static void check_ed(struct str pattern, struct str names)
{
	struct buf out = BUF_INIT(1 << 16);
	enum names_ed kind;
	struct err err;
	size_t at = SIZE_MAX;
	if (names_ed(pattern, &out, &kind, &at, &err) < 0)
		ENSURE(at <= pattern.n && err.code == ERR_USAGE);
	else if (kind == NAMES_ED_RX)
		check_names(buf_str(&out), names);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 4096)
		return 0;
	struct str names = {(const char *)data + 1, size - 1}, pattern;
	if (str_cut(&names, '/', &pattern) != 0)
		return 0;
	if (data[0] & 1)
		check_ed(pattern, names);
	else
		check_names(pattern, names);
	return 0;
}
