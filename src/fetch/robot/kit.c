/* The kit: opens everything that fetching needs, in order, and closes it in reverse. */
#include "fetch/kit.h"

#include "base/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int open_tables(struct kit *k, const char *data, const struct robot_section_conf *conf,
		       struct err *err)
{
	char path[PATH_MAX];
	struct str agent = str_of(conf->robot.agent);
	snprintf(path, sizeof path, "%s/run", data);
	if (dir_make(path, DIR_MODE, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/run/polite", data);
	if (polite_open(&k->polite, path, NULL, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/run/robots.db", data);
	struct robots_cache_options robots = {.path = path,
					      .agent = str_head(agent, str_find_byte(agent, '/')),
					      .now_us = clock_wall_us()};
	return robots_cache_new(&k->robots, &robots, err);
}

int kit_robot(struct kit *k, const struct robot_section_conf *conf, struct err *err)
{
	struct robot_parts parts = {k->loop, k->dns, k->policy, k->polite, k->robots};
	return robot_new(&k->robot, &parts, &conf->robot, err);
}

int kit_open(struct kit *ret, struct loop *loop, const char *data,
	     const struct robot_section_conf *conf, struct err *err)
{
	struct kit k = {.loop = loop};
	struct err ignored;
	int rc = policy_new(&k.policy, &conf->robot.networks, err);
	if (rc == 0)
		rc = dns_new(&k.dns, loop, &conf->dns, k.policy, err);
	if (rc == 0)
		rc = open_tables(&k, data, conf, err);
	if (rc == 0)
		rc = kit_robot(&k, conf, err);
	if (rc < 0) {
		(void)kit_close(&k, &ignored);
		return -1;
	}
	*ret = k;
	return 0;
}

int kit_close(struct kit *k, struct err *err)
{
	robot_free(&k->robot);
	int rc = k->robots ? robots_cache_free(&k->robots, err) : 0;
	polite_close(&k->polite);
	dns_free(&k->dns);
	policy_free(&k->policy);
	*k = (struct kit){0};
	return rc;
}

qkey kit_qkey(const struct addr *a)
{
	struct addr server = addr_server(a);
	struct qkey_addr key = {.v6 = addr_bytes(&server) != 4};
	memcpy(key.b, server.b, sizeof key.b);
	return qkey_of(&key, 0);
}
