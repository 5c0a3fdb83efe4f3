#include "index/segment.h"
