/* Faults. The linker gathers the names of all FAULT() points in a section of their own, so that a
 * test which names a point that is not there is told so, and `garner` can list them. */
#include "base/fault.h"

#include "base/buf.h"
#include "base/vec.h"

#ifdef GARNER_FAULTS

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_RULES = 16, MAX_TEXT = 128, SLOW_US = 20000 };

struct rule {
	char point[MAX_TEXT], text[MAX_TEXT];
	enum fault_action action;
	uint64_t at;  /* fires at this passing */
	bool onwards; /* and at all later ones */
	_Atomic uint64_t passed;
};

/* Written by fault_arm() before threads start; only the counts move later. */
static struct rule rules[MAX_RULES];
static size_t nrules;
static _Atomic uint64_t fired;
atomic_bool fault_armed;

/* The section of the FAULT() points, as the linker names its ends; not there without points. */
extern const char *const __start_garner_fault_points[] __attribute__((weak));
extern const char *const __stop_garner_fault_points[] __attribute__((weak));

static const char *const file_points[] = {"file.open", "file.read",   "file.write",
					  "file.sync", "file.rename", "file.truncate"};

static const struct {
	const char *name, *only; /* prefix of the points that can do it */
} actions[] = {
	[FAULT_KILL] = {"kill", ""},    [FAULT_ENOSPC] = {"enospc", "file."},
	[FAULT_EIO] = {"eio", "file."}, [FAULT_SHORT] = {"short", "file.write"},
	[FAULT_SLOW] = {"slow", ""},    [FAULT_LIE] = {"lie", "lie."},
};

static bool point_known(const char *point)
{
	if (STR_AMONG(str_of(point), file_points))
		return true;
	for (const char *const *p = __start_garner_fault_points; p < __stop_garner_fault_points;
	     p++)
		if (*p && strcmp(point, *p) == 0)
			return true;
	return false;
}

static bool copy_text(struct str s, char ret[MAX_TEXT])
{
	if (s.n >= MAX_TEXT)
		return false;
	memcpy(ret, s.p, s.n);
	ret[s.n] = 0;
	return true;
}

/* "N" or "N+" */
static bool parse_count(struct str s, struct rule *r)
{
	r->onwards = str_ends(s, STR("+"));
	return str_u64(str_head(s, s.n - r->onwards), &r->at) && r->at > 0;
}

static bool parse_action(struct str s, enum fault_action *ret)
{
	for (size_t i = FAULT_NONE + 1; i < ARRAY_LEN(actions); i++) {
		if (str_is(s, actions[i].name)) {
			*ret = (enum fault_action)i;
			return true;
		}
	}
	return false;
}

/* One "POINT[/TEXT]=ACTION[@N]". NULL, or what is wrong with it. */
static const char *parse_rule(struct str part, struct rule *r)
{
	const char *equals = part.n ? memrchr(part.p, '=', part.n) : NULL;
	if (!equals)
		return "no =ACTION";
	struct str point = str_range(part.p, equals);
	struct str action = str_range(equals + 1, part.p + part.n);
	size_t slash = str_find_byte(point, '/'), at = str_find_byte(action, '@');
	r->at = 1;
	r->onwards = false;
	if (at < action.n && !parse_count(str_from(action, at + 1), r))
		return "the count is not N or N+, from 1 on";
	if (!parse_action(str_head(action, at), &r->action))
		return "the action is none of kill, enospc, eio, short, slow, lie";
	if (!copy_text(str_head(point, slash), r->point) ||
	    !copy_text(str_from(point, slash + 1), r->text))
		return "too long";
	if (!point_known(r->point))
		return "this program does not have that point";
	if (!str_starts(str_of(r->point), str_of(actions[r->action].only)))
		return "this point cannot do that";
	return NULL;
}

int fault_arm(const char *spec, struct err *err)
{
	fault_armed = false;
	nrules = 0;
	fired = 0;
	if (!spec || !*spec)
		return 0;
	struct str rest = str_of(spec), part;
	size_t n = 0;
	while (str_cut(&rest, ',', &part) == 0) {
		const char *wrong = n < MAX_RULES ? parse_rule(part, &rules[n]) : "too many faults";
		if (wrong)
			return err_set(err, ERR_USAGE, "faults: %s: " STR_FMT, wrong,
				       STR_ARG(part));
		rules[n++].passed = 0;
	}
	nrules = n;
	fault_armed = true;
	return 0;
}

static bool rule_due(struct rule *r)
{
	uint64_t count = atomic_fetch_add(&r->passed, 1) + 1;
	return r->onwards ? count >= r->at : count == r->at;
}

enum fault_action fault_pass(const char *point, const char *path)
{
	enum fault_action action = FAULT_NONE;
	bool slow = false;
	for (size_t i = 0; i < nrules; i++) {
		struct rule *r = &rules[i];
		if (strcmp(r->point, point) != 0 || !strstr(path, r->text) || !rule_due(r))
			continue;
		atomic_fetch_add(&fired, 1);
		if (r->action == FAULT_SLOW)
			slow = true;
		else if (!action)
			action = r->action;
	}
	if (slow)
		usleep(SLOW_US);
	if (action == FAULT_KILL) {
		kill(getpid(), SIGKILL);
		pause(); /* in case it comes late, to another thread first */
	}
	return action;
}

bool fault_refuses(const char *point, const char *path)
{
	enum fault_action action = fault_pass(point, path);
	if (action)
		errno = action == FAULT_EIO ? EIO : ENOSPC;
	return action != FAULT_NONE;
}

uint64_t fault_fired(void)
{
	return fired;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A point in code that was inlined or copied appears twice; the compiler may leave gaps. */
void fault_list(struct buf *out)
{
	const char **names = NULL;
	size_t n = 0, room = 0;
	for (const char *const *p = __start_garner_fault_points; p < __stop_garner_fault_points;
	     p++)
		if (*p)
			*VEC_PUSH(names, n, room) = *p;
	if (n)
		qsort(names, n, sizeof *names, by_name);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			buf_printf(out, "%s\n", names[i]);
	mem_free(&names);
}

#else

int fault_arm(const char *spec, struct err *err)
{
	if (!spec || !*spec)
		return 0;
	return err_set(err, ERR_USAGE,
		       "faults \"%s\" are asked for, but this program was built without faults",
		       spec);
}

uint64_t fault_fired(void)
{
	return 0;
}

void fault_list(struct buf *out)
{
	(void)out;
}

#endif
