#include "cmd/config_man.h"

#include "cmd/man.h"
#include "role/ini.h"

static const char head[] =
	".Dd " MAN_DATE "\n.Dt GARNER.CONF 5\n.Os\n"
	".Sh NAME\n.Nm garner.conf\n.Nd configuration of garner\n"
	".Sh DESCRIPTION\n"
	"The file is UTF-8 text, at most 1 MiB in lines of at most 8 KiB:\n"
	".Bd -literal -offset indent\n"
	"# a comment\n"
	"key = value\n"
	"\n"
	"[section]\n"
	"key = value      ; a comment stands behind a blank\n"
	"key = \"value\"\n"
	".Ed\n"
	".Pp\n"
	"Keys that stand before the first section are for all roles.\n"
	"In double quotes a value may begin or end with a blank and hold what would\n"
	"begin a comment; there\n.Li \\e\\(dq ,\n.Li \\e\\e\nand\n.Li \\en\n"
	"stand for a quote, a backslash and a line feed.\n"
	"A key may be given once.\n"
	"With one wrong line nothing of the file is taken.\n"
	".Pp\n"
	"The environment overrides the file, and\n.Fl s\n.Ar section.key Ns = Ns Ar value\n"
	"overrides both.\n"
	".Ss Values\n"
	".Bl -tag -width Ds\n"
	".It time\nA number and\n.Cm us , ms , s , min , h , d\nor\n.Cm w ;\njoined:\n"
	".Li 1h30min .\n"
	".It size\nBytes, or a number and\n.Cm K , M , G , T , P\nor\n.Cm E ,\npowers of 1024:\n"
	".Li 1.5M .\n"
	".It yes or no\nAlso\n.Cm true\nand\n.Cm false , on\nand\n.Cm off , 1\nand\n.Cm 0 .\n"
	".It list\nItems with commas or blanks between them.\n"
	".It address to listen on\n"
	".Li 127.0.0.1:8080 , [::1]:8080 , *:8080\nfor all addresses, or\n.Li unix:/path ;\n"
	"empty for none.\n"
	".El\n";

static const char tail[] = ".Sh FILES\n"
			   "The first that is named or exists:\n"
			   ".Bl -enum -compact\n"
			   ".It\nthe argument of\n.Fl c\n"
			   ".It\n.Ev GARNER_CONFIG\n"
			   ".It\n.Pa $XDG_CONFIG_HOME/garner/garner.conf ,\nwithout that variable\n"
			   ".Pa ~/.config/garner/garner.conf\n"
			   ".It\n.Pa /etc/garner/garner.conf\n"
			   ".El\n"
			   ".Pp\n"
			   "Without a file all settings have their defaults.\n"
			   ".Sh EXAMPLES\n"
			   ".Dl garner config sample > garner.conf\n"
			   ".Dl garner config check garner.conf\n"
			   ".Dl garner config explain\n"
			   ".Sh SEE ALSO\n"
			   ".Xr garner 1 ,\n.Xr garner-config 1\n";

/* A sentence, with the full stop that tables need not have. */
static void put_sentence(struct buf *out, const char *text)
{
	CLEANUP(buf_free) struct buf sentence = BUF_INIT(INI_LINE_MAX);
	buf_add_text(&sentence, text);
	if (!str_ends(buf_str(&sentence), STR(".")))
		buf_add_byte(&sentence, '.');
	man_paragraph(out, buf_str(&sentence));
}

static void put_facts(struct buf *out, const struct config_section *section,
		      const struct value_spec *spec)
{
	CLEANUP(buf_free) struct buf facts = BUF_INIT(INI_LINE_MAX), value = BUF_INIT(INI_LINE_MAX);
	buf_add_text(&facts, "Type: ");
	value_describe(spec, &facts);
	value_print_default(spec, &value);
	buf_add_text(&facts, "; default: ");
	if (value.n)
		ini_quote(buf_str(&value), &facts);
	else
		buf_add_text(&facts, "empty");
	buf_add_text(&facts, "; environment: ");
	config_env_name(section, spec, &facts);
	buf_add_byte(&facts, '.');
	man_paragraph(out, buf_str(&facts));
}

static void put_section(struct buf *out, const struct config_section *section)
{
	if (section->name[0])
		buf_printf(out, ".Ss Section %s\n", section->name);
	else
		buf_add_text(out, ".Ss Before the first section\n");
	if (section->help)
		put_sentence(out, section->help);
	if (section->nspecs == 0)
		return;
	buf_add_text(out, ".Bl -tag -width Ds\n");
	for (size_t k = 0; k < section->nspecs; k++) {
		const struct value_spec *spec = &section->specs[k];
		buf_printf(out, ".It Cm %s\n", spec->name);
		put_sentence(out, spec->help ? spec->help : spec->name);
		put_facts(out, section, spec);
	}
	buf_add_text(out, ".El\n");
}

void config_man(const struct config_section *const *sections, size_t n, struct buf *out)
{
	buf_add_text(out, head);
	for (size_t i = 0; i < n; i++)
		put_section(out, sections[i]);
	buf_add_text(out, tail);
}
