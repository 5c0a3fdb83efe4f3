/* The HTTP server beside bare libmicrohttpd: the same small JSON, the same threads, the same client
 * (wrk), turn by turn in the same run. Each server is a process of its own, so that its CPU time
 * can be told from the client's. Then what 1,000 event streams cost that nobody talks on. */
#include "net/http.h"
#include "base/clock.h"
#include "bench.h"
#include "net/http_inner.h"
#include "role/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 5, SECONDS = 3, STREAMS = 1000, IDLE_S = 32 };

#define BODY "{\"status\":\"ok\",\"answer\":42,\"words\":[\"small\",\"json\",\"text\"]}"
_Static_assert(sizeof BODY - 1 == 59, "the same 59 bytes for all");

struct server {
	const char *name;
	void (*serve)(int fd); /* until it is killed */
	pid_t pid;
	char address[64];
	double per_cpu_s[ROUNDS], per_wall_s[ROUNDS];
};

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "bench-http: %s\n", what);
	exit(1);
}

static int answer_json(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)err;
	buf_add(ret->body, BODY, sizeof BODY - 1);
	return 0;
}

static int answer_events(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)err;
	http_channel_answer(req->ctx, req, ret);
	return 0;
}

static const struct http_route routes[] = {
	{HTTP_GET, "/json", "Small JSON", "application/json", .handle = answer_json},
	{HTTP_GET, "/events", "Events", NULL, .handle = answer_events},
};

static void tick(void *channel, int64_t now_us)
{
	http_channel_tick(channel, now_us);
}

static void serve_ours(int fd)
{
	struct http_channel *channel = http_channel_new(2 * STREAMS, 15 * US_PER_S);
	struct http_server *server;
	struct err err;
	struct http_options options = {
		.routes = routes,
		.nroutes = ARRAY_LEN(routes),
		.listen_fd = fd,
		.limits = {.threads = THREADS,
			   .slow_threads = 1,
			   .slow_queue = 1,
			   .max_connections = 2 * STREAMS,
			   .max_per_address = 2 * STREAMS,
			   .connection_memory = 32 << 10,
			   .idle_us = 60 * US_PER_S,
			   .request_us = 60 * US_PER_S,
			   .answer_us = 60 * US_PER_S},
		.ctx = channel,
		.tick = tick,
	};
	if (http_server_start(&server, &options, &err) < 0)
		fail(err.msg);
	for (;;)
		pause();
}

/* As fast as it can be had: the response is made once. */
struct bare {
	struct mhd_lib mhd;
	struct MHD_Response *response;
};

static enum MHD_Result bare_answer(void *ctx, struct MHD_Connection *c, const char *url,
				   const char *method, const char *version, const char *upload,
				   size_t *n, void **state)
{
	const struct bare *bare = ctx;
	(void)url, (void)method, (void)version, (void)upload, (void)n;
	if (!*state) { /* the usual way: the first call announces the request */
		*state = ctx;
		return MHD_YES;
	}
	return bare->mhd.queue_response(c, 200, bare->response);
}

static void serve_bare(int fd)
{
	struct bare bare;
	struct err err;
	if (mhd_lib_load(&bare.mhd, &err) < 0)
		fail(err.msg);
	bare.response =
		bare.mhd.create_response_from_buffer(sizeof BODY - 1, BODY, MHD_RESPMEM_PERSISTENT);
	bare.mhd.add_response_header(bare.response, "Content-Type", "application/json");
	if (!bare.mhd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, bare_answer, &bare,
				   MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
				   (unsigned)THREADS, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
				   MHD_OPTION_END))
		fail("bare libmicrohttpd does not start");
	for (;;)
		pause();
}

static void start(struct server *s)
{
	struct err err;
	int fd;
	if (listen_open("127.0.0.1:0", &fd, &err) < 0 ||
	    listen_name(fd, s->address, sizeof s->address, &err) < 0)
		fail(err.msg);
	s->pid = fork();
	if (s->pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		s->serve(fd);
	}
	close(fd);
}

static void stop(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

static double cpu_of(pid_t pid)
{
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) != 0)
		fail("no CPU clock of the server");
	return bench_clock_s(clock);
}

/* wrk for that many seconds; how many requests were answered. */
static double load(const struct server *s, const char *path, int seconds)
{
	char url[128], time[16], out[8192];
	snprintf(url, sizeof url, "http://%s%s", s->address, path);
	snprintf(time, sizeof time, "%ds", seconds);
	char *argv[] = {"wrk", "-t1", "-c64", "-d", time, url, NULL}, *env[] = {NULL};
	int ends[2];
	posix_spawn_file_actions_t to_pipe;
	pid_t pid;
	if (pipe(ends) < 0)
		fail("no pipe");
	posix_spawn_file_actions_init(&to_pipe);
	posix_spawn_file_actions_adddup2(&to_pipe, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&to_pipe, ends[0]);
	if (posix_spawnp(&pid, "wrk", &to_pipe, NULL, argv, env) != 0)
		fail("wrk does not start");
	posix_spawn_file_actions_destroy(&to_pipe);
	close(ends[1]);
	size_t n = 0;
	ssize_t got;
	while ((got = read(ends[0], out + n, sizeof out - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = 0;
	close(ends[0]);
	waitpid(pid, NULL, 0);
	const char *line = strstr(out, " requests in ");
	while (line && line > out && line[-1] != ' ' && line[-1] != '\n')
		line--;
	if (!line || strstr(out, "Non-2xx") || strstr(out, "Socket errors"))
		fail(out);
	return strtod(line, NULL);
}

static void round_of(struct server *s, int round, int seconds)
{
	double cpu_s = cpu_of(s->pid), wall_s = bench_wall_s();
	double n = load(s, "/json", seconds);
	s->per_cpu_s[round] = n / (cpu_of(s->pid) - cpu_s);
	s->per_wall_s[round] = n / (bench_wall_s() - wall_s);
}

static void row(struct bench *b, struct server *s)
{
	double cpu = bench_median(s->per_cpu_s, ROUNDS), wall = bench_median(s->per_wall_s, ROUNDS);
	char name[64];
	printf("  %-32s %12s %12.2f %14.0f %14.0f requests\n", s->name, "", 1e6 / cpu, wall, cpu);
	snprintf(name, sizeof name, "%s_cpu", s->name);
	bench_figure(b, name, cpu, "requests/cpu-s");
	snprintf(name, sizeof name, "%s_wall", s->name);
	bench_figure(b, name, wall, "requests/s");
}

/* One process of it, on a port that was free a moment ago. It wants a folder for bodies, though
 * there are none. */
static void serve_nginx(int fd)
{
	const char *build = getenv("BUILD");
	char folder[256], conf[300], address[64];
	struct err err;
	snprintf(folder, sizeof folder, "%s/bench-nginx", build ? build : "build/release");
	snprintf(conf, sizeof conf, "%s/conf", folder);
	(void)mkdir(folder, 0755);
	FILE *f = fopen(conf, "w");
	if (!f || listen_name(fd, address, sizeof address, &err) < 0)
		fail(conf);
	close(fd);
	fprintf(f,
		"daemon off; master_process off; pid pid; error_log /dev/null;\n"
		"events { worker_connections 1024; }\n"
		"http { access_log off; client_body_temp_path t; proxy_temp_path t;\n"
		"fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;\n"
		"server { listen %s; location /json {\n"
		"default_type application/json; return 200 '%s'; } } }\n",
		address, BODY);
	fclose(f);
	execlp("nginx", "nginx", "-q", "-p", folder, "-c", "conf", "-e", "/dev/null", (char *)NULL);
	fail("nginx does not start");
}

/* Beside the two, not in turns with them: how a server of another kind does here and now. */
static void compare_nginx(struct bench *b)
{
	struct server nginx = {.name = "nginx", .serve = serve_nginx};
	if (bench_absent("nginx"))
		return;
	start(&nginx);
	sleep(1);
	for (int i = 0; i < ROUNDS; i++)
		round_of(&nginx, i, SECONDS * b->scale);
	stop(&nginx);
	row(b, &nginx);
}

static void compare(struct bench *b)
{
	struct server ours = {.name = "garner", .serve = serve_ours},
		      bare = {.name = "libmicrohttpd", .serve = serve_bare};
	if (bench_absent("wrk"))
		return;
	printf("  (the CPU column is microseconds of the server per request)\n");
	start(&ours);
	start(&bare);
	load(&ours, "/json", 1);
	load(&bare, "/json", 1);
	for (int i = 0; i < ROUNDS; i++) {
		round_of(&ours, i, SECONDS * b->scale);
		round_of(&bare, i, SECONDS * b->scale);
	}
	stop(&ours);
	stop(&bare);
	row(b, &ours);
	row(b, &bare);
	compare_nginx(b);
	bench_ratio(b, "mhd",
		    bench_median(ours.per_cpu_s, ROUNDS) / bench_median(bare.per_cpu_s, ROUNDS));
}

static int open_stream(const struct server *s)
{
	static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	char text[512];
	to.sin_port = htons((uint16_t)strtol(strchr(s->address, ':') + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ||
	    write(fd, request, sizeof request - 1) < 0 || read(fd, text, sizeof text) <= 0)
		fail("an event stream does not open");
	return fd;
}

/* Long enough for two of the comments that keep them alive. */
static void idle_streams(struct bench *b)
{
	static int fds[STREAMS];
	struct server ours = {.name = "streams", .serve = serve_ours};
	start(&ours);
	for (int i = 0; i < STREAMS; i++)
		fds[i] = open_stream(&ours);
	sleep(2);
	double cpu_s = cpu_of(ours.pid), wall_s = bench_wall_s();
	sleep((unsigned)(IDLE_S * b->scale));
	double percent = (cpu_of(ours.pid) - cpu_s) / (bench_wall_s() - wall_s) * 100;
	for (int i = 0; i < STREAMS; i++)
		close(fds[i]);
	stop(&ours);
	printf("  %-32s %12.3f %% of a core (goal: under 1)\n", "1,000 idle event streams",
	       percent);
	bench_figure(b, "sse_idle_cpu_percent", percent, "%");
}

int main(void)
{
	struct bench b = bench_begin("http");
	compare(&b);
	idle_streams(&b);
	return bench_end(&b);
}
