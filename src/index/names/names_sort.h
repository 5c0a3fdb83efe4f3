/* Sorting of names for names_build.c. */
#pragma once
#include "base/base.h"

/* A distinct name: its folded bytes at `at` of the texts, and right after them its own, where
 * `other` is 1 + how many; 0: they are the same. */
struct names_sort_form {
	uint64_t at;
	uint32_t n, other;
};
struct names_sort_key {
	uint64_t key; /* eight bytes as a number */
	uint32_t form;
};
/* The forms by folded name, equal ones by their own bytes; the caller frees it. After the texts
 * there are 8 bytes more to read. */
struct names_sort_key *names_sort(const char *text, const struct names_sort_form *form, uint32_t n);
