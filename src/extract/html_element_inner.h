/* The elements that mean something for reading a page, and how. All others are part of a line. */
#pragma once
#include "extract/html_tokens_inner.h"

enum html_element_flags {
	HE_LINE = 1,    /* begins and ends a line */
	HE_GAP = 2,     /* is apart from the words around it */
	HE_VOID = 4,    /* has no content and no end tag */
	HE_UNSEEN = 8,  /* what is inside is not seen */
	HE_INERT = 16,  /* what is inside is not part of the page: neither text nor links */
	HE_LEAVES = 32, /* cannot be in SVG or MathML: ends them */
	HE_STRONG = 64, /* emphasis */
	HE_PAGE = 128,  /* speaks of the page as a whole */
};

/* Elements whose end tags may be left out: a start tag of their group and at least their rank ends
 * them, unless a container was opened in between; so does the end of the container. */
enum html_group { G_NONE, G_ITEM, G_TERM, G_CELL, G_OPTION };

#define LN (HE_LINE | HE_LEAVES)
#define VP (HE_VOID | HE_PAGE)

/* name, spelling, flags, group, rank in it, group that it contains, state of what is inside */
#define HTML_ELEMENTS(E)                                                 \
	E(A, "a", 0, NONE, 0, NONE, DATA)                                \
	E(ADDRESS, "address", HE_LINE, NONE, 0, NONE, DATA)              \
	E(APPLET, "applet", HE_GAP, NONE, 0, NONE, DATA)                 \
	E(AREA, "area", HE_VOID, NONE, 0, NONE, DATA)                    \
	E(ARTICLE, "article", HE_LINE, NONE, 0, NONE, DATA)              \
	E(ASIDE, "aside", HE_LINE, NONE, 0, NONE, DATA)                  \
	E(AUDIO, "audio", HE_GAP | HE_UNSEEN, NONE, 0, NONE, DATA)       \
	E(B, "b", HE_STRONG | HE_LEAVES, NONE, 0, NONE, DATA)            \
	E(BASE, "base", VP, NONE, 0, NONE, DATA)                         \
	E(BGSOUND, "bgsound", HE_VOID, NONE, 0, NONE, DATA)              \
	E(BLOCKQUOTE, "blockquote", LN, NONE, 0, NONE, DATA)             \
	E(BODY, "body", LN, NONE, 0, NONE, DATA)                         \
	E(BR, "br", LN | HE_VOID, NONE, 0, NONE, DATA)                   \
	E(BUTTON, "button", HE_GAP, NONE, 0, NONE, DATA)                 \
	E(CANVAS, "canvas", HE_GAP | HE_UNSEEN, NONE, 0, NONE, DATA)     \
	E(CAPTION, "caption", HE_LINE, CELL, 3, NONE, DATA)              \
	E(CENTER, "center", LN, NONE, 0, NONE, DATA)                     \
	E(COL, "col", HE_VOID, NONE, 0, NONE, DATA)                      \
	E(DATALIST, "datalist", HE_UNSEEN, NONE, 0, OPTION, DATA)        \
	E(DD, "dd", LN, TERM, 1, NONE, DATA)                             \
	E(DESC, "desc", 0, NONE, 0, NONE, DATA)                          \
	E(DETAILS, "details", HE_LINE, NONE, 0, NONE, DATA)              \
	E(DFN, "dfn", HE_STRONG, NONE, 0, NONE, DATA)                    \
	E(DIALOG, "dialog", HE_LINE, NONE, 0, NONE, DATA)                \
	E(DIR, "dir", HE_LINE, NONE, 0, ITEM, DATA)                      \
	E(DIV, "div", LN, NONE, 0, NONE, DATA)                           \
	E(DL, "dl", LN, NONE, 0, TERM, DATA)                             \
	E(DT, "dt", LN, TERM, 1, NONE, DATA)                             \
	E(EM, "em", HE_STRONG | HE_LEAVES, NONE, 0, NONE, DATA)          \
	E(EMBED, "embed", HE_GAP | HE_VOID, NONE, 0, NONE, DATA)         \
	E(FIELDSET, "fieldset", HE_LINE, NONE, 0, NONE, DATA)            \
	E(FIGCAPTION, "figcaption", HE_LINE, NONE, 0, NONE, DATA)        \
	E(FIGURE, "figure", HE_LINE, NONE, 0, NONE, DATA)                \
	E(FOOTER, "footer", HE_LINE, NONE, 0, NONE, DATA)                \
	E(FOREIGNOBJECT, "foreignobject", 0, NONE, 0, NONE, DATA)        \
	E(FORM, "form", HE_LINE, NONE, 0, NONE, DATA)                    \
	E(FRAME, "frame", HE_LINE | HE_VOID, NONE, 0, NONE, DATA)        \
	E(FRAMESET, "frameset", HE_LINE, NONE, 0, NONE, DATA)            \
	E(H1, "h1", LN, NONE, 0, NONE, DATA)                             \
	E(H2, "h2", LN, NONE, 0, NONE, DATA)                             \
	E(H3, "h3", LN, NONE, 0, NONE, DATA)                             \
	E(H4, "h4", LN, NONE, 0, NONE, DATA)                             \
	E(H5, "h5", LN, NONE, 0, NONE, DATA)                             \
	E(H6, "h6", LN, NONE, 0, NONE, DATA)                             \
	E(HEAD, "head", LN, NONE, 0, NONE, DATA)                         \
	E(HEADER, "header", HE_LINE, NONE, 0, NONE, DATA)                \
	E(HGROUP, "hgroup", HE_LINE, NONE, 0, NONE, DATA)                \
	E(HR, "hr", LN | HE_VOID, NONE, 0, NONE, DATA)                   \
	E(HTML, "html", HE_LINE | HE_PAGE, NONE, 0, NONE, DATA)          \
	E(I, "i", HE_STRONG | HE_LEAVES, NONE, 0, NONE, DATA)            \
	E(IFRAME, "iframe", HE_GAP | HE_INERT, NONE, 0, NONE, RAWTEXT)   \
	E(IMAGE, "image", HE_GAP | HE_VOID, NONE, 0, NONE, DATA)         \
	E(IMG, "img", HE_GAP | HE_VOID | HE_LEAVES, NONE, 0, NONE, DATA) \
	E(INPUT, "input", HE_GAP | HE_VOID, NONE, 0, NONE, DATA)         \
	E(LEGEND, "legend", HE_LINE, NONE, 0, NONE, DATA)                \
	E(LI, "li", LN, ITEM, 1, NONE, DATA)                             \
	E(LINK, "link", VP, NONE, 0, NONE, DATA)                         \
	E(LISTING, "listing", LN, NONE, 0, NONE, DATA)                   \
	E(MAIN, "main", HE_LINE, NONE, 0, NONE, DATA)                    \
	E(MARK, "mark", HE_STRONG, NONE, 0, NONE, DATA)                  \
	E(MATH, "math", 0, NONE, 0, NONE, DATA)                          \
	E(MENU, "menu", LN, NONE, 0, ITEM, DATA)                         \
	E(META, "meta", VP | HE_LEAVES, NONE, 0, NONE, DATA)             \
	E(METADATA, "metadata", 0, NONE, 0, NONE, DATA)                  \
	E(NAV, "nav", HE_LINE, NONE, 0, NONE, DATA)                      \
	E(NOEMBED, "noembed", HE_INERT, NONE, 0, NONE, RAWTEXT)          \
	E(NOFRAMES, "noframes", HE_INERT, NONE, 0, NONE, RAWTEXT)        \
	E(NOSCRIPT, "noscript", HE_INERT, NONE, 0, NONE, RAWTEXT)        \
	E(OBJECT, "object", HE_GAP, NONE, 0, NONE, DATA)                 \
	E(OL, "ol", LN, NONE, 0, ITEM, DATA)                             \
	E(OPTGROUP, "optgroup", HE_LINE, OPTION, 2, NONE, DATA)          \
	E(OPTION, "option", HE_LINE, OPTION, 1, NONE, DATA)              \
	E(P, "p", LN, NONE, 0, NONE, DATA)                               \
	E(PLAINTEXT, "plaintext", HE_LINE, NONE, 0, NONE, PLAINTEXT)     \
	E(PRE, "pre", LN, NONE, 0, NONE, DATA)                           \
	E(RP, "rp", HE_UNSEEN, NONE, 0, NONE, DATA)                      \
	E(SCRIPT, "script", HE_INERT, NONE, 0, NONE, SCRIPT)             \
	E(SEARCH, "search", HE_LINE, NONE, 0, NONE, DATA)                \
	E(SECTION, "section", HE_LINE, NONE, 0, NONE, DATA)              \
	E(SELECT, "select", HE_GAP, NONE, 0, OPTION, DATA)               \
	E(SOURCE, "source", HE_VOID, NONE, 0, NONE, DATA)                \
	E(SPAN, "span", HE_LEAVES, NONE, 0, NONE, DATA)                  \
	E(STRONG, "strong", HE_STRONG | HE_LEAVES, NONE, 0, NONE, DATA)  \
	E(STYLE, "style", HE_INERT, NONE, 0, NONE, RAWTEXT)              \
	E(SUMMARY, "summary", HE_LINE, NONE, 0, NONE, DATA)              \
	E(SVG, "svg", HE_GAP, NONE, 0, NONE, DATA)                       \
	E(TABLE, "table", LN, NONE, 0, CELL, DATA)                       \
	E(TBODY, "tbody", HE_LINE, CELL, 3, NONE, DATA)                  \
	E(TD, "td", HE_LINE, CELL, 1, NONE, DATA)                        \
	E(TEMPLATE, "template", HE_INERT, NONE, 0, NONE, DATA)           \
	E(TEXTAREA, "textarea", HE_GAP, NONE, 0, NONE, RCDATA)           \
	E(TFOOT, "tfoot", HE_LINE, CELL, 3, NONE, DATA)                  \
	E(TH, "th", HE_LINE, CELL, 1, NONE, DATA)                        \
	E(THEAD, "thead", HE_LINE, CELL, 3, NONE, DATA)                  \
	E(TIME, "time", HE_PAGE, NONE, 0, NONE, DATA)                    \
	E(TITLE, "title", 0, NONE, 0, NONE, RCDATA)                      \
	E(TR, "tr", HE_LINE, CELL, 2, NONE, DATA)                        \
	E(TRACK, "track", HE_VOID, NONE, 0, NONE, DATA)                  \
	E(UL, "ul", LN, NONE, 0, ITEM, DATA)                             \
	E(VIDEO, "video", HE_GAP | HE_UNSEEN, NONE, 0, NONE, DATA)       \
	E(WBR, "wbr", HE_VOID, NONE, 0, NONE, DATA)                      \
	E(XMP, "xmp", HE_LINE, NONE, 0, NONE, RAWTEXT)

#define HTML_ELEMENT_ID(id, ...) EL_##id,
enum html_element { EL_OTHER, HTML_ELEMENTS(HTML_ELEMENT_ID) HTML_ELEMENT_COUNT };
#undef HTML_ELEMENT_ID

struct html_element_info {
	struct str name;
	uint8_t flags, group, rank, contains, state;
};
extern const struct html_element_info html_elements[HTML_ELEMENT_COUNT];

/* By its name in lower case; EL_OTHER: none of these. */
enum html_element html_element_of(struct str name);
