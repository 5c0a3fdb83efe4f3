/* What the code under test logs, for tests that look at it. */
#pragma once
#include "unit.h"

#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

static int logged_pipe[2];
static size_t logged_n;
static char logged_text[1 << 16];

/* Catches the log from here on, and forgets what was caught before. A pipe, since tests forbid
 * files to grow. */
static inline void logged_start(void)
{
	if (!logged_pipe[1]) {
		assert_int_equal(pipe2(logged_pipe, O_CLOEXEC | O_NONBLOCK), 0);
		log_start("", logged_pipe[1]);
	}
	log_flush();
	while (read(logged_pipe[0], logged_text, sizeof logged_text) > 0)
		;
	logged_n = 0;
}

/* How many lines contain a text; lines that came again count, too. */
static inline unsigned logged_times(const char *part)
{
	unsigned times = 0;
	ssize_t n;
	log_flush();
	while ((n = read(logged_pipe[0], logged_text + logged_n,
			 sizeof logged_text - 1 - logged_n)) > 0)
		logged_n += (size_t)n;
	assert_true(logged_n < sizeof logged_text - 1);
	logged_text[logged_n] = 0;
	for (const char *line = logged_text; *line; line += strcspn(line, "\n") + 1) {
		const char *found = strstr(line, part);
		times += found && found < line + strcspn(line, "\n");
	}
	return times;
}
