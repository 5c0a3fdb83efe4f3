/* gather [KEY=VALUE...] -- FILE: collects once from every point of a Collection.conf, all at the
 * same time, and prints what they tell. KEY: a setting of gatherers, DNS or the address policy. */
#include "broker/collection.h"
#include "broker/gatherer.h"
#include "support/key_values.h"

#include <poll.h>
#include <stdio.h>

struct settings {
	struct dns_conf dns;
	struct gatherers_conf gatherers;
	struct value_list networks;
};

static const struct value_spec specs[] = {DNS_SPECS(struct settings, dns),
					  GATHERERS_SPECS(struct settings, gatherers),
					  POLICY_SPECS(struct settings, networks)};

static struct settings settings;
static struct arena arena = ARENA_INIT(256 << 20), object = ARENA_INIT(256 << 20);

enum { TURN = 1000 }; /* objects of one point before the others have theirs */
enum point_state { POINT_WAITS, POINT_HAS_MORE, POINT_ENDED };

/* What the source has now; at its end it is closed. */
static enum point_state read_point(const struct gatherer_point *p, struct source **s)
{
	static const char *const op[] = {"delete", "refresh", "update"};
	struct source_change change;
	struct err err;
	for (int i = 0; i < TURN; i++) {
		arena_clear(&object);
		int rc = source_next(*s, &object, &change, &err);
		if (rc == 0) {
			printf("%u %s " STR_FMT "\n", p->port, op[change.op],
			       STR_ARG(change.obj.url));
		} else if (rc < 0 && err.code == ERR_PARTLY) {
			printf("%u skipped %s\n", p->port, err.msg);
		} else if (rc == 2) {
			return POINT_WAITS;
		} else {
			printf("%u %s %s\n", p->port, rc < 0 ? "failed" : "complete",
			       rc < 0 ? err.msg : "");
			source_close(s);
			return POINT_ENDED;
		}
	}
	return POINT_HAS_MORE;
}

static int collect(const struct collection *c, struct gatherers *g, struct err *err)
{
	static const struct source_cursor zero;
	static struct source *source[COLLECTION_POINTS];
	static struct gatherer_point point[COLLECTION_POINTS];
	static struct pollfd wait[COLLECTION_POINTS];
	size_t left = c->n;
	for (size_t i = 0; i < c->n; i++) {
		const struct collection_point *p = &c->point[i];
		point[i] = (struct gatherer_point){g, p->host, p->port, p->full, p->compressed};
		if (source_gatherer_ops.open(&source[i], &point[i], &zero, err) < 0)
			return -1;
	}
	while (left) {
		bool more = false;
		for (size_t i = 0; i < c->n; i++) {
			enum point_state state =
				source[i] ? read_point(&point[i], &source[i]) : POINT_WAITS;
			more |= state == POINT_HAS_MORE;
			left -= state == POINT_ENDED;
			wait[i] = (struct pollfd){source[i] ? source_wait_fd(source[i]) : -1,
						  POLLIN, 0};
		}
		(void)fflush(stdout);
		if (left && !more)
			(void)poll(wait, c->n, -1);
	}
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct collection c;
	struct policy *policy = NULL;
	struct gatherers *g = NULL;
	int i, rc = key_values_read(specs, ARRAY_LEN(specs), argc, argv, &arena, &settings, &i,
				    err);
	if (rc == 0 && i + 2 != argc)
		rc = err_set(err, ERR_USAGE, "expected [KEY=VALUE...] -- FILE");
	if (rc == 0)
		rc = collection_read(argv[i + 1], &arena, &c, err);
	for (size_t k = 0; rc == 0 && k < c.nproblems; k++)
		printf("problem %s\n", c.problem[k]);
	if (rc == 0)
		rc = policy_new(&policy, &settings.networks, err);
	if (rc == 0)
		rc = gatherers_new(&g, &settings.gatherers, &settings.dns, policy, err);
	if (rc == 0)
		rc = collect(&c, g, err);
	gatherers_free(&g);
	policy_free(&policy);
	return rc;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int rc = run(argc, argv, &err);
	if (rc != 0)
		fprintf(stderr, "gather: %s\n", rc < 0 ? err.msg : "no such file");
	arena_free(&arena);
	arena_free(&object);
	return rc != 0;
}
