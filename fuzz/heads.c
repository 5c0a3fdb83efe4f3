/* Anything as what a client sends. Whole and in pieces give the same; what is handed on of heads
 * has no byte in it that could be read in two ways. The first byte says how large the pieces are.
 */
#include "base/buf.h"
#include "net/http_head.h"

enum { MEMORY = 4 << 10 };

static size_t read_pieces(struct http_head *h, struct str bytes, size_t piece)
{
	size_t done = 0, came = 0;
	while (came < bytes.n && !h->status) {
		came = MIN(came + piece, bytes.n);
		size_t n = http_head_read(h, str_range(bytes.p + done, bytes.p + came));
		ENSURE(n <= came - done);
		done += n;
		ENSURE(h->status || h->at == HTTP_AT_REST || came - done < MEMORY);
	}
	return done;
}

/* Lines of a head, CR LF and all. */
static void check_lines(struct str head)
{
	ENSURE(head.n >= 4 && str_ends(head, STR("\r\n\r\n")));
	for (size_t i = 0; i < head.n; i++) {
		unsigned char c = (unsigned char)head.p[i];
		ENSURE(c >= ' ' || c == '\t' || c == '\r' || c == '\n');
		ENSURE(c != '\n' || (i > 0 && head.p[i - 1] == '\r'));
		ENSURE(c != '\r' || head.p[i + 1] == '\n');
		ENSURE(c != '\n' || i + 1 == head.n ||
		       (head.p[i + 1] != ' ' && head.p[i + 1] != '\t'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 16)
		return 0;
	struct str bytes = {(const char *)data + 1, size - 1};
	struct http_head whole = HTTP_HEAD_INIT(MEMORY), pieces = HTTP_HEAD_INIT(MEMORY);
	size_t n = http_head_read(&whole, bytes);
	ENSURE(n <= bytes.n);
	ENSURE(!whole.status ||
	       (whole.status >= 400 && whole.wrong && whole.at == HTTP_AT_REFUSED));
	ENSURE(read_pieces(&pieces, bytes, (size_t)data[0] + 1) == n);
	ENSURE(pieces.status == whole.status && pieces.at == whole.at && pieces.body == whole.body);
	struct http_head first = HTTP_HEAD_INIT(MEMORY);
	for (size_t i = 1; i <= n; i++)
		if (http_head_read(&first, str_head(bytes, i))) {
			check_lines(str_head(bytes, i));
			break;
		}
	return 0;
}
