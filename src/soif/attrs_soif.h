/* Attributes of a bucket as a SOIF object; the table is in doc/formats/attributes.md. */
#pragma once
#include "base/attrs.h"
#include "soif/soif.h"

/* Fills *ret with an object of type FILE. Values are slices of the list's where they can be, else
 * in the arena. text_max: a longer text is cut there, up to a whole character, and called
 * Partial-Text; 0: all of it. The attributes of the gatherer are the caller's. */
void attrs_soif(const struct attrs *list, struct arena *arena, size_t text_max, struct soif *ret);

/* Harvest's name for a media type, with or without parameters: "HTML" of "text/html". */
struct str soif_type_of_media(struct str media);
