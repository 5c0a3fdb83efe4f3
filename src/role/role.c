#include "role/role.h"

int role_fd(const struct role_env *env, const char *key)
{
	for (size_t i = 0; i < env->nsockets; i++)
		if (strcmp(env->socket[i].key, key) == 0)
			return env->socket[i].fd;
	die("role %s asked for the socket of '%s', which is no setting of its own", env->role->name,
	    key);
}
