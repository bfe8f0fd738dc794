/* Targets, routes, what clients take, entity tags, tokens, tables: what of the daemon is pure. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/cache.h"
#include "daemon/csv.h"
#include "daemon/listen.h"
#include "daemon/negotiate.h"
#include "daemon/route.h"
#include "daemon/target.h"
#include "daemon/token.h"

static void targets_are_decoded_once(void **state)
{
	(void)state;
	struct target t;
	assert_int_equal(target_parse(&t, "/a%20b/c%2525?x=1+2%26&y&z=%C3%A9", NULL), 0);
	assert_string_equal(t.path, "/a b/c%25");
	assert_int_equal(t.n_params, 3);
	assert_string_equal(target_param(&t, "x"), "1 2&");
	assert_string_equal(target_param(&t, "y"), "");
	assert_string_equal(target_param(&t, "z"), "\xc3\xa9");
	assert_null(target_param(&t, "w"));
}

static void bad_targets_are_refused_with_a_sentence(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",          "*",       "a",       "http://x/", "/../a", "/a/..",     "/a/./b",
		"/%2e%2e/a", "/a%2fb",  "/a%5Cb",  "/%00",      "/%zz",  "/%4",       "/%",
		"/%ff",      "/%c0%af", "/a b",    "/a\x7f",    "/a\n",  "/?a=1&a=2", "/?a=%00",
		"/?a=%ff",   "/#a",     "/%0d%0a", "/?a=\xc3",
	};
	struct target t;
	struct err err;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err.text[0] = 0;
		if (target_parse(&t, bad[i], &err) != -EINVAL || !err.text[0])
			fail_msg("\"%s\" was taken", bad[i]);
	}
	char raw[TARGET_BYTES + 8];
	memset(raw, 'a', sizeof raw);
	raw[0] = '/';
	raw[sizeof raw - 1] = 0;
	assert_int_equal(target_parse(&t, raw, &err), -ENAMETOOLONG);
	for (int n = TARGET_PARAMS; n <= TARGET_PARAMS + 1; n++) {
		struct buf b = { 0 };
		buf_puts(&b, "/?");
		for (int i = 0; i < n; i++)
			buf_printf(&b, "%sp%d", i ? "&" : "", i);
		assert_int_equal(target_parse(&t, b.data, NULL), n > TARGET_PARAMS ? -EINVAL : 0);
		buf_done(&b);
	}
}

static void routes_are_found_by_method_and_path(void **state)
{
	(void)state;
	const struct route *r;
	char id[ROUTE_ID_BYTES], allow[64];
	assert_int_equal(route_find("GET", "/api/v1/runs/X/ops", &r, id, allow), 0);
	assert_string_equal(r->pattern, "/api/v1/runs/{id}/ops");
	assert_string_equal(id, "X");
	assert_int_equal(route_find("HEAD", "/api/v1/runs", &r, id, allow), 0);
	assert_string_equal(r->pattern, "/api/v1/runs");
	assert_string_equal(id, "");
	assert_int_equal(route_find("DELETE", "/api/v1/runs/X", &r, id, allow), 0);
	assert_string_equal(r->method, "DELETE");
	assert_int_equal(route_find("POST", "/api/v1/runs/X", &r, id, allow), -ENOTSUP);
	assert_string_equal(allow, "GET, HEAD, DELETE, OPTIONS");
	static const char *const nothing[] = { "",
					       "/api",
					       "/api/v1/",
					       "/api/v1/runs/",
					       "/api/v1/runs//ops",
					       "/api/v1/runs/X/nope",
					       "/api/v1/runs/X/ops/",
					       "/healthy" };
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		assert_int_equal(route_find("GET", nothing[i], &r, id, allow), -ENOENT);
}

static void every_route_can_be_handled(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_routes; i++) {
		enum route_place place = routes[i].place;
		bool by_server = place == AS_ASSET || place == AS_STREAM || place == AS_POST;
		bool writes = place == ON_WRITER || place == AS_POST;
		assert_true(by_server == !routes[i].handle);
		assert_true(routes[i].media && routes[i].summary);
		/* What changes the store needs a token, and an answer of it is never kept. */
		assert_true(writes == (strcmp(routes[i].method, "GET") != 0));
		assert_false(writes && (routes[i].open || routes[i].cached));
	}
}

static int check(const char *raw)
{
	struct target t;
	const struct route *r;
	char id[ROUTE_ID_BYTES], allow[64];
	assert_int_equal(target_parse(&t, raw, NULL), 0);
	assert_int_equal(route_find("GET", t.path, &r, id, allow), 0);
	return route_check(r, &t, NULL);
}

static void queries_are_checked_by_type(void **state)
{
	(void)state;
	assert_int_equal(check("/api/v1/runs?app=a&limit=1000&since=2026-09-29&status=ok"), 0);
	assert_int_equal(
		check("/api/v1/runs?since=2026-09-29T04:52:01Z&cursor=20260929T045201Z-0123abcd"),
		0);
	static const char *const bad[] = { "limit=0",
					   "limit=1001",
					   "limit=-1",
					   "limit=1x",
					   "limit=",
					   "since=2026",
					   "status=fine",
					   "cursor=x",
					   "app=",
					   "nope=1",
					   "limit=99999999999999999999" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char raw[80];
		(void)snprintf(raw, sizeof raw, "/api/v1/runs?%s", bad[i]);
		if (check(raw) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	}
	assert_int_equal(check("/health?x=1"), -EINVAL);
}

static void the_form_is_the_one_the_client_likes_most(void **state)
{
	(void)state;
	const unsigned both = MEDIA_JSON | MEDIA_CSV;
	assert_int_equal(negotiate_media(NULL, both), MEDIA_JSON);
	assert_int_equal(negotiate_media("*/*", both), MEDIA_JSON);
	assert_int_equal(negotiate_media("text/csv", both), MEDIA_CSV);
	assert_int_equal(negotiate_media("text/*", both), MEDIA_CSV);
	assert_int_equal(negotiate_media("TEXT/CSV;q=0.5 , application/json ; q=0.4", both),
			 MEDIA_CSV);
	assert_int_equal(negotiate_media("text/csv;q=0, */*;q=0.1", both), MEDIA_JSON);
	assert_int_equal(negotiate_media("text/csv;q=0, */*;q=0.1", MEDIA_CSV), MEDIA_NONE);
	assert_int_equal(negotiate_media("image/png", both), MEDIA_NONE);
	assert_int_equal(negotiate_media("text/html,application/xhtml+xml,*/*;q=0.8", MEDIA_HTML),
			 MEDIA_HTML);
	assert_int_equal(negotiate_media("text/csv;q=nan", MEDIA_CSV), MEDIA_NONE);
	assert_int_equal(negotiate_media(",;,;q", both), MEDIA_NONE);
	assert_true(negotiate_coding("gzip, br", "br"));
	assert_true(negotiate_coding("deflate, *;q=0.1", "gzip"));
	assert_false(negotiate_coding("gzip;q=0, *", "gzip"));
	assert_false(negotiate_coding("*, gzip;q=0.0", "gzip"));
	assert_false(negotiate_coding("gzipped", "gzip"));
	assert_false(negotiate_coding(NULL, "gzip"));
}

static void tags_match_in_any_coding(void **state)
{
	(void)state;
	assert_true(negotiate_match("\"abc\"", "abc"));
	assert_true(negotiate_match("\"x\", W/\"abc-gzip\"", "abc"));
	assert_true(negotiate_match("\"abc-br\"", "abc"));
	assert_true(negotiate_match("*", "abc"));
	assert_false(negotiate_match("\"ab\"", "abc"));
	assert_false(negotiate_match("\"abcd\"", "abc"));
	assert_false(negotiate_match("abc", "abc"));
	assert_false(negotiate_match("\"abc", "abc"));
	assert_false(negotiate_match("", "abc"));
	assert_false(negotiate_match(NULL, "abc"));
}

static void token_files_are_private_and_checked(void **state)
{
	(void)state;
	char path[] = "/tmp/roimeter-token.XXXXXX";
	int fd = mkstemp(path);
	struct tokens t;
	struct err err = { { 0 } };
	static const char text[] = "# comment\n\n0123456789abcdef\r\nanother-token-xyz\n";
	assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
	assert_int_equal(tokens_read(&t, path, &err), 0);
	assert_int_equal(t.n, 2);
	assert_true(tokens_match(&t, "Bearer 0123456789abcdef"));
	assert_true(tokens_match(&t, "bearer another-token-xyz"));
	static const char *const wrong[] = {
		"Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ",
		"Basic 0123456789abcdef", "0123456789abcdef",         "",
		"Bearer # comment"
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(tokens_match(&t, wrong[i]));
	assert_false(tokens_match(&t, NULL));
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(tokens_read(&t, path, &err), -EACCES);
	assert_int_equal(t.n, 0);
	/* As systemd hands a credential of root's to the user of a unit, by an access list. */
	assert_int_equal(fchmod(fd, 0440), 0);
	assert_int_equal(tokens_read(&t, path, &err), geteuid() ? -EACCES : 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(pwrite(fd, "short\n", 6, 0), 6);
	assert_int_equal(tokens_read(&t, path, &err), -EINVAL);
	assert_non_null(strstr(err.text, ":1:"));
	assert_null(strstr(err.text, "short")); /* what is wrong may still be somebody's token */
	assert_int_equal(tokens_read(&t, NULL, &err), 0);
	assert_false(tokens_match(&t, "Bearer 0123456789abcdef"));
	(void)close(fd);
	(void)unlink(path);
}

static void tables_quote_and_keep_null_empty(void **state)
{
	(void)state;
	struct buf b = { 0 };
	csv_text(&b, NULL);
	csv_text(&b, "a,\"b\"");
	csv_number(&b, 0.1);
	csv_number(&b, NAN);
	csv_end(&b);
	assert_string_equal(b.data, ",\"a,\"\"b\"\"\",0.1,\r\n");
	buf_done(&b);
}

static struct entity *entity_of(const char *text)
{
	struct answer a = { .status = 200, .media = MEDIA_JSON };
	buf_puts(&a.body, text);
	struct entity *e = entity_new(&a, false);
	answer_done(&a);
	assert_non_null(e);
	return e;
}

static void the_cache_knows_versions_and_stays_small(void **state)
{
	(void)state;
	struct cache *c = cache_new();
	struct entity *one = entity_of("one");
	cache_put(c, "a", 1, one);
	struct entity *got = cache_get(c, "a", 1);
	assert_ptr_equal(got, one);
	entity_drop(got);
	assert_null(cache_get(c, "a", 2));
	assert_null(cache_get(c, "b", 1));
	for (int i = 0; i < 1000; i++) {
		char key[16];
		(void)snprintf(key, sizeof key, "k%d", i);
		cache_put(c, key, 1, one);
	}
	assert_null(cache_get(c, "k1", 1));
	got = cache_get(c, "k999", 1);
	assert_ptr_equal(got, one);
	entity_drop(got);
	cache_free(c);
	assert_int_equal(one->status, 200); /* ours still */
	entity_drop(one);
}

static void addresses_are_read_and_said(void **state)
{
	(void)state;
	static const char *const bad[] = { "",           "127.0.0.1",      ":80",
					   "127.0.0.1:", "127.0.0.1:http", "999.1.1.1:0" };
	char text[LISTEN_TEXT];
	int fd;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(listen_open(&fd, text, bad[i], NULL) < 0);
	assert_int_equal(listen_open(&fd, text, "127.0.0.1:0", NULL), 0);
	assert_int_equal(strncmp(text, "127.0.0.1:", 10), 0);
	assert_true(strtol(text + 10, NULL, 10) > 0);
	int second;
	struct err err;
	assert_true(listen_open(&second, text, text, &err) == -EADDRINUSE);
	(void)close(fd);
}

int main(void)
{
	(void)alarm(60);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_decoded_once),
		cmocka_unit_test(bad_targets_are_refused_with_a_sentence),
		cmocka_unit_test(routes_are_found_by_method_and_path),
		cmocka_unit_test(every_route_can_be_handled),
		cmocka_unit_test(queries_are_checked_by_type),
		cmocka_unit_test(the_form_is_the_one_the_client_likes_most),
		cmocka_unit_test(tags_match_in_any_coding),
		cmocka_unit_test(token_files_are_private_and_checked),
		cmocka_unit_test(tables_quote_and_keep_null_empty),
		cmocka_unit_test(the_cache_knows_versions_and_stays_small),
		cmocka_unit_test(addresses_are_read_and_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
