/* Paths of control groups as they are met in the world, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node/jobs.h"

#define ID "0f3a6d2b9c1e4a5f8d7c6b5a493827160f3a6d2b9c1e4a5f8d7c6b5a49382716"
#define UID "3b0c9d5e-8f1a-4c2d-9e7f-0123456789ab"
#define UID_ "3b0c9d5e_8f1a_4c2d_9e7f_0123456789ab"

struct shape {
	const char *path, *manager, *job, *step, *job_path, *runtime, *container;
};

#define SLURM "/system.slice/slurmstepd.scope"
#define JOB(manager, job, step, path) manager, job, step, path, NULL, NULL
#define BOX(runtime, id) NULL, NULL, NULL, NULL, runtime, id
#define NOTHING NULL, NULL, NULL, NULL, NULL, NULL

static const struct shape shapes[] = {
	/* Slurm, unified hierarchy */
	{ SLURM "/job_1234/step_0/user/task_3", JOB("slurm", "1234", "0", SLURM "/job_1234") },
	{ SLURM "/job_1234/step_batch/user/task_0",
	  JOB("slurm", "1234", "batch", SLURM "/job_1234") },
	{ SLURM "/job_1234/step_extern/user/task_special",
	  JOB("slurm", "1234", "extern", SLURM "/job_1234") },
	{ SLURM "/job_1234/step_interactive/slurm",
	  JOB("slurm", "1234", "interactive", SLURM "/job_1234") },
	{ SLURM "/job_1234", JOB("slurm", "1234", NULL, SLURM "/job_1234") },
	{ "/system.slice/node07_slurmstepd.scope/job_99/step_1/user/task_0",
	  JOB("slurm", "99", "1", "/system.slice/node07_slurmstepd.scope/job_99") },
	{ SLURM "/s5K1KKYAYG5D00/step_0/user/task_0",
	  JOB("slurm", "s5K1KKYAYG5D00", "0", SLURM "/s5K1KKYAYG5D00") },
	{ SLURM "/system", NOTHING },
	{ "/system.slice/slurmd.service", NOTHING },
	/* Slurm, old hierarchies */
	{ "/slurm/uid_1000/job_1234/step_0/task_0",
	  JOB("slurm", "1234", "0", "/slurm/uid_1000/job_1234") },
	{ "/slurm_node07/uid_1000/job_1234/step_batch",
	  JOB("slurm", "1234", "batch", "/slurm_node07/uid_1000/job_1234") },
	{ "/slurm/uid_1000", NOTHING },
	/* a container that a job started */
	{ "/slurm/uid_1000/job_7/step_0/task_0/docker/" ID, "slurm", "7", "0",
	  "/slurm/uid_1000/job_7", "docker", ID },
	/* a folder of the same name that is not Slurm's */
	{ "/user.slice/job_1234/step_0", NOTHING },
	{ SLURM "/job_", NOTHING },
	{ SLURM "/job_12x/step_0", NOTHING },
	/* OpenPBS: its hook, by its age; Torque */
	{ "/pbs_jobs.service/jobid/12.pbs01",
	  JOB("pbs", "12.pbs01", NULL, "/pbs_jobs.service/jobid/12.pbs01") },
	{ "/pbs_jobs.service/jobid/12[3].pbs01",
	  JOB("pbs", "12[3].pbs01", NULL, "/pbs_jobs.service/jobid/12[3].pbs01") },
	{ "/pbspro.slice/pbspro-1234.head.slice",
	  JOB("pbs", "1234.head", NULL, "/pbspro.slice/pbspro-1234.head.slice") },
	{ "/pbspro/0.headnode", JOB("pbs", "0.headnode", NULL, "/pbspro/0.headnode") },
	{ "/torque/12.host", JOB("pbs", "12.host", NULL, "/torque/12.host") },
	{ "/pbs_jobs.service", NOTHING },
	{ "/pbspro.slice/pbspro-orphans.slice", NOTHING },
	/* Flux */
	{ "/user.slice/user-765.slice/user@765.service/imp-shell-450-fPY66riwfnP.service",
	  JOB("flux", "fPY66riwfnP", NULL,
	      "/user.slice/user-765.slice/user@765.service/imp-shell-450-fPY66riwfnP.service") },
	{ "/user.slice/user-500.slice/user@500.service/shell-0-f2x.service",
	  JOB("flux", "f2x", NULL,
	      "/user.slice/user-500.slice/user@500.service/shell-0-f2x.service") },
	{ "/system.slice/flux.service", NOTHING },
	{ "/system.slice/shell-0-.service", NOTHING },
	/* LSF, Grid Engine */
	{ "/lsf/cluster1/job.1234.22331.1599000000",
	  JOB("lsf", "1234", NULL, "/lsf/cluster1/job.1234.22331.1599000000") },
	{ "/lsf/cluster1/job.1234[7].22331.1599000000",
	  JOB("lsf", "1234[7]", NULL, "/lsf/cluster1/job.1234[7].22331.1599000000") },
	{ "/UGE/12.1", JOB("sge", "12.1", NULL, "/UGE/12.1") },
	/* Docker, Podman */
	{ "/system.slice/docker-" ID ".scope", BOX("docker", ID) },
	{ "/docker/" ID, BOX("docker", ID) },
	{ "/docker/" ID "/init", BOX("docker", ID) },
	{ "/actions_job/" ID, BOX("docker", ID) },
	{ "/machine.slice/libpod-" ID ".scope/container", BOX("podman", ID) },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
	  BOX("podman", ID) },
	{ "/libpod_parent/libpod-" ID, BOX("podman", ID) },
	{ "/machine.slice/libpod-conmon-" ID ".scope", NOTHING },
	/* Kubernetes */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  BOX("containerd", ID) },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", BOX("crio", ID) },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", NOTHING },
	{ "/kubepods/besteffort/pod" UID "/" ID, BOX("kubernetes", ID) },
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	  ".slice:cri-containerd:" ID,
	  BOX("containerd", ID) },
	/* a container in a container: the inner one */
	{ "/docker/" ID "/kubelet/kubepods/pod" UID
	  "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	  BOX("kubernetes", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") },
	{ "/ecs/8d7c6b5a493827160f3a6d2b9c1e4a5f/" ID, BOX("container", ID) },
	/* others */
	{ "/default/" ID, BOX("containerd", ID) },
	{ "/lxc/web1", BOX("lxc", "web1") },
	{ "/lxc.payload.web1/init.scope", BOX("lxc", "web1") },
	{ "/machine.slice/machine-build.scope/payload", BOX("nspawn", "build") },
	{ "/machine.slice/systemd-nspawn@build.service/payload", BOX("nspawn", "build") },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/apptainer-4711.scope",
	  BOX("apptainer", "4711") },
	/* nobody's */
	{ "/", NOTHING },
	{ "", NOTHING },
	{ "/user.slice/user-1000.slice/session-3.scope", NOTHING },
	{ "/system.slice/docker.service", NOTHING },
	{ "/system.slice/docker-0f3a.scope", NOTHING },
	{ "/docker/" ID "0", NOTHING }, /* a digit too many */
	{ "//" SLURM "//job_1//", JOB("slurm", "1", NULL, "//" SLURM "//job_1") },
};

static void same(const char *path, const char *what, struct str got, const char *expected)
{
	if (!expected != !got.p ||
	    (expected && (got.n != strlen(expected) || memcmp(got.p, expected, got.n) != 0)))
		fail_msg("%s: %s is '%.*s', expected '%s'", path, what, (int)got.n,
			 got.p ? got.p : "", expected ? expected : "(null)");
}

static void every_shape_says_what_it_means(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		struct job_place p;
		job_place_read(&p, str_of(s->path));
		same(s->path, "manager", str_of(p.manager), s->manager);
		same(s->path, "job", p.job, s->job);
		same(s->path, "step", p.step, s->step);
		same(s->path, "job_path", p.job_path, s->job_path);
		same(s->path, "runtime", str_of(p.runtime), s->runtime);
		same(s->path, "container", p.container, s->container);
	}
}

static void unified_alone(void **state)
{
	(void)state;
	struct cgroup_place p;
	cgroup_place_read(&p, str_of("0::" SLURM "/job_5/step_0/user/task_0\n"));
	same("unified", "path", p.path, SLURM "/job_5/step_0/user/task_0");
	same("unified", "unified", p.unified, SLURM "/job_5/step_0/user/task_0");
	same("unified", "job", p.job.job, "5");
	assert_null(p.memory.p);
	assert_null(p.cpu.p);
	assert_null(p.io.p);
}

/* Slurm with the old controllers under a systemd that uses both: the service says nothing. */
static void the_hierarchy_that_has_the_job_wins(void **state)
{
	(void)state;
	struct cgroup_place p;
	cgroup_place_read(&p, str_of("12:pids:/system.slice/slurmd.service\n"
				     "11:cpuset:/slurm/uid_7/job_8/step_0\n"
				     "4:memory:/slurm/uid_7/job_8/step_0/task_1\n"
				     "3:cpu,cpuacct:/slurm/uid_7/job_8/step_0/task_1\n"
				     "2:blkio:/\n"
				     "1:name=systemd:/system.slice/slurmd.service\n"
				     "0::/system.slice/slurmd.service\n"));
	same("both", "path", p.path, "/slurm/uid_7/job_8/step_0/task_1");
	same("both", "job", p.job.job, "8");
	same("both", "unified", p.unified, "/system.slice/slurmd.service");
	same("both", "memory", p.memory, "/slurm/uid_7/job_8/step_0/task_1");
	same("both", "cpu", p.cpu, "/slurm/uid_7/job_8/step_0/task_1");
	same("both", "io", p.io, "/");
}

static void what_is_out_of_sight_is_not_known(void **state)
{
	(void)state;
	struct cgroup_place p;
	cgroup_place_read(&p, str_of("0::/../../user.slice\n"));
	assert_null(p.path.p);
	assert_null(p.unified.p);
	cgroup_place_read(&p, str_of("0::/..\n"));
	assert_null(p.path.p);
	cgroup_place_read(&p, str_of("0::/..named\n")); /* a name like another */
	same("dots", "path", p.path, "/..named");
	cgroup_place_read(&p, str_of("0::/a:b/c (deleted)\n"));
	same("removed", "path", p.path, "/a:b/c");
	cgroup_place_read(&p, str_of("4:memory:/a\n0::/\n"));
	same("root", "path", p.path, "/a");
	same("root", "unified", p.unified, "/");
}

static void nonsense_is_nothing(void **state)
{
	(void)state;
	static const char *const texts[] = { "",   "\n",     "0",          "0:",       "0::",
					     "::", "0::x\n", "1:memory\n", ":::::/\n", "\n\n\n" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct cgroup_place p;
		cgroup_place_read(&p, str_of(texts[i]));
		assert_null(p.path.p);
		assert_null(p.memory.p);
	}
	struct cgroup_place p;
	cgroup_place_read(&p, (struct str){ .p = NULL });
	assert_null(p.path.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_says_what_it_means),
		cmocka_unit_test(unified_alone),
		cmocka_unit_test(the_hierarchy_that_has_the_job_wins),
		cmocka_unit_test(what_is_out_of_sight_is_not_known),
		cmocka_unit_test(nonsense_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
