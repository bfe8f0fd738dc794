/* The markers beside an agent: where the log goes, what the agent is told, and that nothing of the
 * agent's troubles reaches the program. Here the agent is the test itself. */
#define _GNU_SOURCE
#include "tests/unit/marker_run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/unixsock.h"
#include "schema/local.h"
#include "tests/unit/small_disk.h"

struct place {
	struct trial trial;
	char agent[128], logs[128], missing[128];
	int listening;
};

enum { NO_AGENT = 0, LISTENS = 1, HAS_FOLDER = 2 };

static void place_make(struct place *p, int what)
{
	trial_prepare(&p->trial);
	(void)snprintf(p->agent, sizeof p->agent, "%s/a/agent.sock", p->trial.folder);
	(void)snprintf(p->missing, sizeof p->missing, "%s/missing", p->trial.folder);
	(void)snprintf(p->logs, sizeof p->logs, "%s/a", p->trial.folder);
	if (what)
		assert_int_equal(mkdir(p->logs, 0755), 0);
	(void)snprintf(p->logs, sizeof p->logs, "%s/a/" LOCAL_LOGS, p->trial.folder);
	if (what & HAS_FOLDER)
		assert_int_equal(mkdir(p->logs, 01777), 0);
	p->listening = what & LISTENS ? unixsock_listen(p->agent, 0666, NULL) : -1;
	assert_true(!(what & LISTENS) || p->listening >= 0);
}

static void place_done(struct place *p)
{
	if (p->listening >= 0)
		(void)close(p->listening);
	trial_done(&p->trial);
}

/* log "": as if it were not set. */
static pid_t place_start(struct place *p, const char *log, body *run)
{
	assert_int_equal(setenv("ROIMETER_LOG", log, 1), 0);
	assert_int_equal(setenv("ROIMETER_AGENT", p->agent, 1), 0);
	pid_t pid = trial_start(&p->trial, run);
	(void)unsetenv("ROIMETER_LOG");
	(void)unsetenv("ROIMETER_AGENT");
	return pid;
}

static void place_end(struct place *p, pid_t pid)
{
	assert_int_equal(waitpid(pid, &p->trial.status, 0), pid);
	assert_int_equal(p->trial.status, 0);
}

static void place_run(struct place *p, const char *log, body *run)
{
	place_end(p, place_start(p, log, run));
}

static size_t logs_in(const char *folder)
{
	struct roi_logs logs = { .n = 0 };
	struct err err = { .text = "" };
	if (roilog_read(&logs, folder, &err))
		fail_msg("%s", err.text);
	size_t n = logs.n;
	roilogs_done(&logs);
	return n;
}

/* The next hello: the log's descriptor, or -1 when nobody waits. */
static int hello_take(const struct place *p)
{
	char text[64];
	int log = -1, one = unixsock_accept(p->listening);
	if (one == -EAGAIN)
		return -1;
	assert_true(one >= 0);
	struct unixsock_peer peer;
	assert_int_equal(unixsock_peer(one, &peer), 0);
	assert_int_equal(peer.uid, getuid());
	ssize_t n = unixsock_recv(one, text, sizeof text, &log);
	assert_int_equal(n, strlen(LOCAL_HELLO));
	assert_memory_equal(text, LOCAL_HELLO, strlen(LOCAL_HELLO));
	assert_true(log >= 0);
	assert_int_equal(fcntl(log, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(unixsock_recv(one, text, sizeof text, &(int){ -1 }), 0);
	(void)close(one);
	return log;
}

static void log_read(struct roi_logs *logs, int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	char *bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(marklog_parse(logs, "passed", bytes, (size_t)st.st_size, NULL), 0);
	assert_null(logs->items[logs->n - 1]->damage);
	free(bytes);
	(void)close(fd);
}

static void pairs(struct shared *shared)
{
	for (int i = 0; i < 10; i++) {
		errno = 42;
		ROIMETER_BEGIN();
		ROIMETER_END();
		shared->values[1] += errno != 42;
	}
	shared->values[0] = (uint64_t)roimeter_gate_.state_;
}

/* ---- told -------------------------------------------------------------------------------------
 */

static void the_agent_is_told_once_of_a_log_it_can_read(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, LISTENS | HAS_FOLDER);
	place_run(&p, p.trial.folder, pairs);
	assert_int_equal(p.trial.shared->values[1], 0);
	int log = hello_take(&p);
	assert_true(log >= 0);
	assert_int_equal(hello_take(&p), -1);
	struct roi_logs logs = { .n = 0 };
	log_read(&logs, log);
	assert_int_equal(logs.items[0]->n_entries, 10);
	assert_int_equal(logs_in(p.trial.folder), 1);
	assert_int_equal(logs_in(p.logs), 0);
	roilogs_done(&logs);
	place_done(&p);
}

static void stamp_and_wait(struct shared *shared)
{
	ROIMETER_BEGIN();
	__atomic_store_n(&shared->started, 1, __ATOMIC_RELEASE);
	for (;;)
		(void)pause();
}

static void it_is_told_while_the_first_entry_is_open(void **state)
{
	(void)state;
	struct place p;
	struct roi_logs logs = { .n = 0 };
	place_make(&p, LISTENS | HAS_FOLDER);
	pid_t pid = place_start(&p, "", stamp_and_wait);
	while (!__atomic_load_n(&p.trial.shared->started, __ATOMIC_ACQUIRE))
		(void)usleep(1000);
	log_read(&logs, hello_take(&p));
	assert_int_equal(logs.items[0]->begun, 1);
	assert_int_equal(logs.items[0]->open, 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	roilogs_done(&logs);
	place_done(&p);
}

/* ---- where the log goes -----------------------------------------------------------------------
 */

static void without_a_place_it_goes_to_the_agents_folder(void **state)
{
	(void)state;
	struct place p;
	for (int told = 0; told < 2; told++) {
		place_make(&p, HAS_FOLDER | (told ? LISTENS : 0));
		place_run(&p, "", pairs);        /* ROIMETER_LOG is not set */
		place_run(&p, p.missing, pairs); /* this node has no such folder */
		if (getuid()) {
			assert_int_equal(mkdir(p.missing, 0555), 0);
			place_run(&p, p.missing, pairs);
		}
		assert_int_equal(logs_in(p.logs), getuid() ? 3 : 2);
		struct arena a = { .blocks = NULL };
		struct txts said = { .n = 0 };
		assert_int_equal(marklog_losses_read(p.logs, &a, &said, NULL), 0);
		assert_int_equal(said.n, 0);
		arena_free(&a);
		place_done(&p);
	}
}

static void a_path_too_long_for_a_socket_still_has_a_folder(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, HAS_FOLDER);
	size_t n = strlen(p.agent);
	memset(p.agent + n, 'x', sizeof p.agent - 1 - n);
	p.agent[sizeof p.agent - 1] = 0;
	place_run(&p, "", pairs);
	assert_int_equal(logs_in(p.logs), 1);
	place_done(&p);
}

static void exec_inside(struct shared *shared)
{
	(void)shared;
	ROIMETER_BEGIN();
	ROIMETER_END();
	if (shared->values[0]) /* by now the first place is there */
		(void)mkdir(getenv("ROIMETER_LOG"), 0755);
	(void)execl("/proc/self/exe", "marker_agent", "marks-once", (char *)NULL);
}

/* Two logs of one process never have one name, though they are in different places. */
static void after_exec_the_name_is_another_in_any_place(void **state)
{
	(void)state;
	struct place p;
	for (int moved = 0; moved < 2; moved++) {
		place_make(&p, LISTENS | HAS_FOLDER);
		p.trial.shared->values[0] = (uint64_t)moved;
		place_run(&p, moved ? p.missing : "", exec_inside);
		struct roi_logs logs = { .n = 0 };
		assert_int_equal(roilog_read(&logs, p.logs, NULL), 0);
		if (moved)
			assert_int_equal(roilog_read(&logs, p.missing, NULL), 0);
		assert_int_equal(logs.n, 2);
		assert_string_equal(logs.items[1]->parent, logs.items[0]->stream);
		assert_string_equal(strrchr(logs.items[1]->stream, '.'), ".1");
		roilogs_done(&logs);
		(void)close(hello_take(&p));
		(void)close(hello_take(&p));
		assert_int_equal(hello_take(&p), -1);
		place_done(&p);
	}
}

static bool small_disk_body(struct place *p)
{
	if (!small_disk_mount(p->logs, "size=1m"))
		return false;
	char filler[160];
	(void)snprintf(filler, sizeof filler, "%s/filler", p->logs);
	int fd = open(filler, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, 600 << 10))
		_exit(2);
	(void)close(fd);
	pid_t pid = fork();
	if (pid == 0) {
		(void)setenv("ROIMETER_LOG", "", 1);
		(void)setenv("ROIMETER_AGENT", p->agent, 1);
		pairs(p->trial.shared);
		exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	_exit((int)logs_in(p->logs));
}

static void half_of_the_agents_disk_is_left_alone(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, LISTENS | HAS_FOLDER);
	pid_t pid = fork();
	if (pid == 0)
		_exit(small_disk_body(&p) ? 0 : 77);
	assert_int_equal(waitpid(pid, &p.trial.status, 0), pid);
	struct roi_logs logs = { .n = 0 };
	int log = hello_take(&p);
	if (log >= 0) {
		log_read(&logs, log);
		assert_int_equal(logs.items[0]->begun, 10);
		roilogs_done(&logs);
		(void)close(hello_take(&p)); /* at exit, since it was in memory */
	}
	place_done(&p);
	if (p.trial.status == 77 << 8) {
		print_message("no small tmpfs may be mounted here\n");
		skip();
	}
	assert_int_equal(p.trial.status, 0);
	assert_true(log >= 0);
}

static void in_a_folder_of_another_group_only_that_group_reads(void **state)
{
	(void)state;
	struct place p;
	if (getuid() != 0) {
		print_message("only root may give a folder to another group\n");
		skip();
	}
	place_make(&p, HAS_FOLDER);
	assert_int_equal(chown(p.logs, 0, 54321), 0);
	assert_int_equal(chmod(p.logs, 03733), 0);
	mode_t old = umask(077);
	place_run(&p, "", pairs);
	(void)umask(old);
	struct roi_logs logs = { .n = 0 };
	struct stat st;
	assert_int_equal(roilog_read(&logs, p.logs, NULL), 0);
	assert_int_equal(logs.n, 1);
	assert_int_equal(stat(logs.items[0]->file, &st), 0);
	assert_int_equal(st.st_gid, 54321);
	assert_int_equal(st.st_mode & 0777, 0640);
	roilogs_done(&logs);
	place_done(&p);
}

/* ---- in memory --------------------------------------------------------------------------------
 */

#define THREADS 4
#define PAIRS 5000

static void *many_pairs(void *unused)
{
	for (int i = 0; i < PAIRS; i++) {
		ROIMETER_BEGIN();
		ROIMETER_END();
	}
	return unused;
}

static void in_threads(struct shared *shared)
{
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, many_pairs, NULL))
			_exit(3);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(t[i], NULL);
	pid_t pid = fork();
	if (pid == 0) {
		(void)many_pairs(NULL);
		_exit(0);
	}
	int status;
	(void)waitpid(pid, &status, 0);
	shared->values[1] = (uint64_t)status;
}

static uint64_t entries_of(const struct roi_log *log)
{
	return log->n_entries + log->folded;
}

static void without_any_folder_it_is_in_memory_and_handed_over(void **state)
{
	(void)state;
	struct place p;
	struct roi_logs logs = { .n = 0 };
	place_make(&p, LISTENS);
	place_run(&p, "", in_threads);
	assert_int_equal(p.trial.shared->values[1], 0);
	log_read(&logs, hello_take(&p)); /* at the first mark; */
	log_read(&logs, hello_take(&p)); /* the child's, which never comes to its exit handlers; */
	log_read(&logs, hello_take(&p)); /* at exit */
	assert_int_equal(hello_take(&p), -1);
	assert_int_equal(entries_of(logs.items[0]), THREADS * PAIRS);
	assert_int_equal(logs.items[0]->overflow, 0);
	assert_string_equal(logs.items[0]->stream, logs.items[2]->stream);
	assert_int_equal(entries_of(logs.items[1]), PAIRS);
	assert_string_equal(logs.items[1]->parent, logs.items[0]->stream);
	roilogs_done(&logs);
	place_done(&p);
}

static void closes_what_it_does_not_know(struct shared *shared)
{
	(void)shared;
	ROIMETER_BEGIN();
	ROIMETER_END();
	for (int i = 3; i < 1024; i++)
		(void)close(i);
	for (int i = 3; i < 1024; i++) /* and uses the numbers again */
		if (open("/dev/null", O_RDWR) < 0)
			break;
	in_threads(shared);
	_exit(0);
}

static void in_memory_a_closed_descriptor_costs_the_other_threads_streams(void **state)
{
	(void)state;
	struct place p;
	struct roi_logs logs = { .n = 0 };
	place_make(&p, LISTENS);
	place_run(&p, "", closes_what_it_does_not_know);
	log_read(&logs, hello_take(&p));
	assert_int_equal(entries_of(logs.items[0]), 1);
	assert_int_equal(logs.items[0]->overflow, THREADS * PAIRS);
	roilogs_done(&logs);
	place_done(&p);
}

/* ---- nobody there, or nobody who listens -------------------------------------------------------
 */

static void without_any_agent_marks_are_off(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, NO_AGENT);
	place_run(&p, "", pairs);
	assert_int_equal(p.trial.shared->values[0], ROIMETER_OFF_);
	place_run(&p, p.missing, pairs);
	assert_int_equal(p.trial.shared->values[0], ROIMETER_OFF_);
	place_done(&p);
}

static void hang_up(struct place *p) /* the file of the socket stays */
{
	(void)close(p->listening);
	p->listening = -1;
}

static void a_dead_agent_finds_the_log_when_it_is_back(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, LISTENS | HAS_FOLDER);
	hang_up(&p);
	place_run(&p, "", pairs);
	assert_int_equal(p.trial.shared->values[0], ROIMETER_ON_);
	assert_int_equal(logs_in(p.logs), 1);
	place_done(&p);
}

/* Connections up to the limit, each with all the packets it can take, and nobody reads. */
static size_t fill(const struct place *p, int *fds, size_t max)
{
	size_t n = 0;
	assert_int_equal(listen(p->listening, 3), 0);
	for (; n < max; n++) {
		fds[n] = unixsock_connect(p->agent, NULL);
		if (fds[n] == -EAGAIN)
			return n;
		assert_true(fds[n] >= 0);
		while (!unixsock_send(fds[n], "roimeter-status 1\n", 18, -1))
			continue;
	}
	fail_msg("%zu connections and it is not full", n);
	return n;
}

static void an_agent_that_is_full_holds_nobody_up(void **state)
{
	(void)state;
	struct place p;
	int fds[64];
	for (int folder = 0; folder < 2; folder++) {
		place_make(&p, LISTENS | (folder ? HAS_FOLDER : 0));
		size_t n = fill(&p, fds, sizeof fds / sizeof *fds);
		int64_t before = own_clock_ns();
		place_run(&p, "", pairs);
		assert_true(own_clock_ns() - before < INT64_C(30000000000)); /* not for ever */
		assert_int_equal(p.trial.shared->values[0], ROIMETER_ON_);
		assert_int_equal(p.trial.shared->values[1], 0);
		if (folder)
			assert_int_equal(logs_in(p.logs), 1);
		while (n)
			(void)close(fds[--n]);
		place_done(&p);
	}
}

static void wait_between(struct shared *shared)
{
	pairs(shared);
	__atomic_store_n(&shared->started, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE))
		(void)usleep(1000);
}

static void what_is_in_memory_goes_to_the_agent_that_is_back(void **state)
{
	(void)state;
	struct place p;
	struct roi_logs logs = { .n = 0 };
	place_make(&p, LISTENS);
	hang_up(&p);
	pid_t pid = place_start(&p, "", wait_between);
	while (!__atomic_load_n(&p.trial.shared->started, __ATOMIC_ACQUIRE))
		(void)usleep(1000);
	p.listening = unixsock_listen(p.agent, 0666, NULL);
	assert_true(p.listening >= 0);
	__atomic_store_n(&p.trial.shared->done, 1, __ATOMIC_RELEASE);
	place_end(&p, pid);
	log_read(&logs, hello_take(&p));
	assert_int_equal(logs.items[0]->n_entries, 10);
	roilogs_done(&logs);
	place_done(&p);
}

/* ---- losses ------------------------------------------------------------------------------------
 */

enum { BY_EXIT, BY_KILL, BACK };

/* In a folder that has the runner's file for losses and no inode more, and the agent is dead. The
 * sentence comes back in the shared memory. */
static void loss_body(struct place *p, int how, char *ret_said)
{
	struct arena a = { .blocks = NULL };
	struct txts said = { .n = 0 };
	if (!small_disk_mount(p->logs, "size=1m,nr_inodes=2"))
		_exit(77);
	if (marklog_losses_create(p->logs, NULL))
		_exit(2);
	pid_t pid = fork();
	if (pid == 0) {
		(void)setenv("ROIMETER_LOG", p->logs, 1);
		(void)setenv("ROIMETER_AGENT", p->agent, 1);
		pairs(p->trial.shared);
		if (how == BACK && unixsock_listen(p->agent, 0666, NULL) < 0)
			_exit(2);
		if (how == BY_KILL)
			(void)kill(getpid(), SIGKILL);
		exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	if (marklog_losses_read(p->logs, &a, &said, NULL) || said.n > 1)
		_exit(3);
	if (said.n)
		(void)snprintf(ret_said, 256, "%s", said.items[0]);
	_exit(0);
}

static void what_nobody_took_is_said(void **state)
{
	(void)state;
	static const char *const wanted[] = {
		[BY_EXIT] = "could not hand over its mark log: Connection refused; 10 finished "
			    "entries are lost",
		[BY_KILL] = "could not hand over its mark log: Connection refused; how many "
			    "finished entries are lost is not known",
		[BACK] = "",
	};
	for (int how = BY_EXIT; how <= BACK; how++) {
		struct place p;
		char *said =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_true(said != MAP_FAILED);
		place_make(&p, LISTENS | HAS_FOLDER);
		/* The agent's folder is the full disk; ROIMETER_LOG the same, for its losses. */
		hang_up(&p);
		pid_t pid = fork();
		if (pid == 0)
			loss_body(&p, how, said);
		assert_int_equal(waitpid(pid, &p.trial.status, 0), pid);
		place_done(&p);
		if (p.trial.status == 77 << 8) {
			print_message("no small tmpfs may be mounted here\n");
			skip();
		}
		assert_int_equal(p.trial.status, 0);
		if (*wanted[how] ? !strstr(said, wanted[how]) : *said)
			fail_msg("said \"%s\", wanted \"%s\"", said, wanted[how]);
		(void)munmap(said, 4096);
	}
}

static void run_of_this_name(struct shared *shared)
{
	(void)setenv("ROIMETER_RUN", "20260929T045201Z-0123abcd", 1);
	(void)setenv("ROIMETER_EXEC", "clean.2", 1);
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
	pairs(shared);
	_exit(0); /* a leak checker would want descriptors */
}

/* ROIMETER_LOG is not on this node, and the log can't be anywhere: the agent's folder tells. */
static void a_loss_is_left_with_the_agent(void **state)
{
	(void)state;
	struct place p;
	place_make(&p, LISTENS | HAS_FOLDER);
	pid_t pid = place_start(&p, p.missing, run_of_this_name);
	place_end(&p, pid);
	struct arena a = { .blocks = NULL };
	struct txts said = { .n = 0 };
	assert_int_equal(marklog_losses_read(p.logs, &a, &said, NULL), 0);
	assert_int_equal(said.n, 1);
	char wanted[256];
	(void)snprintf(wanted, sizeof wanted,
		       "marks are missing: pid %ld: could not make its mark log: Too many open "
		       "files, of run 20260929T045201Z-0123abcd clean.2",
		       (long)pid);
	assert_string_equal(said.items[0], wanted);
	arena_free(&a);
	place_done(&p);
}

/* ---- job, launch, size -------------------------------------------------------------------------
 */

struct ids_case {
	const char *env; /* "A=1 B=2" */
	const char *rank, *job, *group, *world;
};

static const struct ids_case ids_cases[] = {
	{ "X=1", NULL, NULL, NULL, NULL },
	/* Slurm: a step; a batch script, which is none; an array; a nested Flux */
	{ "SLURM_JOB_ID=123 SLURM_STEP_ID=4 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=8 SLURM_NTASKS=64",
	  "2", "slurm:123", "slurm:123.4", "8" },
	{ "SLURM_JOB_ID=123 SLURM_PROCID=0 SLURM_NTASKS=64", "0", "slurm:123", NULL, NULL },
	{ "SLURM_JOB_ID=123 SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=64", "0",
	  "slurm:123", NULL, NULL },
	{ "SLURM_JOB_ID=125 SLURM_ARRAY_JOB_ID=123 SLURM_ARRAY_TASK_ID=7", NULL, "slurm:123_7",
	  NULL, NULL },
	{ "SLURM_JOB_ID=123 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMI_RANK=5 "
	  "PMI_SIZE=6 FLUX_JOB_ID=\xc6\x92"
	  "2mZ FLUX_TASK_RANK=5 FLUX_JOB_SIZE=6",
	  "5", "slurm:123", "flux:f2mZ", "6" },
	/* Open MPI under Slurm's batch script, and PMIx under srun */
	{ "SLURM_JOB_ID=123 SLURM_PROCID=0 SLURM_NTASKS=64 OMPI_COMM_WORLD_RANK=3 PMIX_RANK=3 "
	  "OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=1638072321 "
	  "OMPI_MCA_orte_precondition_transports=837c66dbbb0ae52b-e9a06f2530dc18f9",
	  "3", "slurm:123", "ompi:1638072321-00015b82", "4" },
	{ "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=prterun-n1-77@1", "0", NULL,
	  "ompi:prterun-n1-77@1", "4" },
	{ "PMIX_RANK=1 PMIX_NAMESPACE=slurm.pmix.9.0 SLURM_JOB_ID=9 SLURM_STEP_ID=0 "
	  "SLURM_PROCID=1 SLURM_NTASKS=2",
	  "1", "slurm:9", "pmix:slurm.pmix.9.0", "2" },
	/* PMI: MPICH on nodes of one step, Cray, Slurm's own */
	{ "PMI_RANK=1 PMI_SIZE=4 MPI_LOCALNRANKS=2 SLURM_JOB_ID=9 SLURM_STEP_ID=3", "1", "slurm:9",
	  "slurm:9.3", "4" },
	{ "PBS_JOBID=12.host PALS_APID=0a1b-2c PMI_RANK=1 PMI_SIZE=4", "1", "pbs:12.host",
	  "pals:0a1b-2c", "4" },
	{ "PMI_RANK=1 PMI_SIZE=4 PMI_JOBID=9.3", "1", NULL, "pmi:9.3", "4" },
	/* the others' jobs */
	{ "PBS_JOBID=12[3].host", NULL, "pbs:12[3].host", NULL, NULL },
	{ "LSB_JOBID=5 LSB_JOBINDEX=0", NULL, "lsf:5", NULL, NULL },
	{ "LSB_JOBID=5 LSB_JOBINDEX=2", NULL, "lsf:5[2]", NULL, NULL },
	{ "OAR_JOB_ID=5", NULL, "oar:5", NULL, NULL },
	{ "JOB_ID=5 SGE_TASK_ID=undefined", NULL, "sge:5", NULL, NULL },
	{ "JOB_ID=5 SGE_TASK_ID=6", NULL, "sge:5.6", NULL, NULL },
	{ "JOB_ID=5", NULL, NULL, NULL, NULL },
	{ "FLUX_JOB_ID=f2 FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1", "0", "flux:f2", "flux:f2", "1" },
	/* frameworks: addresses are not kept */
	{ "RANK=1 WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=29500", "1", NULL, "torch:7de2536a",
	  "8" },
	{ "JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=n1:1", "1", NULL,
	  "jax:0d5977a5", "2" },
	/* what is no number, and what is no id */
	{ "RANK=first WORLD_SIZE=12345678901 PBS_JOBID=\x1b[31m;&x", NULL, "pbs:_[31m__x", NULL,
	  NULL },
};

static void marks_under(const struct ids_case *c)
{
	char text[512], *rest = text, *one;
	(void)snprintf(text, sizeof text, "%s", c->env);
	while ((one = strsep(&rest, " "))) {
		char *value = strchr(one, '=');
		*value++ = 0;
		(void)setenv(one, value, 1);
	}
	ROIMETER_BEGIN();
	ROIMETER_END();
}

static const struct ids_case *ids_now;

static void ids_body(struct shared *shared)
{
	(void)shared;
	marks_under(ids_now);
}

static void same_or_null(const char *env, const char *what, const char *got, const char *wanted)
{
	if ((got == NULL) != (wanted == NULL) || (got && strcmp(got, wanted) != 0))
		fail_msg("%s: %s is %s, wanted %s", env, what, got ? got : "none",
			 wanted ? wanted : "none");
}

static void ids_check(const struct ids_case *c)
{
	struct trial t;
	ids_now = c;
	trial_run(&t, ids_body);
	const struct roi_log *log = trial_log(&t);
	same_or_null(c->env, "rank", log->rank, c->rank);
	same_or_null(c->env, "job", log->job, c->job);
	same_or_null(c->env, "group", log->group, c->group);
	same_or_null(c->env, "world", log->world, c->world);
	trial_done(&t);
}

static void the_log_tells_job_and_launch(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ids_cases / sizeof *ids_cases; i++)
		ids_check(&ids_cases[i]);
}

static void a_long_id_is_cut_and_stays_its_own(void **state)
{
	(void)state;
	char env[2][400];
	char *group[2];
	for (int i = 0; i < 2; i++) {
		struct trial t;
		(void)snprintf(env[i], sizeof env[i], "PMIX_RANK=0 PMIX_NAMESPACE=%0300d.%d", 7, i);
		ids_now = &(struct ids_case){ .env = env[i] };
		trial_run(&t, ids_body);
		const char *id = trial_log(&t)->group;
		assert_non_null(id);
		assert_int_equal(strlen(id), 127);
		group[i] = strdup(id);
		trial_done(&t);
	}
	assert_string_not_equal(group[0], group[1]);
	free(group[0]);
	free(group[1]);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "marks-once")) {
		ROIMETER_BEGIN();
		ROIMETER_END();
		return 0;
	}
	(void)argv;
	extern char **environ;
	static const char *const of_launchers[] = {
		"SLURM_", "PMI",  "OMPI_",     "FLUX_", "PALS_",
		"MPI_",   "RANK", "ROIMETER_", "LSB_",  "PBS_"
	};
	for (char **e = environ; *e;) { /* the tests' own launcher is not theirs */
		bool its = false;
		for (size_t i = 0; i < sizeof of_launchers / sizeof *of_launchers; i++)
			its |= !strncmp(*e, of_launchers[i], strlen(of_launchers[i]));
		char name[256];
		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
		if (its && !unsetenv(name))
			e = environ;
		else
			e++;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_agent_is_told_once_of_a_log_it_can_read),
		cmocka_unit_test(it_is_told_while_the_first_entry_is_open),
		cmocka_unit_test(without_a_place_it_goes_to_the_agents_folder),
		cmocka_unit_test(a_path_too_long_for_a_socket_still_has_a_folder),
		cmocka_unit_test(after_exec_the_name_is_another_in_any_place),
		cmocka_unit_test(half_of_the_agents_disk_is_left_alone),
		cmocka_unit_test(in_a_folder_of_another_group_only_that_group_reads),
		cmocka_unit_test(without_any_folder_it_is_in_memory_and_handed_over),
		cmocka_unit_test(in_memory_a_closed_descriptor_costs_the_other_threads_streams),
		cmocka_unit_test(without_any_agent_marks_are_off),
		cmocka_unit_test(a_dead_agent_finds_the_log_when_it_is_back),
		cmocka_unit_test(an_agent_that_is_full_holds_nobody_up),
		cmocka_unit_test(what_is_in_memory_goes_to_the_agent_that_is_back),
		cmocka_unit_test(what_nobody_took_is_said),
		cmocka_unit_test(a_loss_is_left_with_the_agent),
		cmocka_unit_test(the_log_tells_job_and_launch),
		cmocka_unit_test(a_long_id_is_cut_and_stays_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
