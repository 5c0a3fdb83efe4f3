/* Parses a line of a URL server. Fields are separated by one blank, and the last is the rest of
 * the line: a URL with a blank in it is an invalid URL, not two fields. */
#include "fetch/spider/spider_line.h"

#include "fetch/spider/docindex_wire.h"

/* The next field; empty where there is none. */
static struct str next_field(struct str *rest)
{
	struct str field = STR("");
	if (rest->p && str_cut(rest, ' ', &field) != 0)
		field = STR("");
	return field;
}

static bool has_blank(struct str s)
{
	return str_has_control(s) || str_find_byte(s, ' ') < s.n;
}

bool spider_line_read(struct str line, struct spider_line *ret)
{
	struct str rest = line, trans = next_field(&rest), doc = next_field(&rest);
	struct str ip = next_field(&rest);
	if (!docindex_is_word(trans))
		return false;
	*ret = (struct spider_line){.trans = trans, .url = rest.p ? rest : STR("")};
	if (docindex_is_word(doc))
		ret->doc = doc;
	bool has_addr = addr_parse(ip, &ret->addr);
	if (!ret->doc.n)
		ret->wrong = "the line has no DOC_ID";
	else if (!has_addr)
		ret->wrong = "the line has no HOST_IP";
	else if (!ret->url.n)
		ret->wrong = "the line has no URL";
	else if (has_blank(ret->url))
		ret->wrong = "a blank or control character in the URL";
	return true;
}
