/* What states hold. The first byte says what the others are: payloads of journal, contrib, changes;
 * an index item; an index, a site list, a plan, checkpoints, places as a file. What can be read is
 * written, read again and written to the same bytes; files that verify can be read from end to end.
 */
#include "memory_file.h"
#include "state/checkpoint_inner.h"
#include "state/places.h"
#include "state/plan.h"

#include <stdio.h>
#include <unistd.h>

enum { KINDS = 9 };

#define ROUND_TRIP(type, read, write)                                    \
	do {                                                             \
		struct type entry, again;                                \
		struct buf a = BUF_INIT(1 << 17), b = BUF_INIT(1 << 17); \
		if (read(bytes, &entry, &err) == 0) {                    \
			write(&entry, &a);                               \
			ENSURE(read(buf_str(&a), &again, &err) == 0);    \
			write(&again, &b);                               \
			ENSURE(str_eq(buf_str(&a), buf_str(&b)));        \
		} else {                                                 \
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);   \
		}                                                        \
		buf_free(&a);                                            \
		buf_free(&b);                                            \
	} while (0)

static void item(struct str bytes)
{
	unsigned char p[INDEX_ITEM] = {0}, again[INDEX_ITEM];
	struct index_item item;
	struct err err = {0};
	if (bytes.n)
		memcpy(p, bytes.p, MIN(bytes.n, sizeof p));
	if (index_item_read(p, &item, &err) < 0)
		return;
	struct buf line = BUF_INIT(4096);
	index_item_print(&item, &line);
	ENSURE(line.n && !line.over);
	buf_free(&line);
	index_item_write(&item, again);
	again[38] = p[38]; /* bits of the type that nobody knows are dropped */
	ENSURE(memcmp(p, again, sizeof p) == 0);
}

static void ignore(void *ctx, struct str piece)
{
	*(size_t *)ctx += piece.n;
}

/* The bytes as a file: it verifies, or says why not; then it prints. */
static void file(struct str bytes, const struct format *format)
{
	char path[64];
	struct err err = {0};
	size_t printed = 0;
	int fd = memory_file(path);
	ENSURE(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	int sound = format_verify(format, path, &err);
	ENSURE(sound == 0 || err.msg[0]);
	int rc = format_print(format, path, ignore, &printed, &err);
	ENSURE(rc == 0 || err.msg[0]);
	memory_file_end(fd, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	static const struct format *const formats[KINDS] = {[4] = &index_format,
							    [5] = &sites_format,
							    [6] = &plan_format,
							    [7] = &checkpoints_format,
							    [8] = &places_format};
	if (size == 0)
		return 0;
	struct str bytes = {(const char *)data + 1, size - 1};
	switch (data[0] % KINDS) {
	case 0:
		ROUND_TRIP(journal_entry, journal_read, journal_write);
		break;
	case 1:
		ROUND_TRIP(contrib, contrib_read, contrib_write);
		break;
	case 2:
		ROUND_TRIP(change, change_read, change_write);
		break;
	case 3:
		item(bytes);
		break;
	default:
		file(bytes, formats[data[0] % KINDS]);
	}
	return 0;
}
