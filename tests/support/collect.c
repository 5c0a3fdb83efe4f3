/* collect DATA FOLDER: puts the SOIF files of a folder (soif/source.h) into the index of a data
 * directory, as the role broker would, and ends. */
#include "base/clock.h"
#include "broker/collector.h"

#include <stdio.h>

static void left_out(const char *feed, struct str url, const struct err *err)
{
	fprintf(stderr, "collect: %s: " STR_FMT ": %s\n", feed, STR_ARG(url), err->msg);
}

int main(int argc, char **argv)
{
	struct collector *c = NULL;
	struct err err;
	int rc;
	if (argc != 3) {
		fprintf(stderr, "collect: expected DATA FOLDER\n");
		return 2;
	}
	struct collector_feed feed = {"folder", &source_folder_ops, argv[2], left_out};
	rc = collector_open(&c, argv[1], &feed, 1, NULL, 0, &err);
	while (rc == 0)
		rc = collector_step(c, clock_mono_us(), &err);
	if (rc > 0)
		rc = collector_commit(c, &err);
	collector_close(&c);
	if (rc < 0)
		fprintf(stderr, "collect: %s\n", err.msg);
	return rc < 0;
}
