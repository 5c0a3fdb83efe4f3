/* The doctor's look at garner-parse: whether it starts, and what it gives up. */
#include "base/clock.h"
#include "cmd/doctor.h"
#include "extract/cage_section.h"

#include <poll.h>

static void told(void *ctx, const struct cage_result *r)
{
	struct finding *f = ctx;
	f->level = r->end == CAGE_READ ? FINDING_OK : FINDING_FAIL;
	snprintf(f->reason, sizeof f->reason, "%s", r->reason);
}

static const struct {
	unsigned lock;
	const char *name;
} locks[] = {
	{CAGE_NO_NEW_PRIVILEGES, "no_new_privs"},
	{CAGE_LIMITS, "limits"},
	{CAGE_LANDLOCK, "landlock"},
	{CAGE_SECCOMP, "seccomp"},
};

/* What holds, and what the kernel does not have. */
static void judge(const struct cage *cage, struct finding *f)
{
	CLEANUP(buf_free) struct buf held = BUF_INIT(256);
	CLEANUP(buf_free) struct buf missing = BUF_INIT(256);
	const char *remark;
	unsigned set;
	if (cage_locks(cage, &set, &remark) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		struct buf *to = set & locks[i].lock ? &held : &missing;
		buf_printf(to, "%s%s", to->n ? ", " : "", locks[i].name);
	}
	if (remark[0]) {
		f->level = FINDING_WARN;
		snprintf(f->reason, sizeof f->reason, "garner-parse works, but %s", remark);
		snprintf(f->mend, sizeof f->mend, "install the packages of script/bootstrap");
	} else if (missing.n) {
		f->level = FINDING_WARN;
		snprintf(f->reason, sizeof f->reason,
			 "garner-parse works behind %s; this kernel has no %s", buf_text(&held),
			 buf_text(&missing));
		snprintf(f->mend, sizeof f->mend, "a kernel from 5.13 on, with both compiled in");
	} else {
		f->level = FINDING_OK;
		snprintf(f->reason, sizeof f->reason, "garner-parse works behind %s%s",
			 buf_text(&held), set & CAGE_OTHER_USER ? ", as nobody" : "");
	}
}

void check_parser(const struct patient *p, struct finding *f)
{
	char room[CAGE_PATH_MAX];
	struct cage_options options;
	struct cage_slot *slot;
	struct cage *cage = NULL;
	struct err err;
	if (cage_section_options(config_get(p->config, &cage_section), room, &options, &err) < 0 ||
	    cage_new(&cage, &options, clock_mono_us(), &err) < 0) {
		f->level = FINDING_FAIL;
		snprintf(f->reason, sizeof f->reason, "%s", err.msg);
		snprintf(f->mend, sizeof f->mend,
			 "put garner-parse beside garner, or say where it is with parse.program");
		return;
	}
	ENSURE(cage_take(cage, &slot) == 0);
	cage_submit(cage, slot, &(struct extract_job){.content_type = STR("text/plain")}, told, f,
		    clock_mono_us());
	while (cage_under_way(cage)) {
		struct pollfd fd = {cage_fd(cage), POLLIN, 0};
		(void)poll(&fd, 1, -1);
		cage_poll(cage, clock_mono_us());
	}
	if (f->level == FINDING_OK)
		judge(cage, f);
	cage_free(&cage);
}
