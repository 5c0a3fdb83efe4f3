/* The messages between uns and qm, as tables. The qm refuses bad names, since it keeps them with
 * the sets. */
#include "cache/uns/link_wire.h"

#include "base/ascii.h"

#define S struct link_message

static const struct message_field of_qm[] = {
	{MESSAGE_NUMBER_AT(S, version, "version", 0, UINT32_MAX), .must = true},
};
static const struct message_field of_number[] = {
	{MESSAGE_NUMBER_AT(S, number, "number", 1, INT64_MAX), .must = true},
};
static const struct message_field of_refused[] = {
	{MESSAGE_NUMBER_AT(S, number, "number", 1, INT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(S, code, "code", 100, 999), .must = true},
	{MESSAGE_SAID_AT(S, text, "text", LINK_TEXT_MAX)},
};
static const struct message_field of_uns[] = {
	{MESSAGE_TEXT_AT(S, name, "name", LINK_NAME_MAX), .must = true},
};
static const struct message_field of_set[] = {
	{MESSAGE_NUMBER_AT(S, number, "number", 1, INT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(S, provider, "provider", 1, INT64_MAX), .must = true},
	{MESSAGE_FLAG_AT(S, is_full, "full")},
	{MESSAGE_NUMBER_AT(S, urls, "urls", 0, INT64_MAX), .must = true},
	{MESSAGE_SIGNED_AT(S, at_us, "at", 0, INT64_MAX), .must = true},
};
static const struct message_field of_piece[] = {
	{MESSAGE_BYTES_AT(S, piece, "notices", LINK_PIECE_MAX), .least = 1, .must = true},
};

static const struct message qm_says[] = {
	MESSAGE("qm", LINK_QM, LINK_SMALL_MAX, of_qm),
	MESSAGE_BARE("busy", LINK_BUSY),
	MESSAGE("have", LINK_HAVE, LINK_SMALL_MAX, of_number),
	MESSAGE("refused", LINK_REFUSED, LINK_SMALL_MAX, of_refused),
};
static const struct message uns_says[] = {
	MESSAGE("uns", LINK_UNS, LINK_SMALL_MAX, of_uns),
	MESSAGE("set", LINK_SET, LINK_SMALL_MAX, of_set),
	MESSAGE("piece", LINK_PIECE, LINK_PIECE_MAX + LINK_SMALL_MAX, of_piece),
	MESSAGE("end", LINK_END, LINK_SMALL_MAX, of_number),
};
const struct message_wire link_of_qm = {qm_says, ARRAY_LEN(qm_says), sizeof(S)};
const struct message_wire link_of_uns = {uns_says, ARRAY_LEN(uns_says), sizeof(S)};
const struct link_message link_greeting = {.version = LINK_VERSION};

bool link_name_is_good(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!ascii_is_alnum(c) && c != '.' && c != '_' && c != '-')
			return false;
	}
	return name.n > 0 && name.n <= LINK_NAME_MAX;
}
