#include "base/log_line.h"
#include "base/clock.h"

static const char *const level_names[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warn",   [LOG_OUTSIDE] = "outside",
	[LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

static const char *const section_names[] = {
#define X(symbol, number, name, help) name,
	LOG_SECTIONS(X)
#undef X
};

/* Characters that a terminal obeys or that move text about: C1 controls, marks and overrides of
 * direction, line and paragraph separators. In UTF-8 the order of bytes is that of characters. */
static const struct {
	const char *first, *last;
} unseen[] = {
	{"\xc2\x80", "\xc2\x9f"},
	{"\xe2\x80\x8e", "\xe2\x80\x8f"},
	{"\xe2\x80\xa8", "\xe2\x80\xae"},
	{"\xe2\x81\xa6", "\xe2\x81\xa9"},
};

/* Bytes of the first character when it may stand as it is, 0 when its first byte may not. */
static size_t visible(struct str s)
{
	unsigned char lead = (unsigned char)s.p[0];
	if (lead < 0x80)
		return lead >= 0x20 && lead != 0x7f;
	size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	struct str c = str_head(s, n);
	if (c.n < n || !str_utf8(c))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(unseen); i++)
		if (str_cmp(c, str_of(unseen[i].first)) >= 0 &&
		    str_cmp(c, str_of(unseen[i].last)) <= 0)
			return 0;
	return n;
}

/* Adds the first character of s, as it is or escaped, and returns its bytes. It is added whole or
 * not at all, so a line is never cut inside one. */
static size_t add_visible(struct buf *b, struct str s)
{
	size_t n = visible(s);
	if (n)
		buf_add(b, s.p, n);
	else if (s.p[0] == '\n')
		buf_add_text(b, "\\n");
	else
		buf_printf(b, "\\x%02x", (unsigned char)s.p[0]);
	return n ? n : 1;
}

static void add_plain(struct buf *b, struct str s)
{
	while (s.n && !b->over)
		s = str_from(s, add_visible(b, s));
}

static bool bare(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool word =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!word && (c == 0 || !strchr("_./:@%+,=-", c)))
			return false;
	}
	return s.n > 0;
}

/* Past the limit, for what closes a line that was cut; it stays over. */
static void add_tail(struct buf *b, const char *text)
{
	b->over = false;
	b->max += LOG_BODY_TAIL;
	buf_add_text(b, text);
	b->max -= LOG_BODY_TAIL;
	b->over = true;
}

static void add_value(struct buf *b, struct str s)
{
	if (bare(s)) {
		add_plain(b, s);
		return;
	}
	if (b->over)
		return;
	buf_add_byte(b, '"');
	bool opened = !b->over;
	while (s.n && !b->over) {
		if (s.p[0] == '"' || s.p[0] == '\\') {
			buf_add(b, (char[]){'\\', s.p[0]}, 2);
			s = str_from(s, 1);
		} else {
			s = str_from(s, add_visible(b, s));
		}
	}
	buf_add_byte(b, '"');
	if (opened && b->over)
		add_tail(b, "\"");
}

static void add_kv(struct buf *b, const struct log_kv *kv)
{
	buf_add_byte(b, ' ');
	add_plain(b, str_of(kv->key));
	buf_add_byte(b, '=');
	switch (kv->type) {
	case LOG_KV_STR:
		add_value(b, kv->s);
		break;
	case LOG_KV_INT:
		buf_printf(b, "%lld", (long long)kv->i);
		break;
	case LOG_KV_UINT:
		buf_printf(b, "%llu", (unsigned long long)kv->u);
		break;
	case LOG_KV_TIME:
		duration_print(b, kv->i);
		break;
	case LOG_KV_END:
		break;
	}
}

void log_line(struct buf *out, const char *name, enum log_level level, enum log_section section,
	      const char *msg, const struct log_kv *list)
{
	const char *own = section_names[section];
	buf_clear(out);
	out->max = LOG_BODY_MAX;
	buf_add_text(out, level_names[level]);
	buf_add_byte(out, ' ');
	if (name[0] && strcmp(name, own) != 0) {
		add_plain(out, str_of(name));
		buf_add_byte(out, '/');
	}
	buf_printf(out, "%s: ", own);
	add_plain(out, str_of(msg));
	for (; list->key && !out->over; list++)
		add_kv(out, list);
	if (out->over)
		add_tail(out, " cut=yes");
}

static void forget(struct log_fold_line *l, log_emit_fn *emit, void *ctx)
{
	if (l->n && l->repeats)
		emit(ctx, l->level, (struct str){l->text, l->n}, l->repeats);
	l->n = 0;
	l->repeats = 0;
}

void log_fold_add(struct log_fold *f, int64_t now_us, enum log_level level, struct str line,
		  log_emit_fn *emit, void *ctx)
{
	struct log_fold_line *same = NULL;
	for (size_t i = 0; i < LOG_FOLD_LINES; i++) {
		struct log_fold_line *l = &f->line[(f->oldest + i) % LOG_FOLD_LINES];
		if (l->n && now_us - l->since_us >= LOG_FOLD_US)
			forget(l, emit, ctx);
		else if (l->n && str_eq((struct str){l->text, l->n}, line))
			same = l;
	}
	if (same) {
		same->repeats++;
		return;
	}
	struct log_fold_line *l = &f->line[f->oldest];
	forget(l, emit, ctx);
	f->oldest = (f->oldest + 1) % LOG_FOLD_LINES;
	ENSURE(line.n <= sizeof l->text);
	memcpy(l->text, line.p, line.n);
	l->n = line.n;
	l->since_us = now_us;
	l->level = level;
	emit(ctx, level, line, 0);
}

void log_fold_flush(struct log_fold *f, log_emit_fn *emit, void *ctx)
{
	for (size_t i = 0; i < LOG_FOLD_LINES; i++)
		forget(&f->line[(f->oldest + i) % LOG_FOLD_LINES], emit, ctx);
}
