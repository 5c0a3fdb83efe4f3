/* What comes to a spider, line by line, and the results that come from one: all of it is bounded,
 * and a result that was read, written again, is read as the same. */
#include "base/clock.h"
#include "fetch/docindex_wire.h"
#include "fetch/result_wire.h"
#include "fetch/spider/spider_line.h"

static const struct result_now now = {.mono_us = 900 * US_PER_DAY, .wall_us = 20000 * US_PER_DAY};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct str line)
{
	struct spider_line l;
	if (!spider_line_read(line, &l))
		return;
	ENSURE(l.trans.n >= 1 && l.trans.n <= DOCINDEX_WORD_MAX && l.doc.n <= DOCINDEX_WORD_MAX);
	ENSURE(!str_has_control(l.trans) && !str_has_control(l.doc));
	if (l.wrong)
		return;
	ENSURE(l.doc.n && l.addr.family && l.addr.port == 0);
	ENSURE(l.url.n && !str_has_control(l.url) && str_find_byte(l.url, ' ') == l.url.n);
}

static void check_result(struct str bytes)
{
	CLEANUP(buf_free) struct buf first = BUF_INIT(2 * DOCINDEX_HEAD_MAX);
	CLEANUP(buf_free) struct buf second = BUF_INIT(2 * DOCINDEX_HEAD_MAX);
	struct result_room room;
	struct robot_result r;
	struct err err = {0};
	if (result_read(bytes, now, &room, &r, &err) < 0) {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		return;
	}
	ENSURE(r.outcome < OUTCOME_COUNT && r.cause < ROBOT_NCAUSES && r.head->status <= 999);
	ENSURE(strlen(r.why) < sizeof room.why && r.location.n <= URL_MAX);
	result_write(&r, now, &first);
	ENSURE(!first.over && result_read(buf_str(&first), now, &room, &r, &err) == 0);
	result_write(&r, now, &second);
	ENSURE(str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size}, line;
	check_result(text);
	while (text.p && str_cut(&text, '\n', &line) == 0)
		check_line(line);
	return 0;
}
