/* The file of politeness for people: what `garner dump` and `garner check` say of it. */
#include "base/hash.h"
#include "disk/format.h"
#include "fetch/polite_file.h"

#include <fcntl.h>
#include <sys/socket.h>

enum { LINE = 1024 };

uint32_t polite_entry_check(const struct polite_entry *e)
{
	return crc32c(0, e, offsetof(struct polite_entry, check));
}

static struct addr address_of(const struct polite_entry *e)
{
	struct addr a = {.family = polite_family(e->meta) == 4 ? AF_INET : AF_INET6};
	size_t n = polite_family(e->meta) == 4 ? 4 : 8;
	for (size_t i = 0; i < n; i++)
		a.b[i] = (uint8_t)(e->key >> 8 * (n - 1 - i));
	return a;
}

void polite_entry_print(const struct polite_entry *e, struct buf *out)
{
	char text[ADDR_SHOWN];
	if (polite_family(e->meta) == 0)
		return;
	struct addr a = address_of(e);
	buf_printf(out, "%s%s boot %08x start %lld us next %lld us (", addr_print(&a, text),
		   a.family == AF_INET ? "" : "/64", (uint32_t)(e->meta >> 32),
		   (long long)e->start_us, (long long)e->next_us);
	time_print(out, e->next_wall_us, 0);
	buf_printf(out, ") delay %lld us troubles %u", (long long)e->delay_us,
		   polite_troubles(e->meta));
	for (size_t i = 0; i < POLITE_CONCURRENT_MAX; i++)
		if (e->lease[i])
			buf_printf(out, " lease of process %u.%u until %u s",
				   (unsigned)(e->lease[i] & (POLITE_PROCESSES - 1)),
				   (unsigned)(e->lease[i] >> POLITE_PROCESS_BITS) &
					   POLITE_GENERATION,
				   (unsigned)(e->lease[i] >> 32));
	buf_add_text(out, (uint32_t)e->check == polite_entry_check(e)
				  ? "\n"
				  : " unfinished: counts as asked when next looked at\n");
}

typedef void page_fn(void *ctx, const struct polite_entry *group);

/* Every page of entries, after the head is found sound. */
static int each_group(const char *path, void (*head)(void *ctx, const struct polite_head *),
		      page_fn *fn, void *ctx, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct polite_entry group[POLITE_GROUP];
	char bytes[POLITE_HEAD];
	struct polite_head h = {0};
	size_t n;
	uint64_t size;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc < 0 ? rc : err_set(err, ERR_SYSTEM, "%s: there is no such file", path);
	if (file_read(&f, bytes, sizeof bytes, 0, &n, err) < 0 || file_size(&f, &size, err) < 0)
		return -1;
	rc = polite_head_parse((struct str){bytes, n}, &h, err);
	if (rc < 0)
		return err_in(err, "%s", path);
	if (rc > 0 || size != h.size)
		return err_set(err, ERR_DAMAGED, "%s: %llu bytes, there should be %llu", path,
			       (unsigned long long)size, (unsigned long long)h.size);
	head(ctx, &h);
	for (uint64_t at = polite_size(0); at < h.size; at += n) {
		if (file_read(&f, group, sizeof group, at, &n, err) < 0)
			return -1;
		if (n != sizeof group)
			return err_set(err, ERR_DAMAGED, "%s: was cut while it was read", path);
		fn(ctx, group);
	}
	return 0;
}

struct printing {
	void (*emit)(void *ctx, struct str);
	void *ctx;
};

static void print_head(void *ctx, const struct polite_head *h)
{
	struct printing *to = ctx;
	CLEANUP(buf_free) struct buf line = BUF_INIT(LINE);
	buf_printf(&line, "room for %u servers\n", h->servers);
	to->emit(to->ctx, buf_str(&line));
}

static void print_group(void *ctx, const struct polite_entry *group)
{
	struct printing *to = ctx;
	CLEANUP(buf_free) struct buf line = BUF_INIT(LINE);
	for (size_t i = 0; i < POLITE_GROUP; i++) {
		buf_clear(&line);
		polite_entry_print(&group[i], &line);
		if (line.n)
			to->emit(to->ctx, buf_str(&line));
	}
}

static int polite_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
			struct err *err)
{
	struct printing to = {emit, ctx};
	return each_group(path, print_head, print_group, &to, err);
}

static void pass_head(void *ctx, const struct polite_head *h)
{
	(void)ctx;
	(void)h;
}

static void pass_group(void *ctx, const struct polite_entry *group)
{
	(void)ctx;
	(void)group;
}

/* Entries are mended when they are next used: none of them is damage. */
static int polite_verify(const char *path, struct err *err)
{
	return each_group(path, pass_head, pass_group, NULL, err);
}

const struct format polite_format = {
	.name = "polite",
	.magic = "GARNERPO",
	.version = POLITE_VERSION,
	.help = "which server may be asked again when, and who asks it now",
	.print = polite_print,
	.verify = polite_verify,
};
