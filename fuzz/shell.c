/* The shell: a first byte says the mode, then come an rc, pseudo-domains and lines, with a NUL
 * between them. Whatever they say, text of whole lines without control characters comes out, a mail
 * is handed over at most once for each command, and what is asked of the archive keeps its limits.
 * The archive answers with names made of the lines. */
#include "archie/shell.h"
#include "base/ascii.h"

struct canned {
	struct str lines;
	struct arena *arena;
	size_t printed, mails;
};

static void check_text(struct str text)
{
	ENSURE(text.n > 0 && text.p[text.n - 1] == '\n');
	for (size_t i = 0; i < text.n; i++)
		ENSURE(!ascii_is_control(text.p[i]) || text.p[i] == '\n' || text.p[i] == '\t');
}

static bool canned_print(void *ctx, struct str text, enum shell_text what)
{
	struct canned *c = ctx;
	check_text(text);
	ENSURE(what <= SHELL_HELP);
	return c->printed++ % 7 != 6;
}

static int canned_ask(void *ctx, const struct archie_ask *ask, struct arena *arena,
		      struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err)
{
	struct canned *c = ctx;
	const struct names_query *q = &ask->query;
	ENSURE(q->pattern.n <= SHELL_LINE_MOST && q->sites <= 1);
	ENSURE(q->domains <= NAMES_LIST_MOST && q->components <= NAMES_LIST_MOST);
	ENSURE(ask->what != ARCHIE_FIND || (q->maxhits && q->maxhits <= 1000));
	if (q->pattern.n && q->pattern.p[0] == '!') {
		*ret_why = (enum archie_refusal)(1 + q->pattern.n % (ARCHIE_REFUSALS - 1));
		return err_set(err, ERR_REMOTE, STR_FMT, STR_ARG(q->pattern));
	}
	enum { ROWS = 5, ALL = 12 };
	size_t from = MIN(q->offset, (uint64_t)ALL), n = MIN(ALL - from, (size_t)ROWS);
	*ret = (struct archie_answer){.row = arena_array(arena, n, sizeof *ret->row),
				      .n = n,
				      .total = ALL,
				      .cut = q->offset == 0};
	for (size_t i = 0; i < n; i++) {
		struct str name = str_head(str_from(c->lines, (from + i) * 3), 1 + i * 10);
		ret->row[i] = (struct archie_row){
			.host = str_head(name, 5),
			.address = STR("192.0.2.1"),
			.listed_s = (int64_t)name.n - 2,
			.url = i % 2 ? c->lines : STR(""),
			.text = i % 3 ? name : STR(""),
			.file = {.name = name,
				 .dir = i % 2 ? STR("") : name,
				 .kind = (enum names_kind)(i % NAMES_KINDS),
				 .size = (int64_t)i - 1,
				 .time_s = i % 2 ? INT64_MAX : -1},
		};
	}
	return 0;
}

static int canned_mail(void *ctx, const struct shell_mail *m, struct err *err)
{
	struct canned *c = ctx;
	c->mails++;
	check_text(m->text);
	ENSURE(m->compress == m->encode && m->max_split_size >= 1024);
	return c->mails % 2 ? 0 : err_set(err, ERR_REMOTE, "no more");
}

static int canned_site(void *ctx, struct str host, struct err *err)
{
	(void)ctx;
	return host.n % 2 ? 0 : err_set(err, ERR_REMOTE, "no");
}

static void canned_terminal(void *ctx, const struct shell_terminal *t)
{
	(void)ctx;
	ENSURE(shell_knows_terminal(t->type) && t->rows >= 2 && t->cols >= 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct shell_ops ops = {canned_print, canned_ask,      canned_mail,
					     canned_site,  canned_terminal, NULL};
	struct arena arena = ARENA_INIT((size_t)1 << 26);
	struct canned c = {.arena = &arena};
	struct shell_texts texts = {.motd = STR("motd")};
	struct str rest = {(const char *)data + 1, size - 1}, domains = {0}, line;
	struct err err;
	if (size < 2 || size > 16 << 10)
		return 0;
	(void)str_cut(&rest, 0, &texts.rc);
	(void)str_cut(&rest, 0, &domains);
	c.lines = rest.p ? rest : STR("");
	texts.domains = domains_parse(domains, &arena, NULL);
	struct shell *s = shell_new(&(struct shell_options){
		.mode = data[0] % 2 ? SHELL_EMAIL : SHELL_INTERACTIVE,
		.layout = data[0] & 2 ? SHELL_3_0 : SHELL_3_5,
		.texts = &texts,
		.ops = &ops,
		.ctx = &c,
		.mailto = STR("me@x.org"),
	});
	shell_begin(s);
	rest = c.lines;
	size_t lines = 0;
	while (rest.p && str_cut(&rest, '\n', &line) == 0 && shell_line(s, line) == 0) {
		lines++;
		ENSURE(c.mails <= lines);
		(void)shell_prompt(s);
	}
	(void)shell_end(s, &err);
	shell_free(&s);
	arena_free(&arena);
	return 0;
}
