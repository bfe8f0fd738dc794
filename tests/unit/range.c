/* Ranges as marks: what fits, threads, nesting, forks; and the table of functions that an NVTX
 * client lets a library fill, as such a client has it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>
#include <cmocka.h>

#include "collectors/range.h"
#include "include/roimeter.h"
#include "lib/buf.h"
#include "lib/file.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#define HAVE_HEADER
#endif

/* ---- the marker library, which counts ---- */

static int begins, ends, open_now, deepest;

static const struct roimeter_api *attach(void)
{
	return &roimeter_api_1;
}

static void begin(void)
{
	begins++;
	open_now++;
	deepest = open_now > deepest ? open_now : deepest;
}

static void end(void)
{
	ends++;
	open_now--;
}

const struct roimeter_api roimeter_api_1 = {
	.size_ = sizeof roimeter_api_1,
	.version_ = 1,
	.attach_ = attach,
	.begin_ = begin,
	.end_ = end,
};

/* NULL: none. */
static void pattern_is(const char *glob)
{
	(void)(glob ? setenv("ROIMETER_RANGE", glob, 1) : unsetenv("ROIMETER_RANGE"));
	range_read_pattern();
}

static int fresh(void **state)
{
	(void)state;
	begins = ends = open_now = deepest = 0;
	pattern_is("step*");
	return 0;
}

static void marks_are(int wanted_begins, int wanted_ends)
{
	assert_int_equal(begins, wanted_begins);
	assert_int_equal(ends, wanted_ends);
}

/* ---- which ranges ---- */

static void a_name_fits_as_a_pattern_or_as_it_is(void **state)
{
	(void)state;
	assert_true(range_fits("step"));
	assert_true(range_fits("step 12/a"));
	assert_false(range_fits("a step"));
	assert_false(range_fits(""));
	assert_false(range_fits(NULL));
	pattern_is("[rank 0] *");
	assert_true(range_fits("[rank 0] *"));
	assert_false(range_fits("rank 0"));
	pattern_is("solve");
	assert_true(range_fits("solve"));
	assert_false(range_fits("solver"));
}

static void without_a_pattern_nothing_fits_and_no_client_is_served(void **state)
{
	(void)state;
	pattern_is(NULL);
	assert_false(range_wanted());
	assert_false(range_fits("step"));
	pattern_is("");
	assert_false(range_wanted());
	assert_false(range_fits(""));
}

static void wide_names_become_utf8(void **state)
{
	(void)state;
	char room[RANGE_NAME_BYTES];
	wchar_t longer[RANGE_NAME_BYTES + 7];
	assert_null(range_narrow(room, NULL));
	assert_string_equal(range_narrow(room, L"a\u00e4\u20ac\U0001f600"),
			    "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(range_narrow(room, (const wchar_t[]){ 0x7fffffff, 0 }), "\xef\xbf\xbd");
	wmemset(longer, L'\u20ac', RANGE_NAME_BYTES + 6);
	longer[RANGE_NAME_BYTES + 6] = 0;
	assert_true(strlen(range_narrow(room, longer)) < RANGE_NAME_BYTES);
	assert_int_equal(strlen(range_narrow(room, longer)) % 3, 0); /* no half letter */
}

/* ---- pushed ranges ---- */

static void push(const char *name)
{
	(void)range_push(NULL, range_fits(name));
}

static void the_outermost_that_fits_is_the_region(void **state)
{
	(void)state;
	push("main");
	push("step 1");
	push("step inside");
	push("other");
	marks_are(1, 0);
	assert_int_equal(range_pop(NULL), 3);
	assert_int_equal(range_pop(NULL), 2);
	marks_are(1, 0);
	assert_int_equal(range_pop(NULL), 1);
	marks_are(1, 1);
	push("step 2");
	assert_int_equal(range_pop(NULL), 1);
	assert_int_equal(range_pop(NULL), 0);
	marks_are(2, 2);
}

static void a_pop_without_a_push_ends_nothing(void **state)
{
	(void)state;
	assert_int_equal(range_pop(NULL), -1);
	push("step");
	assert_int_equal(range_pop(NULL), 0);
	assert_int_equal(range_pop(NULL), -1);
	marks_are(1, 1);
}

static void domains_do_not_end_each_others_ranges(void **state)
{
	(void)state;
	static const char a, b;
	assert_int_equal(range_push(&a, true), 0);
	assert_int_equal(range_push(&b, false), 0);
	assert_int_equal(range_push(NULL, false), 0);
	assert_int_equal(range_pop(&b), 0);
	assert_int_equal(range_pop(NULL), 0);
	marks_are(1, 0);
	assert_int_equal(range_pop(&b), -1);
	assert_int_equal(range_pop(&a), 0);
	marks_are(1, 1);
	/* More of them than are kept at once, one after the other and together. */
	char many[40];
	for (size_t i = 0; i < sizeof many; i++) {
		(void)range_push(&many[i], true);
		(void)range_pop(&many[i]);
	}
	marks_are(41, 41);
	for (size_t i = 0; i < sizeof many; i++)
		(void)range_push(&many[i], true);
	for (size_t i = 0; i < sizeof many; i++)
		(void)range_pop(&many[i]);
	marks_are(57, 57);
}

static void *other_thread(void *arg)
{
	(void)arg;
	assert_int_equal(range_pop(NULL), -1); /* not that of the first thread */
	push("step");
	(void)range_pop(NULL);
	return NULL;
}

static void ranges_belong_to_their_thread(void **state)
{
	(void)state;
	pthread_t thread;
	push("step");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	marks_are(2, 1);
	assert_int_equal(range_pop(NULL), 0);
	marks_are(2, 2);
	assert_int_equal(deepest, 2);
}

static void a_forked_child_has_nothing_open(void **state)
{
	(void)state;
	push("step");
	pid_t pid = fork();
	if (pid == 0) {
		(void)range_pop(NULL); /* its parent's */
		int bad = ends != 0;
		push("step");
		(void)range_pop(NULL);
		_exit(bad + (ends != 1));
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)range_pop(NULL);
	marks_are(1, 1);
}

static void ranges_with_a_number_end_anywhere(void **state)
{
	(void)state;
	uint64_t a = range_start(true), b = range_start(false), c = range_start(true);
	assert_true(a && b && c && a != b && b != c && a != c);
	marks_are(2, 0);
	range_end(b);
	range_end(0);
	marks_are(2, 0);
	range_end(a);
	range_end(c);
	marks_are(2, 2);
}

/* ---- what did not fit ---- */

static void names_that_do_not_fit_are_told_until_one_does(void **state)
{
	(void)state;
	char folder[] = "/tmp/roimeter-range.XXXXXX", path[64];
	struct buf b = { .max = 4096 };
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/ranges", folder);
	(void)setenv("ROIMETER_LOG", folder, 1);
	pid_t pid = fork(); /* a child begins anew */
	if (pid == 0) {
		for (int i = 0; i < 2; i++) {
			(void)range_fits("init");
			(void)range_fits("in\nit\x1b");
			(void)range_fits("init");
		}
		(void)range_fits("step");
		(void)range_fits("output");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)unsetenv("ROIMETER_LOG");
	assert_int_equal(file_read(&b, path, NULL), 0);
	assert_string_equal(b.data, "init\nin it \n");
	buf_done(&b);
	(void)unlink(path);
	(void)rmdir(folder);
}

/* ---- an NVTX client, as its header makes one ---- */

typedef void (*function)(void);

static function core[17], core2[17];
static function *core_table[17], *core2_table[17];
static bool old_client;

static int module_table(uint32_t module, function ***ret_table, unsigned *ret_size)
{
	if (module != 1 && module != 5)
		return 0;
	if (module == 5 && old_client)
		return 0;
	*ret_table = module == 1 ? core_table : core2_table;
	*ret_size = 16;
	return 1;
}

static struct {
	size_t size;
	int (*module_table)(uint32_t, function ***, unsigned *);
} callbacks = { sizeof callbacks, module_table };

static const void *export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static const void *export_nothing(uint32_t id)
{
	(void)id;
	return NULL;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

static int inject(void)
{
	memset(core, 0, sizeof core);
	memset(core2, 0, sizeof core2);
	for (size_t i = 1; i < 16; i++) {
		core_table[i] = &core[i];
		core2_table[i] = &core2[i];
	}
	return InitializeInjectionNvtx2(export_table);
}

/* nvtxEventAttributes_t, by its bytes. */
static void attributes(unsigned char to[48], int32_t type, const void *message)
{
	uint16_t version = 3, size = 48;
	memset(to, 0, 48);
	memcpy(to, &version, 2);
	memcpy(to + 2, &size, 2);
	memcpy(to + 32, &type, 4);
	memcpy(to + 40, &message, sizeof message);
}

static void a_client_gets_functions_for_ranges_and_no_others(void **state)
{
	(void)state;
	assert_int_equal(inject(), 1);
	for (int i = 1; i < 16; i++) {
		assert_int_equal(core[i] != NULL, i >= 4 && i <= 11);
		assert_int_equal(core2[i] != NULL, (i >= 2 && i <= 5) || (i >= 10 && i <= 13));
	}
	core_table[9] = NULL; /* one that the program does not use */
	assert_int_equal(InitializeInjectionNvtx2(export_table), 1);
}

static void a_client_that_is_strange_or_not_asked_for_is_let_alone(void **state)
{
	(void)state;
	assert_int_equal(InitializeInjectionNvtx2(export_nothing), 0);
	callbacks.size = 8;
	assert_int_equal(inject(), 0);
	callbacks.size = sizeof callbacks;
	pattern_is(NULL);
	assert_int_equal(inject(), 0);
	assert_null(core[9]);
	pattern_is("step*");
	old_client = true;
	assert_int_equal(inject(), 1);
	old_client = false;
	assert_non_null(core[9]);
	assert_null(core2[4]);
}

static void every_kind_of_name_is_understood(void **state)
{
	(void)state;
	unsigned char a[48];
	assert_int_equal(inject(), 1);
	int (*push_ex)(const void *) = (int (*)(const void *))core[8];
	int (*push_a)(const char *) = (int (*)(const char *))core[9];
	int (*push_w)(const wchar_t *) = (int (*)(const wchar_t *))core[10];
	int (*pop)(void) = (int (*)(void))core[11];
	uint64_t (*start_w)(const wchar_t *) = (uint64_t(*)(const wchar_t *))core[6];
	void (*stop)(uint64_t) = (void (*)(uint64_t))core[7];
	void *(*domain_of)(const char *) = (void *(*)(const char *))core2[12];
	void *(*text_of)(const void *, const char *) =
		(void *(*)(const void *, const char *))core2[10];
	int (*domain_push)(const void *, const void *) =
		(int (*)(const void *, const void *))core2[4];
	int (*domain_pop)(const void *) = (int (*)(const void *))core2[5];

	assert_int_equal(push_a("step"), 0);
	assert_int_equal(pop(), 0);
	assert_int_equal(push_w(L"step"), 0);
	assert_int_equal(pop(), 0);
	stop(start_w(L"step"));
	marks_are(3, 3);
	attributes(a, 1, "step");
	assert_int_equal(push_ex(a), 0);
	assert_int_equal(pop(), 0);
	attributes(a, 2, L"step");
	assert_int_equal(push_ex(a), 0);
	assert_int_equal(pop(), 0);
	marks_are(5, 5);
	void *domain = domain_of("library"), *another = domain_of("library");
	assert_true(domain && another && domain != another);
	void *fits = text_of(domain, "step"), *does_not = text_of(domain, "other");
	assert_true(fits && does_not && fits != does_not);
	attributes(a, 3, fits);
	assert_int_equal(domain_push(domain, a), 0);
	attributes(a, 3, does_not);
	assert_int_equal(domain_push(domain, a), 1);
	marks_are(6, 5);
	assert_int_equal(domain_pop(domain), 1);
	assert_int_equal(domain_pop(domain), 0);
	marks_are(6, 6);
	/* No name, a kind of name that is not known, no attributes, attributes that are too short.
	 */
	attributes(a, 0, NULL);
	(void)push_ex(a);
	attributes(a, 9, "step");
	(void)push_ex(a);
	(void)push_ex(NULL);
	attributes(a, 1, "step");
	a[2] = 32;
	(void)push_ex(a);
	for (int i = 3; i >= 0; i--)
		assert_int_equal(pop(), i);
	marks_are(6, 6);
}

int roctxRangePushA(const char *name);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *name);
void roctxRangeStop(uint64_t number);

static void roctx_has_ranges_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(roctxRangePushA("step"), 0);
	push("other");
	(void)range_pop(NULL);
	marks_are(1, 0);
	assert_int_equal(roctxRangePushA("other"), 1);
	assert_int_equal(roctxRangePop(), 1);
	assert_int_equal(roctxRangePop(), 0);
	roctxRangeStop(roctxRangeStartA("step"));
	marks_are(2, 2);
}

/* ---- what we say of NVTX is what its header says ---- */

static void the_header_agrees(void **state)
{
	(void)state;
#ifdef HAVE_HEADER
	assert_int_equal(sizeof(nvtxEventAttributes_t), 48);
	assert_int_equal(offsetof(nvtxEventAttributes_t, size), 2);
	assert_int_equal(offsetof(nvtxEventAttributes_t, messageType), 32);
	assert_int_equal(offsetof(nvtxEventAttributes_t, message), 40);
	assert_int_equal(NVTX_MESSAGE_TYPE_ASCII, 1);
	assert_int_equal(NVTX_MESSAGE_TYPE_UNICODE, 2);
	assert_int_equal(NVTX_MESSAGE_TYPE_REGISTERED, 3);
	assert_int_equal(sizeof(nvtxRangeId_t), sizeof(uint64_t));
#else
	skip(); /* no <nvtx3/nvToolsExt.h>: it comes with the CUDA toolkit */
#endif
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_fits_as_a_pattern_or_as_it_is),
		TEST(without_a_pattern_nothing_fits_and_no_client_is_served),
		TEST(wide_names_become_utf8),
		TEST(the_outermost_that_fits_is_the_region),
		TEST(a_pop_without_a_push_ends_nothing),
		TEST(domains_do_not_end_each_others_ranges),
		TEST(ranges_belong_to_their_thread),
		TEST(a_forked_child_has_nothing_open),
		TEST(ranges_with_a_number_end_anywhere),
		TEST(names_that_do_not_fit_are_told_until_one_does),
		TEST(a_client_gets_functions_for_ranges_and_no_others),
		TEST(a_client_that_is_strange_or_not_asked_for_is_let_alone),
		TEST(every_kind_of_name_is_understood),
		TEST(roctx_has_ranges_of_its_own),
		TEST(the_header_agrees),
	};
	(void)alarm(60);
	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
