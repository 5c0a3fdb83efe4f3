/* One line per format; doc/formats/ has a page for each. */
#include "archie/archie_format.h"
#include "broker/registry.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "cache/provider_file.h"
#include "cache/unsdb.h"
#include "cmd/command.h"
#include "fetch/fetched_file.h"
#include "fetch/polite.h"
#include "index/docstore.h"
#include "index/names.h"
#include "index/words.h"
#include "role/counters.h"
#include "shepherd/feedback.h"
#include "shepherd/master.h"
#include "state/places.h"
#include "state/plan.h"
#include "state/state.h"
#include "store/database_format.h"

/* clang-format off */
const struct format *const formats[] = {
	&archie_listing_format,
	&archie_sites_format,
	&bucket_dict_format,
	&bucket_format,
	&bucket_moves_format,
	&changes_format,
	&checkpoints_format,
	&contrib_format,
	&control_format,
	&counters_format,
	&docstore_format,
	&docstore_table_format,
	&feedback_format,
	&fetched_format,  /* whatever names fetched files have */
	&database_format,
	&gone_format,
	&index_format,
	&journal_format,
	&names_gone_format,
	&names_manifest_format,
	&names_pages_format,
	&names_part_format,
	&names_segment_format,
	&places_format,
	&plan_format,
	&polite_format,
	&provider_format,
	&registry_commit_format,
	&registry_format,
	&registry_tables_format,
	&sites_format,
	&unsdb_format,
	&whatis_format,
	&words_deletes_format,
	&words_manifest_format,
	&words_segment_format,
	NULL,
};
/* clang-format on */
const size_t nformats = ARRAY_LEN(formats) - 1;
