/* garner soif: SOIF files at the command line. */
#include "cmd/index/soif_json.h"
#include "cmd/system/input.h"

struct soif_options {
	bool nocase, urls, invert;
	const char *attribute;
};

/* What a subcommand does with each object; false: it was of no interest. */
struct work {
	const struct cmd_call *call;
	bool (*each)(struct work *w, const struct soif *obj, enum soif_section section);
	struct soif_parser parser;
	struct buf out;
	const char *name;          /* of the input that is read */
	uint64_t line;             /* 0: it does not consist of lines */
	enum soif_section section; /* that is open in the output */
	uint64_t objects, shown, rejected, truncated, skipped, in_section[SOIF_UPDATE + 1];
};

static void complain_of(struct work *w, const struct err *err)
{
	struct err said = *err;
	if (w->line)
		(void)err_in(&said, "%s:%llu", w->name, (unsigned long long)w->line);
	else
		(void)err_in(&said, "%s", w->name);
	(void)cmd_fail(w->call, &said);
}

/* Opens and closes sections around what is printed. */
static void change_section(struct work *w, enum soif_section section)
{
	if (w->section == section)
		return;
	if (w->section != SOIF_PLAIN)
		buf_add_text(&w->out, "}\n");
	if (section != SOIF_PLAIN)
		buf_printf(&w->out, "@%s {\n", soif_section_name(section));
	w->section = section;
}

static bool print_object(struct work *w, const struct soif *obj, enum soif_section section)
{
	struct err err;
	change_section(w, section);
	if (soif_print(obj, &w->out, &err) < 0) {
		w->rejected++;
		complain_of(w, &err);
	}
	return true;
}

static bool count_object(struct work *w, const struct soif *obj, enum soif_section section)
{
	(void)w;
	(void)obj;
	(void)section;
	return true;
}

static bool print_json(struct work *w, const struct soif *obj, enum soif_section section)
{
	soif_json_print(obj, section, &w->out);
	return true;
}

static bool value_contains(struct str value, struct str wanted, bool nocase)
{
	if (!nocase)
		return str_find(value, wanted) < value.n || wanted.n == 0;
	for (size_t i = 0; i + wanted.n <= value.n; i++)
		if (str_eq_nocase(str_head(str_from(value, i), wanted.n), wanted))
			return true;
	return false;
}

static bool object_matches(struct work *w, const struct soif *obj)
{
	const struct soif_options *o = w->call->options;
	struct str wanted = str_of(w->call->argv[0]);
	bool any = o->attribute[0] == 0;
	if (any && value_contains(obj->url, wanted, o->nocase))
		return true;
	for (size_t i = 0; i < obj->n; i++)
		if ((any || str_eq_nocase(obj->attr[i].name, str_of(o->attribute))) &&
		    value_contains(obj->attr[i].value, wanted, o->nocase))
			return true;
	return false;
}

static bool grep_object(struct work *w, const struct soif *obj, enum soif_section section)
{
	const struct soif_options *o = w->call->options;
	if (object_matches(w, obj) == o->invert)
		return false;
	if (o->urls)
		buf_printf(&w->out, STR_FMT "\n", STR_ARG(obj->url));
	else
		(void)print_object(w, obj, section);
	return true;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct work *w = ctx;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	char url[VALUE_SHOWN];
	int rc;
	w->name = name;
	if (piece.n == 0)
		soif_feed_end(&w->parser);
	else if (soif_feed(&w->parser, piece, err) < 0)
		return err_in(err, "%s", name);
	while (!ferror(w->call->out) && (rc = soif_next(&w->parser, &arena, &obj, err)) != 1) {
		if (rc < 0) {
			w->rejected++;
			complain_of(w, err);
		} else {
			w->objects++;
			w->truncated += obj.truncated;
			w->in_section[w->parser.section]++;
			w->shown += w->each(w, &obj, w->parser.section);
			if (obj.truncated) {
				(void)err_set(err, ERR_DAMAGED, "%s is cut off at the end",
					      value_show(obj.url, url));
				complain_of(w, err);
			}
		}
		arena_clear(&arena);
		cmd_flush(w->call, &w->out);
	}
	arena_free(&arena);
	if (piece.n == 0) {
		w->skipped += w->parser.skipped;
		soif_parser_free(&w->parser);
	}
	return ferror(w->call->out) ? 1 : 0;
}

/* Runs over all the input. The exit code; *ret may be looked at whatever it is. */
static int read_objects(const struct cmd_call *call, int first_arg, struct work *ret,
			bool (*each)(struct work *, const struct soif *, enum soif_section),
			struct err *err)
{
	*ret = (struct work){.call = call,
			     .each = each,
			     .parser = SOIF_PARSER_INIT,
			     .out = BUF_INIT((size_t)1 << 30)};
	int rc = cmd_read(call, first_arg, take_piece, ret, err);
	if (rc == 0)
		change_section(ret, SOIF_PLAIN);
	cmd_flush(call, &ret->out);
	buf_free(&ret->out);
	soif_parser_free(&ret->parser);
	return rc < 0 ? -1 : ret->rejected || ret->truncated ? ERR_DAMAGED : 0;
}

static int run_cat(const struct cmd_call *call, struct err *err)
{
	struct work w;
	return read_objects(call, 0, &w, print_object, err);
}

static int run_to_json(const struct cmd_call *call, struct err *err)
{
	struct work w;
	return read_objects(call, 0, &w, print_json, err);
}

static int run_grep(const struct cmd_call *call, struct err *err)
{
	struct work w;
	int code = read_objects(call, 1, &w, grep_object, err);
	return code ? code : w.shown ? 0 : 1;
}

static int run_check(const struct cmd_call *call, struct err *err)
{
	struct work w;
	int code = read_objects(call, 0, &w, count_object, err);
	fprintf(call->out, "%llu objects", (unsigned long long)w.objects);
	for (enum soif_section s = SOIF_DELETE; s <= SOIF_UPDATE; s++)
		if (w.in_section[s])
			fprintf(call->out, ", %llu in @%s", (unsigned long long)w.in_section[s],
				soif_section_name(s));
	fprintf(call->out, ", %llu rejected, %llu cut off, %llu stray bytes\n",
		(unsigned long long)w.rejected, (unsigned long long)w.truncated,
		(unsigned long long)w.skipped);
	return code;
}

static int take_json(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct work *w = ctx;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	enum soif_section section;
	w->name = name;
	w->line = line;
	if (str_trim(text).n == 0)
		return 0;
	if (soif_json_parse(text, &arena, &obj, &section, err) == 0) {
		(void)print_object(w, &obj, section);
	} else {
		w->rejected++;
		complain_of(w, err);
	}
	cmd_flush(w->call, &w->out);
	arena_free(&arena);
	return ferror(w->call->out) ? 1 : 0;
}

static int run_from_json(const struct cmd_call *call, struct err *err)
{
	struct work w = {.call = call, .out = BUF_INIT((size_t)1 << 30)};
	int rc = cmd_read_lines(call, 0, (size_t)2 * SOIF_MAX_VALUE, take_json, &w, err);
	if (rc == 0)
		change_section(&w, SOIF_PLAIN);
	cmd_flush(call, &w.out);
	buf_free(&w.out);
	return rc < 0 ? -1 : w.rejected ? ERR_PARTLY : 0;
}

static const struct cmd_exit exits[] = {
	{ERR_DAMAGED, "an object was rejected or cut off; the others were taken"},
	{ERR_SYSTEM, "a file cannot be read"},
};

static const struct command cat = {
	.name = "cat",
	.summary = "print objects in canonical form",
	.description =
		"Accepts any form of SOIF, prints the canonical one, and keeps the sections of "
		"update streams. Objects that cannot be read are reported with their place and "
		"skipped.",
	CMD_ARGS("[FILE...]", 0, -1, "SOIF files; none or -: standard input"),
	CMD_EXAMPLES(
		{"garner soif cat *.soif > all.soif", "several files as one, in canonical form"}),
	CMD_SHARED_EXITS(exits),
	.run = run_cat,
};

static const struct command check = {
	.name = "check",
	.summary = "count objects and report errors",
	.description = "Reads everything and prints one line of counts. Each error is reported on "
		       "standard error with its file and byte.",
	CMD_ARGS("[FILE...]", 0, -1, "SOIF files; none or -: standard input"),
	CMD_EXAMPLES({"garner soif check export.soif", "the number of objects, and the errors"}),
	CMD_SHARED_EXITS(exits),
	.run = run_check,
};

static const struct cmd_option grep_options[] = {
	CMD_OPTION('a', "NAME", "attribute", VALUE_TEXT_AT(struct soif_options, attribute),
		   .help = "search only this attribute"),
	CMD_FLAG('i', "ignore-case", struct soif_options, nocase,
		 "ignore the case of ASCII letters"),
	CMD_FLAG('l', "urls", struct soif_options, urls, "print URLs only"),
	CMD_FLAG('v', "invert", struct soif_options, invert,
		 "print the objects that do not contain it"),
};
static const struct command grep_command = {
	.name = "grep",
	.summary = "print the objects that contain a text",
	.description = "Searches every value and the URL for TEXT, which is taken literally.",
	CMD_OPTIONS(grep_options, struct soif_options),
	CMD_ARGS("TEXT [FILE...]", 1, -1, "the text, and SOIF files; none or -: standard input"),
	CMD_EXAMPLES({"garner soif grep -a Title garner all.soif",
		      "objects with the word in their title"},
		     {"garner soif grep -il apache all.soif", "URLs of all that name it anywhere"}),
	CMD_EXITS({1, "no object was found"},
		  {ERR_DAMAGED, "an object was rejected or cut off; the others were looked at"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run_grep,
};

static const struct command to_json = {
	.name = "to-json",
	.summary = "print objects as lines of JSON",
	.description =
		"Prints one object per line: section (inside one), type, url, truncated (if it "
		"is), and the attributes as pairs in their order. Values that are not UTF-8 become "
		"{\"base64\": \"...\"}. garner soif from-json restores the same objects.",
	CMD_ARGS("[FILE...]", 0, -1, "SOIF files; none or -: standard input"),
	CMD_EXAMPLES({"garner soif to-json all.soif | jq -r .url", "the URLs of all objects"}),
	CMD_SHARED_EXITS(exits),
	.run = run_to_json,
};

static const struct command from_json = {
	.name = "from-json",
	.summary = "convert lines of JSON to objects",
	.description = "Reads what garner soif to-json prints, and prints SOIF in canonical form.",
	CMD_ARGS("[FILE...]", 0, -1, "files of JSON lines; none or -: standard input"),
	CMD_EXAMPLES({"garner soif to-json a.soif | garner soif from-json", "there and back"}),
	CMD_EXITS({ERR_PARTLY, "a line could not be taken; the others were"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run_from_json,
};

const struct command soif_command = {
	.name = "soif",
	.summary = "read, check and convert SOIF files",
	.description =
		"SOIF is the format in which gatherers send objects to brokers: a type, a URL and "
		"attributes of any bytes, plain or in the sections of an update stream.",
	CMD_SUBS(&cat, &check, &grep_command, &to_json, &from_json),
};
