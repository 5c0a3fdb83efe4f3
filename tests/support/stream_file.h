/* A whole file as a stream, for tests and benches. */
#pragma once
#include "disk/stream.h"

#include <fcntl.h>

/* Past the page cache, unless the options say otherwise. *f is open until stream_file_close(). */
static inline int stream_file_open(struct stream_reader *ret, struct file *f, const char *path,
				   const struct stream_options *options, struct err *err)
{
	uint64_t size = 0;
	*f = FILE_INIT;
	if (file_open(f, path, O_RDONLY, 0, err) != 0)
		return -1;
	int rc = file_size(f, &size, err);
	if (rc == 0 && !(options && options->buffered))
		rc = MIN(file_direct(f, true, err), 0);
	if (rc == 0)
		rc = stream_open_part(ret, f, 0, size, options, err);
	if (rc < 0)
		file_drop(f);
	return rc;
}

static inline void stream_file_close(struct stream_reader *r, struct file *f)
{
	stream_close(r);
	file_drop(f);
}
