/* One line per format; doc/formats/ has a page for each. */
#include "base/counters.h"
#include "cmd/command.h"

const struct format *const formats[] = {
	&counters_format,
	NULL,
};
const size_t nformats = ARRAY_LEN(formats) - 1;
