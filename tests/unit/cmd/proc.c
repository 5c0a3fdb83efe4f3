/* The children are this program itself, told by its arguments what to do. */
#include "cmd/system/proc.h"

#include "../unit.h"
#include "role/notify.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct proc started(const char *what, const int *fds, size_t n)
{
	char pid_text[16 + PROC_PID_TEXT] = "LISTEN_PID=";
	char count[32];
	snprintf(count, sizeof count, "LISTEN_FDS=%zu", n);
	char *argv[] = {"proc", (char *)what, NULL};
	char *env[] = {pid_text, count, "LISTEN_FDNAMES=one:two", NULL};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct proc p;
	struct err err;
	assert_int_equal(
		proc_start(&p,
			   &(struct proc_launch){.argv = argv,
						 .env = env,
						 .pid_text = pid_text + strlen("LISTEN_PID="),
						 .null_fd = null_fd,
						 .fds = fds,
						 .nfds = n},
			   &err),
		0);
	close(null_fd);
	return p;
}

static void reaped(struct proc *p, char *reason, size_t cap)
{
	struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
	siginfo_t info;
	struct err err;
	assert_int_equal(poll(&ended, 1, 20000), 1);
	assert_int_equal(proc_reap(p, &info, &err), 0);
	assert_int_equal(p->pid, 0);
	proc_reason(&info, reason, cap);
}

static void a_pipe(int ret[2])
{
	struct err err;
	assert_int_equal(pipe2(ret, O_CLOEXEC), 0);
	assert_int_equal(proc_safe_fd(&ret[1], &err), 0);
	assert_true(ret[1] >= PROC_SAFE_FD);
}

static void the_exit_code_is_told(void **state)
{
	(void)state;
	char reason[32];
	struct proc p = started("exit3", NULL, 0);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(reason, "exit code 3");
}

static void the_signal_is_told_by_its_name(void **state)
{
	(void)state;
	char reason[32];
	struct proc p = started("sleep", NULL, 0);
	proc_signal(&p, SIGTERM);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(reason, "signal TERM");
}

static void sockets_arrive_under_their_names_in_any_order_of_numbers(void **state)
{
	(void)state;
	int one[2], two[2];
	char reason[32], got[2] = {0};
	a_pipe(one);
	a_pipe(two);
	const int fds[] = {two[1], one[1]}; /* the higher number first */
	struct proc p = started("names", fds, 2);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(reason, "exit code 0");
	assert_int_equal(read(two[0], &got[0], 1), 1);
	assert_int_equal(read(one[0], &got[1], 1), 1);
	assert_int_equal(got[0], '1');
	assert_int_equal(got[1], '2');
	for (int i = 0; i < 2; i++) {
		close(one[i]);
		close(two[i]);
	}
}

static void the_rest_of_the_group_ends_with_the_main_process(void **state)
{
	(void)state;
	int alive[2];
	char reason[32], byte;
	a_pipe(alive);
	struct proc p = started("leave_one", (const int[]){alive[1]}, 1);
	close(alive[1]);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(reason, "exit code 0");
	/* the one that was left holds the pipe open as long as it lives */
	struct pollfd end = {.fd = alive[0], .events = POLLIN};
	assert_int_equal(poll(&end, 1, 20000), 1);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	close(alive[0]);
}

static void it_leads_a_group_reads_nothing_and_dies_with_its_parent(void **state)
{
	(void)state;
	char reason[32];
	struct proc p = started("look", NULL, 0);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(reason, "exit code 0");
}

static int child_look(void)
{
	int sig = 0;
	char byte;
	sigset_t mask;
	prctl(PR_GET_PDEATHSIG, &sig);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	return !(getpgrp() == getpid() && sig == SIGKILL && read(0, &byte, 1) == 0 &&
		 !sigismember(&mask, SIGTERM));
}

static int child_names(void)
{
	int one = notify_socket("one"), two = notify_socket("two");
	return !(one == 3 && two == 4 && notify_socket("three") < 0 && write(one, "1", 1) == 1 &&
		 write(two, "2", 1) == 1);
}

static int child_exit3(void)
{
	return 3;
}

static int child_sleep(void)
{
	sleep(60);
	return 9;
}

static int child_leave_one(void)
{
	return fork() == 0 ? child_sleep() : 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} children[] = {
	{"exit3", child_exit3},         {"sleep", child_sleep}, {"names", child_names},
	{"leave_one", child_leave_one}, {"look", child_look},
};

static void a_fork_has_its_descriptors_alone_and_dies_with_its_parent(void **state)
{
	int ends[2], other[2], signal_of_death = 0;
	char said[2] = "", reason[32];
	struct proc p;
	struct err err;
	(void)state;
	a_pipe(ends);
	a_pipe(other);
	const int fds[] = {other[1], ends[1]};
	int rc = proc_fork(&p, fds, 2, &err);
	if (rc == 1) {
		bool well = fcntl(PROC_FIRST_FD, F_GETFD) == 0 &&
			    fcntl(PROC_FIRST_FD + 2, F_GETFD) < 0 && fcntl(ends[1], F_GETFD) < 0 &&
			    prctl(PR_GET_PDEATHSIG, &signal_of_death) == 0 &&
			    signal_of_death == SIGKILL && getpgrp() == getpgid(getppid());
		_exit(write(PROC_FIRST_FD + 1, well ? "y" : "n", 1) == 1 ? 4 : 5);
	}
	assert_int_equal(rc, 0);
	close(ends[1]);
	close(other[1]);
	assert_int_equal(read(ends[0], said, 1), 1);
	reaped(&p, reason, sizeof reason);
	assert_string_equal(said, "y");
	assert_string_equal(reason, "exit code 4");
	close(ends[0]);
	close(other[0]);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(children); i++)
		if (strcmp(argv[1], children[i].name) == 0)
			_exit(children[i].run());
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set,
		    NULL); /* as the supervisor does; children must not inherit it */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exit_code_is_told),
		cmocka_unit_test(the_signal_is_told_by_its_name),
		cmocka_unit_test(sockets_arrive_under_their_names_in_any_order_of_numbers),
		cmocka_unit_test(the_rest_of_the_group_ends_with_the_main_process),
		cmocka_unit_test(it_leads_a_group_reads_nothing_and_dies_with_its_parent),
		cmocka_unit_test(a_fork_has_its_descriptors_alone_and_dies_with_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
