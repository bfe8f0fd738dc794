/* Pictures on their way through the daemon: the newest look counts, what is late makes the record
 * anew, and what can't be is counted or said. That they come in any order, twice, in pieces, and over
 * kills is in daemon_gather.c and daemon_gather_faults.c. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/gather_fixture.h"

static struct frames f;

static struct world begin(void)
{
	f = (struct frames){ .n = 0 };
	put_run(&f);
	return start();
}

static void end(struct world *w)
{
	arena_free(&f.a);
	stop(w);
}

static bool is_picture(const struct frame *x, const char *file)
{
	return x->type == FRAME_PICTURE && !strncmp(x->as.picture.file.p, file, strlen(file));
}

/* All but the looks at this picture from this snapshot on; or only those. */
static void say_but(struct world *w, const char *file, uint64_t from, bool rest)
{
	for (size_t i = 0; i < f.n; i++)
		if ((is_picture(&f.items[i], file) && f.items[i].as.picture.snapshot >= from) ==
		    rest)
			(void)say(w, f.agent[i], &f.items[i], 1);
}

static void assert_is_directly(struct world *w)
{
	struct buf is = stored(w->s, RUN), should = directly();
	assert_same(&is, &should);
	buf_done(&is);
	buf_done(&should);
}

static void the_device_is_in_the_record(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	struct record rec = get(w.s);
	assert_string_equal(rec.body.status, "ok");
	assert_string_equal(rec.body.device.execution, "profiled.opencl");
	assert_true(rec.body.device.compute_ops == RANKS * 5);
	assert_true(rec.body.device.busy_s > 0.9 && rec.body.device.busy_s < 1.1);
	assert_int_equal(rec.body.ops.n, 2);
	assert_null(caveat(&rec, "picture_not_final"));
	record_done(&rec);
	assert_is_directly(&w);
	end(&w);
}

static void a_picture_that_nobody_knew_of_makes_the_record_anew(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "l.3", 0, false);
	tick(&w);
	struct record rec = get(w.s);
	assert_true(rec.body.device.compute_ops == (RANKS - 1) * 5);
	record_done(&rec);
	say_but(&w, "l.3", 0, true);
	tick(&w);
	assert_non_null(strstr(w.told, "stored " RUN "\n"));
	assert_is_directly(&w);
	end(&w);
}

static void one_from_before_the_end_is_waited_for_and_told(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "l.2", 20, false);
	pass(&w, w.config.wait_ns - SECOND);
	assert_int_equal(ask("SELECT count(*) FROM run"), 0);
	pass(&w, 2 * SECOND);
	struct record rec = get(w.s);
	assert_true(rec.body.device.compute_ops == RANKS * 5);
	assert_non_null(caveat(&rec, "picture_not_final"));
	record_done(&rec);
	say_but(&w, "l.2", 20, true);
	tick(&w);
	assert_is_directly(&w);
	end(&w);
}

static void one_of_which_only_a_part_came_is_told(void **state)
{
	(void)state;
	struct world w = begin();
	bool first = true;
	for (size_t i = 0; i < f.n; i++) {
		bool this = is_picture(&f.items[i], "l.3");
		if (!this || first)
			(void)say(&w, f.agent[i], &f.items[i], 1);
		first = first && !this;
	}
	pass(&w, w.config.wait_ns + SECOND);
	struct record rec = get(w.s);
	assert_string_equal(caveat(&rec, "picture_unreadable"),
			    "profiled.opencl: only a part of the picture l.3.opencl.roipic came from "
			    "its node.");
	record_done(&rec);
	say_but(&w, "l.3", 0, true);
	tick(&w);
	assert_is_directly(&w);
	end(&w);
}

static void an_older_look_does_not_come_back(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "", 20, false);
	say_but(&w, "", 20, true);
	tick(&w);
	assert_is_directly(&w);
	for (size_t i = 0; i < f.n; i++)
		if (is_picture(&f.items[i], "") && f.items[i].as.picture.snapshot < 20)
			(void)say(&w, f.agent[i], &f.items[i], 1);
	tick(&w);
	assert_is_directly(&w);
	assert_int_equal(ask("SELECT count(DISTINCT snapshot) FROM inbox_picture_piece WHERE "
			     "picture = (SELECT min(id) FROM inbox_picture)"),
			 1);
	end(&w);
}

/* ---- what can't be --------------------------------------------------------------------------- */

static struct frame a_picture(const char *bytes)
{
	struct frame x;
	frame_clear(&x, FRAME_PICTURE);
	x.as.picture.run = str_of(RUN);
	x.as.picture.exec = str_of(exec_names[PROFILED]);
	x.as.picture.file = str_of("z.opencl.roipic");
	x.as.picture.snapshot = 40;
	x.as.picture.size = strlen(bytes);
	x.as.picture.data = str_of(bytes);
	x.as.picture.final = YES;
	x.as.picture.uid = 1000;
	return x;
}

static void nonsense_is_counted_and_changes_nothing(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	struct frame bad[10];
	for (size_t i = 0; i < 10; i++)
		bad[i] = a_picture("four");
	bad[0].as.picture.run = str_of("not a run id");
	bad[1].as.picture.run = (struct str){ .p = NULL };
	bad[2].as.picture.exec = (struct str){ .p = NULL };
	bad[3].as.picture.file = (struct str){ .p = NULL };
	bad[4].as.picture.file = str_of("../z.roipic");
	bad[5].as.picture.file = str_of("a\nb");
	bad[6].as.picture.size = 3;
	bad[7].as.picture.size = UINT64_MAX;
	bad[8].as.picture.size = bad[8].as.picture.offset = UINT64_MAX - 1;
	bad[9].as.picture.uid = 666;
	assert_int_equal(say(&w, 0, bad, 10).refused, 10);
	assert_int_equal(ask("SELECT sum(count) FROM inbox_loss WHERE ours AND what = 'picture'"),
			 10);
	assert_int_equal(ask("SELECT count(*) FROM inbox_picture WHERE file LIKE 'z%'"), 0);
	tick(&w);
	assert_is_directly(&w);
	end(&w);
}

static void bytes_that_are_no_picture_are_a_caveat(void **state)
{
	(void)state;
	struct world w = begin();
	struct frame bad = a_picture("no picture");
	(void)say(&w, 1, &bad, 1);
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	struct record rec = get(w.s);
	assert_non_null(strstr(caveat(&rec, "picture_unreadable"),
			       "z.opencl.roipic: not a picture of a device collector"));
	assert_true(rec.body.device.compute_ops == RANKS * 5);
	record_done(&rec);
	end(&w);
}

/* A list of millions of items that are null takes a byte each here, and many there. */
static void one_that_asks_for_all_memory_is_left_out(void **state)
{
	(void)state;
	struct world w = begin();
	struct buf b = { .max = 64u << 20 };
	struct picture p;
	struct picture_op op;
	picture_clear(&p);
	block_clear(&picture_op_block, &op);
	p.collector = "opencl";
	p.status = "ok";
	const size_t n = 12u << 20;
	p.ops.items = calloc(n, sizeof op);
	assert_non_null(p.ops.items);
	p.ops.n = n;
	for (size_t i = 0; i < n; i++)
		p.ops.items[i] = op;
	picture_put(&b, &p);
	free(p.ops.items);
	assert_false(b.failed);
	assert_true(b.len > n && b.len < INBOX_MAX_PICTURE);
	for (size_t at = 0; at < b.len; at += BATCH_CHUNK) {
		struct frame x = a_picture("");
		x.as.picture.size = b.len;
		x.as.picture.offset = at;
		x.as.picture.data = (struct str){
			.p = b.data + at, .n = b.len - at < BATCH_CHUNK ? b.len - at : BATCH_CHUNK
		};
		assert_int_equal(say(&w, 1, &x, 1).refused, 0);
	}
	buf_done(&b);
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	struct record rec = get(w.s);
	assert_non_null(strstr(caveat(&rec, "picture_unreadable"),
			       "z.opencl.roipic: the pictures of the execution take more than"));
	assert_true(rec.body.device.compute_ops == RANKS * 5);
	record_done(&rec);
	end(&w);
}

static void pictures_of_others_go_when_it_is_known_whose_the_run_is(void **state)
{
	(void)state;
	struct world w = begin();
	struct frame bad = a_picture("of somebody else");
	bad.as.picture.uid = 666;
	(void)say(&w, 1, &bad, 1);
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	assert_is_directly(&w);
	assert_int_equal(ask("SELECT sum(count) FROM inbox_loss WHERE ours AND why = 'other_user'"),
			 1);
	end(&w);
}

static void they_go_with_their_run(void **state)
{
	(void)state;
	struct world w = begin();
	say_but(&w, "", UINT64_MAX, false);
	tick(&w);
	assert_int_equal(ask("SELECT count(*) FROM inbox_picture"), RANKS);
	pass(&w, w.config.keep_ns + SECOND);
	assert_int_equal(ask("SELECT count(*) FROM inbox_picture"), 0);
	assert_int_equal(ask("SELECT count(*) FROM inbox_picture_piece"), 0);
	assert_is_directly(&w);
	end(&w);
}

int main(void)
{
	(void)alarm(300);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_quick_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(the_device_is_in_the_record),
		TEST(a_picture_that_nobody_knew_of_makes_the_record_anew),
		TEST(one_from_before_the_end_is_waited_for_and_told),
		TEST(one_of_which_only_a_part_came_is_told),
		TEST(an_older_look_does_not_come_back),
		TEST(nonsense_is_counted_and_changes_nothing),
		TEST(bytes_that_are_no_picture_are_a_caveat),
		TEST(one_that_asks_for_all_memory_is_left_out),
		TEST(pictures_of_others_go_when_it_is_known_whose_the_run_is),
		TEST(they_go_with_their_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
