/* A plain main for a fuzz target: every file of the given folders, and every given file, goes
 * through it once. What the target finds wrong ends the program; the last line names the file. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 16 << 20 };

static int complain(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return -1;
}

static int replay_file(const char *path, size_t size)
{
	if (size > INPUT_MAX) {
		errno = EFBIG;
		return complain(path);
	}
	FILE *f = fopen(path, "rb");
	if (!f)
		return complain(path);
	/* just as large as the input, so that the sanitizers see a read past its end */
	uint8_t *data = malloc(size ? size : 1);
	size_t n = data ? fread(data, 1, size, f) : 0;
	int rc = n == size ? 0 : complain(path);
	fclose(f);
	if (rc == 0) {
		fprintf(stderr, "%s: %zu bytes\n", path, size);
		LLVMFuzzerTestOneInput(data, size);
	}
	free(data);
	return rc;
}

/* Returns the number of files that went through, or negative. */
static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return complain(path);
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size) < 0 ? -1 : 1;

	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		return complain(path);
	int files = 0;
	for (int i = 0; i < n; i++) {
		char *below = NULL;
		if (files >= 0 && names[i]->d_name[0] != '.' &&
		    asprintf(&below, "%s/%s", path, names[i]->d_name) > 0) {
			int more = replay(below);
			files = more < 0 ? -1 : files + more;
		}
		free(below);
		free(names[i]);
	}
	free(names);
	return files;
}

int main(int argc, char **argv)
{
	int files = 0;
	for (int i = 1; i < argc; i++) {
		int more = replay(argv[i]);
		if (more < 0)
			return 1;
		files += more;
	}
	if (files == 0) {
		fprintf(stderr, "%s: no file to replay\n", argv[0]);
		return 1;
	}
	printf("%d files\n", files);
	return 0;
}
