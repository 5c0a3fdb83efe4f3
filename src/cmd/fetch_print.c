/* What `garner fetch` prints of a result for people. Scripts see it too: the form stays. */
#include "cmd/fetch_print.h"

#include "base/value.h"

/* The URL comes last: it is what may be long. Visible ASCII is all that one can consist of. */
void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out)
{
	char why[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf location = BUF_INIT(r->location.n + 1);
	url_show(r->location, &location);
	buf_printf(out, "%-14s %3d %10llu  ", outcome_name(r->outcome), r->head->status,
		   (unsigned long long)r->size);
	url_show(url, out);
	if (r->location.n)
		buf_printf(out, " -> %s", value_show(buf_str(&location), why));
	else if (r->redirects)
		buf_printf(out, " -> " STR_FMT, STR_ARG(r->url));
	if (!outcome_is_ok(r->outcome))
		buf_printf(out, "  (%s%s%s%s)", robot_cause_name(r->cause), r->why[0] ? ": " : "",
			   value_show(str_of(r->why), why),
			   r->outcome == OUTCOME_ADDRESS ? "; robot.networks can allow it" : "");
	buf_add_byte(out, '\n');
}
