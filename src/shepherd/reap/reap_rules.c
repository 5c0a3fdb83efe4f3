/* How the server of a queue may be asked: by the plan where it is known, else by the rules for the
 * site; a longer Crawl-delay of one of its sites raises the delay, and so does a failed connection
 * until an answer comes. */
#include "shepherd/reap/reap_inner.h"

const struct server *reap_server_of(const struct reap *r, uint64_t site)
{
	const uint32_t *number = known_sites_get(&r->known, site);
	return number && *number < SITE_UNSERVED ? servers_at(r->servers, *number) : NULL;
}

struct polite_rule reap_rule_of_server(const struct server *server)
{
	return (struct polite_rule){server->delay_us, server->max_conn, server->exempt};
}

struct polite_rule reap_rule_of(const struct reap *r, struct url_site of, uint64_t site)
{
	struct polite_rule rule = {.delay_us = r->crawl->delay_us,
				   .concurrent = r->crawl->concurrent};
	const struct server *server = reap_server_of(r, site);
	struct filter_where where = {.known = true};
	struct filter_site f;
	if (server)
		return reap_rule_of_server(server);
	filter_site(r->crawl->filter, of, &where, &f);
	if (f.line[FILTER_MIN_DELAY])
		rule.delay_us = f.min_delay_us;
	rule.exempt = f.line[FILTER_MIN_DELAY] == FILTER_BY_NO_DELAY;
	if (f.line[FILTER_MAX_CONN])
		rule.concurrent = (unsigned)f.max_conn;
	return rule;
}

/* With all that raises it. */
static struct polite_rule rule_now(const struct reap *r, const struct key_rule *k)
{
	struct polite_rule rule = k->rule;
	if (!rule.exempt)
		rule.delay_us = MAX(rule.delay_us, k->crawl_us);
	if (k->no_connection)
		rule.delay_us = MAX(rule.delay_us, r->o.conf->conn_err_delay_us);
	return rule;
}

void reap_rule_apply(struct reap *r, qkey key)
{
	struct polite_rule rule = reap_rule(r, key);
	hostq_set_rule(r->queue, key, &rule);
}

void reap_rule_set(struct reap *r, qkey key, struct polite_rule rule)
{
	bool is_new;
	struct key_rule *k = key_rules_put_new(&r->rules, key, &is_new);
	if (is_new) {
		k->rule = rule;
	} else { /* several sites: the most careful of all */
		k->rule.delay_us = MAX(k->rule.delay_us, rule.delay_us);
		k->rule.concurrent = MIN(k->rule.concurrent, rule.concurrent);
		k->rule.exempt &= rule.exempt;
	}
	reap_rule_apply(r, key);
}

struct polite_rule reap_rule(const struct reap *r, qkey key)
{
	const struct key_rule *k = key_rules_get(&r->rules, key);
	return k ? rule_now(r, k)
		 : (struct polite_rule){.delay_us = r->crawl->delay_us,
					.concurrent = r->crawl->concurrent};
}

void reap_rule_crawl_delay(struct reap *r, qkey key, int64_t delay_us)
{
	struct key_rule *k;
	delay_us = MIN(delay_us, r->o.robot->robot.crawl_delay_max_us);
	if (delay_us <= 0 || !(k = key_rules_get(&r->rules, key)) || k->crawl_us >= delay_us)
		return;
	k->crawl_us = delay_us;
	reap_rule_apply(r, key);
}

void reap_rule_answered(struct reap *r, qkey key, uint16_t code)
{
	struct key_rule *k = key_rules_get(&r->rules, key);
	bool no_connection = code_class(code) == CODE_CLASS_CONNECTION;
	if (!k || k->no_connection == no_connection)
		return;
	k->no_connection = no_connection;
	reap_rule_apply(r, key);
}
