/* Words for what failed; what is too long is cut. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* The new message may quote the old one, so it is made elsewhere first. */
PRINTF_LIKE(2, 0)
static void err_say(struct err *err, const char *fmt, va_list ap, const char *after)
{
	char msg[sizeof err->msg];
	int n = vsnprintf(msg, sizeof msg, fmt, ap);
	size_t at = MIN((size_t)MAX(n, 0), sizeof msg - 1);
	snprintf(msg + at, sizeof msg - at, "%s%s", *after ? ": " : "", after);
	memcpy(err->msg, msg, strlen(msg) + 1);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_say(err, fmt, ap, "");
	va_end(ap);
	err->code = code;
	err->sys_errno = 0;
	return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	char text[128];
	va_list ap;
	va_start(ap, fmt);
	err_say(err, fmt, ap, strerror_r(saved, text, sizeof text));
	va_end(ap);
	err->code = ERR_SYSTEM;
	err->sys_errno = saved;
	return -1;
}

int err_in(struct err *err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_say(err, fmt, ap, err->msg);
	va_end(ap);
	return -1;
}

int err_then(struct err *err, const char *fmt, ...)
{
	size_t n = strlen(err->msg);
	va_list ap;
	va_start(ap, fmt);
	if (n + 2 < sizeof err->msg) {
		memcpy(err->msg + n, "; ", 3);
		vsnprintf(err->msg + n + 2, sizeof err->msg - n - 2, fmt, ap);
	}
	va_end(ap);
	return -1;
}
