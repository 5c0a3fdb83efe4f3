/* What garner check and garner dump know of the files in archie/ that others or people write:
 * doc/formats/archie-sites.md, whatis.md, archie-listing.md. */
#pragma once
#include "disk/format.h"

extern const struct format archie_sites_format, whatis_format, archie_listing_format;
