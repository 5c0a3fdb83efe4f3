/* Objects of few identities, for the programs that test the registry: all of an object follows from
 * its identity and one number. */
#pragma once
#include "../scratch.h"
#include "../unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "broker/registry.h"

#include <fcntl.h>
#include <inttypes.h>

enum { IDENTITIES = 48, GATHERERS = 3, NOW_S = 1700000000 };

static inline const char *text_of(struct arena *arena, const char *fmt, uint64_t n)
{
	struct buf b = BUF_INIT(4096);
	buf_printf(&b, "%s%" PRIu64, fmt, n);
	const char *text = arena_text(arena, buf_str(&b));
	buf_free(&b);
	return text;
}

/* The identity's URL is that of others of another gatherer. */
static inline struct registry_object object_of(struct arena *arena, unsigned identity, uint32_t oid,
					       uint32_t version)
{
	char md5[33];
	snprintf(md5, sizeof md5, "%032x", version % 7);
	return (struct registry_object){
		.url = str_of(text_of(arena, "http://a.example/", identity / GATHERERS)),
		.gatherer_name = str_of(text_of(arena, "gatherer ", identity % GATHERERS)),
		.gatherer_host = STR("host.example"),
		.gatherer_version = STR("1.0"),
		.md5 = version % 5 ? str_of(arena_text(arena, str_of(md5))) : STR(""),
		.description = str_of(text_of(arena, "version ", version)),
		.oid = oid,
		.point = 1,
		.update_time_s = version,
		.last_modification_time_s = version / 2,
		.refresh_rate_s = 7,
		.time_to_live_s = 28,
		.stored_s = version + 1,
	};
}

static inline void assert_same(const struct registry_object *got,
			       const struct registry_object *want)
{
	assert_true(str_eq(got->url, want->url));
	assert_true(str_eq(got->gatherer_name, want->gatherer_name));
	assert_true(str_eq(got->gatherer_host, want->gatherer_host));
	assert_true(str_eq(got->gatherer_version, want->gatherer_version));
	assert_true(str_eq(got->md5, want->md5));
	assert_true(str_eq(got->description, want->description));
	assert_int_equal(got->oid, want->oid);
	assert_int_equal(got->point, want->point);
	assert_int_equal(got->update_time_s, want->update_time_s);
	assert_int_equal(got->last_modification_time_s, want->last_modification_time_s);
	assert_int_equal(got->refresh_rate_s, want->refresh_rate_s);
	assert_int_equal(got->time_to_live_s, want->time_to_live_s);
	assert_int_equal(got->stored_s, want->stored_s);
}

static struct err unit_err;
#define DONE(call)                                                                          \
	do {                                                                                \
		if ((call) != 0)                                                            \
			fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, unit_err.msg); \
	} while (0)

static const struct registry_options unit_options = {
	.remember_deleted_s = 3600, .compress_least = 8, .tables_least = 40};

static inline struct registry *open_registry(const char *folder)
{
	struct registry *r = NULL;
	DONE(registry_open(&r, folder, &unit_options, NULL, &unit_err));
	return r;
}

static inline struct registry *read_registry(const char *folder)
{
	struct registry *r = NULL;
	DONE(registry_open_read(&r, folder, &unit_err));
	return r;
}

static inline void put_object(struct registry *r, unsigned identity, uint32_t oid, uint32_t version)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object o = object_of(&arena, identity, oid, version);
	(void)registry_point(r, "crawl");
	DONE(registry_put(r, &o, NOW_S * US_PER_S, &unit_err));
	arena_free(&arena);
}

static inline int drop_object(struct registry *r, unsigned identity)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err = {0};
	struct registry_object o = object_of(&arena, identity, 0, 0);
	int rc = registry_drop(r, o.gatherer_name, o.gatherer_host, o.url, NOW_S * US_PER_S, &err);
	arena_free(&arena);
	if (rc < 0)
		fail_msg("%s", err.msg);
	return rc;
}

static inline void commit_to(struct registry *r, uint64_t docs)
{
	const struct docstore_mark mark = {1, docs};
	DONE(registry_commit(r, &mark, &unit_err));
}

static inline void arm(const char *spec)
{
	DONE(fault_arm(spec, &unit_err));
}

static inline struct buf bytes_of(const char *path)
{
	struct buf b = BUF_INIT(64 << 20);
	DONE(file_slurp(path, &b, &unit_err));
	return b;
}

static inline void write_bytes(const char *path, struct str bytes)
{
	struct file f = FILE_INIT;
	DONE(file_open(&f, path, O_RDWR | O_CREAT | O_TRUNC, 0640, &unit_err));
	if (bytes.n)
		DONE(file_write(&f, bytes.p, bytes.n, 0, &unit_err));
	file_drop(&f);
}
