/* The grammar of a capture, and its columns: what comes out is what was put in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/iocap_grammar.h"

static uint64_t state;
static uint32_t dice(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- columns ---- */

static void there_and_back(const uint64_t *x, size_t n)
{
	struct iocap_column c = { 0 };
	struct iocap_bytes out = { 0 }, scratch = { 0 };
	for (size_t i = 0; i < n; i++)
		iocap_column_put(&c, x[i]);
	iocap_column_write(&c, &out, &scratch);
	assert_false(out.failed);
	struct iocap_in in = { out.data, out.data + out.len, false }, skip = in;
	size_t got;
	uint64_t *y = iocap_column_read(&in, n, &got);
	assert_false(in.bad);
	assert_int_equal(got, n);
	assert_ptr_equal(in.at, in.end);
	if (n)
		assert_memory_equal(x, y, n * sizeof *x);
	assert_int_equal(iocap_column_skip(&skip), n);
	assert_ptr_equal(skip.at, skip.end);
	free(y);
	/* What was written is gone: the next column is empty. */
	size_t before = out.len;
	iocap_column_write(&c, &out, &scratch);
	assert_int_equal(out.len, before + 1);
	out.len = before;
	/* Cut anywhere it is no column, and no crash. */
	for (size_t cut = 0; cut < out.len && cut < 3000; cut += 1 + cut / 16) {
		uint8_t *exact = malloc(cut ? cut : 1);
		memcpy(exact, out.data, cut);
		struct iocap_in part = { exact, exact + cut, false };
		free(iocap_column_read(&part, n, &got));
		assert_true(part.bad);
		free(exact);
	}
	iocap_column_done(&c);
	iocap_bytes_done(&out);
	iocap_bytes_done(&scratch);
}

static void columns_keep_numbers(void **s)
{
	(void)s;
	static uint64_t x[40000];
	there_and_back(x, 0);
	for (int kind = 0; kind < 12; kind++)
		for (size_t n = 1; n < 40000; n = n * 5 + dice(3)) {
			for (size_t i = 0; i < n; i++) {
				uint64_t r = (uint64_t)dice(1u << 31) << 33 ^
					     (uint64_t)dice(1u << 31) << 10 ^ dice(1024);
				x[i] = kind == 0   ? 7
				       : kind == 1 ? r
				       : kind == 2 ? r >> dice(64)
				       : kind == 3 ? (dice(1000) ? 3 : r)
				       : kind == 4 ? 1300 + dice(300)
				       : kind == 5 ? dice(2)
				       : kind == 6 ? UINT64_MAX - dice(2)
				       : kind == 7 ? i * 64
						   : r >> (kind * 5);
			}
			there_and_back(x, n);
		}
}

/* ---- grammars ---- */

struct text {
	uint32_t *at;
	size_t n, cap;
};

static void put(struct text *t, uint32_t symbol)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 1024;
		t->at = realloc(t->at, t->cap * sizeof *t->at);
	}
	t->at[t->n++] = symbol;
}

struct rules {
	uint64_t *lengths, *items, *times;
	size_t n, n_items, *begin;
};

static void expand(const struct rules *r, size_t rule, struct text *t, int depth)
{
	assert_true(depth < 2000);
	size_t i = r->begin[rule];
	for (size_t k = 0; k < r->lengths[rule]; k++, i++)
		for (uint64_t n = 0; n <= r->times[i]; n++)
			if (r->items[i] & 1)
				expand(r, r->items[i] >> 1, t, depth + 1);
			else
				put(t, (uint32_t)(r->items[i] >> 1));
}

static void count_uses(const struct rules *r)
{
	uint64_t *uses = calloc(r->n + 1, sizeof *uses);
	for (size_t i = 0; i < r->n_items; i++)
		if (r->items[i] & 1)
			uses[r->items[i] >> 1] += r->times[i] + 1;
	for (size_t k = 1; k < r->n; k++)
		assert_true(uses[k] >= 2);
	free(uses);
}

static size_t grammar_is(struct iocap_grammar *g, const struct text *want)
{
	struct iocap_column c[3] = { 0 };
	struct iocap_bytes out = { 0 }, scratch = { 0 };
	assert_true(iocap_grammar_write(g, &c[0], &c[1], &c[2]));
	for (int i = 0; i < 3; i++)
		iocap_column_write(&c[i], &out, &scratch);
	struct iocap_in in = { out.data, out.data + out.len, false };
	struct rules r;
	size_t n_times;
	r.lengths = iocap_column_read(&in, 1u << 30, &r.n);
	r.items = iocap_column_read(&in, 1u << 30, &r.n_items);
	r.times = iocap_column_read(&in, 1u << 30, &n_times);
	assert_false(in.bad);
	assert_int_equal(r.n_items, n_times);
	assert_int_equal(r.n_items, g->items);
	assert_int_equal(r.n, g->n_rules);
	r.begin = calloc(r.n + 1, sizeof *r.begin);
	for (size_t k = 0; k < r.n; k++)
		r.begin[k + 1] = r.begin[k] + r.lengths[k];
	struct text got = { 0 };
	if (r.n)
		expand(&r, 0, &got, 0);
	assert_int_equal(got.n, want->n);
	assert_memory_equal(got.at, want->at, want->n * sizeof *want->at);
	count_uses(&r);

	struct iocap_column list[2] = { 0 };
	assert_true(iocap_grammar_list(g, &list[0], &list[1]));
	size_t k = 0;
	out.len = 0;
	iocap_column_write(&list[0], &out, &scratch);
	iocap_column_write(&list[1], &out, &scratch);
	in = (struct iocap_in){ out.data, out.data + out.len, false };
	size_t n, n2;
	uint64_t *items = iocap_column_read(&in, want->n, &n);
	uint64_t *times = iocap_column_read(&in, want->n, &n2);
	assert_int_equal(n, g->runs);
	for (size_t i = 0; i < n; i++)
		for (uint64_t m = 0; m <= times[i]; m++)
			assert_int_equal(want->at[k++] * 2, items[i]);
	assert_int_equal(k, want->n);
	free(items);
	free(times);
	size_t size = r.n_items;
	free(r.lengths);
	free(r.items);
	free(r.times);
	free(r.begin);
	free(got.at);
	for (int i = 0; i < 3; i++)
		iocap_column_done(&c[i]);
	iocap_column_done(&list[0]);
	iocap_column_done(&list[1]);
	iocap_bytes_done(&out);
	iocap_bytes_done(&scratch);
	return size;
}

static void known_texts(void **s)
{
	(void)s;
	static const char *const texts[] = { "",
					     "a",
					     "aaaa",
					     "abab",
					     "abcabcabc",
					     "abcdbc",
					     "aabaab",
					     "xababyxababy",
					     "abbbabbb",
					     "aabbaabbaabb",
					     "abcbcabcbcabcbcd",
					     "abababcababab",
					     "aaabaaabaaab",
					     "abaabaaabaaaab" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct iocap_grammar g = { 0 };
		struct text t = { 0 };
		for (const char *p = texts[i]; *p; p++) {
			iocap_grammar_put(&g, (uint32_t)*p);
			put(&t, (uint32_t)*p);
			(void)grammar_is(&g, &t);
		}
		iocap_grammar_done(&g);
		free(t.at);
	}
}

static void a_loop(struct text *t, int depth)
{
	uint32_t body = 1 + dice(5), times = 1 + dice(6);
	uint64_t keep = state;
	for (uint32_t n = 0; n < times; n++) {
		if (dice(8))
			state = keep; /* mostly the same again */
		for (uint32_t k = 0; k < body; k++)
			if (depth && dice(3) == 0)
				a_loop(t, depth - 1);
			else
				put(t, dice(6));
	}
}

static void random_loops_come_back(void **s)
{
	(void)s;
	struct iocap_grammar g = { 0 };
	for (uint64_t seed = 1; seed <= 400; seed++) {
		state = seed * 77777;
		struct text t = { 0 };
		while (t.n < 200 + seed * 5)
			a_loop(&t, 4);
		uint32_t alphabet = 1 + dice(9);
		for (int k = 0; k < 100; k++)
			put(&t, dice(alphabet));
		for (size_t i = 0; i < t.n; i++)
			iocap_grammar_put(&g, t.at[i]);
		assert_false(g.failed);
		(void)grammar_is(&g, &t);
		iocap_grammar_reset(&g);
		free(t.at);
	}
	iocap_grammar_done(&g);
}

/* A loop is a rule, whatever its period and how often it comes. */
static void loops_are_small(void **s)
{
	(void)s;
	for (uint32_t period = 2; period <= 4096; period *= 4) {
		struct iocap_grammar g = { 0 };
		struct text t = { 0 };
		for (uint32_t n = 0; n < 200000; n++) {
			uint32_t symbol = n % period == 7 ? 3 : n % period;
			iocap_grammar_put(&g, symbol);
			put(&t, symbol);
		}
		assert_true(grammar_is(&g, &t) <= 2 * period + 40);
		iocap_grammar_done(&g);
		free(t.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_keep_numbers),
		cmocka_unit_test(known_texts),
		cmocka_unit_test(random_loops_come_back),
		cmocka_unit_test(loops_are_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
