/* The port: its server, its thread and its pools, from start to stop. */
#include "base/log.h"
#include "base/thread.h"
#include "broker/port_inner.h"

/* A transfer has a snapshot of the stores and, where texts went away, one of what is there now; a
 * thread that makes answers has a reader of the registry. */
enum { TRANSFER_FDS = 6, THREAD_FDS = 3 };
enum { ADMIN_QUEUE = 64, ADMIN_SHARE = 8, BULK_QUEUE = 64, NICE = 10 };
/* Waiting in the quick pool costs little, and all clients of a page have one address. */
enum { QUICK_QUEUE = 4096 };

static const char too_many[] =
	PORT_GREETING "111 - ERROR: there are too many connections, try later\n";

static const struct server_protocol protocol = {
	.name = "broker",
	.line = port_line,
	.greeting = PORT_GREETING,
	.words = {[SERVER_LONG_LINE] = "111 - ERROR: the line is too long\n",
		  [SERVER_FULL] = too_many,
		  [SERVER_STOPPING] = "111 - ERROR: the broker is stopping\n"},
	.state_size = sizeof(struct port_session),
	.drained = port_drained,
	.closed = port_closed,
};

static void *port_thread(void *arg)
{
	struct port *p = arg;
	struct err err;
	if (loop_run(p->loop, &err) < 0)
		die("port: %s", err.msg);
	return NULL;
}

static void raise_descriptors(int64_t connections)
{
	uint64_t has, wants;
	if (listener_make_room(connections, &has, &wants) > 0)
		log_warn(QUERY, "too few descriptors for max_connections; raise LimitNOFILE",
			 KV_UINT("descriptors", has), KV_UINT("wanted", wants));
}

/* Of the threads for long queries one address has at most half at a time, and half of the queue. */
static int start_pools(struct port *p, struct err *err)
{
	const struct pool_options options[PORT_POOLS] = {
		[PORT_POOL_QUICK] = {.threads = PORT_QUICK_THREADS,
				     .queue = QUICK_QUEUE,
				     .abreast = PORT_QUICK_THREADS - 1},
		[PORT_POOL_LONG] = {.threads = p->o.threads,
				    .queue = p->o.queue,
				    .share = (p->o.threads + p->o.queue + 1) / 2,
				    .abreast = (p->o.threads + 1) / 2,
				    .nice = NICE},
		[PORT_POOL_BULK] = {.threads = PORT_BULK_THREADS,
				    .queue = BULK_QUEUE,
				    .share = BULK_QUEUE / 2,
				    .abreast = PORT_BULK_THREADS - 1,
				    .nice = NICE},
		[PORT_POOL_ADMIN] = {.threads = 1, .queue = ADMIN_QUEUE, .share = ADMIN_SHARE},
	};
	for (size_t i = 0; i < PORT_POOLS; i++)
		if ((i != PORT_POOL_ADMIN || p->o.admin) &&
		    pool_new(&p->pool[i], &options[i], err) < 0)
			return -1;
	return 0;
}

static void port_free(struct port **pp)
{
	struct port *p = *pp;
	for (size_t i = 0; i < PORT_POOLS; i++)
		pool_free(&p->pool[i]);
	if (p->loop)
		loop_poll(p->loop); /* what the pools had still to say */
	server_free(&p->server);
	ENSURE(list_is_empty(&p->asks));
	loop_free(&p->loop);
	search_close(&p->search);
	arena_free(&p->arena);
	mem_free(pp);
}

int port_start(struct port **ret, const struct port_options *options, int fd, struct err *err)
{
	struct port *p = mem_alloc(sizeof *p);
	p->o = *options;
	p->arena = ARENA_INIT(1 << 20);
	p->home = options->home && options->home[0]
			  ? options->home
			  : arena_printf(&p->arena, "%s/query.html", options->url);
	p->search = search_open(options->data);
	list_init(&p->asks);
	raise_descriptors(
		options->limits.max_connections + (int64_t)PORT_TRANSFERS * TRANSFER_FDS +
		THREAD_FDS * ((int64_t)options->threads + PORT_QUICK_THREADS + PORT_BULK_THREADS));
	int rc = loop_new(&p->loop, NULL, err);
	if (rc == 0) {
		p->server = server_new(p->loop, &protocol, &p->o.limits, NULL, p);
		rc = start_pools(p, err);
	}
	if (rc == 0)
		rc = server_listen(p->server, fd, err);
	if (rc == 0)
		rc = thread_start(&p->thread, port_thread, p, err);
	if (rc < 0) {
		port_free(&p);
		return -1;
	}
	*ret = p;
	return 0;
}

static void port_end(void *ctx)
{
	loop_stop(((struct port *)ctx)->loop);
}

static void port_begin_stop(void *ctx)
{
	struct port *p = ctx;
	port_refuse_waiting(p);
	server_drain(p->server, p->stop_within_us, port_end, p);
}

void port_stop(struct port **pp, int64_t within_us)
{
	struct port *p = *pp;
	if (!p)
		return;
	p->stop_within_us = within_us;
	loop_post(p->loop, port_begin_stop, p);
	(void)pthread_join(p->thread, NULL);
	port_free(pp);
}
