/* Tables of signatures, grammars, packed blocks: of bytes that may be anything. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "import/recorder_trace.h"

#define PLAIN_BYTES_MAX ((uint64_t)1 << 30)
#define ENTRIES_MAX ((uint32_t)1 << 27)
#define USER_FUNCTION 255 /* of the program, traced by -finstrument-functions */

static uint32_t u32_at(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t u64_at(const char *p)
{
	return (uint64_t)u32_at(p) | (uint64_t)u32_at(p + 4) << 32;
}

/* ---- packed -------------------------------------------------------------------------------------
 */

int recorder_block(struct arena *a, struct str bytes, struct str *ret, size_t *ret_used,
		   const char *name, struct err *err)
{
	if (bytes.n < 18)
		return 0;
	uint64_t packed = u64_at(bytes.p), plain = u64_at(bytes.p + 8);
	unsigned head = (unsigned)(unsigned char)bytes.p[16] << 8 | (unsigned char)bytes.p[17];
	if (packed > bytes.n - 16 || packed < 2 || (head >> 8 & 15) != 8 || head % 31)
		return 0;
	/* deflate makes at most 1032 bytes of one. */
	if (plain > PLAIN_BYTES_MAX || plain / 1032 > packed)
		return err_set(err, -EINVAL, "%s: a packed part that says it is %llu bytes long: it is "
			       "damaged", name, (unsigned long long)plain);
	char *to = arena_alloc(a, (size_t)plain + 1);
	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	uLongf n = (uLongf)plain;
	int z = uncompress((Bytef *)to, &n, (const Bytef *)bytes.p + 16, (uLong)packed);
	if (z != Z_OK || n != plain)
		return err_set(err, -EINVAL, "%s: the packed data is damaged; copy the trace again", name);
	*ret = (struct str){ to, (size_t)plain };
	*ret_used = 16 + (size_t)packed;
	return 1;
}

/* ---- tables -------------------------------------------------------------------------------------
 */

/* Releases differ in what stands before a key, and in how wide a function's number is. */
struct table_form {
	size_t head, function_bytes;
};

static bool key_fits(const char *key, size_t n, size_t function_bytes)
{
	size_t fixed = 8 + function_bytes + 2 + 4;
	return n >= fixed && u32_at(key + fixed - 4) == n - fixed;
}

/* All entries, to the last byte? */
static bool form_fits(struct str b, const struct table_form *f)
{
	if (b.n < 4)
		return false;
	uint32_t n = u32_at(b.p);
	size_t at = 4;
	for (uint32_t i = 0; i < n; i++) {
		if (b.n - at < f->head)
			return false;
		uint32_t length = u32_at(b.p + at + (f->head == 16 ? 8 : 4));
		at += f->head;
		if (length > b.n - at || !key_fits(b.p + at, length, f->function_bytes))
			return false;
		at += length;
	}
	return at == b.n;
}

static const struct table_form *form_of(struct str b)
{
	static const struct table_form forms[] = { { 16, 1 }, { 16, 4 }, { 8, 1 }, { 8, 4 } };
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (form_fits(b, &forms[i]))
			return &forms[i];
	return NULL;
}

static void take_key(struct recorder_key *to, const char *key, size_t n, size_t function_bytes)
{
	const unsigned char *b = (const unsigned char *)key;
	size_t at = 8 + function_bytes;
	to->thread = u64_at(key);
	to->function = function_bytes == 1 ? b[8] : u32_at(key + 8);
	to->depth = b[at];
	to->n_args = b[at + 1];
	to->args = (struct str){ key + at + 6, n - at - 6 };
}

int recorder_table_parse(struct recorder_table *ret, struct arena *a, struct str b,
			 size_t n_functions, const char *name, struct err *err)
{
	const struct table_form *f = form_of(b);
	uint32_t n = f ? u32_at(b.p) : 0;
	if (!f || n > ENTRIES_MAX)
		return err_set(err, -EINVAL, "%s: no table of signatures, or a damaged one; copy the "
			       "trace again", name);
	ret->n = n;
	ret->keys = arena_array(a, (size_t)n + 1, sizeof *ret->keys);
	bool *seen = arena_alloc(a, (size_t)n + 1);
	if (!ret->keys || !seen)
		return err_set(err, -ENOMEM, "out of memory");
	size_t at = 4;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = u32_at(b.p + at), length = u32_at(b.p + at + (f->head == 16 ? 8 : 4));
		at += f->head;
		if (id >= n || seen[id])
			return err_set(err, -EINVAL, "%s: signature %u of %u, or twice: the table is "
				       "damaged", name, id, n);
		seen[id] = true;
		take_key(&ret->keys[id], b.p + at, length, f->function_bytes);
		if (ret->keys[id].function == USER_FUNCTION && n_functions <= USER_FUNCTION)
			ret->keys[id].function = (uint32_t)n_functions;
		else if (ret->keys[id].function >= n_functions)
			return err_set(err, -EINVAL, "%s: function %u of %zu: the table is damaged", name,
				       ret->keys[id].function, n_functions);
		at += length;
	}
	return 0;
}

/* ---- grammars -----------------------------------------------------------------------------------
 */

struct rules_at {
	int32_t *heads;
	size_t n;
};

static int rule_of(const struct rules_at *h, int32_t head, uint32_t *ret)
{
	/* Mostly the start is first and the others follow in order. */
	size_t guess = head == -1 ? 0 : (size_t)(-(int64_t)head) - 1;
	if (guess < h->n && h->heads[guess] == head) {
		*ret = (uint32_t)guess;
		return 0;
	}
	for (size_t i = 0; i < h->n; i++)
		if (h->heads[i] == head) {
			*ret = (uint32_t)i;
			return 0;
		}
	return -EINVAL;
}

static int take_symbols(struct recorder_grammar *g, const struct rules_at *heads, size_t n_keys,
			struct str b, const char *name, struct err *err)
{
	size_t at = 4, k = 0;
	for (size_t i = 0; i < g->n_rules; i++) {
		g->rules[i] = (struct recorder_rule){ .first = (uint32_t)k, .n = u32_at(b.p + at + 4) };
		at += 8;
		for (uint32_t s = 0; s < g->rules[i].n; s++, at += 8, k++) {
			int32_t value = (int32_t)u32_at(b.p + at), times = (int32_t)u32_at(b.p + at + 4);
			struct recorder_symbol *to = &g->symbols[k];
			*to = (struct recorder_symbol){ .value = (uint32_t)value, .is_rule = value < 0,
							.times = (uint32_t)times };
			if (times < 1)
				return err_set(err, -EINVAL, "%s: a symbol that comes %d times: the grammar "
					       "is damaged", name, times);
			if (value >= 0 && (size_t)value >= n_keys)
				return err_set(err, -EINVAL, "%s: signature %d of %zu: the grammar is "
					       "damaged", name, value, n_keys);
			if (value < 0 && rule_of(heads, value, &to->value))
				return err_set(err, -EINVAL, "%s: a rule %d that is not there: the grammar is "
					       "damaged", name, value);
		}
	}
	return 0;
}

/* Are the counts of rules and symbols those of the bytes? */
static int measure(struct recorder_grammar *g, struct rules_at *heads, struct arena *a, struct str b,
		   const char *name, struct err *err)
{
	size_t n = b.n >= 4 ? u32_at(b.p) : 0, at = 4;
	if (b.n < 4 || n > (b.n - 4) / 8)
		return err_set(err, -EINVAL, "%s: no grammar, or a damaged one; copy the trace again", name);
	heads->heads = arena_array(a, n + 1, sizeof *heads->heads);
	if (!heads->heads)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		uint32_t symbols = b.n - at >= 8 ? u32_at(b.p + at + 4) : UINT32_MAX;
		if (b.n - at < 8 || symbols > (b.n - at - 8) / 8)
			return err_set(err, -EINVAL, "%s: the grammar is cut or damaged; copy the trace "
				       "again", name);
		heads->heads[i] = (int32_t)u32_at(b.p + at);
		at += 8 + 8 * (size_t)symbols;
		g->n_symbols += symbols;
	}
	if (at != b.n)
		return err_set(err, -EINVAL, "%s: %zu bytes behind the grammar: it is damaged", name,
			       b.n - at);
	heads->n = g->n_rules = n;
	return 0;
}

/* How many calls each rule is, the used ones first, without expanding anything: with a stack of our
 * own, since nesting may be as deep as there are rules. */
static int count_events(struct recorder_grammar *g, struct arena *a, const char *name, struct err *err)
{
	enum { NEW, OPEN, DONE };
	unsigned char *state = arena_alloc(a, g->n_rules + 1);
	uint32_t *stack = arena_array(a, g->n_rules + 1, sizeof *stack);
	uint32_t *next = arena_array(a, g->n_rules + 1, sizeof *next);
	if (!state || !stack || !next)
		return err_set(err, -ENOMEM, "out of memory");
	size_t depth = 0;
	if (g->n_rules) {
		state[0] = OPEN;
		stack[depth++] = 0;
	}
	while (depth) {
		uint32_t at = stack[depth - 1];
		struct recorder_rule *r = &g->rules[at];
		if (next[at] == r->n) {
			state[at] = DONE;
			depth--;
			continue;
		}
		const struct recorder_symbol *s = &g->symbols[r->first + next[at]];
		if (s->is_rule && state[s->value] == OPEN)
			return err_set(err, -EINVAL, "%s: a rule contains itself: the grammar is damaged",
				       name);
		if (s->is_rule && state[s->value] == NEW) {
			state[s->value] = OPEN;
			stack[depth++] = s->value;
			continue;
		}
		uint64_t events = s->is_rule ? g->rules[s->value].events : 1;
		if (__builtin_mul_overflow(events, s->times, &events) ||
		    __builtin_add_overflow(r->events, events, &r->events))
			return err_set(err, -EINVAL, "%s: more calls than 64 bits can count: the grammar is "
				       "damaged", name);
		next[at]++;
	}
	return 0;
}

int recorder_grammar_parse(struct recorder_grammar *ret, struct arena *a, struct str b, size_t n_keys,
			   const char *name, struct err *err)
{
	struct rules_at heads = { 0 };
	*ret = (struct recorder_grammar){ 0 };
	int rc = measure(ret, &heads, a, b, name, err);
	if (rc)
		return rc;
	ret->rules = arena_array(a, ret->n_rules + 1, sizeof *ret->rules);
	ret->symbols = arena_array(a, ret->n_symbols + 1, sizeof *ret->symbols);
	if (!ret->rules || !ret->symbols)
		return err_set(err, -ENOMEM, "out of memory");
	if (ret->n_rules && heads.heads[0] != -1)
		return err_set(err, -EINVAL, "%s: the first rule is not the start: the grammar is damaged",
			       name);
	rc = take_symbols(ret, &heads, n_keys, b, name, err);
	return rc ? rc : count_events(ret, a, name, err);
}
