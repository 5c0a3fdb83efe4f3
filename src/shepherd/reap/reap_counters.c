/* Which counter counts a code. The definitions are literals, since a role's counters are a constant
 * table; a test holds them against the table of codes. */
#include "shepherd/reap_counters.h"

#include "shepherd/code.h"

size_t reap_code_counter(uint16_t code)
{
	size_t at = BISECT(i, 0, code_count, code_all[i] < code);
	if (at < code_count && code_all[at] == code)
		return at;
	return code_count + (code_class(code) == CODE_CLASS_TEMPORARY ? 0 : 1);
}
