/* What programs say of archives. The first byte says what the others are: a line of a load is
 * printed as it was read, and so is a time; variables are set, each line a name and a value, and
 * whatever is taken makes a query within its bounds. */
#include "archie/archie.h"
#include "archie/ng_peers.h"
#include "archie/ng_vars.h"

static void fuzz_load(struct str line)
{
	struct buf one = BUF_INIT(1 << 20), two = BUF_INIT(1 << 20);
	struct arena arena = ARENA_INIT(4 << 20);
	struct ng_load load, again;
	struct str server, name;
	if (!memchr(line.p, 0, line.n) && !memchr(line.p, '\n', line.n) &&
	    ng_load_parse(line, &server, &load)) {
		ng_load_print(&one, arena_text(&arena, server), &load);
		ENSURE(ng_load_parse(str_head(buf_str(&one), one.n - 1), &name, &again));
		ENSURE(str_eq(server, name) && load.known == again.known);
		ng_load_print(&two, arena_text(&arena, name), &again);
		ENSURE(str_eq(buf_str(&one), buf_str(&two)));
	}
	arena_free(&arena);
	buf_free(&one);
	buf_free(&two);
}

static void fuzz_time(struct str text)
{
	struct buf out = BUF_INIT(64);
	int64_t time_s, again;
	if (ng_time_parse(text, &time_s)) {
		ng_time_print(&out, time_s);
		/* a leap second is told as the next minute */
		ENSURE(str_is(buf_str(&out), "-") ||
		       (ng_time_parse(buf_str(&out), &again) && again == time_s));
	}
	buf_free(&out);
}

static void fuzz_vars(struct str text)
{
	struct ng_held held;
	struct domains_file *domains = domains_file_new("/nowhere");
	struct arena arena = ARENA_INIT(4 << 20);
	struct names_query q;
	struct str line;
	struct err err;
	ng_held_init(&held);
	while (str_cut(&text, '\n', &line) == 0) {
		size_t n = str_find_byte(line, ' ');
		if (ng_held_set(&held, domains, str_head(line, n), str_from(line, n + 1), &err) < 0)
			ENSURE(err.code == ERR_USAGE);
	}
	ENSURE(ng_vars_query(&held.vars, domains, &arena, &q, &err) == 0);
	ENSURE(q.type < NAMES_WHATIS && q.maxhits <= ARCHIE_ROWS_MOST);
	ENSURE(q.sites <= NAMES_LIST_MOST && q.domains <= NAMES_LIST_MOST &&
	       q.components <= NAMES_LIST_MOST);
	ENSURE(held.vars.niceness >= 0 && held.vars.niceness <= ARCHIE_NICE_MOST);
	domains_file_free(&domains);
	arena_free(&arena);
	ng_held_free(&held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 64 << 10)
		return 0;
	struct str rest = {(const char *)data + 1, size - 1};
	if (data[0] == 'l')
		fuzz_load(rest);
	else if (data[0] == 't')
		fuzz_time(rest);
	else
		fuzz_vars(rest);
	return 0;
}
