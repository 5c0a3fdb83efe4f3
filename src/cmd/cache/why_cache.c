/* The cache's answer to garner why: the rows of a URL, of each provider that announced it, and what
 * comes next. */
#include "cmd/cache/why_cache.h"
#include "base/rows.h"

#include "base/clock.h"
#include "base/file.h"
#include "cache/cache_conf.h"
#include "cache/receipts.h"
#include "cmd/system/text.h"

#include <inttypes.h>
#include <limits.h>

enum { FOUND_MOST = 1000, WORDS_MOST = 2000 };

struct asking {
	struct arena *arena;
	struct cached_urls *ret;
};

/* What happens to it next, as people ask. */
static const char *next_words(const struct db_receipt *r)
{
	static const char *const words[DB_NSTATES] = {
		[DB_QUEUED] = "it is fetched at the provider's turn, as its bandwidth allows",
		[DB_FETCHING] = "a robot has it",
		[DB_WAITING] = "it is fetched then, or when its hours come",
		[DB_STORED] = "it stays until the provider says that it changed or is gone",
		[DB_UNCHANGED] = "it stays until the provider says that it changed or is gone",
		[DB_FAILED] = "nothing, until the provider sends it again",
		[DB_REMOVED] = "nothing, until the provider sends it again",
	};
	if (r->state == DB_QUEUED && r->row == 0)
		return "nothing, until the queue manager has absorbed the set that names it";
	return words[r->state];
}

static void row_found(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	struct asking *a = ctx;
	struct arena *arena = a->arena;
	if (a->ret->n == FOUND_MOST)
		return;
	struct cached_url *url = ARENA_PUSH(arena, a->ret->url, a->ret->n, a->ret->room);
	*url = (struct cached_url){
		.provider = provider,
		.state = db_state_name(r->state),
		.next = next_words(r),
		.mime = text_safe(arena, r->mime, WORDS_MOST),
		.reason = text_safe(arena, r->reason, WORDS_MOST),
		.code = r->code,
		.at_us = r->at_us,
		.until_us = r->until_us,
		.size = r->size,
		.file = r->file.n ? arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(r->machine),
						 STR_ARG(r->file))
				  : "",
	};
}

int why_cache_ask(const char *data, struct str url, struct arena *arena, struct cached_urls *ret,
		  struct err *err)
{
	char folder[PATH_MAX];
	struct asking asking = {.arena = arena, .ret = ret};
	struct db *db = NULL;
	if (file_below(data, "cache", folder, err) < 0)
		return -1;
	int rc = db_open(&db, folder, DB_READ, err);
	if (rc < 0)
		return rc;
	const struct receipts_url of = {.c = url};
	rc = receipts_of_url(db, folder, &of, row_found, &asking, err);
	db_close(&db);
	return rc;
}

void why_cache_print(const struct cached_urls *c, struct arena *arena, FILE *out)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct cached_url *url = &c->url[i];
		fprintf(out, "cache:        provider %" PRIu64 ", %s, %s", url->provider, url->mime,
			url->state);
		if (url->at_us)
			fprintf(out, " since %s", text_time(arena, url->at_us));
		if (url->size)
			fprintf(out, ", %" PRIu64 " bytes", url->size);
		if (url->file[0])
			fprintf(out, ", file %s", url->file);
		fputc('\n', out);
		if (url->until_us)
			fprintf(out, "              until %s\n", text_time(arena, url->until_us));
		if (url->code) {
			CLEANUP(buf_free) struct buf text = BUF_INIT((size_t)4 * WORDS_MOST);
			cache_code_print(url->code, str_of(url->reason), &text);
			fprintf(out, "              %s\n", buf_text(&text));
		} else if (url->reason[0])
			fprintf(out, "              %s\n", url->reason);
		fprintf(out, "              next: %s\n", url->next);
	}
}

static const struct column url_columns[] = {
	COL("provider", struct cached_url, provider),
	COL("mime", struct cached_url, mime),
	COL("state", struct cached_url, state),
	COL("code", struct cached_url, code, .how = ROW_SOME),
	COL("reason", struct cached_url, reason, .how = ROW_SOME),
	COL("at", struct cached_url, at_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("until", struct cached_url, until_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("size", struct cached_url, size),
	COL("file", struct cached_url, file, .how = ROW_SOME),
	COL("next", struct cached_url, next),
};
const struct rows cached_url_rows = {ROWS(struct cached_url, url_columns)};
