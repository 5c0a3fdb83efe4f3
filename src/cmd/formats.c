/* One line per format; doc/formats/ has a page for each. */
#include "cmd/command.h"
#include "base/counters.h"

const struct format *const formats[] = {
	&counters_format,
	NULL,
};
const size_t nformats = ARRAY_LEN(formats) - 1;
