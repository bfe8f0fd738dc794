#include "import/wire_scan.h"

static bool wrong(struct wire *w, const char *fault)
{
	w->fault = fault;
	return false;
}

static bool varint(struct wire *w, uint64_t *ret)
{
	uint64_t x = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (w->p == w->end)
			return wrong(w, "it ends in the middle of a number");
		uint8_t c = *w->p++;
		if (shift == 63 && c > 1)
			return wrong(w, "a number over 64 bits");
		x |= (uint64_t)(c & 127) << shift;
		if (c < 128) {
			*ret = x;
			return true;
		}
	}
	return wrong(w, "a number over 64 bits");
}

static bool fixed(struct wire *w, unsigned n, uint64_t *ret)
{
	if ((size_t)(w->end - w->p) < n)
		return wrong(w, "it ends in the middle of a number");
	*ret = 0;
	for (unsigned i = n; i-- > 0;)
		*ret = *ret << 8 | w->p[i];
	w->p += n;
	return true;
}

bool wire_next(struct wire *w, struct wire_field *ret)
{
	uint64_t key, n;
	if (w->fault || w->p == w->end || !varint(w, &key))
		return false;
	*ret = (struct wire_field){ .number = (uint32_t)(key >> 3), .type = (uint32_t)(key & 7) };
	if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return wrong(w, "a field number that can't be");
	switch (ret->type) {
	case 0:
		return varint(w, &ret->value);
	case 1:
		return fixed(w, 8, &ret->value);
	case 2:
		if (!varint(w, &n))
			return false;
		if (n > (uint64_t)(w->end - w->p))
			return wrong(w, "bytes that reach over the end");
		ret->bytes = (struct str){ (const char *)w->p, (size_t)n };
		w->p += n;
		return true;
	case 5:
		return fixed(w, 4, &ret->value);
	default:
		return wrong(w, "a wire type that is not used");
	}
}
