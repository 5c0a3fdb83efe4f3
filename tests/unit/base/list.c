#include "base/list.h"
#include "base/ascii.h"
#include "base/vec.h"

#include "../unit.h"

struct item {
	char name;
	struct link link;
};

static void assert_items(const struct link *head, const char *want)
{
	char got[16], *end = got;
	LIST_EACH (struct item, item, head, link)
		*end++ = item->name;
	*end = 0;
	assert_string_equal(got, want);
}

static void links_come_and_go_in_order(void **state)
{
	struct item a = {'a', {0}}, b = {'b', {0}}, c = {'c', {0}};
	struct link head;
	(void)state;
	list_init(&head);
	assert_true(list_is_empty(&head));
	assert_null(LIST_FIRST(struct item, &head, link));
	list_append(&head, &b.link);
	list_append(&head, &c.link);
	list_prepend(&head, &a.link);
	assert_items(&head, "abc");
	assert_ptr_equal(LIST_FIRST(struct item, &head, link), &a);
	assert_ptr_equal(LIST_LAST(struct item, &head, link), &c);
	list_remove(&b.link);
	list_remove(&b.link);
	assert_false(list_has(&b.link));
	assert_items(&head, "ac");
	LIST_EACH (struct item, item, &head, link)
		list_remove(&item->link);
	assert_true(list_is_empty(&head));
}

static void arrays_grow_by_doubling(void **state)
{
	int *array = NULL;
	size_t n = 0, room = 0;
	(void)state;
	for (int i = 0; i < 1000; i++)
		*VEC_PUSH(array, n, room) = i;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(array[i], i);
	assert_int_equal(n, 1000);
	assert_int_equal(room, 1024);
	VEC_ROOM(array, room, 5000);
	assert_int_equal(room, 8192);
	mem_free(&array);
}

static void classes_know_ascii_and_nothing_else(void **state)
{
	(void)state;
	for (int i = 0; i < 256; i++) {
		char c = (char)i;
		bool digit = i >= '0' && i <= '9', upper = i >= 'A' && i <= 'Z';
		bool lower = i >= 'a' && i <= 'z';
		assert_int_equal(ascii_is_digit(c), digit);
		assert_int_equal(ascii_is_upper(c), upper);
		assert_int_equal(ascii_is_lower(c), lower);
		assert_int_equal(ascii_is_letter(c), upper || lower);
		assert_int_equal(ascii_is_alnum(c), upper || lower || digit);
		assert_int_equal(ascii_is_control(c), i < 32 || i == 127);
		assert_int_equal((unsigned char)ascii_lower(c), upper ? i + 32 : i);
		assert_int_equal((unsigned char)ascii_upper(c), lower ? i - 32 : i);
		const char *hex = i ? strchr("0123456789abcdef", upper ? i + 32 : i) : NULL;
		assert_int_equal(ascii_hex(c), hex ? hex - "0123456789abcdef" : -1);
		char pair[] = {'f', c}, swapped[] = {c, '0'};
		assert_int_equal(ascii_hex_byte(pair), hex ? 0xf0 + ascii_hex(c) : -1);
		assert_int_equal(ascii_hex_byte(swapped), hex ? ascii_hex(c) << 4 : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_come_and_go_in_order),
		cmocka_unit_test(arrays_grow_by_doubling),
		cmocka_unit_test(classes_know_ascii_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
