/* spawn N PROGRAM [ARGUMENT...]: how long a program takes from start to end. Runs it N times, after
 * a few to warm up, and beside each run /bin/true as the reference, so that both see the same
 * machine. Prints one line: median wall and CPU of the program in microseconds, then the same of
 * the reference. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM = 5 };

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int run(char *const *argv, char *const *env, double *ret_wall_s, double *ret_cpu_s)
{
	posix_spawn_file_actions_t to_null;
	posix_spawn_file_actions_init(&to_null);
	posix_spawn_file_actions_addopen(&to_null, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	double start_s = bench_wall_s();
	pid_t pid;
	int failed = posix_spawn(&pid, argv[0], &to_null, NULL, argv, env);
	posix_spawn_file_actions_destroy(&to_null);
	struct rusage use;
	int status = 0;
	if (failed || wait4(pid, &status, 0, &use) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		fprintf(stderr, "spawn: %s does not run to a good end\n", argv[0]);
		return -1;
	}
	*ret_wall_s = bench_wall_s() - start_s;
	*ret_cpu_s = seconds(use.ru_utime) + seconds(use.ru_stime);
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	if (n < 1 || n > BENCH_REPEAT_MAX) {
		fprintf(stderr, "usage: spawn N PROGRAM [ARGUMENT...], N up to %d\n",
			BENCH_REPEAT_MAX);
		return 2;
	}
	static double wall[2][BENCH_REPEAT_MAX], cpu[2][BENCH_REPEAT_MAX];
	char *const reference[] = {"/bin/true", NULL};
	char *const none[] = {NULL};
	for (long i = -WARM; i < n; i++) {
		long at = i < 0 ? 0 : i;
		if (run(argv + 2, none, &wall[0][at], &cpu[0][at]) < 0 ||
		    run(reference, none, &wall[1][at], &cpu[1][at]) < 0)
			return 1;
	}
	struct bench_time ours = bench_summary(wall[0], cpu[0], (int)n);
	struct bench_time theirs = bench_summary(wall[1], cpu[1], (int)n);
	printf("%.0f %.0f %.0f %.0f\n", ours.wall_s * 1e6, ours.cpu_s * 1e6, theirs.wall_s * 1e6,
	       theirs.cpu_s * 1e6);
	return 0;
}
