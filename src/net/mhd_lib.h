/* libmicrohttpd, loaded when a server starts and not before: it brings GnuTLS and ten more shared
 * objects along, which would cost every command of garner more than a millisecond. */
#pragma once
#include "base/err.h"

#include <microhttpd.h>

#define MHD_FUNCTIONS(X)                       \
	X(add_response_header)                 \
	X(create_response_from_buffer)         \
	X(create_response_from_callback)       \
	X(create_response_from_fd_at_offset64) \
	X(destroy_response)                    \
	X(get_connection_info)                 \
	X(get_connection_values_n)             \
	X(lookup_connection_value)             \
	X(queue_response)                      \
	X(quiesce_daemon)                      \
	X(resume_connection)                   \
	X(start_daemon)                        \
	X(stop_daemon)                         \
	X(suspend_connection)

struct mhd_lib {
#define X(name) __typeof__(&MHD_##name) name;
	MHD_FUNCTIONS(X)
#undef X
};

/* Stays loaded until the process ends. */
int mhd_lib_load(struct mhd_lib *ret, struct err *err);
