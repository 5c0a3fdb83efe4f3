/* The file of cursors: small, checksummed, replaced as a whole. */
#include "broker/cursors.h"

#include "disk/fields.h"
#include "disk/small_file.h"

#include <stdio.h>
#include <string.h>

enum { CURSORS_MOST = 16 << 10 };

static const struct field fields[] = {
	{"", FIELD(FIELD_NAME, struct cursor_of_feed, name)},
	{"", FIELD(FIELD_BYTES, struct cursor_of_feed, at)},
};
static const struct field_table feed_fields = {FIELDS("a cursor", fields), .many = true};

int cursors_load(struct cursors *ret, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(CURSORS_MOST);
	struct cursors got = {0};
	struct str payload = {0};
	int rc = small_file_read(path, &cursors_format, &room, &payload, err);
	if (rc < 0)
		return -1;
	struct reader r = reader_of(payload);
	for (rc = 0; got.n < CURSOR_FEEDS; got.n++)
		if ((rc = fields_next(&feed_fields, &r, &got.feed[got.n], err)) != 0)
			break;
	if (rc < 0 || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "%s: byte %zu: not a cursor", path, reader_at(&r));
	*ret = got;
	return 0;
}

int cursors_save(const struct cursors *c, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(CURSORS_MOST);
	for (size_t i = 0; i < c->n; i++)
		fields_write(&feed_fields, &c->feed[i], &payload);
	return small_file_write(path, &cursors_format, buf_str(&payload), err);
}

struct source_cursor *cursors_of(struct cursors *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->feed[i].name, name) == 0)
			return &c->feed[i].at;
	if (c->n == CURSOR_FEEDS || strlen(name) > CURSOR_NAME)
		return NULL;
	snprintf(c->feed[c->n].name, sizeof c->feed[0].name, "%s", name);
	return &c->feed[c->n++].at;
}

const struct format cursors_format = {
	.name = "cursors",
	.file = "broker/cursors",
	.magic = "GARNERCU",
	.version = 2,
	.help = "how far the collector has come with each feed",
	.remedy = "remove it, and all that was gathered is collected again",
	.fields = &feed_fields,
};
