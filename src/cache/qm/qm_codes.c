/* Maps a robot's answer to a code: by its cause, or by its outcome if the cause has none. The
 * outcome decides what is tried again, the cause only what a provider reads. */
#include "cache/qm/qm_codes.h"

#include "cache/cache_conf.h"
#include "fetch/robot.h"

static const struct {
	enum robot_cause cause;
	enum cache_code code;
} causes[] = {
	{ROBOT_CAUSE_NO_NAME, CACHE_DNS},
	{ROBOT_CAUSE_DNS, CACHE_DNS},
	{ROBOT_CAUSE_ADDRESS, CACHE_CONNECT},
	{ROBOT_CAUSE_ROBOTS, CACHE_ROBOTS},
	{ROBOT_CAUSE_ROBOTS_UNREACHABLE, CACHE_ROBOTS},
	{ROBOT_CAUSE_CONNECT, CACHE_CONNECT},
	{ROBOT_CAUSE_TLS, CACHE_CONNECT},
	{ROBOT_CAUSE_PROXY, CACHE_CONNECT},
	{ROBOT_CAUSE_CUT, CACHE_CONNECT},
	{ROBOT_CAUSE_PROTOCOL, CACHE_CONNECT},
	{ROBOT_CAUSE_IDLE, CACHE_TIMEOUT},
	{ROBOT_CAUSE_TIME, CACHE_TIMEOUT},
	{ROBOT_CAUSE_HEAD_LINE, CACHE_TOO_LARGE},
	{ROBOT_CAUSE_HEAD, CACHE_TOO_LARGE},
	{ROBOT_CAUSE_BODY, CACHE_TOO_LARGE},
	{ROBOT_CAUSE_WIRE, CACHE_TOO_LARGE},
	{ROBOT_CAUSE_MIME, CACHE_WRONG_MIME},
	{ROBOT_CAUSE_WITHIN, CACHE_PREFIX},
	{ROBOT_CAUSE_REDIRECTS, CACHE_NOT_FOUND},
	{ROBOT_CAUSE_NO_TARGET, CACHE_NOT_FOUND},
	{ROBOT_CAUSE_LOGIN, CACHE_NOT_FOUND},
	{ROBOT_CAUSE_URL, CACHE_SYNTAX},
};

static const enum cache_code outcomes[] = {
	[OUTCOME_LIMIT] = CACHE_TOO_LARGE,        [OUTCOME_ROBOTS] = CACHE_ROBOTS,
	[OUTCOME_REDIRECT] = CACHE_PREFIX,        [OUTCOME_PERMANENT] = CACHE_NOT_FOUND,
	[OUTCOME_SITE_PERMANENT] = CACHE_DNS,     [OUTCOME_ADDRESS] = CACHE_CONNECT,
	[OUTCOME_SITE_TEMPORARY] = CACHE_CONNECT, [OUTCOME_TEMPORARY] = CACHE_SERVER,
};

static unsigned code_of(const struct bot_message *m)
{
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (str_is(m->cause, robot_cause_name(causes[i].cause)))
			return causes[i].code;
	return m->outcome < ARRAY_LEN(outcomes) && outcomes[m->outcome] ? outcomes[m->outcome]
									: CACHE_INTERNAL;
}

struct qm_class qm_class_of(const struct bot_message *m, unsigned tries, unsigned retries)
{
	switch (m->outcome) {
	case OUTCOME_OK:
		return (struct qm_class){DB_END_STORED, TURN_ANSWERED, 0};
	case OUTCOME_UNCHANGED:
		return (struct qm_class){DB_END_UNCHANGED, TURN_ANSWERED, 0};
	case OUTCOME_CANCELLED:
		return (struct qm_class){DB_END_PUT_BACK, TURN_BACK, 0};
	case OUTCOME_TEMPORARY:
		if (tries < retries)
			return (struct qm_class){DB_END_RETRY, TURN_ANSWERED, code_of(m)};
		return (struct qm_class){DB_END_FAILED, TURN_ANSWERED, CACHE_RETRIES};
	default:
		if (outcome_is_site(m->outcome))
			return (struct qm_class){DB_END_PUT_BACK, TURN_SITE, code_of(m)};
		return (struct qm_class){DB_END_FAILED, TURN_ANSWERED, code_of(m)};
	}
}

struct str qm_reason_of(const struct bot_message *m, unsigned code)
{
	if (m->has & BOT_HAS_REASON && m->reason.n)
		return m->reason;
	return code ? str_of(cache_code_text(code)) : STR("");
}
