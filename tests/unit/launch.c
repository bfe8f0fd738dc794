/* What is known of launchers: where their processes may run, and how they take variables there. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "run/launch.h"

static const char *variable, *value;

static char *get(const char *name)
{
	return variable && strcmp(name, variable) == 0 ? (char *)(uintptr_t)value : NULL;
}

static bool spreads(const char *line)
{
	static char copy[256];
	static const char *words[16];
	struct txts argv = { words, 0 };
	(void)snprintf(copy, sizeof copy, "%s", line);
	for (char *save, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[argv.n++] = w;
	return launch_spreads(&argv, get);
}

static void a_launcher_stays_on_its_node_unless_hosts_are_named(void **state)
{
	(void)state;
	variable = NULL;
	assert_false(spreads(""));
	assert_false(spreads("mpirun -n 4"));
	assert_false(spreads("/opt/mpi/bin/mpiexec --bind-to core -n 4 -x HOST"));
	assert_true(spreads("mpirun -H a,b -n 4"));
	assert_true(spreads("mpirun --hostfile=/x -n 4"));
	assert_true(spreads("mpiexec -machinefile m -n 4"));
	assert_true(spreads("srun -n 4"));
	assert_true(spreads("/usr/bin/flux run -n 4"));
}

static void the_batch_system_knows_how_many_nodes_there_are(void **state)
{
	(void)state;
	variable = "SLURM_JOB_NUM_NODES";
	value = "1";
	assert_false(spreads("srun -n 4"));
	value = "2";
	assert_true(spreads("mpirun -n 4"));
	assert_false(spreads("")); /* without a launcher there is one process, here */
	variable = "OMPI_MCA_orte_default_hostfile";
	assert_true(spreads("mpirun -n 4"));
}

static void a_list_of_one_node_is_one_node(void **state)
{
	(void)state;
	char path[] = "/tmp/roimeter-nodes-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	variable = "PBS_NODEFILE";
	value = path;
	assert_false(spreads("mpirun -n 4"));
	assert_int_equal(file_write(path, "n1\nn1\nn1\n", 9, NULL), 0);
	assert_false(spreads("mpirun -n 4"));
	assert_int_equal(file_write(path, "n1\nn1\nn10", 9, NULL), 0);
	assert_true(spreads("mpirun -n 4"));
	(void)unlink(path);
	assert_false(spreads("mpirun -n 4"));
}

static struct env_pair carry(const char *first, const char *second)
{
	static struct arena a;
	const char *words[] = { first, second }, *names[] = { "ROIMETER_RUN", "N" };
	const struct txts argv = { words, second ? 2 : first ? 1 : 0 }, list = { names, 2 };
	struct env_pair ret;
	arena_free(&a);
	assert_int_equal(launch_carry(&ret, &a, &argv, &list), 0);
	if (ret.value) { /* outlives the arena for as long as a test needs it */
		static char copy[128];
		(void)snprintf(copy, sizeof copy, "%s", ret.value);
		ret.value = copy;
	}
	arena_free(&a);
	return ret;
}

static void each_launcher_takes_variables_in_its_own_way(void **state)
{
	(void)state;
	assert_null(carry(NULL, NULL).name);
	struct env_pair p = carry("/opt/bin/mpirun", NULL);
	assert_string_equal(p.name, "OMPI_MCA_mca_base_env_list");
	assert_string_equal(p.value, "ROIMETER_RUN;N");
	assert_null(carry("mpirun", "-x").name); /* Open MPI refuses both at once */
	p = carry("srun", "-n4");
	assert_string_equal(p.name, "SLURM_EXPORT_ENV");
	assert_string_equal(p.value, "ALL");
	assert_null(carry("flux", "run").name); /* takes all there is */
	assert_null(carry("env", "mpirun").name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launcher_stays_on_its_node_unless_hosts_are_named),
		cmocka_unit_test(the_batch_system_knows_how_many_nodes_there_are),
		cmocka_unit_test(a_list_of_one_node_is_one_node),
		cmocka_unit_test(each_launcher_takes_variables_in_its_own_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
