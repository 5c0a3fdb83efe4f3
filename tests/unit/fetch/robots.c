/* Cases written from RFC 9309, by section. Every one is also put to the slow reader. */
#include "robots_unit.h"

#include "support/robots_slow.h"

/* want: the line that decides, negative where it disallows; 0: allowed, no line does. */
struct answer {
	const char *path;
	int want;
};

static void ask(struct str file, const char *agent, const struct answer *answers)
{
	struct buf form = compiled(file, agent);
	for (const struct answer *a = answers; a->path; a++) {
		struct str path = str_of(a->path);
		int got = as_number(robots_verdict(buf_str(&form), path));
		int slow = as_number(slow_verdict(file, str_of(agent), path));
		if (got != a->want || slow != a->want)
			fail_msg("%s for %s: got %d, slowly %d, want %d, in\n" STR_FMT, a->path,
				 agent, got, slow, a->want, STR_ARG(file));
	}
	buf_free(&form);
}

#define ASK_AS(agent, file, ...) \
	ask(STR(file), agent, (const struct answer[]){__VA_ARGS__, {NULL, 0}})
#define ASK(file, ...) ASK_AS("garner", file, __VA_ARGS__)
/* The rule alone, in line 2. */
#define RULE(rule, ...) ASK("user-agent: *\n" rule "\n", __VA_ARGS__)

/* 2.2.1 */
static void our_group_counts_and_else_the_one_for_all(void **state)
{
	(void)state;
#define THREE                                \
	"User-agent: *\nDisallow: /all\n"    \
	"User-agent: garner\nDisallow: /g\n" \
	"User-agent: other-bot\nDisallow: /o\n"
	ASK_AS("garner", THREE, {"/g", -4}, {"/all", 0}, {"/o", 0});
	ASK_AS("other-bot", THREE, {"/g", 0}, {"/all", 0}, {"/o", -6});
	ASK_AS("third", THREE, {"/g", 0}, {"/all", -2}, {"/o", 0});
	ASK_AS("", THREE, {"/g", 0}, {"/all", -2});
	ASK_AS("*", THREE, {"/g", 0}, {"/all", -2});
	ASK("User-agent: other\nDisallow: /\n", {"/", 0}, {"/a", 0});
	ASK("", {"/", 0}, {"", 0}, {"/a?b", 0});
	ASK("User-agent: *\nDisallow: /\nUser-agent: garner\n", {"/", 0});
	ASK("User-agent: garner\nUser-agent: *\nDisallow: /\n", {"/", -3});
	ASK("User-agent: garner\nDisallow:\n\nUser-agent: *\nDisallow: /\n", {"/a", 0});
}

static void groups_for_the_same_token_are_one(void **state)
{
	(void)state;
	ASK("user-agent: garner\ndisallow: /a\n"
	    "user-agent: *\ndisallow: /b\n"
	    "user-agent: GARNER\ndisallow: /c\nallow: /a/c\n",
	    {"/a", -2}, {"/b", 0}, {"/c", -6}, {"/a/c", 7}, {"/d", 0});
	ASK("user-agent: *\ndisallow: /a\nuser-agent: x\ndisallow: /b\nuser-agent: *\ndisallow: "
	    "/c\n",
	    {"/a", -2}, {"/b", 0}, {"/c", -6});
	ASK("user-agent: x\nuser-agent: garner\nuser-agent: y\ndisallow: /a\nallow: /a/b\n",
	    {"/a", -4}, {"/a/b", 5});
	ASK("user-agent: x\ndisallow: /a\nuser-agent: garner\ndisallow: /b\n", {"/a", 0},
	    {"/b", -4});
	ASK("user-agent: garner\nuser-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b\n",
	    {"/a", -3}, {"/b", 0});
}

static void a_product_token_is_compared_whatever_its_case(void **state)
{
	(void)state;
#define FOR(value) "User-agent: " value "\nDisallow: /g\nUser-agent: *\nDisallow: /s\n"
	ASK(FOR("garner"), {"/g", -2}, {"/s", 0});
	ASK(FOR("GaRnEr"), {"/g", -2}, {"/s", 0});
	ASK(FOR("garner/2.1"), {"/g", -2}, {"/s", 0});
	ASK(FOR("garner 2 beta"), {"/g", -2}, {"/s", 0});
	ASK(FOR("garner*"), {"/g", -2}, {"/s", 0});
	ASK(FOR("garner # us"), {"/g", -2}, {"/s", 0});
	ASK(FOR("gar"), {"/g", 0}, {"/s", -4});
	ASK(FOR("garner-images"), {"/g", 0}, {"/s", -4});
	ASK(FOR("garner_x"), {"/g", 0}, {"/s", -4});
	ASK(FOR("garner2"), {"/g", 0}, {"/s", -4});
	ASK(FOR("garner/2"), {"/g", -2}, {"/s", 0});
	ASK_AS("garner2", FOR("garner2"), {"/g", -2}, {"/s", 0});
	ASK_AS("garner2", FOR("garner"), {"/g", 0}, {"/s", -4});
	ASK_AS("360bot/1", FOR("360Bot 7"), {"/g", -2}, {"/s", 0});
	ASK(FOR("the garner"), {"/g", 0}, {"/s", -4});
	ASK(FOR(""), {"/g", 0}, {"/s", -4});
	ASK(FOR("/garner"), {"/g", 0}, {"/s", -4});
	ASK_AS("Garner/1.0 (+https://e.org)", FOR("garner"), {"/g", -2}, {"/s", 0});
	ASK_AS("Foo_Bar-x", FOR("foo_bar-X"), {"/g", -2}, {"/s", 0});
	ASK("User-agent: * \nDisallow: /a\n", {"/a", -2});
	ASK("User-agent: * and all\nDisallow: /a\n", {"/a", -2});
	ASK("User-agent: *bot\nDisallow: /a\n", {"/a", 0});
}

/* 2.1, 2.2 */
static void rules_before_any_user_agent_do_not_count(void **state)
{
	(void)state;
	ASK("disallow: /a\nuser-agent: *\ndisallow: /b\n", {"/a", 0}, {"/b", -3});
	ASK("disallow: /\n", {"/", 0});
	ASK("user-agent garner\ndisallow /a\n", {"/a", -2}, {"/b", 0});
}

static void other_lines_do_not_end_a_group(void **state)
{
	(void)state;
	ASK("user-agent: garner\nsitemap: https://e.org/s\nuser-agent: x\ndisallow: /a\n",
	    {"/a", -4});
	ASK("user-agent: garner\n\n\ndisallow: /a\n\nfoo: bar\n\ndisallow: /b\n", {"/a", -4},
	    {"/b", -8});
	ASK("user-agent: garner\ncrawl-delay: 3\nuser-agent: x\ndisallow: /a\n", {"/a", -4});
	ASK("user-agent: garner\nhost: e.org\nclean-param: a /\ndisallow: /a\n", {"/a", -4});
	ASK("user-agent: garner\n<html>\nnonsense\n: /\ndisallow: /a\n", {"/a", -5});
	ASK("user-agent: garner\ndisallow: nonsense\nuser-agent: x\ndisallow: /a\n", {"/a", 0});
	ASK("user-agent: garner\ndisallow:\nuser-agent: x\ndisallow: /a\n", {"/a", 0});
}

static void lines_are_read_liberally(void **state)
{
	(void)state;
	RULE("disallow: /a", {"/a", -2});
	RULE("DISALLOW: /a", {"/a", -2}, {"/A", 0});
	RULE("Disallow:/a", {"/a", -2});
	RULE("disallow :/a", {"/a", -2});
	RULE("  \tdisallow \t : \t /a \t ", {"/a", -2}, {"/a ", -2});
	RULE("disallow: /a#b", {"/a", -2}, {"/ab", -2});
	RULE("disallow: /a # all of it", {"/a", -2}, {"/a/", -2});
	RULE("#disallow: /a", {"/a", 0});
	RULE("disallow: # nothing", {"/a", 0});
	RULE("disallow /a", {"/a", -2});
	RULE("disallow\t/a:b", {"/a:b", -2}, {"/a", 0});
	RULE("disallow", {"/a", 0});
	RULE("disallow:", {"/", 0}, {"/a", 0});
	RULE("allow:", {"/", 0}, {"/a", 0});
	RULE("disallow: :/a", {"/a", 0});
	RULE("disallow /a b", {"/a", 0}, {"/a b", 0});
	RULE("disallow  \t /a", {"/a", -2});
	RULE("disallowed: /a", {"/a", -2});
	RULE("dis allow: /a", {"/a", 0});
	RULE("disallow: /a b", {"/a%20b", -2}, {"/a", 0}, {"/a b", -2});
}

static void keys_are_known_as_people_mistype_them(void **state)
{
	(void)state;
	static const struct {
		const char *key;
		bool disallows;
	} keys[] = {
		{"disallow", true},    {"Dissallow", true}, {"dissalow", true},
		{"DISALOW", true},     {"diasllow", true},  {"disallaw", true},
		{"disallows", true},   {"dissalow ", true}, {"disalllow", false},
		{"dis-allow", false},  {"isallow", false},  {"disallow x", false},
		{"x disallow", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		CLEANUP(buf_free) struct buf file = BUF_INIT(256);
		buf_printf(&file, "user-agent: *\n%s: /a\n", keys[i].key);
		ask(buf_str(&file), "garner",
		    (const struct answer[]){{"/a", keys[i].disallows ? -2 : 0}, {NULL, 0}});
	}
	static const char *const agents[] = {"user-agent", "useragent", "User Agent", "USERAGENT ",
					     "user-agents"};
	for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
		CLEANUP(buf_free) struct buf file = BUF_INIT(256);
		buf_printf(&file, "%s: garner\ndisallow: /a\nallowed: /ab\n", agents[i]);
		ask(buf_str(&file), "garner",
		    (const struct answer[]){{"/a", -2}, {"/ab", 3}, {NULL, 0}});
	}
	ASK("user agent garner\ndisallow: /a\n", {"/a", 0}); /* three words */
	ASK("useragent garner\ndissalow /a\n", {"/a", -2});
}

static void lines_end_in_any_way(void **state)
{
	(void)state;
	ASK("user-agent: *\rdisallow: /a\rdisallow: /b", {"/a", -2}, {"/b", -3});
	ASK("user-agent: *\r\ndisallow: /a\r\ndisallow: /b\r\n", {"/a", -2}, {"/b", -3});
	ASK("user-agent: *\n\rdisallow: /a\n\rdisallow: /b", {"/a", -3}, {"/b", -5});
	ASK("\r\n\r\nuser-agent: *\r\r\ndisallow: /a\n", {"/a", -5}, {"/ab", -5});
	ASK("user-agent: *\ndisallow: /a", {"/a", -2});
}

static void a_line_can_be_shown(void **state)
{
	(void)state;
	struct str file = STR("\xef\xbb\xbf"
			      "1\r\n2\r\r4\n\n6 # x");
	static const char *const want[] = {"", "1", "2", "", "4", "", "6 # x", "", ""};
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
		assert_str(robots_line(file, i), want[i]);
	assert_str(robots_line(STR(""), 1), "");
}

static void a_byte_order_mark_is_skipped_even_in_part(void **state)
{
	(void)state;
	ASK("\xef\xbb\xbfuser-agent: *\ndisallow: /a\n", {"/a", -2});
	ASK("\xef\xbbuser-agent: *\ndisallow: /a\n", {"/a", -2});
	ASK("\xefuser-agent: *\ndisallow: /a\n", {"/a", -2});
	ASK("\xbfuser-agent: *\ndisallow: /a\n", {"/a", 0});
	ASK("\xef\xbb\xbf", {"/a", 0});
	ASK("\xef\xbb", {"/a", 0});
	ASK("user-agent: *\n\xef\xbb\xbf"
	    "disallow: /a\n",
	    {"/a", 0});
}

/* 2.2.2 */
static void the_longest_pattern_decides(void **state)
{
	(void)state;
	ASK("user-agent: *\nallow: /example/page/\ndisallow: /example/page/disallowed.gif\n",
	    {"/example/page/", 2}, {"/example/page/a.gif", 2}, {"/example/page/disallowed.gif", -3},
	    {"/example/page/disallowed.gif2", -3}, {"/example/page", 0}, {"/example/", 0});
	ASK("user-agent: *\ndisallow: /\nallow: /a\ndisallow: /a/b\nallow: /a/b/c\n", {"/", -2},
	    {"/b", -2}, {"/a", 3}, {"/ab", 3}, {"/a/b", -4}, {"/a/bb", -4}, {"/a/b/", -4},
	    {"/a/b/c", 5}, {"/a/b/d", -4}, {"/a/a", 3}, {"/a/b/cc", 5});
	ASK("user-agent: *\nallow: /a/b/c\ndisallow: /a/b\nallow: /a\ndisallow: /\n", {"/", -5},
	    {"/a", 4}, {"/a/b", -3}, {"/a/b/c", 2});
	ASK("user-agent: *\nallow: /p\ndisallow: /\n", {"/page", 2}, {"/q", -3});
	ASK("user-agent: *\nallow: /folder\ndisallow: /folder\n", {"/folder/page", 2});
	ASK("user-agent: *\ndisallow: /folder\nallow: /folder\n", {"/folder/page", 3});
	ASK("user-agent: *\nallow: /page\ndisallow: /*.htm\n", {"/page.htm", -3}, {"/page", 2});
	ASK("user-agent: *\nallow: /page\ndisallow: /*.ph\n", {"/page.php", 2});
	ASK("user-agent: *\nallow: /$\ndisallow: /\n", {"/", 2}, {"/page.htm", -3}, {"/?", -3});
	ASK("user-agent: *\ndisallow: /x\ndisallow: /x\n", {"/x", -2});
	ASK("user-agent: *\ndisallow: /*b\ndisallow: /ab\nallow: /a*\n", {"/ab", 4}, {"/b", -2});
	ASK("user-agent: *\ndisallow: /a*c\ndisallow: /*bc\nallow: /\n", {"/abc", -2}, {"/bc", -3},
	    {"/a", 4});
}

static void rules_are_beginnings_and_know_case(void **state)
{
	(void)state;
	RULE("disallow: /fish", {"/fish", -2}, {"/fish.html", -2}, {"/fish/salmon.html", -2},
	     {"/fishheads", -2}, {"/fish.php?id=x", -2}, {"/Fish.asp", 0}, {"/catfish", 0},
	     {"/?id=fish", 0}, {"/desert/fish", 0}, {"/fis", 0}, {"/", 0});
	RULE("disallow: /fish/", {"/fish/", -2}, {"/fish/a", -2}, {"/fish", 0}, {"/fish.html", 0},
	     {"/animals/fish/", 0});
	RULE("disallow: /", {"/", -2}, {"", -2}, {"?a", -2}, {"a", -2}, {"#x", -2});
	RULE("disallow: /?", {"?a", -2}, {"/?", -2}, {"/", 0}, {"", 0});
	RULE("disallow: /a", {"/#/a", 0}, {"/a#b", -2}, {"//a", 0}, {"/./a", 0});
	RULE("disallow: a", {"/a", 0}, {"a", 0});
	RULE("disallow: ?a", {"/?a", 0});
	RULE("disallow: $", {"/", 0});
	RULE("disallow: https://e.org/a", {"/a", 0});
}

/* 2.2.3 */
static void stars_and_the_final_dollar_are_special(void **state)
{
	(void)state;
	RULE("disallow: *", {"/", -2}, {"/a", -2});
	RULE("disallow: /*", {"/", -2}, {"/a", -2});
	RULE("disallow: /fish*", {"/fish", -2}, {"/fishy", -2}, {"/fis", 0});
	RULE("disallow: /*.php", {"/index.php", -2}, {"/a/b.php?c", -2}, {"/.php", -2},
	     {"/a.php/b", -2}, {"/a.ph", 0}, {"/a.PHP", 0});
	RULE("disallow: /*.php$", {"/index.php", -2}, {"/a/b.php", -2}, {"/a.php?b", 0},
	     {"/a.php/", 0}, {"/a.php5", 0}, {"/a.php.php", -2}, {"/a.php?b.php", -2});
	RULE("disallow: /fish*.php", {"/fish.php", -2}, {"/fishheads/catfish.php?p", -2},
	     {"/Fish.PHP", 0}, {"/fish", 0});
	RULE("disallow: /this/*/exactly", {"/this/a/exactly", -2}, {"/this/a/b/exactlyx", -2},
	     {"/this/exactly", 0}, {"/this//exactly", -2});
	RULE("disallow: /a$", {"/a", -2}, {"/a/", 0}, {"/ab", 0}, {"/", 0}, {"/a?", 0});
	RULE("disallow: /a*$", {"/a", -2}, {"/abc", -2}, {"/b", 0});
	RULE("disallow: *a$", {"/a", -2}, {"/ba", -2}, {"/ab", 0}, {"/aba", -2});
	RULE("disallow: /a**b", {"/ab", -2}, {"/axb", -2}, {"/a", 0});
	RULE("disallow: /*ab*ab$", {"/abab", -2}, {"/ab", 0}, {"/ababab", -2}, {"/abba", 0});
	RULE("disallow: /*aba*ba$", {"/ababa", -2}, {"/aba", 0}, {"/abaaba", -2});
	RULE("disallow: /a$b", {"/a$b", -2}, {"/a", 0}, {"/a%24bc", -2});
	RULE("disallow: /a$$", {"/a$", -2}, {"/a", 0}, {"/a$$", 0});
	RULE("disallow: /$*", {"/$x", -2}, {"/", 0});
	RULE("disallow: /path/file-with-a-%2A.html", {"/path/file-with-a-*.html", -2},
	     {"/path/file-with-a-%2a.html", -2}, {"/path/file-with-a-x.html", 0});
	RULE("disallow: /path/foo-%24", {"/path/foo-$", -2}, {"/path/foo-", 0},
	     {"/path/foo-%24a", -2});
	RULE("disallow: /*?*=", {"/a?b=", -2}, {"/a?b", 0}, {"/a=?", 0}, {"/a=?=", -2});
	RULE("disallow: */b", {"/b", -2}, {"/a/b", -2}, {"/ab", 0});
}

/* 2.2.2, its table of encodings */
static void percent_encoding_is_the_same_on_both_sides(void **state)
{
	(void)state;
	RULE("disallow: /foo/bar?baz=quz", {"/foo/bar?baz=quz", -2}, {"/foo/bar?baz", 0});
	RULE("disallow: /foo/bar?baz=https://foo.bar", {"/foo/bar?baz=https://foo.bar", -2},
	     {"/foo/bar?baz=https%3A%2F%2Ffoo.bar", -2}, {"/foo/bar?baz=https", 0});
	RULE("disallow: /foo/bar?baz=https%3a%2F%2Ffoo.bar", {"/foo/bar?baz=https://foo.bar", -2},
	     {"/foo/bar?baz=https%3A%2F%2ffoo.bar", -2});
	RULE("disallow: /foo/bar/\xe3\x83\x84", {"/foo/bar/%E3%83%84", -2},
	     {"/foo/bar/%e3%83%84", -2}, {"/foo/bar/\xe3\x83\x84", -2}, {"/foo/bar/", 0});
	RULE("disallow: /foo/bar/%E3%83%84", {"/foo/bar/\xe3\x83\x84", -2},
	     {"/foo/bar/%e3%83%84x", -2}, {"/foo/bar/%E3%83", 0});
	RULE("disallow: /foo/bar/%e3%83%84", {"/foo/bar/\xe3\x83\x84", -2});
	RULE("disallow: /foo/bar/%62%61%7A", {"/foo/bar/baz", -2}, {"/foo/bar/%62%61%7a", -2},
	     {"/foo/bar/%62az", -2}, {"/foo/bar/", 0});
	RULE("disallow: /foo/bar/baz", {"/foo/bar/%62%61%7A", -2});
	RULE("disallow: /%7Ejoe/", {"/~joe/", -2}, {"/%7ejoe/", -2}, {"/%7Ejoe%2F", 0});
	RULE("disallow: /~joe/", {"/%7Ejoe/x", -2}, {"/~joe", 0});
	RULE("disallow: /a%2Fb", {"/a%2fb", -2}, {"/a/b", 0});
	RULE("disallow: /a/b", {"/a%2Fb", 0}, {"/a/b", -2});
	RULE("disallow: /a%3Fb", {"/a?b", 0}, {"/a%3fb", -2});
	RULE("disallow: /a?b", {"/a%3Fb", 0}, {"/a?b", -2});
	RULE("disallow: /a%3Db", {"/a=b", 0}, {"/a%3db", -2});
	RULE("disallow: /a%20b", {"/a b", -2}, {"/a%20b", -2}, {"/a+b", 0});
	RULE("disallow: /a|b", {"/a%7Cb", -2}, {"/a|b", -2});
	RULE("disallow: /100%", {"/100%25", -2}, {"/100%", -2}, {"/100", 0});
	RULE("disallow: /a%zzb", {"/a%zzb", -2}, {"/a%25zzb", -2}, {"/ab", 0});
	RULE("disallow: /%2", {"/%2", -2}, {"/%2F", 0}, {"/%252", -2});
	RULE("disallow: /*?f[", {"/a?f[1]", -2}, {"/a?f%5B1%5D", -2}, {"/f%5B", 0});
	RULE("disallow: /*u=%2F", {"/a?u=%2Fx", -2}, {"/a?u=/x", -2}, {"/u=/", 0}, {"/u=%2f", -2});
	RULE("disallow: /*/feed", {"/a/feed", -2}, {"/a?u=/feed", -2}, {"/feed", 0});
	RULE("disallow: /a?b=%26", {"/a?b=&", 0}, {"/a?b=%26", -2});
	RULE("disallow: /%2A", {"/*", -2}, {"/a", 0});
	RULE("disallow: /%00", {"/%00", -2}, {"/", 0});
	ASK("user-agent: *\nallow: /%7E\ndisallow: /~a\n", {"/~", 2}, {"/~a", -3});
	ASK("user-agent: *\ndisallow: /\xc3\xa9$\nallow: /%C3%A9%*\n", {"/\xc3\xa9", -2});
}

/* 2.2.2: "The /robots.txt URI is implicitly allowed." */
static void the_file_itself_is_always_allowed(void **state)
{
	(void)state;
	ASK("user-agent: *\ndisallow: /\ndisallow: /robots.txt\n", {"/robots.txt", 0},
	    {"/robots%2Etxt", 0}, {"/robots.txt#a", 0}, {"robots.txt", 0}, {"/robots.txt?a", -3},
	    {"/robots.txt/", -3}, {"/a/robots.txt", -2}, {"/Robots.txt", -2});
}

/* 5.1, 5.2 */
static void the_examples_of_the_rfc_hold(void **state)
{
	(void)state;
#define EXAMPLE                                                                    \
	"User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\n"                   \
	"Allow: /publications/\n\n"                                                \
	"User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\n"               \
	"Allow:/example/allowed.gif\n\n"                                           \
	"User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n" \
	"User-Agent: quxbot\n\nEOF\n"
	ASK_AS("other", EXAMPLE, {"/a.gif", -2}, {"/example/a", -3}, {"/publications/", 4},
	       {"/publications/a.gif", 4}, {"/a.gif?", 0});
	ASK_AS("foobot", EXAMPLE, {"/", -7}, {"/example/page.html", 8}, {"/example/allowed.gif", 9},
	       {"/publications/", -7});
	ASK_AS("barbot", EXAMPLE, {"/example/page.html", -13}, {"/a.gif", 0});
	ASK_AS("BazBot", EXAMPLE, {"/example/page.html", -13}, {"/example/", 0});
	ASK_AS("quxbot", EXAMPLE, {"/a.gif", 0}, {"/example/", 0});
	ASK_AS("foobot",
	       "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallow.gif\n"
	       "\nUser-Agent: foobot\nAllow: /example/\nDisallow: /example\n",
	       {"/example/page/disallow.gif", -3}, {"/example/page/a", 2}, {"/example/", 6},
	       {"/example", -7});
}

static int64_t delay(const char *file)
{
	struct buf form = compiled(str_of(file), "garner");
	int64_t us = robots_crawl_delay_us(buf_str(&form));
	buf_free(&form);
	return us;
}

static void the_delay_of_our_groups_is_handed_out(void **state)
{
	(void)state;
#define DELAY(value) delay("user-agent: *\ncrawl-delay: " value "\ndisallow: /a\n")
	assert_int_equal(DELAY("10"), 10000000);
	assert_int_equal(DELAY("0"), 0);
	assert_int_equal(DELAY("0.5"), 500000);
	assert_int_equal(DELAY(".25"), 250000);
	assert_int_equal(DELAY("2."), 2000000);
	assert_int_equal(DELAY("1.0001"), 1001000);
	assert_int_equal(DELAY("1.0000"), 1000000);
	assert_int_equal(DELAY("3 seconds"), 3000000);
	assert_int_equal(DELAY("3s"), -1);
	assert_int_equal(DELAY("-3"), -1);
	assert_int_equal(DELAY("."), -1);
	assert_int_equal(DELAY(""), -1);
	assert_int_equal(DELAY("99999999999999999999999999.9"), (int64_t)UINT32_MAX * 1000);
	assert_int_equal(delay("user-agent: *\ndisallow: /\n"), -1);
	assert_int_equal(delay("crawl-delay: 3\nuser-agent: *\n"), -1);
	assert_int_equal(delay("user-agent: x\ncrawl-delay: 3\n"), -1);
	assert_int_equal(delay("user-agent: *\ncrawl-delay: 3\nuser-agent: garner\nallow: /\n"),
			 -1);
	assert_int_equal(delay("user-agent: garner\ncrawl-delay: 3\nuser-agent: x\ndisallow: /a\n"
			       "crawl-delay: 9\nuser-agent: garner\ncrawl-delay: 2\n"),
			 9000000);
}

static void sitemaps_are_handed_out_wherever_they_stand(void **state)
{
	(void)state;
	struct buf form = compiled(STR("Sitemap: https://e.org/1.xml\nuser-agent: x\n"
				       "sitemap:  https://e.org/2?a=b:c  # two\n\nSITEMAP\t/3\n"
				       "sitemap:\nuser-agent: garner\nallow: /\nsitemap: \xff\n"
				       "Site-map: https://e.org/4\nSitemap https://e.org/5\n"
				       "Sitemap https://e.org/6 7\n"),
				   "garner");
	struct robots_sitemaps it = robots_sitemaps_of(buf_str(&form));
	static const char *const want[] = {
		"https://e.org/1.xml", "https://e.org/2?a=b:c", "/3", "\xff",
		"https://e.org/4",     "https://e.org/5"};
	struct str url;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_int_equal(robots_sitemap_next(&it, &url), 0);
		assert_str(url, want[i]);
	}
	assert_int_equal(robots_sitemap_next(&it, &url), 1);
	assert_int_equal(robots_sitemap_next(&it, &url), 1);
	assert_true(form_names_us(buf_str(&form)));
	buf_free(&form);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_group_counts_and_else_the_one_for_all),
		cmocka_unit_test(groups_for_the_same_token_are_one),
		cmocka_unit_test(a_product_token_is_compared_whatever_its_case),
		cmocka_unit_test(rules_before_any_user_agent_do_not_count),
		cmocka_unit_test(other_lines_do_not_end_a_group),
		cmocka_unit_test(lines_are_read_liberally),
		cmocka_unit_test(keys_are_known_as_people_mistype_them),
		cmocka_unit_test(lines_end_in_any_way),
		cmocka_unit_test(a_line_can_be_shown),
		cmocka_unit_test(a_byte_order_mark_is_skipped_even_in_part),
		cmocka_unit_test(the_longest_pattern_decides),
		cmocka_unit_test(rules_are_beginnings_and_know_case),
		cmocka_unit_test(stars_and_the_final_dollar_are_special),
		cmocka_unit_test(percent_encoding_is_the_same_on_both_sides),
		cmocka_unit_test(the_file_itself_is_always_allowed),
		cmocka_unit_test(the_examples_of_the_rfc_hold),
		cmocka_unit_test(the_delay_of_our_groups_is_handed_out),
		cmocka_unit_test(sitemaps_are_handed_out_wherever_they_stand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
