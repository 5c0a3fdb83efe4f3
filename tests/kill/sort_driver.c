/* kill-sort FOLDER RECORDS: a sort of several passes, over and over, with its temporary files in
 * FOLDER, until it is killed; says "sorted" after each. GARNER_FAULTS is obeyed. */
#include "base/fault.h"
#include "disk/sort.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const struct err *err)
{
	fprintf(stderr, "kill-sort: %s\n", err->msg);
	return 1;
}

static int sort_once(const char *folder, uint64_t n, struct err *err)
{
	struct sort_spec spec = {
		.order = {.size = 16}, .memory = SORT_MEMORY_MIN, .folder = folder};
	struct sort *s;
	struct str rec;
	char last[16] = {0};
	uint64_t v[2] = {88172645463325252u, 0}, out = 0;
	int rc = sort_new(&s, &spec, err);
	if (rc < 0)
		return rc;
	for (; v[1] < n && rc == 0; v[1]++) {
		v[0] = v[0] * 6364136223846793005u + 1442695040888963407u;
		rc = sort_add(s, (struct str){(char *)v, sizeof v}, err);
	}
	while (rc == 0 && (rc = sort_next(s, &rec, err)) == 0) {
		if (memcmp(last, rec.p, 16) > 0)
			rc = err_set(err, ERR_DAMAGED, "record %ju is out of order",
				     (uintmax_t)out);
		memcpy(last, rec.p, 16);
		out++;
	}
	if (rc == 1 && out != n)
		rc = err_set(err, ERR_DAMAGED, "%ju records came out", (uintmax_t)out);
	sort_free(&s);
	return rc < 0 ? rc : 0;
}

int main(int argc, char **argv)
{
	struct err err;
	if (argc != 3)
		return 2;
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail(&err);
	for (;;) {
		if (sort_once(argv[1], strtoull(argv[2], NULL, 10), &err) < 0)
			return fail(&err);
		puts("sorted");
		fflush(stdout);
	}
}
