/* URLs of files: what a listing says of a path is any bytes; a URL has the plain ones of ASCII, and
 * the others as %XX. */
#include "index/names_inner.h"

static void add_escaped(struct buf *out, struct str path)
{
	static const char digits[] = "0123456789ABCDEF", plain[] = "-_.~!*'()/";
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (letter || (c && strchr(plain, c))) {
			buf_add_byte(out, (char)c);
			continue;
		}
		char three[3] = {'%', digits[c >> 4], digits[c & 15]};
		buf_add(out, three, sizeof three);
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
