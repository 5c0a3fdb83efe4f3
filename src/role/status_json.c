#include "base/jsonw.h"
#include "role/status.h"

static void json_counters(struct jsonw *j, const struct counters_view *view)
{
	jsonw_key(j, "counters");
	jsonw_array(j);
	for (size_t i = 0; view && i < view->n; i++) {
		jsonw_object(j);
		jsonw_put_str(j, "name", view->value[i].name);
		jsonw_put_str(j, "labels", view->value[i].labels);
		jsonw_put_int(j, "value", view->value[i].value);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* A figure that is not known is null. */
static void json_known(struct jsonw *j, const char *key, int64_t v, bool known)
{
	jsonw_key(j, key);
	if (known)
		jsonw_int(j, v);
	else
		jsonw_null(j);
}

static void json_row(struct jsonw *j, const struct status_row *r)
{
	jsonw_object(j);
	jsonw_put_str(j, "name", r->name);
	jsonw_put_text(j, "state", status_words[r->state]);
	json_known(j, "pid", r->pid, r->pid > 0);
	jsonw_key(j, "since");
	if (r->since_wall_us > 0)
		jsonw_time(j, r->since_wall_us);
	else
		jsonw_null(j);
	jsonw_put_int(j, "restarts", r->restarts);
	json_known(j, "cpu_us", r->cpu_us, r->cpu_us >= 0);
	json_known(j, "rss_bytes", r->rss, r->rss >= 0);
	json_counters(j, r->view);
	jsonw_object_end(j);
}

void status_json(const struct status *s, const char *data, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_text(&j, "data", data);
	jsonw_put_bool(&j, "running", s->running);
	jsonw_key(&j, "roles");
	jsonw_array(&j);
	for (size_t i = 0; i < s->nrows; i++)
		json_row(&j, &s->row[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}
