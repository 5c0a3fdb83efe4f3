#include "index/words.h"

#include <stdio.h>

void words_settings_default(struct words_settings *ret)
{
	static const struct {
		const char *name;
		uint8_t weight;
	} weights[] = {{"title", 4}, {"headings", 2}, {"keywords", 2}, {"url-text", 2}};
	struct words_settings s = {.main = "full-text"};
	for (size_t i = 0; i < ARRAY_LEN(weights); i++) {
		(void)snprintf(s.weight[i].name, sizeof s.weight[i].name, "%s", weights[i].name);
		s.weight[i].weight = weights[i].weight;
	}
	s.weights = ARRAY_LEN(weights);
	*ret = s;
}

/* Codes from 16 on are (8 + low three bits) << (the bits above, from 1 on). */
enum { EXACT = 16, STEPS = 8 };

uint8_t words_length_code(uint64_t length)
{
	if (length < EXACT)
		return (uint8_t)length;
	unsigned shift = 63 - (unsigned)__builtin_clzll(length) - 3; /* leaves 8 to 15 */
	unsigned code = EXACT + (shift - 1) * STEPS + (unsigned)(length >> shift) - STEPS;
	return (uint8_t)MIN(code, 255u);
}

uint64_t words_length_of(uint8_t code)
{
	if (code < EXACT)
		return code;
	unsigned above = code - EXACT;
	return (uint64_t)(STEPS + above % STEPS) << (above / STEPS + 1);
}
