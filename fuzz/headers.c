/* Heads of answers: whatever comes, what is kept of it is bounded, fit to be sent back, and does
 * not depend on how often the same head is read; each part read alone agrees with itself. */
#include "base/clock.h"
#include "fetch/robot_headers.h"

#define NOW_US (INT64_C(1794700800) * US_PER_S)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t most)
{
	size_t n = strlen(text);
	ENSURE(n <= most && !memchr(text, '\n', n));
	ENSURE(n == 0 || (text[0] != ' ' && text[n - 1] != ' '));
}

static void check_head(const struct robot_head *h)
{
	ENSURE(h->status >= 0 && h->status <= 999);
	check_text(h->etag, ROBOT_ETAG_MAX);
	check_text(h->last_modified, ROBOT_DATE_MAX);
	check_text(h->mime, ROBOT_MIME_MAX);
	check_text(h->charset, ROBOT_CHARSET_MAX);
	ENSURE(h->retry_after_us >= -1 && h->length >= -1);
	ENSURE(h->tag.set < 1u << ROBOT_NDIRECTIVES);
	for (const char *p = h->mime; *p; p++)
		ENSURE(!(*p >= 'A' && *p <= 'Z'));
}

static void read_head(struct robot_head *h, struct str text)
{
	struct str line;
	robot_head_begin(h, NOW_US);
	while (str_cut(&text, '\n', &line) == 0)
		robot_head_line(h, line);
}

/* A date that was read, written in the usual form, is read as the same. */
static void check_date(struct str text)
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	CLEANUP(buf_free) struct buf form = BUF_INIT(128), iso = BUF_INIT(128);
	int64_t us, again_us;
	if (!robot_date(text, NOW_US, &us) || us < 0)
		return;
	time_print(&iso, us, 0); /* 2026-11-15T00:00:00Z */
	const char *p = buf_text(&iso);
	unsigned month = (unsigned)(p[5] - '0') * 10 + (unsigned)(p[6] - '0');
	buf_printf(&form, "%.2s %s %.4s %.8s GMT", p + 8, months[month - 1], p, p + 11);
	ENSURE(robot_date(buf_str(&form), NOW_US, &again_us) && again_us == us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct robot_head a, b;
	robot_head_init(&a, STR("oddbot"));
	robot_head_init(&b, STR("oddbot"));
	read_head(&a, text);
	check_head(&a);
	read_head(&b, text);
	read_head(&b, text); /* what was before is forgotten */
	ENSURE(a.status == b.status && a.tag.set == b.tag.set && a.length == b.length);
	ENSURE(strcmp(a.etag, b.etag) == 0 && strcmp(a.mime, b.mime) == 0);
	ENSURE(str_eq(buf_str(&a.location), buf_str(&b.location)));
	robot_head_free(&a);
	robot_head_free(&b);
	check_date(text);
	return 0;
}
