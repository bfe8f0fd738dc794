/* What the collector io says of MPI, without one: hints, communicators and datatypes as texts, and
 * requests from their begin to the call that ends them, on a double. What real MPIs do is
 * tests/system/io-mpi's to see. */
#include "tests/unit/io_mpi_double.h"

/* ---- texts ------------------------------------------------------------------------------------
 */

static void hints_are_lines(void **state)
{
	(void)state;
	const char *all = "cb_nodes=4\nromio_ds_write=disable\nstriping_unit=1048576";
	assert_string_equal(text(mpi_info_text(5)), all);
	assert_int_equal(mpi_info_text(facts.info_null), 0);
	assert_int_equal(mpi_info_text(6), 0); /* the MPI refuses */
	assert_string_equal(text(mpi_in_force_text(9)), all);
	assert_int_equal(infos_freed, 1);
	assert_int_equal(mpi_in_force_text(8), 0);
	assert_int_equal(infos_freed, 1);
	hint_gone = 0; /* gone between the two questions */
	assert_string_equal(text(mpi_info_text(5)),
			    "romio_ds_write=disable\nstriping_unit=1048576");
	n_hints = 0;
	assert_int_equal(mpi_info_text(5), 0);
	mpi_ask.Info_get_nthkey = NULL;
	n_hints = 3;
	assert_int_equal(mpi_info_text(5), 0);
}

/* A hint is there whole or not at all. */
static void too_many_hints_are_cut_between_two(void **state)
{
	(void)state;
	memset(long_value, 'v', sizeof long_value - 1);
	n_hints = 1000;
	const char *got = text(mpi_info_text(5));
	size_t n = strlen(got), room = facts.handle_bytes == 8 ? 256 : 1023;
	assert_true(n < (16 << 10) && n > (14 << 10));
	assert_int_equal(strspn(strrchr(got, '\n'), "\nmore=v"), strlen("\nmore=") + room);
}

static const char *ranks_text(int n, ...)
{
	va_list args;
	va_start(args, n);
	n_ranks = n;
	for (int i = 0; i < n; i++)
		ranks[i] = va_arg(args, int);
	va_end(args);
	const char *got = text(mpi_comm_text(99));
	assert_int_equal(groups, 0);
	return got;
}

static void communicators_are_ranks_of_the_world(void **state)
{
	(void)state;
	assert_string_equal(text(mpi_comm_text(45)), "MPI_COMM_SELF");
	assert_string_equal(ranks_text(1, 3), "MPI_COMM_SELF");
	assert_string_equal(ranks_text(2, 0, 1), "ranks 0-1");
	assert_string_equal(ranks_text(6, 0, 1, 2, 5, 7, 8), "ranks 0-2,5,7-8");
	assert_string_equal(ranks_text(3, 3, 2, 1), "ranks 3,2,1");
	outside = 1;
	assert_string_equal(ranks_text(3, 0, 1, 2), "size 3");
	outside = -1;
	world = 3;
	assert_string_equal(ranks_text(3, 0, 1, 2), "MPI_COMM_WORLD");
	assert_string_equal(ranks_text(3, 0, 2, 1), "ranks 0,2,1");
	world = 200;
	n_ranks = 130; /* more than are asked for at once */
	for (int i = 0; i < n_ranks; i++)
		ranks[i] = i + 70;
	assert_string_equal(text(mpi_comm_text(99)), "ranks 70-199");
	if (facts.handle_bytes == 4) /* of a word only the lower half is a handle */
		assert_string_equal(text(mpi_comm_text(45 | (mpi_word)0xffff << 32)),
				    "MPI_COMM_SELF");
	mpi_ask.Group_free = NULL;
	assert_int_equal(mpi_comm_text(99), 0);
}

static const char *type_text(mpi_word type, int64_t bytes)
{
	int64_t got = 0;
	const char *t = text(mpi_type_text(type, &got));
	assert_int_equal(got, bytes);
	assert_int_equal(types_out, 0); /* what a definition gave is freed */
	mpi_type_forget(type);
	return t;
}

static void shape(int combiner, int n, ...)
{
	va_list args;
	va_start(args, n);
	combiner_of_100 = combiner;
	n_numbers = n;
	for (int i = 0; i < n; i++)
		numbers_of_100[i] = va_arg(args, int);
	va_end(args);
}

static void datatypes_are_definitions(void **state)
{
	(void)state;
	assert_string_equal(type_text(1, 4), "MPI_INT");
	assert_string_equal(type_text(50, 40), "large(-1,-8,64)"); /* no name */
	assert_string_equal(type_text(13, 40), "large(-1,-8,64)"); /* no answer */
	shape(3, 3, 7, 8, 9);
	assert_string_equal(type_text(100, 40), "vector(7,8,9;-4294967296,-8589934592;MPI_INT)");
	assert_string_equal(type_text(102, 40), "vector(7,8,9;-4294967296,-8589934592;"
						"vector(7,8,9;-4294967296,-8589934592;"
						"vector(7,8,9;-4294967296,-8589934592;MPI_INT)))");
	/* Constants of the MPI are ours: order, and how it is distributed. */
	shape(12, 2, 6, 57);
	assert_string_equal(type_text(100, 40), "subarray(6,1;-4294967296,-8589934592;MPI_INT)");
	shape(13, 13, 4, 1, 2, 10, 20, 121, 122, -49767, 5, 2, 2, 9, 56);
	assert_string_equal(type_text(100, 40),
			    "darray(4,1,2,10,20,0,1,-1,5,2,2,9,0;-4294967296,-8589934592;MPI_INT)");
	shape(99, 1, 1); /* of an MPI to come */
	assert_string_equal(type_text(100, 40), "large(-1,-8,64)");
	large = 1;
	int64_t got = 0;
	(void)mpi_type_text(1, &got);
	assert_int_equal(got, -1);
	mpi_type_forget(1);
}

static void definitions_have_their_limits(void **state)
{
	(void)state;
	shape(3, 1, 5);
	const char *deep = type_text(120, 40); /* nested 21 times, told 8 times */
	int depth = 0;
	for (const char *at = deep; (at = strstr(at, "vector(")); at++)
		depth++;
	assert_int_equal(depth, 8);
	assert_non_null(strstr(deep, ";large(-1,-8,64))"));
	const char *most = type_text(60, 40);
	assert_int_equal(strncmp(most, "indexed_block(0,1,2,", 20), 0);
	assert_string_equal(strstr(most, ",2047;"), ",2047;;MPI_INT)");
	assert_string_equal(type_text(61, 40), "large(-1,-8,64)");
}

/* Asked for once, until it is freed; of many the oldest goes. */
static void described_types_are_kept(void **state)
{
	(void)state;
	int64_t bytes;
	shape(3, 1, 5);
	uint32_t first = mpi_type_text(100, &bytes);
	unsigned known = n_texts;
	assert_int_equal(mpi_type_text(100, &bytes), first);
	assert_int_equal(bytes, 40);
	assert_int_equal(n_texts, known);
	mpi_type_forget(100);
	assert_int_equal(mpi_type_text(100, &bytes), known + 1);
	for (mpi_word i = 0; i < 62; i++) /* 64 are kept, one of these places is empty */
		(void)mpi_type_text(1000 + i, &bytes);
	assert_true(n_texts == known + 63);
	n_texts = 0;
	(void)mpi_type_text(100, &bytes);
	assert_int_equal(n_texts, 0);
	(void)mpi_type_text(2000, &bytes);
	(void)mpi_type_text(2001, &bytes);
	(void)mpi_type_text(100, &bytes);
	assert_int_equal(n_texts, 3);
	no_lock = true; /* a signal handler: it is described, and not kept */
	assert_int_equal(mpi_type_text(100, &bytes), 4);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

int MPI_Wait(mpi_word, mpi_word);
int MPI_Waitall(mpi_word, mpi_word, mpi_word);
int MPI_Waitany(mpi_word, mpi_word, mpi_word, mpi_word);
int PMPI_Waitsome(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Test(mpi_word, mpi_word, mpi_word);
int MPI_Testall(mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Testany(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Request_free(mpi_word);
int MPI_Barrier(mpi_word);
int PMPI_Send(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Sendrecv(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word,
		 mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Put(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Comm_dup(mpi_word, mpi_word);
int MPI_Type_commit(mpi_word);
int MPI_Type_free(mpi_word);
int MPI_Probe(mpi_word, mpi_word, mpi_word, mpi_word);
int MPI_Finalize(void);
int MPI_Abort(mpi_word, mpi_word);

#define STATUS 24
static struct {
	int rc, flag, index, count, indices[2048], moved[2048], error[2048];
	bool leaves; /* leaves errno changed */
	size_t n;
	mpi_word statuses;
} mpi;

static void leave_statuses(mpi_word to, size_t n)
{
	mpi.statuses = to;
	for (size_t i = 0; i < n && to != facts.status_ignore; i++) {
		*(int *)(to + i * STATUS) = mpi.moved[i];
		*(int *)(to + i * STATUS + 8) = mpi.error[i];
	}
	if (mpi.leaves)
		errno = 12345;
}

static int f_wait(mpi_word request, mpi_word status)
{
	(void)request;
	leave_statuses(status, 1);
	return mpi.rc;
}

static int f_waitall(mpi_word n, mpi_word requests, mpi_word statuses)
{
	(void)requests;
	leave_statuses(statuses, (int)n > 0 ? n : 0);
	return mpi.rc;
}

static int f_waitany(mpi_word n, mpi_word requests, mpi_word index, mpi_word status)
{
	(void)n;
	(void)requests;
	*(int *)index = mpi.index;
	leave_statuses(status, 1);
	return mpi.rc;
}

static int f_some(mpi_word n, mpi_word requests, mpi_word count, mpi_word indices,
		  mpi_word statuses)
{
	(void)n;
	(void)requests;
	*(int *)count = mpi.count;
	for (int i = 0; i < mpi.count; i++)
		((int *)indices)[i] = mpi.indices[i];
	leave_statuses(statuses, mpi.count > 0 ? (size_t)mpi.count : 0);
	return mpi.rc;
}

static int f_test(mpi_word request, mpi_word flag, mpi_word status)
{
	*(int *)flag = mpi.flag;
	return mpi.flag ? f_wait(request, status) : mpi.rc;
}

static int f_testall(mpi_word n, mpi_word requests, mpi_word flag, mpi_word statuses)
{
	*(int *)flag = mpi.flag;
	return mpi.flag ? f_waitall(n, requests, statuses) : mpi.rc;
}

static int f_testany(mpi_word n, mpi_word requests, mpi_word index, mpi_word flag, mpi_word status)
{
	*(int *)flag = mpi.flag;
	return mpi.flag ? f_waitany(n, requests, index, status) : mpi.rc;
}

static mpi_word given[12];
static unsigned n_given;

#define GIVEN(...)                                                                                 \
	do {                                                                                       \
		const mpi_word all[] = { __VA_ARGS__ };                                            \
		n_given = sizeof all / sizeof *all;                                                \
		memcpy(given, all, sizeof all);                                                    \
		assert_true(within || finishes);                                                   \
	} while (0)

static int f_none(void)
{
	return mpi.rc;
}

static int f_one(mpi_word a)
{
	GIVEN(a);
	return mpi.rc;
}

static int f_two(mpi_word a, mpi_word b)
{
	GIVEN(a, b);
	return mpi.rc;
}

static int f_four(mpi_word a, mpi_word b, mpi_word c, mpi_word d)
{
	GIVEN(a, b, c, d);
	return mpi.rc;
}

static int f_six(mpi_word a, mpi_word b, mpi_word c, mpi_word d, mpi_word e, mpi_word f)
{
	GIVEN(a, b, c, d, e, f);
	return mpi.rc;
}

static int f_eight(mpi_word a, mpi_word b, mpi_word c, mpi_word d, mpi_word e, mpi_word f,
		   mpi_word g, mpi_word h)
{
	GIVEN(a, b, c, d, e, f, g, h);
	return mpi.rc;
}

static int f_twelve(mpi_word a, mpi_word b, mpi_word c, mpi_word d, mpi_word e, mpi_word f,
		    mpi_word g, mpi_word h, mpi_word i, mpi_word j, mpi_word k, mpi_word l)
{
	GIVEN(a, b, c, d, e, f, g, h, i, j, k, l);
	return mpi.rc;
}

static const struct {
	const char *name;
	void *f;
} functions[] = {
	{ "MPI_Wait", (void *)f_wait },       { "MPI_Waitall", (void *)f_waitall },
	{ "MPI_Waitany", (void *)f_waitany }, { "PMPI_Waitsome", (void *)f_some },
	{ "MPI_Test", (void *)f_test },       { "MPI_Testall", (void *)f_testall },
	{ "MPI_Testany", (void *)f_testany }, { "MPI_Request_free", (void *)f_one },
	{ "MPI_Barrier", (void *)f_one },     { "PMPI_Send", (void *)f_six },
	{ "MPI_Sendrecv", (void *)f_twelve }, { "MPI_Put", (void *)f_eight },
	{ "MPI_Comm_dup", (void *)f_two },    { "MPI_Type_commit", (void *)f_one },
	{ "MPI_Type_free", (void *)f_one },   { "MPI_Probe", (void *)f_four },
	{ "MPI_Finalize", (void *)f_none },   { "MPI_Abort", (void *)f_two },
};

void *mpi_next(struct mpi_next *n)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, n->name) == 0)
			return functions[i].f;
	fail_msg("nobody has %s", n->name);
	return NULL;
}

/* Requests in memory, as wide as the MPI's. */
static union {
	uint32_t small[2048];
	uint64_t large[2048];
} requests;

static mpi_word the_requests(size_t n, ...)
{
	va_list args;
	va_start(args, n);
	for (size_t i = 0; i < n; i++) {
		mpi_word r = va_arg(args, mpi_word);
		if (facts.handle_bytes == 8)
			requests.large[i] = r;
		else
			requests.small[i] = (uint32_t)r;
	}
	va_end(args);
	return (mpi_word)&requests;
}

static void begun(mpi_word request, uint32_t number)
{
	struct mpi_begun b = { .request = request,
			       .number = number,
			       .call = IO_MPI_File_iwrite,
			       .n = 5,
			       .begin = 1000 + number,
			       .at = 4096 * (int64_t)number,
			       .arg = { 3, 100, 25, 8, number } };
	mpi_request_begun(&b);
}

/* An access and what waited for it, among those of one call, which come in any order. */
static void ended(uint32_t number, int64_t result)
{
	size_t at = 0;
	while (at + 2 <= n_events && events[at].arg[4] != number)
		at += 2;
	assert_true(at + 2 <= n_events);
	const struct seen *a = &events[at], *w = &events[at + 1];
	assert_int_equal(a->call, IO_MPI_File_iwrite);
	assert_int_equal(a->begin, 1000 + number);
	assert_int_equal(a->result, result);
	assert_int_equal(a->at, 4096 * (int64_t)number);
	assert_true(a->n == 5 && a->arg[0] == 3);
	assert_int_equal(w->call, IO_MPI_File_wait);
	assert_int_equal(w->result, result);
	assert_true(w->n == 1 && w->arg[0] == number && w->at == -1 && w->end == a->end);
	assert_true(at ? w->begin == w->end : w->begin < w->end); /* the time is the first one's */
}

static int requests_of(void **state, size_t handle_bytes)
{
	memset(&mpi, 0, sizeof mpi);
	return family(state, handle_bytes);
}

static int small_requests(void **state)
{
	return requests_of(state, 4);
}

static int large_requests(void **state)
{
	return requests_of(state, 8);
}

static void one_request_and_its_wait(void **state)
{
	(void)state;
	char status[STATUS] __attribute__((aligned(8)));
	begun(21, 1);
	mpi.moved[0] = 100;
	mpi.leaves = true;
	errno = 0;
	assert_int_equal(MPI_Wait(the_requests(1, (mpi_word)22), (mpi_word)status), 0);
	assert_int_equal(classes[0], IO_MPI_WAIT); /* of something else */
	assert_int_equal(n_events, 0);
	assert_int_equal(MPI_Wait(the_requests(1, (mpi_word)21), (mpi_word)status), 0);
	assert_int_equal(errno, 12345); /* what the MPI left */
	ended(1, 100);
	assert_int_equal(n_events, 2);
	assert_int_equal(n_classes, 1);
	assert_true(mpi.statuses == (mpi_word)status);
	/* It is over: the same handle is another now. */
	assert_int_equal(MPI_Wait(the_requests(1, (mpi_word)21), (mpi_word)status), 0);
	assert_int_equal(n_events, 2);
	assert_int_equal(io.dropped, 0);
}

static void a_status_that_the_program_ignores_is_ours(void **state)
{
	(void)state;
	begun(21, 1);
	mpi.moved[0] = 64;
	(void)MPI_Wait(the_requests(1, (mpi_word)30), facts.status_ignore);
	assert_true(mpi.statuses == facts.status_ignore); /* of no file: as it was */
	(void)MPI_Wait(the_requests(1, (mpi_word)21), facts.status_ignore);
	assert_true(mpi.statuses != facts.status_ignore);
	ended(1, 64);
	/* More than there is room for on the stack. */
	for (uint32_t i = 0; i < 300; i++)
		begun(100 + i, i + 1);
	n_events = 0;
	for (mpi_word i = 0; i < 300; i++) {
		mpi.moved[i] = (int)i;
		if (facts.handle_bytes == 8)
			requests.large[i] = 100 + i;
		else
			requests.small[i] = (uint32_t)(100 + i);
	}
	(void)MPI_Waitall(300, (mpi_word)&requests, facts.status_ignore);
	assert_int_equal(n_events, 600);
	for (size_t i = 0; i < 600; i += 2)
		assert_int_equal(events[i].result, events[i].arg[4] - 1);
}

static void failures_are_in_the_statuses(void **state)
{
	(void)state;
	char status[3 * STATUS] __attribute__((aligned(8)));
	mpi_word all = the_requests(3, (mpi_word)21, (mpi_word)22, (mpi_word)23);
	begun(21, 1);
	begun(22, 2);
	begun(23, 3);
	mpi.rc = 17; /* in the statuses: one well, one failed, one still under way */
	mpi.moved[0] = 100;
	mpi.error[1] = 35;
	mpi.error[2] = 18;
	assert_int_equal(MPI_Waitall(3, all, (mpi_word)status), 17);
	assert_int_equal(n_events, 4);
	ended(1, 100);
	ended(2, -35);
	mpi.rc = 99; /* of the call itself */
	(void)MPI_Wait(the_requests(1, (mpi_word)23), (mpi_word)status);
	assert_int_equal(events[4].result, -99);
	assert_int_equal(n_events, 6);
}

static void some_of_them_by_their_indices(void **state)
{
	(void)state;
	char status[3 * STATUS] __attribute__((aligned(8)));
	int count = 0, indices[3], index = 0, flag = 0;
	mpi_word all = the_requests(3, (mpi_word)21, facts.request_null, (mpi_word)23);
	begun(21, 1);
	begun(23, 3);
	mpi.count = facts.undefined; /* none are active */
	(void)PMPI_Waitsome(3, all, (mpi_word)&count, (mpi_word)indices, (mpi_word)status);
	mpi.index = facts.undefined;
	(void)MPI_Waitany(3, all, (mpi_word)&index, (mpi_word)status);
	(void)MPI_Testany(3, all, (mpi_word)&index, (mpi_word)&flag, (mpi_word)status);
	(void)MPI_Testall(3, all, (mpi_word)&flag, (mpi_word)status);
	(void)MPI_Test(all, (mpi_word)&flag, (mpi_word)status);
	assert_int_equal(n_events, 0);
	assert_int_equal(n_classes, 5);
	mpi.count = 1;
	mpi.indices[0] = 2;
	mpi.moved[0] = 30;
	(void)PMPI_Waitsome(3, all, (mpi_word)&count, (mpi_word)indices, (mpi_word)status);
	ended(3, 30);
	mpi.flag = 1;
	mpi.index = 0;
	mpi.moved[0] = 31;
	n_events = 0;
	(void)MPI_Testany(3, all, (mpi_word)&index, (mpi_word)&flag, (mpi_word)status);
	ended(1, 31);
	assert_int_equal(MPI_Waitall((mpi_word)-1, all, (mpi_word)status), 0); /* nonsense passes */
	assert_int_equal(MPI_Waitall(0, 0, (mpi_word)status), 0);
}

/* An MPI may give one handle to several that are done at once: they end in their order. */
static void one_handle_for_several(void **state)
{
	(void)state;
	char status[2 * STATUS] __attribute__((aligned(8)));
	begun(21, 1);
	begun(21, 2);
	mpi.moved[0] = 5;
	mpi.moved[1] = 6;
	(void)MPI_Waitall(2, the_requests(2, (mpi_word)21, (mpi_word)21), (mpi_word)status);
	assert_int_equal(n_events, 4);
	ended(1, 5);
	ended(2, 6);
}

static void more_than_are_known_are_counted(void **state)
{
	(void)state;
	char status[STATUS] __attribute__((aligned(8)));
	for (uint32_t i = 0; i < 1026; i++)
		begun(5000 + i * 16, i + 1); /* many in one bucket */
	assert_int_equal(io.dropped, 2);
	for (uint32_t i = 0; i < 1026; i++)
		(void)MPI_Wait(the_requests(1, (mpi_word)(5000 + i * 16)), (mpi_word)status);
	assert_int_equal(n_events, 2048);
	assert_int_equal(n_classes, 2);
	begun(21, 1);
	assert_int_equal(MPI_Request_free(the_requests(1, (mpi_word)21)), 0);
	assert_int_equal(io.dropped, 3);
	assert_int_equal(classes[2], IO_MPI_OTHER);
	no_lock = true; /* in a signal handler */
	begun(22, 1);
	assert_int_equal(io.dropped, 4);
}

/* ---- calls that are timed ---------------------------------------------------------------------
 */

static void handed_on(unsigned n, enum io_mpi_class class_)
{
	assert_int_equal(n_given, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(given[i], i + 1);
	assert_true(n_classes && classes[n_classes - 1] == class_);
	n_given = 0;
}

static void calls_have_their_class(void **state)
{
	(void)state;
	mpi.rc = 4711;
	assert_int_equal(MPI_Barrier(1), 4711);
	handed_on(1, IO_MPI_COLLECTIVE);
	assert_int_equal(PMPI_Send(1, 2, 3, 4, 5, 6), 4711);
	handed_on(6, IO_MPI_POINT_TO_POINT);
	assert_int_equal(MPI_Sendrecv(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 4711);
	handed_on(12, IO_MPI_POINT_TO_POINT);
	(void)MPI_Put(1, 2, 3, 4, 5, 6, 7, 8);
	handed_on(8, IO_MPI_ONE_SIDED);
	(void)MPI_Comm_dup(1, 2);
	handed_on(2, IO_MPI_START);
	(void)MPI_Probe(1, 2, 3, 4);
	handed_on(4, IO_MPI_WAIT);
	(void)MPI_Type_commit(1);
	handed_on(1, IO_MPI_OTHER);
	size_t before = n_classes;
	within = true; /* by another call of MPI on this thread: it goes straight on */
	assert_int_equal(MPI_Barrier(1), 4711);
	assert_int_equal(n_classes, before);
	within = false;
}

static void a_type_that_is_freed_is_forgotten(void **state)
{
	(void)state;
	int64_t bytes;
	shape(3, 1, 5);
	(void)mpi_type_text(100, &bytes);
	unsigned known = n_texts;
	(void)MPI_Type_free(the_requests(1, (mpi_word)100));
	(void)mpi_type_text(100, &bytes);
	assert_int_equal(n_texts, known + 1);
	assert_int_equal(MPI_Type_free(0), 0); /* nonsense passes */
}

static void ends_count_what_is_under_way(void **state)
{
	(void)state;
	begun(21, 1);
	begun(22, 2);
	mpi.rc = 5;
	assert_int_equal(MPI_Finalize(), 5);
	assert_int_equal(io.dropped, 2);
	assert_int_equal(classes[0], IO_MPI_START);
	assert_int_equal(finishes, 0);
	assert_int_equal(MPI_Abort(1, 2), 5);
	assert_int_equal(io.dropped, 2);
	assert_int_equal(finishes, 1);
	assert_int_equal(n_given, 2);
}

#define BOTH(f) cmocka_unit_test_setup(f, small_handles), cmocka_unit_test_setup(f, large_handles)
#define REQUESTS_BOTH(f)                                                                           \
	cmocka_unit_test_setup(f, small_requests), cmocka_unit_test_setup(f, large_requests)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(hints_are_lines),
		BOTH(too_many_hints_are_cut_between_two),
		BOTH(communicators_are_ranks_of_the_world),
		BOTH(datatypes_are_definitions),
		BOTH(definitions_have_their_limits),
		BOTH(described_types_are_kept),
		REQUESTS_BOTH(one_request_and_its_wait),
		REQUESTS_BOTH(a_status_that_the_program_ignores_is_ours),
		REQUESTS_BOTH(failures_are_in_the_statuses),
		REQUESTS_BOTH(some_of_them_by_their_indices),
		REQUESTS_BOTH(one_handle_for_several),
		REQUESTS_BOTH(more_than_are_known_are_counted),
		REQUESTS_BOTH(calls_have_their_class),
		REQUESTS_BOTH(a_type_that_is_freed_is_forgotten),
		/* The last: what it leaves is lost. */
		cmocka_unit_test_setup(ends_count_what_is_under_way, small_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
