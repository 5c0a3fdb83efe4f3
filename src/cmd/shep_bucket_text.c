#include "cmd/shep_bucket_text.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	uint32_t type;
	const char *name;
} types[] = {
	{BUCKET_PLAIN, "plain"},   {BUCKET_V30, "v3.0"},           {BUCKET_V33, "v3.3"},
	{BUCKET_LIZARD, "lizard"}, {BUCKET_V33_ZSTD, "v3.3 zstd"},
};

const char *bucket_type_name(uint32_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].type == MAX(type, BUCKET_PLAIN))
			return types[i].name;
	return NULL;
}

static void print_list(const struct attrs *list, struct buf *out)
{
	for (size_t i = 0; i < list->n; i++) {
		struct str rest = list->a[i].value, line;
		while (str_cut(&rest, '\n', &line) == 0) {
			buf_add_byte(out, list->a[i].name);
			buf_add_str(out, line);
			buf_add_byte(out, '\n');
		}
	}
}

void bucket_text(const struct attrs *header, const struct attrs *body, struct buf *out)
{
	print_list(header, out);
	print_list(body, out);
	buf_add_byte(out, '\n');
}

void bucket_json(struct jsonw *j, const struct bucket *bucket)
{
	char hex[16];
	snprintf(hex, sizeof hex, "%08" PRIx32, bucket->oid);
	jsonw_put_text(j, "oid", hex);
	jsonw_put_uint(j, "at", bucket->at);
	jsonw_put_uint(j, "length", bucket->data.n);
	snprintf(hex, sizeof hex, "%08" PRIx32, bucket->type);
	jsonw_put_text(j, "type", hex);
	jsonw_put_text(j, "type_name", bucket_type_name(bucket->type));
	jsonw_put_bool(j, "deleted", bucket->deleted);
}

void bucket_attrs_json(struct jsonw *j, const char *key, const struct attrs *list)
{
	jsonw_key(j, key);
	jsonw_array(j);
	for (size_t i = 0; i < list->n; i++) {
		jsonw_array(j);
		jsonw_str(j, (struct str){&list->a[i].name, 1});
		jsonw_str(j, list->a[i].value);
		jsonw_array_end(j);
	}
	jsonw_array_end(j);
}

int bucket_line(struct str line, struct arena *arena, struct attrs *header, struct attrs *body,
		struct err *err)
{
	char name = line.p[0];
	if (name <= ' ' || name >= 0x7f)
		return err_set(
			err, ERR_USAGE,
			"an attribute begins with \\x%02x; a printable character is expected",
			(unsigned char)name);
	bool first = (name == 'O' || name == 'U') && !attrs_get(header, name).p;
	attrs_add(first ? header : body, arena, name, arena_str(arena, str_from(line, 1)));
	return 0;
}
