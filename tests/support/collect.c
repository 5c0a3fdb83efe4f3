/* collect DATA FOLDER: puts the SOIF files of a folder (soif/source.h) into the index of a data
 * directory, as the role broker would, and ends. */
#include "base/clock.h"
#include "broker/collector.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct collector *c = NULL;
	struct err err;
	int rc;
	if (argc != 3) {
		fprintf(stderr, "collect: expected DATA FOLDER\n");
		return 2;
	}
	struct collector_feed feed = {
		.name = "folder", .ops = &source_folder_ops, .store = argv[2]};
	struct collector_options options = {.data = argv[1], .feeds = &feed, .n = 1};
	rc = collector_open(&c, &options, &err);
	while (rc == 0)
		rc = collector_step(c, clock_mono_us(), &err);
	if (rc > 0)
		rc = collector_commit(c, &err);
	collector_close(&c);
	if (rc < 0)
		fprintf(stderr, "collect: %s\n", err.msg);
	return rc < 0;
}
