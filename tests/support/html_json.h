/* A sink that writes tokens as the public html5lib tests write them: an array of ["StartTag", name,
 * {attributes}, true?], ["EndTag", name], ["Comment", data], ["Character", data] and ["DOCTYPE",
 * name, public, system, correct]. All text between two other tokens is one token. */
#pragma once
#include "base/jsonw.h"
#include "extract/html_tokens_inner.h"

struct html_json {
	struct jsonw json;
	struct buf text, key;
};

static void finish_text(struct html_json *j)
{
	if (j->text.n == 0)
		return;
	jsonw_array(&j->json);
	jsonw_text(&j->json, "Character");
	jsonw_str(&j->json, buf_str(&j->text));
	jsonw_array_end(&j->json);
	buf_clear(&j->text);
}

static void json_on_text(void *ctx, struct str text)
{
	struct html_json *j = ctx;
	buf_add_str(&j->text, text);
}

static void put_attrs(struct html_json *j, const struct html_tag *tag)
{
	jsonw_object(&j->json);
	for (size_t i = 0; i < tag->nattrs; i++) {
		buf_clear(&j->key);
		buf_add_str(&j->key, tag->attrs[i].name);
		jsonw_put_str(&j->json, buf_text(&j->key), tag->attrs[i].value);
	}
	jsonw_object_end(&j->json);
}

static enum html_state json_on_tag(void *ctx, const struct html_tag *tag)
{
	struct html_json *j = ctx;
	finish_text(j);
	jsonw_array(&j->json);
	jsonw_text(&j->json, tag->end ? "EndTag" : "StartTag");
	jsonw_str(&j->json, tag->name);
	if (!tag->end)
		put_attrs(j, tag);
	if (!tag->end && tag->self_closing)
		jsonw_bool(&j->json, true);
	jsonw_array_end(&j->json);
	return HTML_DATA;
}

static void json_on_comment(void *ctx, struct str data)
{
	struct html_json *j = ctx;
	finish_text(j);
	jsonw_array(&j->json);
	jsonw_text(&j->json, "Comment");
	jsonw_str(&j->json, data);
	jsonw_array_end(&j->json);
}

static void put_or_null(struct jsonw *json, struct str s)
{
	if (s.p)
		jsonw_str(json, s);
	else
		jsonw_null(json);
}

static void json_on_doctype(void *ctx, const struct html_doctype *d)
{
	struct html_json *j = ctx;
	finish_text(j);
	jsonw_array(&j->json);
	jsonw_text(&j->json, "DOCTYPE");
	put_or_null(&j->json, d->name);
	put_or_null(&j->json, d->public_id);
	put_or_null(&j->json, d->system_id);
	jsonw_bool(&j->json, d->correct);
	jsonw_array_end(&j->json);
}

static const struct html_sink html_json_sink = {json_on_text, json_on_tag, json_on_comment,
						json_on_doctype};

/* The array goes into `out`, whose limit is also that of one text. */
static inline void html_json_begin(struct html_json *j, struct buf *out)
{
	*j = (struct html_json){JSONW_INIT(out), BUF_INIT(out->max), BUF_INIT(out->max)};
	jsonw_array(&j->json);
}

static inline void html_json_end(struct html_json *j)
{
	finish_text(j);
	jsonw_array_end(&j->json);
	j->json.out->over |= j->text.over || j->key.over;
	buf_free(&j->text);
	buf_free(&j->key);
}

/* By its name in those tests, "RCDATA state". 0, or 1: there is no such state. */
static inline int html_state_of(struct str name, enum html_state *ret)
{
	static const char *const names[HTML_STATES] = {
		[HTML_DATA] = "Data state",           [HTML_RCDATA] = "RCDATA state",
		[HTML_RAWTEXT] = "RAWTEXT state",     [HTML_SCRIPT] = "Script data state",
		[HTML_PLAINTEXT] = "PLAINTEXT state", [HTML_CDATA] = "CDATA section state",
	};
	*ret = (enum html_state)str_index_nocase(name, names, HTML_STATES);
	return *ret == HTML_STATES;
}
