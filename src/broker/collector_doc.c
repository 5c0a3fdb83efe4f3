#include "broker/collector_doc.h"

#include "broker/search.h"

#include <stdio.h>

/* Attributes of objects that are searched, and what they are called there. All others are kept in
 * the document store and found by nothing. */
static const struct {
	const char *soif, *words;
} searched[] = {
	{"Title", "title"},         {"Headings", "headings"},      {"Keywords", "keywords"},
	{"Author", "author"},       {"Abstract", "abstract"},      {"Description", "description"},
	{"Full-Text", "full-text"}, {"Partial-Text", "full-text"}, {"Language", "language"},
	{"Type", "type"},
};

static const struct {
	const char *soif, *words;
	enum words_type type;
} columns[] = {
	{"File-Size", "size", WORDS_NUMBER},
	{"Last-Modification-Time", "modified", WORDS_DATE},
	{"Update-Time", "gathered", WORDS_DATE},
};

enum { BESIDE = 3 }; /* url, site, type */

void collector_settings(struct words_settings *ret)
{
	words_settings_default(ret);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		snprintf(ret->column[ret->columns].name, sizeof ret->column[0].name, "%s",
			 columns[i].words);
		ret->column[ret->columns++].type = columns[i].type;
	}
}

static void add(struct words_doc *doc, struct words_attr *attr, const char *name, struct str value)
{
	if (value.n)
		attr[doc->n++] = (struct words_attr){str_of(name), value};
}

void collector_doc(const struct soif *obj, struct docaddr addr, struct arena *arena,
		   struct words_doc *ret)
{
	size_t most = ARRAY_LEN(searched) + ARRAY_LEN(columns) + BESIDE;
	struct words_attr *attr = arena_array(arena, most, sizeof *attr);
	struct words_doc doc = {.key = obj->url, .addr = addr, .attr = attr};
	uint64_t time_s = 0;
	if (!soif_u64(obj, STR("Last-Modification-Time"), &time_s))
		(void)soif_u64(obj, STR("Update-Time"), &time_s);
	doc.time_s = (int64_t)time_s;
	for (size_t i = 0; i < ARRAY_LEN(searched); i++)
		add(&doc, attr, searched[i].words, soif_get(obj, str_of(searched[i].soif)));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		add(&doc, attr, columns[i].words, soif_get(obj, str_of(columns[i].soif)));
	add(&doc, attr, "url", obj->url);
	add(&doc, attr, SEARCH_SITE, search_word(search_host(obj->url), arena));
	struct str type = soif_get(obj, STR("Type"));
	if (type.n)
		add(&doc, attr, SEARCH_TYPE, search_word(type, arena));
	*ret = doc;
}
