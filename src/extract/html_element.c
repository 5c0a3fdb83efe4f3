#include "extract/html_element.h"

#include "extract/html_element_hash.h"

#define HTML_ELEMENT_INFO(id, spelling, bits, of, place, holds, inside) \
	[EL_##id] = {                                                   \
		{spelling, sizeof(spelling) - 1}, bits, G_##of, place, G_##holds, HTML_##inside},
const struct html_element_info html_elements[HTML_ELEMENT_COUNT] = {
	HTML_ELEMENTS(HTML_ELEMENT_INFO)};

enum html_element html_element_of(struct str name)
{
	if (name.n == 0)
		return EL_OTHER;
	const unsigned char *p = (const unsigned char *)name.p;
	size_t h = name.n + p[0] * (size_t)HASH_FIRST + p[name.n / 2] * (size_t)HASH_MIDDLE +
		   p[name.n - 1] * (size_t)HASH_LAST;
	enum html_element e = hash_slot[h % HASH_SLOTS];
	return str_eq(html_elements[e].name, name) ? e : EL_OTHER;
}
