/* Batches of every version that was ever released are read, for ever. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "schema/conformance.h"
#include "tests/unit/batch_frames.h"

static void tell_u64(struct buf *b, const char *name, uint64_t x)
{
	buf_printf(b, " %s=%llu", name, (unsigned long long)x);
}

static void tell_i64(struct buf *b, const char *name, int64_t x)
{
	if (x != ROI_UNKNOWN)
		buf_printf(b, " %s=%lld", name, (long long)x);
}

static void tell_num(struct buf *b, const char *name, double x)
{
	if (known(x))
		buf_printf(b, " %s=%.15g", name, x);
}

static void tell_ter(struct buf *b, const char *name, signed char x)
{
	if (x != UNKNOWN)
		buf_printf(b, " %s=%s", name, x ? "yes" : "no");
}

static void tell_bin(struct buf *b, const char *name, struct str s)
{
	if (!s.p)
		return;
	buf_printf(b, " %s=", name);
	for (size_t i = 0; i < s.n; i++)
		buf_printf(b, "%02x", (unsigned)(unsigned char)s.p[i]);
}
#define tell_txt tell_bin
#define tell_txts tell_bin
#define tell_pairs tell_bin

#define TELL(type, name, unit, meaning) tell_##type(b, #name, f->name);
#define TELL_FRAME(number, kind, KIND)                                                             \
	static void tell_##kind(struct buf *b, const struct frame_##kind *f)                       \
	{                                                                                          \
		buf_puts(b, #kind);                                                                \
		FRAME_##KIND##_FIELDS(TELL) buf_puts(b, "\n");                                     \
	}
BATCH_FRAMES(TELL_FRAME)

static void tell_sender(struct buf *b, const struct batch_sender *f)
{
	BATCH_SENDER_FIELDS(TELL)
	buf_puts(b, "\n");
}

/* What is known in the batch, as text. */
static void tell(struct buf *b, const struct buf *batch)
{
	struct batch_in in = { .left = 0 };
	struct frame f;
	assert_int_equal(batch_open(&in, batch->data, batch->len, NULL), 0);
	tell_sender(b, &in.head.sender);
	while (batch_next(&in, &f, NULL) == 1) {
		switch (f.type) {
#define TELL_CASE(number, kind, KIND)                                                              \
	case FRAME_##KIND:                                                                         \
		tell_##kind(b, &f.as.kind);                                                        \
		break;
			BATCH_FRAMES(TELL_CASE)
		case FRAME_TYPES:
			break;
		}
	}
	assert_false(b->failed);
	batch_in_done(&in);
}

/* The file was written on the day of the version's release, and stays. Its text has only what is
 * known, so a field that is appended to a list changes nothing in it. */
static void assert_read_as_ever(const char *path, const char *text_path,
				struct buf (*example)(void))
{
	const char *golden = getenv("GOLDEN");
	struct buf then = { 0 }, text = { 0 }, expected = { 0 };
	if (golden && !strcmp(golden, "write") && access(path, F_OK)) {
		struct buf now = example();
		assert_int_equal(file_write(path, now.data, now.len, NULL), 0);
		buf_done(&now);
	}
	assert_int_equal(file_read(&then, path, NULL), 0);
	tell(&text, &then);
	if (golden && !strcmp(golden, "write"))
		assert_int_equal(file_write(text_path, text.data, text.len, NULL), 0);
	assert_int_equal(file_read(&expected, text_path, NULL), 0);
	assert_string_equal(text.data, expected.data);
	buf_done(&then);
	buf_done(&text);
	buf_done(&expected);
}

static void version_1_is_read_as_ever(void **state)
{
	(void)state;
	assert_read_as_ever("tests/golden/batch/version-1", "tests/golden/batch/version-1.txt",
			    an_example);
}

static struct buf a_declaration(void)
{
	struct batch_out out = { .frames = 0 };
	struct buf b = { 0 }, list = { 0 };
	struct frame f;
	static const char *const cases[] = { "cg", "small", "Conjugate gradients, \xc3\xa9",
					     "cg", "large", NULL };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		batch_text_put(&list, str_of(cases[i]));
	frame_clear(&f, FRAME_DECLARE);
	f.as.declare.suite = str_of("demo");
	f.as.declare.real_ns = 1764459419123456789;
	f.as.declare.uid = 1000;
	f.as.declare.cases = batch_list(&list);
	put(&out, f);
	end(&out, 10, &b);
	batch_out_done(&out);
	buf_done(&list);
	return b;
}

/* A kind that came after the first release of the version. */
static void declarations_are_read_as_ever(void **state)
{
	(void)state;
	assert_read_as_ever("tests/golden/batch/version-1-declare",
			    "tests/golden/batch/version-1-declare.txt", a_declaration);
}

static struct buf a_picture(void)
{
	struct batch_out out = { .frames = 0 };
	struct buf b = { 0 };
	struct frame f;
	frame_clear(&f, FRAME_PICTURE);
	struct frame_picture *p = &f.as.picture;
	p->run = str_of("20260929T045201Z-0123abcd");
	p->exec = str_of("profiled.opencl");
	p->stream = str_of("0123-41-7.0");
	p->file = str_of("0123-41-7.0.opencl.roipic");
	p->snapshot = 3;
	p->size = 9;
	p->offset = 4;
	p->data = str_of("bytes");
	p->final = YES;
	p->real_ns = 1764459419123456789;
	p->host = str_of("node");
	p->pid = 41;
	p->uid = 1000;
	put(&out, f);
	end(&out, 11, &b);
	batch_out_done(&out);
	return b;
}

static void pictures_are_read_as_ever(void **state)
{
	(void)state;
	assert_read_as_ever("tests/golden/batch/version-1-picture",
			    "tests/golden/batch/version-1-picture.txt", a_picture);
}

static struct buf a_result(void)
{
	struct batch_out out = { .frames = 0 };
	struct buf b = { 0 }, result = { 0 };
	struct conformance c;
	struct check k;
	struct frame f;
	block_clear(&check_block, &k);
	k.name = "compute_ops";
	k.part = "split";
	k.verdict = "pass";
	k.value = k.expected = 20;
	k.tolerance = 0;
	k.unit = "1";
	k.detail = "kernels inside the region";
	conformance_clear(&c);
	c.platform = "nvidia-h100.cuda13.0";
	c.collector = "cupti";
	c.utc = "2026-11-30T04:22:38Z";
	c.verdict = "pass";
	c.passed = 1;
	c.failed = c.skipped = 0;
	c.checks.items = &k;
	c.checks.n = 1;
	conformance_put(&result, &c);
	frame_clear(&f, FRAME_CONFORMANCE);
	f.as.conformance.real_ns = 1764459419123456789;
	f.as.conformance.host = str_of("n1");
	f.as.conformance.uid = 1000;
	f.as.conformance.result = batch_list(&result);
	put(&out, f);
	end(&out, 12, &b);
	batch_out_done(&out);
	buf_done(&result);
	return b;
}

static void conformance_results_are_read_as_ever(void **state)
{
	(void)state;
	assert_read_as_ever("tests/golden/batch/version-1-conformance",
			    "tests/golden/batch/version-1-conformance.txt", a_result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_read_as_ever),
		cmocka_unit_test(declarations_are_read_as_ever),
		cmocka_unit_test(pictures_are_read_as_ever),
		cmocka_unit_test(conformance_results_are_read_as_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
