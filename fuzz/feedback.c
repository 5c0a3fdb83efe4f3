/* Feedback. With a first byte that is even the others are a file; else they are records, each with
 * its length before it, so that no checksum stands in the way. A file that can be read to its end
 * verifies, and what it says, written again, reads the same. */
#include "shepherd/feedback.h"
#include "disk/record.h"
#include "memory_file.h"

static void write_records(const char *path, struct str bytes)
{
	static const struct record_kind kind = {"GARNERFB", 1, 1 << 10};
	struct err err = {0};
	struct record_writer *w = NULL;
	struct record_group group = {0};
	ENSURE(unlink(path) == 0 && record_open(&w, path, &kind, 0600, NULL, &err) == 0);
	while (bytes.n) {
		size_t n = (unsigned char)bytes.p[0];
		bytes = str_from(bytes, 1);
		ENSURE(record_append(w, str_head(bytes, n), &group, NULL, &err) == 0);
		bytes = str_from(bytes, n);
	}
	ENSURE(record_close(&w, &err) == 0);
}

/* All of a file is read, and written anew as another. Whether it was sound. */
static bool copy_all(const char *path, const char *copy)
{
	struct feedback_scan *s = NULL;
	struct feedback_writer *w = NULL;
	struct feedback entry;
	struct err err = {0};
	int rc = feedback_open(&s, path, &err);
	ENSURE(rc == 0 || (rc < 0 && err.msg[0]));
	if (rc)
		return false;
	ENSURE(feedback_create(&w, copy, feedback_number(s), &err) == 0);
	while ((rc = feedback_next(s, &entry, &err)) == 0)
		ENSURE(feedback_put(w, &entry, &err) == 0);
	ENSURE(rc == 1 || err.msg[0]);
	ENSURE(feedback_finish(&w, &err) == 0);
	feedback_close(&s);
	return rc == 1;
}

static void compare_all(const char *path, const char *copy)
{
	struct feedback_scan *a = NULL, *b = NULL;
	struct feedback x, y;
	struct err err = {0};
	int rc;
	ENSURE(feedback_open(&a, path, &err) == 0 && feedback_open(&b, copy, &err) == 0);
	ENSURE(feedback_number(a) == feedback_number(b));
	while ((rc = feedback_next(a, &x, &err)) == 0)
		ENSURE(feedback_next(b, &y, &err) == 0 && footprint_cmp(x.fp, y.fp) == 0 &&
		       x.weight == y.weight && x.flags == y.flags);
	ENSURE(rc == 1 && feedback_next(b, &y, &err) == 1);
	feedback_close(&a);
	feedback_close(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], copy[64];
	struct err err = {0};
	if (size == 0)
		return 0;
	struct str bytes = {(const char *)data + 1, size - 1};
	int fd = memory_file(path), other = memory_file(copy);
	if (data[0] % 2 == 0)
		ENSURE(write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	else
		write_records(path, bytes);
	bool sound = copy_all(path, copy);
	if (sound)
		compare_all(path, copy);
	if (format_verify(&feedback_format, path, &err) == 0)
		ENSURE(sound);
	memory_file_end(fd, path);
	memory_file_end(other, copy);
	return 0;
}
