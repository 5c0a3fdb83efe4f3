/* Which counter counts a code. The definitions are literals, since a role's counters are a constant
 * table; a test holds them against the table of codes. */
#include "shepherd/reap_counters.h"

#include "shepherd/code.h"

size_t reap_code_counter(uint16_t code)
{
	size_t from = 0, to = code_count;
	while (from < to) {
		size_t middle = (from + to) / 2;
		if (code_all[middle] < code)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < code_count && code_all[from] == code)
		return from;
	return code_count + (code_class(code) == CODE_CLASS_TEMPORARY ? 0 : 1);
}

void reap_count_code(struct counters *counters, size_t at, uint16_t code)
{
	if (counters)
		counters_add(counters, at + reap_code_counter(code), 1);
}
