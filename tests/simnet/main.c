/* simnet: an internet in one process, to crawl. See README.md. */
#include "simnet/sim.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct conf {
	struct world_conf world;
	const char *control, *odd;
	int64_t http_port, dns_port, delay_us, for_us, idle_us, odd_idle_us;
	double speed;
	bool stay;
};

#define AT(type, member) type(struct conf, member)
static const struct value_spec specs[] = {
	{"port", AT(VALUE_INT_AT, http_port), .max = 65535,
	 .help = "Of the web servers, at all addresses; 0: one that is free"},
	{"dns_port", AT(VALUE_INT_AT, dns_port), .max = 65535,
	 .help = "Of the name server, at 127.0.0.1; 0: one that is free"},
	{"control", AT(VALUE_LISTEN_AT, control), .fallback = "127.0.0.1:0",
	 .help = "Where the control port is: ADDRESS:PORT or unix:PATH"},
	{"delay", AT(VALUE_TIME_AT, delay_us), .fallback = "500ms", .max = INFINITY,
	 .help = "What clients owe each address from start to start; 0: nothing"},
	{"speed", AT(VALUE_REAL_AT, speed), .fallback = "0", .max = 1e9,
	 .help = "Virtual seconds in a real one; 0: the clock stands but for `advance`"},
	{"idle", AT(VALUE_TIME_AT, idle_us), .fallback = "15s", .min = 1000, .max = INFINITY,
	 .help = "A kept connection is closed after so long without a request"},
	{"odd", AT(VALUE_PATH_AT, odd),
	 .help = "File of odd answers, replayed as http://odd.test:PORT/c/ID"},
	{"odd_idle", AT(VALUE_TIME_AT, odd_idle_us), .fallback = "10s", .max = INFINITY,
	 .help = "The idle limit of clients, which the pauses of odd answers count in"},
	{"for", AT(VALUE_TIME_AT, for_us), .fallback = "10min", .min = 1000, .max = INFINITY,
	 .help = "Ends by itself after so long"},
	{"stay", AT(VALUE_BOOL_AT, stay), .help = "Does not end with its parent"},
};
#undef AT

static void print_specs(const struct value_spec *table, size_t n)
{
	struct buf text = BUF_INIT(4096);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&text);
		for (const char *p = table[i].name; *p; p++)
			buf_add_byte(&text, *p == '_' ? '-' : *p);
		printf("  --%-14s %s", buf_text(&text), table[i].help);
		if (table[i].fallback)
			printf(" (%s)", table[i].fallback);
		printf("\n");
	}
	buf_free(&text);
}

static void print_behaviours(const char *title, const struct behaviour *table, size_t n)
{
	printf("\n%s, with their weights:\n", title);
	for (size_t i = 0; i < n; i++)
		printf("  %-10s %3u  %s\n", table[i].name, table[i].weight, table[i].help);
}

static int help(void)
{
	printf("simnet [--OPTION=VALUE]...: a synthetic internet on loopback addresses.\n"
	       "Says where it listens in a line of JSON, then serves until `quit`, TERM, the end "
	       "of\n"
	       "its parent, or --for.\n\nThe world:\n");
	print_specs(world_specs, world_nspecs);
	printf("\nThe program:\n");
	print_specs(specs, ARRAY_LEN(specs));
	print_behaviours("Profiles of hosts", world_profiles, NPROFILES);
	print_behaviours("Kinds of robots.txt", world_robots, NROBOTS);
	printf("\nExample:\n  simnet --hosts=10000 --pages=10 --delay=500ms --profiles=plain "
	       "--robots=some\n");
	return 0;
}

/* "--name=value"; a bool may lack its value. */
static int take_option(struct conf *conf, struct str text, struct arena *arena, struct err *err)
{
	size_t equals = str_find_byte(text, '=');
	struct str value = equals < text.n ? str_from(text, equals + 1) : STR("yes");
	char name[64];
	if (!str_starts(text, STR("--")) || equals - 2 >= sizeof name)
		return err_set(err, ERR_USAGE,
			       "expected --OPTION=VALUE, got " STR_FMT "; see --help",
			       STR_ARG(text));
	for (size_t i = 2; i < equals; i++)
		name[i - 2] = (char)(text.p[i] == '-' ? '_' : text.p[i]);
	struct str key = {name, equals - 2};
	const struct value_spec *spec = value_find(specs, ARRAY_LEN(specs), key);
	const struct value_spec *of_world = value_find(world_specs, world_nspecs, key);
	if (!spec && !of_world)
		return err_set(err, ERR_USAGE, STR_FMT ": no such option; see --help",
			       STR_ARG(text));
	int rc = spec ? value_parse(spec, value, arena, conf, err)
		      : value_parse(of_world, value, arena, &conf->world, err);
	return rc < 0 ? err_in(err, "--" STR_FMT, STR_ARG(key)) : rc;
}

static void on_end(void *ctx)
{
	loop_stop(ctx);
}

static void on_signal(void *ctx, int number)
{
	(void)number;
	loop_stop(ctx);
}

struct parts {
	struct http *http;
	struct names *names;
	struct control *control;
};

static int start(struct sim *s, const struct conf *conf, struct parts *parts, struct err *err)
{
	if (loop_signal(s->loop, SIGTERM, on_signal, s->loop, err) < 0 ||
	    loop_signal(s->loop, SIGINT, on_signal, s->loop, err) < 0 ||
	    (conf->odd && *conf->odd && odd_load(&s->odd, conf->odd, err) < 0))
		return -1;
	s->tally =
		tally_new((uint32_t)s->world.conf.addresses + 1, conf->delay_us, http_client_gone);
	if (http_new(&parts->http, s, conf->http_port, err) < 0 ||
	    names_new(&parts->names, s, conf->dns_port, err) < 0 ||
	    control_new(&parts->control, s, parts->http, conf->control, err) < 0)
		return -1;
	printf("{\"http\": %d, \"dns\": %d, \"control\": \"%s\", \"zone\": \"%s\", \"hosts\": %d, "
	       "\"addresses\": %d, \"pages\": %d, \"odd\": %zu}\n",
	       (int)s->world.conf.port, names_port(parts->names), control_name(parts->control),
	       s->world.conf.zone, (int)s->world.conf.hosts, (int)s->world.conf.addresses,
	       (int)s->world.conf.pages, s->odd ? odd_count(s->odd) : 0);
	return fflush(stdout) == 0 ? 0 : err_sys(err, "standard output");
}

static int run(const struct conf *conf, struct err *err)
{
	struct sim s = {
		.speed = conf->speed, .idle_us = conf->idle_us, .odd_idle_us = conf->odd_idle_us};
	struct parts parts = {0};
	if (world_init(&s.world, &conf->world, err) < 0)
		return -1;
	int rc = loop_new(&s.loop, NULL, err);
	if (rc == 0) {
		struct loop_timer end = {.fn = on_end, .ctx = s.loop};
		loop_timer_in(s.loop, &end, conf->for_us);
		s.start_us = loop_now_us(s.loop);
		rc = start(&s, conf, &parts, err);
		if (rc == 0)
			rc = loop_run(s.loop, err);
		control_free(&parts.control);
		names_free(&parts.names);
		http_free(&parts.http);
		loop_timer_stop(&end);
		loop_free(&s.loop);
	}
	tally_free(&s.tally);
	odd_free(&s.odd);
	world_free(&s.world);
	return rc;
}

int main(int argc, char **argv)
{
	struct arena arena = ARENA_INIT((size_t)1 << 20);
	struct conf conf = {0};
	struct err err;
	struct rlimit files;
	pid_t parent = getppid();
	int rc = 0;
	value_defaults(world_specs, world_nspecs, &arena, &conf.world);
	value_defaults(specs, ARRAY_LEN(specs), &arena, &conf);
	for (int i = 1; i < argc && rc == 0; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return help();
		rc = take_option(&conf, str_of(argv[i]), &arena, &err);
	}
	if (rc == 0 && !conf.stay) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent) /* it was quicker */
			return 0;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max; /* one for every connection */
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (rc == 0)
		rc = run(&conf, &err);
	if (rc < 0)
		fprintf(stderr, "simnet: %s\n", err.msg);
	arena_free(&arena);
	return rc < 0 ? (int)err.code : 0;
}
