#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err->code = code;
	err->sys_errno = 0;
	vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	size_t at = MIN((size_t)MAX(n, 0), sizeof err->msg - 1);
	char text[128];
	snprintf(err->msg + at, sizeof err->msg - at, ": %s", strerror_r(saved, text, sizeof text));
	err->code = ERR_SYSTEM;
	err->sys_errno = saved;
	return -1;
}

int err_in(struct err *err, const char *fmt, ...)
{
	char old[sizeof err->msg];
	memcpy(old, err->msg, sizeof old);
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	size_t at = MIN((size_t)MAX(n, 0), sizeof err->msg - 1);
	snprintf(err->msg + at, sizeof err->msg - at, ": %s", old);
	return -1;
}
