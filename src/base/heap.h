/* Typed binary heaps: HEAP(name, type, less, moved) makes `struct name` and its functions; the
 * least element is on top. `moved(element *, size_t at)` tells an element its place, so that it can
 * be changed or removed from the middle; HEAP_STAY where nobody wants to know. */
#pragma once
#include "base/base.h"
