/* URLs of files: what a listing says of a path is any bytes; a URL has the plain ones of ASCII, and
 * the others as %XX. */
#include "index/names/names_inner.h"

/* What stands for itself: letters, digits and a few signs. */
static const bool plain[256] = {
	['a' ... 'z'] = true,  ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['-' ... '/'] = true,
	['\'' ... '*'] = true, ['!'] = true,         ['_'] = true,         ['~'] = true};

static void add_escaped(struct buf *out, struct str path)
{
	static const char digits[] = "0123456789ABCDEF";
	while (path.n) {
		size_t n = 0; /* what stands for itself is added at one go */
		while (n < path.n && plain[(unsigned char)path.p[n]])
			n++;
		buf_add(out, path.p, n);
		if (n == path.n)
			return;
		unsigned char c = (unsigned char)path.p[n];
		const char three[3] = {'%', digits[c >> 4], digits[c & 15]};
		buf_add(out, three, sizeof three);
		path = str_from(path, n + 1);
	}
}

bool names_url(struct str root, struct str path, bool dir, struct buf *out)
{
	if (!root.n)
		return false;
	buf_add_str(out, root);
	add_escaped(out, path);
	if (dir && path.n)
		buf_add_byte(out, '/');
	return true;
}

bool names_entry_url(struct str root, const struct names_entry *e, struct buf *out)
{
	if (!names_url(root, e->dir, true, out))
		return false;
	add_escaped(out, e->name);
	if (e->kind == NAMES_DIR)
		buf_add_byte(out, '/');
	return true;
}

bool names_hit_url(const struct names_reader *r, const struct names_hit *hit, struct buf *out)
{
	return names_entry_url(r->site[hit->site].url, &hit->file, out);
}
