/* The roles of garner, in the order in which help names them. Each is defined by its room. */
#include "cmd/command.h"
#include "web/docs.h"
#include "web/web.h"

const struct role *const roles[] = {
	&web_role,
	&docs_role,
	NULL,
};
const size_t nroles = ARRAY_LEN(roles) - 1;
