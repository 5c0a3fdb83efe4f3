/* line-ask KEY=VALUE... -- ADDRESS LINE...: connects as a role with these settings of TLS would,
 * says the lines, and prints what happens, a line each: "up", "got LINE", "down WHY". It hangs up
 * when it has got as many lines as it said. For the scenes of TLS. */
#include "net/outgoing.h"
#include "net/tls.h"
#include "support/key_values.h"

#include <stdio.h>

struct conf {
	struct tls_conf tls;
};

static const struct value_spec specs[] = {TLS_SPECS(struct conf, tls)};

struct talk {
	struct loop *loop;
	struct outgoing *out;
	char *const *say;
	int left;
};

static void on_up(void *ctx, struct conn *c)
{
	struct talk *t = ctx;
	printf("up\n");
	for (int i = 0; i < t->left; i++)
		conn_printf(c, "%s\n", t->say[i]);
}

static void on_line(void *ctx, struct str line)
{
	struct talk *t = ctx;
	printf("got " STR_FMT "\n", STR_ARG(line));
	if (--t->left == 0)
		conn_finish(outgoing_conn(t->out));
}

static void on_down(void *ctx, const char *why, int64_t retry_us)
{
	(void)retry_us;
	struct talk *t = ctx;
	printf("down %s\n", why);
	loop_stop(t->loop);
}

static int converse(const struct tls_conf *conf, char *const *arg, int n, struct err *err)
{
	static const struct conn_ops ops = {.line = on_line};
	static const struct conn_limits limits = {.line_max = 8192,
						  .high_mark = 1 << 16,
						  .queue_max = 1 << 20,
						  .idle_us = 20 * US_PER_S};
	struct talk t = {.say = arg + 1, .left = n - 1};
	struct outgoing_options how = {.address = arg[0],
				       .connect_us = 20 * US_PER_S,
				       .retry_min_us = US_PER_S,
				       .retry_max_us = US_PER_S,
				       .limits = &limits,
				       .ops = &ops,
				       .up = on_up,
				       .down = on_down,
				       .ctx = &t};
	struct tls *tls;
	if (tls_new(&tls, conf, false, err) < 0)
		return -1;
	how.tls = tls;
	int rc = loop_new(&t.loop, NULL, err);
	if (rc == 0) {
		struct conn_pool *pool = conn_pool_new(t.loop, 1 << 20);
		rc = outgoing_new(&t.out, pool, &how, err);
		if (rc == 0)
			rc = loop_run(t.loop, err);
		outgoing_free(&t.out);
		conn_pool_free(&pool);
		loop_free(&t.loop);
	}
	tls_free(&tls);
	return rc;
}

int main(int argc, char **argv)
{
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	struct conf conf;
	struct err err;
	int at, rc = key_values_read(specs, ARRAY_LEN(specs), argc, argv, &arena, &conf, &at, &err);
	if (rc == 0 && at + 2 > argc)
		rc = err_set(&err, ERR_USAGE, "line-ask KEY=VALUE... -- ADDRESS LINE...");
	if (rc == 0)
		rc = converse(&conf.tls, argv + at + 1, argc - at - 1, &err);
	if (rc < 0)
		printf("failed %s\n", err.msg);
	arena_free(&arena);
	return rc < 0 ? 1 : 0;
}
