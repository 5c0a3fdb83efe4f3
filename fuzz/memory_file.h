/* A file in memory that has a path: of its own, not one below /proc, which is a symbolic link. */
#pragma once
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline int memory_file(char path[64])
{
	snprintf(path, 64, "/dev/shm/garner-fuzz-XXXXXX");
	int fd = mkstemp(path);
	ENSURE(fd >= 0);
	return fd;
}

static inline void memory_file_end(int fd, const char *path)
{
	close(fd);
	ENSURE(unlink(path) == 0);
}
