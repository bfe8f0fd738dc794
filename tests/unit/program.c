/* What a program's file is. */
#define _GNU_SOURCE
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/program.h"

static char path[] = "/tmp/roimeter-program-XXXXXX";

static void put_as(const char *file, const void *bytes, size_t n)
{
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(const void *bytes, size_t n)
{
	put_as(path, bytes, n);
}

struct made {
	Elf64_Ehdr head;
	Elf64_Phdr segments[3];
};

static struct made elf(uint32_t second)
{
	struct made m = { .head = { .e_phoff = sizeof(Elf64_Ehdr),
				    .e_phnum = 3,
				    .e_phentsize = sizeof(Elf64_Phdr) } };
	memcpy(m.head.e_ident, ELFMAG, SELFMAG);
	m.head.e_ident[EI_CLASS] = ELFCLASS64;
	m.head.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
	m.segments[0].p_type = PT_LOAD;
	m.segments[1].p_type = second;
	m.segments[2].p_type = PT_LOAD;
	return m;
}

static void this_one_is_dynamic(void **state)
{
	(void)state;
	assert_int_equal(program_kind_of("/proc/self/exe"), PROGRAM_DYNAMIC);
}

static void one_without_a_loader_is_static(void **state)
{
	(void)state;
	struct made m = elf(PT_LOAD);
	put(&m, sizeof m);
	assert_int_equal(program_kind_of(path), PROGRAM_STATIC);
	m = elf(PT_INTERP);
	put(&m, sizeof m);
	assert_int_equal(program_kind_of(path), PROGRAM_DYNAMIC);
}

static void a_script_is_one(void **state)
{
	(void)state;
	put("#!/bin/sh\n", 10);
	assert_int_equal(program_kind_of(path), PROGRAM_SCRIPT);
}

/* The interpreter that a script asks for may be static, or a script that asks for such a one. */
static void a_script_of_a_static_interpreter_is_not_reached(void **state)
{
	(void)state;
	char script[sizeof path + 8], other[sizeof path + 8], why[1024], text[256];
	struct made m = elf(PT_LOAD);
	put(&m, sizeof m);
	(void)snprintf(script, sizeof script, "%s.sh", path);
	(void)snprintf(other, sizeof other, "%s.two", path);
	(void)snprintf(text, sizeof text, "#! %s -x\ntrue\n", path);
	put_as(script, text, strlen(text));
	(void)snprintf(text, sizeof text, "#!%s\n", script);
	put_as(other, text, strlen(text));
	const char *const files[] = { script, other };
	for (int i = 0; i < 2; i++) {
		assert_true(program_unreachable(why, sizeof why, files[i]));
		(void)snprintf(text, sizeof text, "%s is a script of %s, which is linked statically",
			       files[i], path);
		assert_int_equal(strncmp(why, text, strlen(text)), 0);
	}
	assert_true(program_unreachable(why, sizeof why, path));
	assert_non_null(strstr(why, " is linked statically"));
	m = elf(PT_INTERP);
	put(&m, sizeof m);
	assert_false(program_unreachable(why, sizeof why, script));
	/* One that asks for itself, for nothing, for a name without an end. */
	(void)snprintf(text, sizeof text, "#!%s\n", script);
	put_as(script, text, strlen(text));
	assert_false(program_unreachable(why, sizeof why, script));
	put_as(script, "#! \n", 4);
	assert_false(program_unreachable(why, sizeof why, script));
	memset(text, 'x', sizeof text);
	memcpy(text, "#!/", 3);
	put_as(script, text, sizeof text);
	assert_false(program_unreachable(why, sizeof why, script));
	(void)unlink(script);
	(void)unlink(other);
}

/* Cut, of the other byte order, with a table past the end: nothing is known. */
static void what_is_broken_is_unknown(void **state)
{
	(void)state;
	struct made m = elf(PT_LOAD);
	for (size_t n = 0; n < sizeof m - sizeof m.segments[2]; n += 7) {
		put(&m, n);
		assert_int_equal(program_kind_of(path), PROGRAM_UNKNOWN);
	}
	m.head.e_phoff = UINT64_MAX - 3;
	put(&m, sizeof m);
	assert_int_equal(program_kind_of(path), PROGRAM_UNKNOWN);
	m = elf(PT_LOAD);
	m.head.e_ident[EI_DATA] ^= 3;
	put(&m, sizeof m);
	assert_int_equal(program_kind_of(path), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind_of("/nowhere/at/all"), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind_of("/proc/self"), PROGRAM_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_one_is_dynamic),
		cmocka_unit_test(one_without_a_loader_is_static),
		cmocka_unit_test(a_script_is_one),
		cmocka_unit_test(a_script_of_a_static_interpreter_is_not_reached),
		cmocka_unit_test(what_is_broken_is_unknown),
	};
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	(void)close(fd);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return rc;
}
