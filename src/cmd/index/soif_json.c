/* SOIF objects as JSON and back. What is not UTF-8 is {"base64": "..."}, so that nothing is lost.
 */
#include "cmd/index/soif_json.h"

#include "base/jsonw.h"

#include <jansson.h>
#include <openssl/evp.h>

static const char *const section_word[] = {[SOIF_PLAIN] = "",
					   [SOIF_DELETE] = "delete",
					   [SOIF_REFRESH] = "refresh",
					   [SOIF_UPDATE] = "update"};

static void print_bytes(struct jsonw *j, struct str value)
{
	if (str_utf8(value)) {
		jsonw_str(j, value);
		return;
	}
	unsigned char *text = mem_alloc(value.n / 3 * 4 + 5);
	int n = EVP_EncodeBlock(text, (const unsigned char *)value.p, (int)value.n);
	jsonw_object(j);
	jsonw_put_str(j, "base64", (struct str){(char *)text, (size_t)n});
	jsonw_object_end(j);
	mem_free(&text);
}

void soif_json_print(const struct soif *obj, enum soif_section section, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	if (section != SOIF_PLAIN)
		jsonw_put_text(&j, "section", section_word[section]);
	jsonw_key(&j, "type");
	print_bytes(&j, obj->type);
	jsonw_key(&j, "url");
	print_bytes(&j, obj->url);
	if (obj->truncated)
		jsonw_put_bool(&j, "truncated", true);
	jsonw_put_array(&j, "attributes");
	for (size_t i = 0; i < obj->n; i++) {
		jsonw_array(&j);
		print_bytes(&j, obj->attr[i].name);
		print_bytes(&j, obj->attr[i].value);
		jsonw_array_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

static bool text_of(const json_t *v, struct arena *arena, struct str *ret)
{
	if (!json_is_string(v))
		return false;
	*ret = arena_str(arena, (struct str){json_string_value(v), json_string_length(v)});
	return true;
}

/* A text, or {"base64": "..."}. */
static bool bytes_of(const json_t *v, struct arena *arena, struct str *ret)
{
	struct str text;
	if (text_of(v, arena, ret))
		return true;
	if (!text_of(json_object_get(v, "base64"), arena, &text) || text.n % 4)
		return false;
	unsigned char *bytes = arena_alloc(arena, text.n / 4 * 3 + 1);
	int n = EVP_DecodeBlock(bytes, (const unsigned char *)text.p, (int)text.n);
	if (n < 0)
		return false;
	size_t padding = (size_t)str_ends(text, STR("=")) + (size_t)str_ends(text, STR("=="));
	*ret = (struct str){(char *)bytes, (size_t)n - padding};
	return true;
}

static int attributes_of(const json_t *list, struct arena *arena, struct soif *obj, struct err *err)
{
	if (!json_is_array(list))
		return err_set(err, ERR_USAGE, "no list \"attributes\"");
	if (json_array_size(list) > SOIF_MAX_ATTRS)
		return err_set(err, ERR_USAGE, "more than %d attributes", SOIF_MAX_ATTRS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		struct str name, value;
		if (json_array_size(pair) != 2 ||
		    !bytes_of(json_array_get(pair, 0), arena, &name) ||
		    !bytes_of(json_array_get(pair, 1), arena, &value))
			return err_set(err, ERR_USAGE,
				       "attribute %zu is not [\"name\", \"value\"], each a text "
				       "or {\"base64\": \"...\"}",
				       i + 1);
		soif_add(obj, arena, name, value);
	}
	return 0;
}

static int object_of(const json_t *root, struct arena *arena, struct soif *ret,
		     enum soif_section *ret_section, struct err *err)
{
	struct soif obj = {.truncated = json_is_true(json_object_get(root, "truncated"))};
	struct str section = STR("");
	enum soif_section s = SOIF_PLAIN;
	if (!bytes_of(json_object_get(root, "type"), arena, &obj.type) ||
	    !bytes_of(json_object_get(root, "url"), arena, &obj.url))
		return err_set(err, ERR_USAGE, "expected texts \"type\" and \"url\"");
	(void)text_of(json_object_get(root, "section"), arena, &section);
	while (s <= SOIF_UPDATE && !str_is(section, section_word[s]))
		s++;
	if (s > SOIF_UPDATE)
		return err_set(err, ERR_USAGE, "\"section\" is none of delete, refresh, update");
	if (attributes_of(json_object_get(root, "attributes"), arena, &obj, err) < 0)
		return -1;
	*ret = obj;
	*ret_section = s;
	return 0;
}

int soif_json_parse(struct str line, struct arena *arena, struct soif *ret,
		    enum soif_section *ret_section, struct err *err)
{
	json_error_t wrong;
	json_t *root = json_loadb(line.p, line.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &wrong);
	if (!root)
		return err_set(err, ERR_USAGE, "column %d: %s", wrong.column, wrong.text);
	int rc = object_of(root, arena, ret, ret_section, err);
	json_decref(root);
	return rc;
}
