/* Steps of cache/names: each a byte of length and so many bytes. What is read, written again, is
 * the same; whatever order they come in, each number is in one place, what is stored has its
 * answer, and a step that cannot follow changes nothing. */
#include "base/cursor.h"
#include "fetch/bot/botm_names_inner.h"

static void check_step(struct str payload, const struct botm_step *step)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	struct botm_step again;
	struct err err = {0};
	botm_step_write(step, &out);
	ENSURE(!out.over && out.n <= payload.n); /* a number may be written longer than need be */
	ENSURE(botm_step_read(buf_str(&out), &again, &err) == 0);
	ENSURE(again.kind == step->kind && str_eq(again.text, step->text));
	ENSURE(again.name.generation == step->name.generation);
	if (step->kind != BOTM_STEP_NAME)
		return;
	char name[BOTM_NAME_ROOM];
	struct botm_name parsed;
	ENSURE(again.place == step->place && again.name.number == step->name.number);
	botm_name_print(step->name, name);
	ENSURE(botm_name_parse(str_of(name), &parsed) && parsed.number == step->name.number &&
	       parsed.generation == step->name.generation);
}

static void check_map(const struct botm_map *m)
{
	uint64_t count[BOTM_PLACES] = {0}, answers = 0, bytes = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		ENSURE(botm_map_name(m, i).generation >= 1);
		count[botm_map_place(m, i)]++;
	}
	TABLE_EACH (botm_answers, slot, &m->answers) {
		ENSURE(slot->key < m->n && botm_map_place(m, (uint32_t)slot->key) == BOTM_STORED);
		answers++;
		bytes += slot->value.n;
	}
	ENSURE(memcmp(count, m->count, sizeof count) == 0);
	ENSURE(answers == count[BOTM_STORED] && bytes == m->answer_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of((struct str){(const char *)data, size});
	struct botm_map map = {0};
	while (reader_left(&in) > 0) {
		size_t n = reader_u8(&in);
		struct str payload = reader_bytes(&in, MIN(n, reader_left(&in)));
		struct botm_step step;
		struct err err = {0};
		size_t before = map.n;
		if (botm_step_read(payload, &step, &err) < 0) {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
			continue;
		}
		check_step(payload, &step);
		if (botm_map_apply(&map, &step, &err) < 0)
			ENSURE(err.code == ERR_DAMAGED && err.msg[0] && map.n == before);
		check_map(&map);
	}
	botm_map_free(&map);
	return 0;
}
