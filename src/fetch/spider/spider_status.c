/* A line of a spider. TRANS_ID is SLOT.TURN, two numbers of 32 bits, written as we write them: no
 * zeroes in front, so that a job has one name. */
#include "fetch/spider/spider_status.h"

#include "fetch/docindex_wire.h"

static bool trans_number(struct str s, uint32_t *ret)
{
	uint64_t v;
	if (s.n > 10 || (s.n > 1 && s.p[0] == '0') || !str_u64(s, &v) || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

enum spider_wrong spider_status_read(struct str line, bool words, struct spider_status *ret)
{
	struct str trans = STR(""), slot = STR(""), word;
	struct spider_status s = {.outcome = DOCINDEX_DONE};
	(void)str_cut(&line, ' ', &trans);
	(void)str_cut(&trans, '.', &slot);
	if (!trans.p || !trans_number(slot, &s.slot) || !trans_number(trans, &s.turn))
		return SPIDER_NO_TRANS;
	if (!line.p || str_cut(&line, ' ', &word) != 0)
		return SPIDER_NO_WORD;
	s.done = str_is(word, "DONE");
	if (!s.done && !str_is(word, "WORKING"))
		return SPIDER_NO_WORD;
	if (line.p && (!s.done || !words || !docindex_outcome_parse(line, &s.outcome)))
		return SPIDER_NO_WORD;
	*ret = s;
	return SPIDER_FINE;
}
