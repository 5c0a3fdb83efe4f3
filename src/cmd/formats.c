/* One line per format; doc/formats/ has a page for each. */
#include "base/counters.h"
#include "base/record.h"
#include "broker/batch.h"
#include "broker/cursors.h"
#include "cmd/command.h"
#include "fetch/hostq.h"
#include "fetch/polite.h"
#include "fetch/robots_cache.h"
#include "index/docstore.h"
#include "shepherd/bucket_attrs.h"
#include "shepherd/bucket_shake.h"

/* clang-format off */
const struct format *const formats[] = {
	&batch_format,
	&bucket_dict_format,
	&bucket_format,
	&bucket_moves_format,
	&counters_format,
	&cursors_format,
	&docstore_format,
	&docstore_ledger_format,
	&docstore_moved_format,
	&hostq_format,
	&polite_format,
	&record_format,
	&robots_format,
	NULL,
};
/* clang-format on */
const size_t nformats = ARRAY_LEN(formats) - 1;
