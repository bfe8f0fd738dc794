/* XLA's profiles as files, compressed or not: plane by plane, each in memory while it is read. Nothing
 * is mapped, so a file that somebody cuts meanwhile is a sentence. */
#include <errno.h>
#include <string.h>

#include "import/trace_xplane_impl.h"
#include "lib/buf.h"

#define FIELD_BYTES_MAX ((uint64_t)4 << 30) /* no protocol buffer is over 2 GiB */

struct stream {
	struct source *source;
	const char *p, *end; /* of the piece that is not taken yet */
	uint64_t at;         /* place of p */
	bool ended;
	struct buf field;
};

static int more(struct stream *s, struct err *err)
{
	size_t n = 0;
	if (s->p < s->end || s->ended)
		return 0;
	int rc = source_next(s->source, &s->p, &n, err);
	s->end = s->p + n;
	s->ended = !rc && !n;
	return rc;
}

static int wrong(struct xplane *x, const struct stream *s, const char *what)
{
	x->before = s->at;
	x->bytes = (struct str){ "", 0 };
	return xplane_wrong(x, x->bytes.p, what);
}

static int failed(struct xplane *x, int rc)
{
	x->rc = rc; /* the source has said why */
	return rc;
}

static int bytes(struct xplane *x, struct stream *s, uint64_t n)
{
	s->field.len = 0;
	if (n > FIELD_BYTES_MAX)
		return wrong(x, s, "bytes that are over 4 GiB");
	while (s->field.len < n) {
		int rc = more(s, x->err);
		if (rc)
			return failed(x, rc);
		if (s->ended)
			return wrong(x, s, "bytes that reach over the end");
		size_t have = (size_t)(s->end - s->p), want = (size_t)n - s->field.len;
		have = have < want ? have : want;
		buf_put(&s->field, s->p, have);
		s->p += have;
		s->at += have;
		if (s->field.failed)
			return xplane_failed(x, -ENOMEM);
	}
	return 0;
}

static int varint(struct xplane *x, struct stream *s, uint64_t *ret)
{
	uint64_t sum = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		int rc = more(s, x->err);
		if (rc)
			return failed(x, rc);
		if (s->ended)
			return wrong(x, s, "it ends in the middle of a number");
		uint8_t c = (uint8_t)*s->p++;
		s->at++;
		if (shift == 63 && c > 1)
			break;
		sum |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			*ret = sum;
			return 0;
		}
	}
	return wrong(x, s, "a number over 64 bits");
}

static int field(struct xplane *x, struct stream *s)
{
	struct wire_field f = { 0 };
	uint64_t key, n = 0;
	int rc = varint(x, s, &key);
	if (rc)
		return rc;
	f.number = (uint32_t)(key >> 3);
	f.type = (uint32_t)(key & 7);
	if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return wrong(x, s, "a field number that can't be");
	if (f.type == 0 || f.type == 2)
		rc = varint(x, s, f.type ? &n : &f.value);
	else if (f.type == 1 || f.type == 5)
		n = f.type == 1 ? 8 : 4;
	else
		return wrong(x, s, "a wire type that is not used");
	if (!rc)
		rc = bytes(x, s, n);
	if (rc)
		return rc;
	f.bytes = (struct str){ n ? s->field.data : "", (size_t)n };
	x->bytes = f.bytes;
	x->before = s->at - n;
	return xplane_field(x, &f);
}

static int all(struct xplane *x, struct stream *s)
{
	int rc = source_rewind(s->source, x->err);
	while (!rc) {
		rc = more(s, x->err);
		if (rc || s->ended)
			break;
		rc = field(x, s);
	}
	return rc ? rc : xplane_tell(x);
}

static int xplane_read(struct source *source, enum trace_pass pass, struct trace_sink *t,
		       struct err *err)
{
	struct xplane x = { .path = source_path(source), .pass = pass, .t = t, .err = err };
	struct stream s = { .source = source };
	if (pass == TRACE_ORDERED)
		return err_set(err, -ENOTSUP, "%s: its events are in the order of their streams",
			       x.path);
	int rc = all(&x, &s);
	buf_done(&s.field);
	return rc;
}

/* A first field 1 of bytes, as any list of planes begins. */
static bool xplane_knows(const struct source *s)
{
	size_t n;
	const char *head = source_head(s, &n);
	return n > 2 && head[0] == 0x0a;
}

const struct trace_reader xplane_reader = {
	.name = "xplane", .unordered = true, .knows = xplane_knows, .read = xplane_read
};
