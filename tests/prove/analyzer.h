/* Included before every file that clang-tidy looks at: what it cannot see across files. */
#pragma once
#include "base/err.h"

#define err_set(...) ((err_set)(__VA_ARGS__), -1)
#define err_sys(...) ((err_sys)(__VA_ARGS__), -1)
#define err_in(...) ((err_in)(__VA_ARGS__), -1)
#define err_then(...) ((err_then)(__VA_ARGS__), -1)
