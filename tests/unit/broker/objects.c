/* Objects: which are one and the same, which of them is shown, and who has the text. */
#include "collecting.h"

static struct registry_object object; /* what registered() found */

static void update(const char *gatherer, const char *url, uint32_t when_s, const char *md5,
		   const char *text)
{
	TELL(.op = SOURCE_UPDATE, .gatherer = gatherer, .url = url, .time_s = when_s, .md5 = md5,
	     .text = text);
}

static void delete_at(const char *url, uint32_t when_s)
{
	TELL(.op = SOURCE_DELETE, .url = url, .time_s = when_s);
}

/* Identity */

static void a_newer_one_replaces_and_an_older_one_is_passed_over(void **state)
{
	uint32_t now_s = time_s;
	(void)state;
	update("a", "http://x/1", now_s, NULL, "apple");
	collect();
	update("a", "http://x/1", now_s - 1, NULL, "pear");
	collect();
	assert_str(shown("http://x/1"), "apple");
	update("a", "http://x/1", now_s + 1, NULL, "plum");
	collect();
	assert_str(shown("http://x/1"), "plum");
	assert_int_equal(found("apple OR pear", "", NULL), 0);
	assert_int_equal(found("plum", "", NULL), 1);
	assert_int_equal(objects_there(), 1);
	assert_int_equal(kept(), 1);
}

static void the_same_one_is_the_same_unless_its_md5_differs(void **state)
{
	uint32_t now_s = time_s, oid;
	(void)state;
	update("a", "http://x/1", now_s, md5_of('1'), "apple");
	collect();
	assert_int_equal(registered("a", "http://x/1", &object), 0);
	oid = object.oid;
	uint64_t commits = generation();
	update("a", "http://x/1", now_s, md5_of('1'), "pear");
	collect();
	assert_int_equal(registered("a", "http://x/1", &object), 0);
	assert_int_equal(object.oid, oid);
	assert_str(shown("http://x/1"), "apple");
	update("a", "http://x/1", now_s, md5_of('2'), "plum");
	collect();
	assert_int_equal(registered("a", "http://x/1", &object), 0);
	assert_true(object.oid > oid); /* a new text has a new number */
	assert_str(object.md5, md5_of('2'));
	assert_str(shown("http://x/1"), "plum");
	assert_true(generation() > commits);
	assert_int_equal(kept(), 1);
}

static void what_lacks_something_mandatory_is_refused(void **state)
{
	(void)state;
	TELL(.op = SOURCE_UPDATE, .url = "http://x/1", .gatherer = "", .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://x/2", .host = "", .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://x/3", .version = "", .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://x/4", .time_s = UINT32_MAX, .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "", .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://x/5", .md5 = "12", .text = "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(objects_there(), 0);
	assert_int_equal(kept(), 0);
	TELL(.op = SOURCE_UPDATE, .url = "http://x/6", .text = "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
}

static void what_is_absent_has_the_documents_defaults(void **state)
{
	(void)state;
	update("a", "http://x/1", time_s, NULL, "apple");
	TELL(.op = SOURCE_UPDATE, .gatherer = "a", .url = "http://x/2", .refresh_rate_s = 77,
	     .time_to_live_s = 78, .text = "pear");
	collect();
	assert_int_equal(registered("a", "http://x/1", &object), 0);
	assert_int_equal(object.last_modification_time_s, 0);
	assert_int_equal(object.refresh_rate_s, 7 * 86400);
	assert_int_equal(object.time_to_live_s, 28 * 86400);
	assert_int_equal(object.md5.n, 0);
	assert_int_equal(registered("a", "http://x/2", &object), 0);
	assert_int_equal(object.refresh_rate_s, 77);
	assert_int_equal(object.time_to_live_s, 78);
}

static void attributes_are_found_by_their_names(void **state)
{
	struct source_change change = change_of(&(struct thing){
		.op = SOURCE_UPDATE, .url = "http://x/1", .md5 = md5_of('7'), .text = "apple"});
	(void)state;
	soif_add(&change.obj, &arena, STR("Author"), STR("Ada"));
	soif_add(&change.obj, &arena, STR(SEARCH_SITE), STR("elsewhere")); /* not its to say */
	source_list_add(list, &change);
	collect();
	assert_int_equal(found("author : ada", "", NULL), 1);
	assert_int_equal(found(arena_printf(&arena, "md5 : %s", md5_of('7')), "", NULL), 1);
	assert_int_equal(found("gatherer-name : tester", "", NULL), 1);
	assert_int_equal(found("apple", "x", NULL), 1);
	assert_int_equal(found("apple", "elsewhere", NULL), 0);
	assert_int_equal(found("site : elsewhere", "", NULL), 0);
	assert_int_equal(found("site : X", "", NULL), 1);
	assert_int_equal(found("elsewhere", "", NULL), 0);
	assert_int_equal(found("type : html way : gatherer gatherer : Tester", "", NULL), 1);
	assert_int_equal(found("type : text", "", NULL), 0);
}

/* The text is stored under the names of the document, and searched under those of the index. */
static void expressions_see_attributes_by_the_names_they_are_searched_by(void **state)
{
	struct source_change change =
		change_of(&(struct thing){.op = SOURCE_UPDATE, .url = "http://x/partial"});
	(void)state;
	soif_add(&change.obj, &arena, STR("Partial-Text"), STR("a red-apple tree"));
	source_list_add(list, &change);
	collect();
	assert_int_equal(found("/red-ap+le t/", "", NULL), 1);
	assert_int_equal(found("full-text : /red-ap+le t/", "", NULL), 1);
	assert_int_equal(found("url : /x.partial/", "", NULL), 1);
	assert_int_equal(found("title : /red-ap+le t/", "", NULL), 0);
}

static void matches_are_counted_by_site_type_and_way(void **state)
{
	struct search *s;
	struct search_answer a;
	struct search_ask ask = {.words = STR("apple"),
				 .limit = 1,
				 .facet = {STR("site"), STR("type"), STR("way"), STR("gatherer")},
				 .facets = 4};
	(void)state;
	update("one", "http://x/1", time_s, NULL, "apple");
	update("one", "http://x/2", time_s, NULL, "apple");
	update("Two", "http://y:81/", time_s, NULL, "apple");
	update("Two", "http://z/", time_s, NULL, "pear");
	collect();
	s = search_open(data);
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	assert_int_equal(a.total, 3);
	assert_true(a.total_exact);
	assert_int_equal(a.facets, 4);
	assert_int_equal(a.facet[0].n, 2);
	assert_str(a.facet[0].shown[0].value, "x");
	assert_int_equal(a.facet[0].shown[0].count, 2);
	assert_str(a.facet[0].shown[1].value, "y:81");
	assert_str(a.facet[1].shown[0].value, "html");
	assert_int_equal(a.facet[1].shown[0].count, 3);
	assert_str(a.facet[2].shown[0].value, "gatherer");
	assert_str(a.facet[3].shown[1].value, "two");
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	search_answer_json(&ask, &a, &JSONW_INIT(&out));
	assert_non_null(strstr(buf_text(&out), "\"facets\":[{\"name\":\"site\",\"values\":[{"
					       "\"value\":\"x\",\"count\":2}"));
	ask.site = STR("Y:81");
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	assert_int_equal(a.total, 1);
	ask.site = STR("*");
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	assert_int_equal(a.total, 0);
	search_close(&s);
}

/* Refreshing and deleting */

static void a_refresh_moves_the_time_and_keeps_the_text(void **state)
{
	uint32_t now_s = time_s, oid;
	(void)state;
	update("tester", "http://x/1", now_s, md5_of('1'), "apple");
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 0);
	oid = object.oid;
	TELL(.op = SOURCE_REFRESH, .url = "http://x/1", .time_s = now_s + 50, .time_to_live_s = 99);
	TELL(.op = SOURCE_REFRESH, .url = "http://x/2"); /* never heard of */
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 0);
	assert_int_equal(object.update_time_s, now_s + 50);
	assert_int_equal(object.time_to_live_s, 99);
	assert_int_equal(object.refresh_rate_s, 7 * 86400);
	assert_int_equal(object.oid, oid);
	assert_str(object.md5, md5_of('1'));
	assert_int_equal(objects_there(), 1);
	TELL(.op = SOURCE_REFRESH, .url = "http://x/1", .time_s = now_s + 10); /* older */
	update("tester", "http://x/1", now_s + 20, NULL, "pear");              /* older too */
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 0);
	assert_int_equal(object.update_time_s, now_s + 50);
	assert_str(shown("http://x/1"), "apple");
}

static void a_time_that_has_not_come_keeps_nothing_out(void **state)
{
	uint32_t now_s = time_s, years = 3 * 365 * 86400;
	(void)state;
	update("tester", "http://x/1", now_s + years, NULL, "apple");
	collect();
	update("tester", "http://x/1", now_s, NULL, "pear");
	collect();
	assert_int_equal(found("pear", "", NULL), 1);
	update("tester", "http://x/1", now_s + years, NULL, "apple");
	collect();
	TELL(.op = SOURCE_REFRESH, .url = "http://x/1", .time_s = now_s + 1);
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 0);
	assert_int_equal(object.update_time_s, now_s + 1);
	update("tester", "http://x/1", now_s + years, NULL, "plum");
	TELL(.op = SOURCE_DELETE, .url = "http://x/1", .time_s = now_s + 2);
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 1);
}

static void a_delete_of_an_older_object_is_passed_over(void **state)
{
	uint32_t now_s = time_s;
	(void)state;
	update("tester", "http://x/1", now_s, NULL, "apple");
	update("tester", "http://x/2", now_s, NULL, "apple");
	update("other", "http://x/3", now_s, NULL, "apple");
	delete_at("http://x/1", now_s - 1);
	delete_at("http://x/2", now_s);
	delete_at("http://x/3", now_s); /* another gatherer's */
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(registered("tester", "http://x/1", &object), 0);
	assert_int_equal(registered("tester", "http://x/2", &object), 1);
	assert_int_equal(registered("other", "http://x/3", &object), 0);
}

static void a_delete_without_a_gatherer_means_what_its_point_told(void **state)
{
	struct source_list *second = source_list_new();
	struct collector_feed both[] = {feed, {.name = "second", .ops = feed.ops, .store = second}};
	struct source_change other = change_of(&(struct thing){
		.op = SOURCE_UPDATE, .gatherer = "other", .url = "http://x/1", .text = "pear"});
	(void)state;
	options.feeds = both;
	options.n = 2;
	again();
	source_list_add(second, &other);
	TELL(.op = SOURCE_UPDATE, .url = "http://x/1", .text = "apple");
	collect();
	TELL(.op = SOURCE_DELETE, .gatherer = "", .host = "", .url = "http://x/1",
	     .time_s = UINT32_MAX);
	collect();
	assert_int_equal(registered("tester", "http://x/1", &object), 1);
	assert_int_equal(registered("other", "http://x/1", &object), 0);
	assert_str(shown("http://x/1"), "pear");
	collector_close(&collector);
	source_list_free(&second);
}

static void what_was_deleted_may_come_again(void **state)
{
	uint32_t now_s = time_s;
	(void)state;
	update("tester", "http://x/1", now_s, NULL, "apple");
	delete_at("http://x/1", now_s + 5);
	collect();
	assert_int_equal(kept(), 0);
	again();
	update("tester", "http://x/1", now_s + 1, NULL, "pear");
	collect();
	assert_str(shown("http://x/1"), "pear");
	assert_int_equal(objects_there(), 1);
}

/* Twins */

static void three_twins(void)
{
	for (int i = 1; i <= 3; i++)
		update("a", arena_printf(&arena, "http://x/%d", i), 0, md5_of('1'), "apple");
	collect();
}

static void twins_are_registered_and_shown_once(void **state)
{
	struct str first;
	(void)state;
	three_twins();
	assert_int_equal(objects_there(), 3);
	assert_int_equal(kept(), 1); /* no text is kept twice */
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/1");
	assert_int_equal(registered("a", "http://x/2", &object), 0);
	assert_int_equal(object.oid, 0);
	again();
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

static void twins_take_over_in_their_order_when_the_first_goes(void **state)
{
	struct str first;
	(void)state;
	three_twins();
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/1");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/2");
	assert_str(shown("http://x/2"), "apple");
	assert_int_equal(registered("a", "http://x/2", &object), 0);
	assert_true(object.oid != 0);
	assert_int_equal(kept(), 1);
	again();
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/2");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/3");
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/3");
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(objects_there(), 0);
	assert_int_equal(kept(), 0);
}

static void a_twin_takes_over_when_the_first_changes(void **state)
{
	struct str first;
	(void)state;
	three_twins();
	update("a", "http://x/1", 0, md5_of('2'), "pear");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/2");
	assert_str(shown("http://x/1"), "pear");
	assert_int_equal(kept(), 2);
	/* back among them it is one more twin */
	update("a", "http://x/1", 0, md5_of('1'), "apple");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/2");
	assert_int_equal(found("pear", "", NULL), 0);
	assert_int_equal(kept(), 1);
	assert_int_equal(objects_there(), 3);
}

static void a_new_time_of_the_first_moves_no_text_to_its_twins(void **state)
{
	struct str first;
	(void)state;
	three_twins();
	update("a", "http://x/1", 0, md5_of('1'), "apple");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/1");
	assert_int_equal(kept(), 1);
}

/* What was shown of it is the text of the first, with its own URL and times. */
static void a_twin_that_takes_over_is_itself(void **state)
{
	struct search *s;
	struct soif doc;
	uint64_t when_s = 0;
	(void)state;
	three_twins();
	assert_int_equal(registered("a", "http://x/2", &object), 0);
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/1");
	collect();
	s = search_open(data);
	assert_int_equal(search_document(s, STR("http://x/2"), &arena, &doc, &err), 0);
	assert_str(doc.url, "http://x/2");
	assert_true(soif_u64(&doc, STR("Update-Time"), &when_s));
	assert_int_equal(when_s, object.update_time_s);
	search_close(&s);
}

static void a_twin_that_cannot_have_the_text_holds_up_no_other(void **state)
{
	struct str first;
	(void)state;
	update("a", "http://x/1", 0, md5_of('1'), "apple");
	update("a", "http://x/2 with blanks", 0, md5_of('1'), "apple");
	update("a", "http://x/3", 0, md5_of('1'), "apple");
	collect();
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/1");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/3");
	assert_int_equal(kept(), 1);
}

/* Reading all of them for each would be 200,000,000 reads. */
static void very_many_twins_are_told_and_taken_over_from(void **state)
{
	enum { MANY = 20000, GONE = 50 };
	struct str first;
	(void)state;
	for (int i = 1; i <= MANY; i++)
		update("a", arena_printf(&arena, "http://x/%d", i), 0, md5_of('1'), "apple");
	collect();
	assert_int_equal(objects_there(), MANY);
	assert_int_equal(kept(), 1);
	for (int i = 1; i <= GONE; i++)
		TELL(.op = SOURCE_DELETE, .gatherer = "a",
		     .url = arena_printf(&arena, "http://x/%d", i));
	collect();
	assert_int_equal(objects_there(), MANY - GONE);
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, arena_printf(&arena, "http://x/%d", GONE + 1));
	assert_int_equal(kept(), 1);
}

static void twins_are_of_one_gatherer_and_have_an_md5(void **state)
{
	(void)state;
	update("a", "http://x/1", 0, md5_of('1'), "apple");
	update("b", "http://x/2", 0, md5_of('1'), "apple");
	update("a", "http://x/3", 0, NULL, "apple");
	update("a", "http://x/4", 0, NULL, "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 4);
	assert_int_equal(kept(), 4);
}

static void twins_of_one_batch_leave_what_they_would_in_many(void **state)
{
	struct str first;
	(void)state;
	for (int i = 1; i <= 3; i++)
		update("a", arena_printf(&arena, "http://x/%d", i), 0, md5_of('1'), "apple");
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/1");
	update("a", "http://x/2", 0, md5_of('2'), "pear");
	collect();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://x/3");
	assert_str(shown("http://x/2"), "pear");
	assert_int_equal(kept(), 2);
}

/* One URL of several gatherers */

static void a_url_of_64_gatherers_is_taken_of_no_other(void **state)
{
	(void)state;
	for (int i = 1; i <= 65; i++)
		update(arena_printf(&arena, "%d", i), "http://x/1", 0, NULL, "apple");
	update("65", "http://x/2", 0, NULL, "apple");
	collect();
	assert_int_equal(objects_there(), 65);
	assert_int_equal(registered("64", "http://x/1", &object), 0);
	assert_int_equal(registered("65", "http://x/1", &object), 1);
	assert_int_equal(registered("65", "http://x/2", &object), 0);
	/* those that are there change as ever, and one that goes makes room */
	update("1", "http://x/1", 0, NULL, "pear");
	TELL(.op = SOURCE_DELETE, .gatherer = "2", .url = "http://x/1");
	update("65", "http://x/1", 0, NULL, "plum");
	collect();
	assert_int_equal(objects_there(), 65);
	assert_int_equal(registered("2", "http://x/1", &object), 1);
	assert_int_equal(registered("65", "http://x/1", &object), 0);
	assert_str(shown("http://x/1"), "plum");
}

static void of_several_gatherers_the_newest_is_shown_then_the_next(void **state)
{
	uint32_t now_s = time_s;
	(void)state;
	update("a", "http://x/1", now_s + 2, NULL, "apple");
	update("b", "http://x/1", now_s + 3, NULL, "pear");
	update("c", "http://x/1", now_s + 1, NULL, "plum");
	collect();
	assert_int_equal(objects_there(), 3);
	assert_int_equal(kept(), 3);
	assert_str(shown("http://x/1"), "pear");
	assert_int_equal(found("apple OR pear OR plum", "", NULL), 1);
	TELL(.op = SOURCE_DELETE, .gatherer = "b", .url = "http://x/1", .time_s = now_s + 9);
	collect();
	assert_str(shown("http://x/1"), "apple");
	assert_int_equal(found("pear", "", NULL), 0);
	TELL(.op = SOURCE_REFRESH, .gatherer = "c", .url = "http://x/1", .time_s = now_s + 9);
	collect();
	assert_str(shown("http://x/1"), "plum");
	assert_int_equal(found("apple", "", NULL), 0);
	again();
	TELL(.op = SOURCE_DELETE, .gatherer = "c", .url = "http://x/1", .time_s = now_s + 9);
	collect();
	assert_str(shown("http://x/1"), "apple");
	assert_int_equal(kept(), 1);
	TELL(.op = SOURCE_DELETE, .gatherer = "a", .url = "http://x/1", .time_s = now_s + 9);
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(kept(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_newer_one_replaces_and_an_older_one_is_passed_over),
		TEST(the_same_one_is_the_same_unless_its_md5_differs),
		TEST(what_lacks_something_mandatory_is_refused),
		TEST(what_is_absent_has_the_documents_defaults),
		TEST(attributes_are_found_by_their_names),
		TEST(expressions_see_attributes_by_the_names_they_are_searched_by),
		TEST(matches_are_counted_by_site_type_and_way),
		TEST(a_refresh_moves_the_time_and_keeps_the_text),
		TEST(a_time_that_has_not_come_keeps_nothing_out),
		TEST(a_delete_of_an_older_object_is_passed_over),
		TEST(a_delete_without_a_gatherer_means_what_its_point_told),
		TEST(what_was_deleted_may_come_again),
		TEST(twins_are_registered_and_shown_once),
		TEST(twins_take_over_in_their_order_when_the_first_goes),
		TEST(a_twin_takes_over_when_the_first_changes),
		TEST(a_new_time_of_the_first_moves_no_text_to_its_twins),
		TEST(a_twin_that_takes_over_is_itself),
		TEST(a_twin_that_cannot_have_the_text_holds_up_no_other),
		TEST(very_many_twins_are_told_and_taken_over_from),
		TEST(twins_are_of_one_gatherer_and_have_an_md5),
		TEST(twins_of_one_batch_leave_what_they_would_in_many),
		TEST(a_url_of_64_gatherers_is_taken_of_no_other),
		TEST(of_several_gatherers_the_newest_is_shown_then_the_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
