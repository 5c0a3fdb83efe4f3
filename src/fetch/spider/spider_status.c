/* Parses a line of a spider. TRANS_ID is SLOT.TURN, two 32-bit numbers without leading zeroes, so
 * that a job has one name. */
#include "fetch/spider/spider_status.h"

#include "fetch/spider/docindex_wire.h"

static bool trans_number(struct str s, uint32_t *ret)
{
	uint64_t v;
	if (s.n > 10 || (s.n > 1 && s.p[0] == '0') || !str_u64(s, &v) || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

bool spider_status_read(struct str line, bool words, struct spider_status *ret)
{
	struct str trans = STR(""), slot = STR(""), word = STR("");
	struct spider_status s = {.outcome = DOCINDEX_DONE};
	(void)str_cut(&line, ' ', &trans);
	(void)str_cut(&trans, '.', &slot);
	if (!trans.p || !trans_number(slot, &s.slot) || !trans_number(trans, &s.turn))
		return false;
	(void)str_cut(&line, ' ', &word);
	s.done = str_is(word, "DONE");
	if (!s.done && !str_is(word, "WORKING"))
		return false;
	if (line.p && (!s.done || !words || !docindex_outcome_parse(line, &s.outcome)))
		return false;
	*ret = s;
	return true;
}
