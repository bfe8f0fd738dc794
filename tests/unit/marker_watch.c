/* What a collector in the process is told of marks is what the log says, also where the processor
 * is taken away between the log's own time and the kernel's. The kernel's clock is slow here when
 * it is asked to be: the test has the marker's parts in it, with clock_read. */
#define _GNU_SOURCE
#include "tests/unit/marker_run.h"

#include "marker/guest.h"

#define AWAY_US 20000

static int away; /* before which reading from now on; 0: none */

static int read_late(clockid_t clock, struct timespec *ret)
{
	if (away && --away == 0)
		spin_us(AWAY_US);
	return clock_gettime(clock, ret);
}

#define TOLD 16
static struct {
	int what[TOLD];
	int64_t at_ns[TOLD];
	size_t n;
} told;

static void watcher(const struct roimeter_watched *m)
{
	if (m->what_ <= ROIMETER_WATCH_SOON_ || m->what_ >= ROIMETER_WATCH_TELLS_ || told.n == TOLD)
		return;
	told.what[told.n] = m->what_;
	told.at_ns[told.n++] = m->at_ns_;
}

/* Times of what is told: of a region at once, and one with its processor away behind each mark. */
static void marks(struct shared *shared)
{
	ROIMETER_BEGIN(); /* what the first ones do is done */
	ROIMETER_END();
	clock_read = read_late;
	if (roimeter_api_1.watch_(watcher))
		_exit(1);
	for (int late = 0; late < 2; late++) {
		int second = clock_is_tsc ? late : 2 * late; /* the first may be the log's own */
		away = second;
		ROIMETER_BEGIN();
		spin_us(1000);
		away = second;
		ROIMETER_EXCLUDE_BEGIN();
		spin_us(1000);
		away = second;
		ROIMETER_EXCLUDE_END();
		spin_us(1000);
		away = second;
		ROIMETER_END();
	}
	shared->values[0] = told.n;
	for (size_t i = 0; i < told.n; i++)
		shared->own_ns[i] = told.at_ns[i];
	for (size_t i = 0; i < told.n; i++)
		shared->least_ns[i] = told.what[i];
}

static void told_is_logged(void **state)
{
	(void)state;
	static const int order[] = { ROIMETER_WATCH_BEGIN_, ROIMETER_WATCH_EXCLUDE_BEGIN_,
				     ROIMETER_WATCH_EXCLUDE_END_, ROIMETER_WATCH_END_ };
	struct trial t;
	trial_run(&t, marks);
	assert_int_equal(t.status, 0);
	const struct roi_log *log = trial_log(&t);
	assert_int_equal(t.shared->values[0], 8);
	assert_int_equal(log->n_entries, 3);
	for (int late = 0; late < 2; late++) {
		const struct roi_entry *e = &log->entries[1 + late];
		const int64_t *at = &t.shared->own_ns[4 * late];
		for (int i = 0; i < 4; i++)
			assert_int_equal(t.shared->least_ns[4 * late + i], order[i]);
		assert_true(e->end_ns - e->begin_ns >= 3000000);
		/* The machine may take the processor away by itself, so not all of the limit is
		 * ours: a reading behind it is AWAY_US off, and its tick is known to 1e-3 of that.
		 */
		assert_true(llabs(at[0] - e->begin_ns) < 1000 * AWAY_US / 10);
		assert_true(llabs(at[3] - e->end_ns) < 1000 * AWAY_US / 10);
		int64_t excluded = at[2] - at[1];
		assert_true(llabs(excluded - (int64_t)e->excluded_ns) < 1000 * AWAY_US / 10);
	}
	trial_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_is_logged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
