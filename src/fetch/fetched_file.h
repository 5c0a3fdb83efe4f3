/* What robots fetched, as a file format: such a file holds what a server chose to send, and is not
 * one of ours, whatever it is called and whatever it begins with. */
#pragma once
#include "disk/format.h"

/* Any file below the folder of a botm's names (cache/files, or another one that has a file of names
 * next to it), and what lies where a spider puts the
 * body of a URL, in the folder of a host next to its results.jsonl. Always sound. */
extern const struct format fetched_format;
