/* The words index follows the registry: what it lacks is told to it, and one that is lost, damaged
 * or of other settings is built again. */
#include "broker/indexer.h"
#include "collecting.h"

static void tell_some(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		TELL(.op = SOURCE_UPDATE, .url = arena_printf(&arena, "http://a/%u", i),
		     .text = "apple");
	collect();
}

/* All is found again, and no source told it a second time. */
static void assert_built_again(unsigned n)
{
	lose_the_list();
	options.n = 0; /* nobody tells anything */
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), n);
	assert_int_equal(kept(), n);
	verify_all();
	assert_int_equal(access(path_of("words.new"), F_OK), -1);
}

static void a_lost_index_is_built_again_from_the_documents(void **state)
{
	(void)state;
	tell_some(20);
	collector_close(&collector);
	assert_int_equal(tree_remove(path_of("words"), &err), 0);
	assert_built_again(20);
}

static void a_damaged_one_is_built_again(void **state)
{
	(void)state;
	tell_some(20);
	collector_close(&collector);
	assert_int_equal(file_replace(path_of("words/manifest"), STR("damaged"), 0644, &err), 0);
	assert_built_again(20);
}

/* An index as another version would have made it: without columns. It has one document, which the
 * registry does not have. */
static void make_one_of_other_settings(void)
{
	struct words_writer *w;
	struct words_attr attr = {STR("full-text"), STR("ancient")};
	struct words_doc doc = {.key = STR("http://old/"), .oid = 1, .attr = &attr, .n = 1};
	assert_int_equal(tree_remove(path_of("words"), &err), 0);
	assert_int_equal(words_writer_open(&w, path_of("words"), NULL, &err), 0);
	assert_int_equal(words_add(w, &doc, &err), 0);
	assert_int_equal(words_commit(w, NULL, &err), 0);
	words_writer_close(&w);
}

static void one_of_other_settings_answers_until_the_new_one_is_there(void **state)
{
	(void)state;
	tell_some(20);
	collector_close(&collector);
	make_one_of_other_settings();
	begin();
	assert_int_equal(found("ancient", "", NULL), 1);
	collect();
	assert_int_equal(found("ancient", "", NULL), 0);
	assert_int_equal(found("apple", "", NULL), 20);
	collector_close(&collector);
	assert_built_again(20);
}

/* What comes while it is built is in it too. */
static void what_comes_while_it_is_built_is_found(void **state)
{
	(void)state;
	tell_some(20);
	collector_close(&collector);
	make_one_of_other_settings();
	TELL(.op = SOURCE_UPDATE, .url = "http://a/0", .text = "pear");
	TELL(.op = SOURCE_DELETE, .url = "http://a/1");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/new", .text = "apple");
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 19);
	assert_int_equal(found("pear", "", NULL), 1);
	tell(SOURCE_UPDATE, "http://a/last", "", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 20);
	assert_int_equal(kept(), 21);
}

static void a_new_one_that_was_being_built_goes_on(void **state)
{
	(void)state;
	tell_some(20);
	collector_close(&collector);
	make_one_of_other_settings();
	begin(); /* words.new is there, and empty */
	assert_int_equal(access(path_of("words.new/manifest"), F_OK), 0);
	again();
	collect();
	assert_int_equal(found("apple", "", NULL), 20);
	assert_int_equal(access(path_of("words.new"), F_OK), -1);
	/* and one that nobody needs is removed */
	collector_close(&collector);
	assert_int_equal(dir_make(path_of("words.new"), DIR_MODE, &err), 0);
	begin();
	assert_int_equal(access(path_of("words.new"), F_OK), -1);
}

/* The registry has it, and the index does not: its commit failed. */
static void what_the_index_lacks_after_a_kill_is_told_to_it(void **state)
{
	(void)state;
	tell_some(3);
	TELL(.op = SOURCE_UPDATE, .url = "http://a/0", .text = "pear");
	TELL(.op = SOURCE_DELETE, .url = "http://a/1");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/7", .text = "plum");
	again_with("file.rename/words=eio@1+");
	int rc;
	while ((rc = collector_step(collector, clock_mono_us(), &err)) == 0)
		;
	assert_int_equal(rc < 0 ? rc : collector_commit(collector, &err), -1);
	assert_true(fault_fired() > 0);
	assert_int_equal(found("apple", "", NULL), 3);
	collector_close(&collector);
	assert_int_equal(fault_arm("", &err), 0);
	options.n = 0;
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(found("plum", "", NULL), 1);
	assert_int_equal(kept(), 3);
	verify_all();
}

static void an_index_that_is_ahead_of_the_registry_is_built_again(void **state)
{
	static const char *const gone[] = {"registry", "registry.commit", "registry.tables",
					   "docs"};
	(void)state;
	tell_some(20);
	collector_close(&collector);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		assert_true(tree_remove(path_of(gone[i]), &err) >= 0);
	lose_the_list();
	tell(SOURCE_UPDATE, "http://b/1", "", "pear");
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

/* What comes first goes into it as it comes, not by way of the documents. */
static void one_of_an_empty_registry_follows_at_once(void **state)
{
	struct registry *registry;
	struct registry_opened was;
	struct docstore *docs;
	struct docstore_opened is;
	struct indexer *ix;
	(void)state;
	collector_close(&collector);
	const char *folder = arena_printf(&arena, "%s/broker", data);
	assert_int_equal(
		registry_open(&registry, folder, &(struct registry_options){0}, &was, &err), 0);
	assert_int_equal(
		docstore_open(&docs, path_of("docs"), &(struct docstore_mark){0}, &is, &err), 0);
	assert_int_equal(indexer_open(&ix, folder, registry, docs, &err), 0);
	assert_true(indexer_follows(ix));
	indexer_close(&ix);
	docstore_close(&docs);
	registry_close(&registry);
}

static void lost_tables_of_registry_and_documents_lose_nothing(void **state)
{
	(void)state;
	tell_some(20);
	TELL(.op = SOURCE_DELETE, .url = "http://a/1");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/2", .text = "pear");
	collect();
	collector_close(&collector);
	assert_true(tree_remove(path_of("registry.tables"), &err) >= 0);
	assert_int_equal(tree_remove(path_of("docs/table"), &err), 0);
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 18);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(kept(), 19); /* what had been deleted is so again */
	verify_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lost_index_is_built_again_from_the_documents),
		TEST(a_damaged_one_is_built_again),
		TEST(one_of_other_settings_answers_until_the_new_one_is_there),
		TEST(what_comes_while_it_is_built_is_found),
		TEST(a_new_one_that_was_being_built_goes_on),
		TEST(what_the_index_lacks_after_a_kill_is_told_to_it),
		TEST(an_index_that_is_ahead_of_the_registry_is_built_again),
		TEST(one_of_an_empty_registry_follows_at_once),
		TEST(lost_tables_of_registry_and_documents_lose_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
