/* What robots fetched, as a file format: such a file holds what a server chose to send, and is not
 * one of ours, whatever it is called and whatever it begins with. */
#pragma once
#include "disk/format.h"

/* Any file in the usual folder of a botm (cache/files) or with the form of its names, and what lies
 * where a spider puts the body of a URL, in the folder of a host next to its results.jsonl. Always
 * sound. */
extern const struct format fetched_format;
