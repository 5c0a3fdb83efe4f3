/* Inside the sorter: sorts (8 bytes of key, place) pairs of records that lie side by side, going on
 * to the next 8 bytes where the first do not decide. Stable. */
#pragma once
#include "disk/order.h"

struct entry {
	uint64_t key;
	uint32_t at; /* number of the record */
};

/* Fills and sorts the entries of n records of fixed size with a key of bytes. spare: as many. */
void entries_sort(const struct order *o, const char *records, struct entry *e, struct entry *spare,
		  size_t n);
