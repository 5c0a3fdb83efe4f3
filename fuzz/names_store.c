/* The files next to the segments of a names index, of any bytes: the first byte says which, the
 *rest is what is in it, under checksums that are right.
 *
 *	m  the payload of a manifest      p  a pages file      g  directories that went away
 *	d  a line of data                 e  a name to escape
 *
 * Whatever it is: reading ends; what is read is within its bounds and in order; damage is named.
 * Lines and names come back as they were written. */
#include "index/names/names_store.h"
#include "disk/small_file.h"
#include "memory_file.h"

#include <stdio.h>
#include <unistd.h>

static void check_manifest(struct str bytes)
{
	struct buf sealed = BUF_INIT(1 << 24);
	struct names_manifest m;
	struct err err = {0};
	char path[64];
	int fd = memory_file(path);
	small_file_seal(&names_manifest_format, bytes, &sealed);
	ENSURE(write(fd, sealed.p, sealed.n) == (ssize_t)sealed.n);
	int rc = names_manifest_read_file(path, &m, &err);
	ENSURE(rc == 0 || (rc < 0 && err.code == ERR_DAMAGED && err.msg[0]));
	if (rc == 0) {
		for (size_t i = 0; i < m.sites; i++) {
			ENSURE(i == 0 || str_cmp(m.site[i - 1].about.key, m.site[i].about.key) < 0);
			ENSURE(names_manifest_find(&m, m.site[i].about.key) == i);
		}
		for (size_t i = 0; i < m.layers; i++)
			ENSURE(names_manifest_hidden(&m, &m.layer[i]) <= m.layer[i].entries);
		names_manifest_free(&m);
	}
	buf_free(&sealed);
	memory_file_end(fd, path);
}

/* A paged file with these bytes. */
static int paged_file(struct str bytes, char path[64])
{
	struct page_writer w;
	struct err err;
	int fd = memory_file(path);
	ENSURE(page_create(&w, path, 0600, &(struct stream_options){.buffered = true}, &err) == 0);
	page_put(&w, bytes.p, bytes.n);
	ENSURE(page_finish(&w, false, &err) == 0);
	return fd;
}

static void read_pages(const struct names_pages *p)
{
	struct err err = {0};
	struct str rest = p->runs;
	struct names_dir_run run;
	int rc;
	for (uint64_t i = 0; i < p->index_at.n / 4; i++)
		(void)names_place_at(p->index_from, p->index_at, i);
	for (uint64_t i = 0; i < p->direc_at.n / 4; i++)
		(void)names_place_at(p->direc_from, p->direc_at, i);
	while ((rc = names_pages_next_run(&rest, p->about.generation, &run, &err)) == 0)
		ENSURE(run.n && run.generation && run.generation <= p->about.generation);
	ENSURE(rc == 1 || err.code == ERR_DAMAGED);
}

static void check_pages(struct str bytes)
{
	struct names_pages p;
	struct err err = {0};
	char path[64];
	int fd = paged_file(bytes, path);
	int rc = names_pages_open(&p, path, &err);
	ENSURE(rc == 0 || (rc < 0 && err.code == ERR_DAMAGED && err.msg[0]));
	if (rc == 0) {
		read_pages(&p);
		names_pages_close(&p);
	}
	memory_file_end(fd, path);
}

static void check_gone(struct str bytes)
{
	struct page_file *f = NULL;
	struct names_gone g;
	struct names_gone_dir d;
	struct err err = {0};
	char path[64];
	int fd = paged_file(bytes, path);
	ENSURE(page_open(&f, path, &err) == 0);
	int rc = names_gone_parse(f, &g, &err);
	ENSURE(rc == 0 || (rc < 0 && err.code == ERR_DAMAGED && err.msg[0]));
	for (size_t i = 0; rc == 0 && i < g.n; i++) {
		struct str rest = g.part[i].dirs;
		uint64_t n = 0;
		for (; names_gone_next(&rest, &d, &err) == 0; n++)
			ENSURE(d.dir.n <= NAMES_NAME_MOST);
		ENSURE(n == g.part[i].n);
	}
	if (rc == 0)
		names_gone_free(&g);
	page_close(&f);
	memory_file_end(fd, path);
}

static void check_line(struct str bytes)
{
	char line[NAMES_LINE_BYTES], again[NAMES_LINE_BYTES];
	struct names_entry e = {0}, back = {0};
	uint64_t dir, other;
	memset(line, ' ', sizeof line);
	memcpy(line, bytes.p, MIN(bytes.n, sizeof line));
	if (!names_line_get(line, &e, &dir))
		return;
	ENSURE(e.links >= -1 && e.links <= 9999 && e.owner.n <= 8 && e.group.n <= 8);
	ENSURE(e.size >= -1 && e.time_s >= -1 && dir <= NAMES_DIRS_MOST);
	names_line_put(&e, dir, again);
	ENSURE(again[NAMES_LINE_BYTES - 1] == '\n');
	ENSURE(!memchr(again, '\n', NAMES_LINE_BYTES - 1));
	ENSURE(names_line_get(again, &back, &other) && other == dir && back.kind == e.kind &&
	       back.links == e.links && back.time_s == e.time_s);
	ENSURE(back.size == e.size || e.size > 999999999999); /* beyond it in KiB, and back */
	ENSURE(back.size / 1024 == e.size / 1024);
}

static void check_escape(struct str name)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct buf line = BUF_INIT(1 << 24);
	names_escape(name, &line);
	ENSURE(line.n >= name.n && line.n <= 2 * name.n);
	for (size_t i = 0; i < line.n; i++)
		ENSURE(line.p[i] != '\n' && line.p[i] != '\r');
	ENSURE(str_eq(names_unescape(buf_str(&line), &arena), name));
	ENSURE(names_unescape(name, &arena).n <= name.n);
	buf_free(&line);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data + 1, size - 1};
	if (size < 1 || size > 1 << 20)
		return 0;
	switch (data[0]) {
	case 'm':
		check_manifest(rest);
		break;
	case 'p':
		check_pages(rest);
		break;
	case 'g':
		check_gone(rest);
		break;
	case 'd':
		check_line(rest);
		break;
	default:
		check_escape(rest);
	}
	return 0;
}
