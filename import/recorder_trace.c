/* The folder: which files are there tells the layout. */
#define _GNU_SOURCE
#include "import/recorder_trace.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "lib/buf.h"
#include "lib/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)
#define RANKS_MAX (1 << 22)
#define FUNCTIONS_MAX 65536
#define USER_FUNCTION "user_function"

static uint32_t u32_at(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t u64_at(const char *p)
{
	return (uint64_t)u32_at(p) | (uint64_t)u32_at(p + 4) << 32;
}

static double f64_at(const char *p)
{
	uint64_t bits = u64_at(p);
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static const char *path_of(struct recorder *r, const char *name)
{
	return arena_printf(&r->arena, "%s/%s", r->path, name);
}

static bool is_there(struct recorder *r, const char *name)
{
	struct stat st;
	const char *path = path_of(r, name);
	return path && stat(path, &st) == 0;
}

/* In the arena, and into the hash. -ENOENT: it is not there. */
static int take_file(struct recorder *r, const char *name, struct str *ret, XXH3_state_t *hash,
		     struct err *err)
{
	struct buf b = { .max = FILE_BYTES_MAX };
	const char *path = path_of(r, name);
	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = file_read(&b, path, err);
	char *copy = rc ? NULL : arena_alloc(&r->arena, b.len + 1);
	if (!rc && !copy)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		if (b.len)
			memcpy(copy, b.data, b.len);
		*ret = (struct str){ copy, b.len };
		(void)XXH3_128bits_update(hash, name, strlen(name) + 1);
		if (b.len)
			(void)XXH3_128bits_update(hash, b.data, b.len);
	}
	buf_done(&b);
	return rc;
}

/* ---- what is no trace ---------------------------------------------------------------------------
 */

/* A killed run leaves its files of times and nothing else. */
static bool has_times(const char *path)
{
	DIR *dir = opendir(path);
	bool found = false;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t n = strlen(e->d_name);
		found = found || (n > 3 && strcmp(e->d_name + n - 3, ".ts") == 0);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

static int newest_layout(const char *path, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "%s: a trace of the newest Recorder, all of it in one recorder.dat: that layout is "
		       "not read yet; write it with Recorder 2.3 to 3.0",
		       path);
}

static bool is_newest(const char *path)
{
	char magic[8] = "";
	FILE *f = fopen(path, "re");
	bool yes = f && fread(magic, 1, sizeof magic, f) == sizeof magic &&
		   memcmp(magic, "RECORDER", 8) == 0;
	if (f)
		(void)fclose(f);
	return yes;
}

static int oldest_layout(const char *path, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "%s: a trace of a Recorder before 2.3 (0.itf): that layout is not read; write it with "
		       "Recorder 2.3 to 3.0",
		       path);
}

static int look_at_path(struct recorder *r, struct err *err)
{
	struct stat st;
	if (stat(r->path, &st)) {
		int e = errno;
		return err_set(err, -e, "open %s: %s", r->path, strerror(e));
	}
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) && is_newest(r->path)
			       ? newest_layout(r->path, err)
			       : err_set(err, -EINVAL, "%s is no folder: a trace of Recorder is one", r->path);
	if (is_there(r, "0.itf"))
		return oldest_layout(r->path, err);
	if (is_there(r, "recorder.mt"))
		return 0;
	if (is_there(r, "recorder.dat"))
		return newest_layout(r->path, err);
	if (has_times(r->path))
		return err_set(err, -EINVAL,
			       "%s: the run never finished: recorder.mt, which Recorder writes at its end, is "
			       "not there, and without it times can't be read",
			       r->path);
	return err_set(err, -EINVAL, "%s: no trace of Recorder: there is no recorder.mt in the folder",
		       r->path);
}

/* ---- metadata -----------------------------------------------------------------------------------
 */

static bool plausible(double begin_s, double tick_s)
{
	return begin_s > 1e6 && begin_s < 1e11 && tick_s >= 1e-12 && tick_s <= 1;
}

/* From here on only names, one a line? */
static bool names_from(struct str b, size_t at)
{
	if (at >= b.n)
		return false;
	for (size_t i = at; i < b.n; i++) {
		unsigned char c = (unsigned char)b.p[i];
		if (c != '\n' && (c < 33 || c > 126))
			return false;
	}
	return b.p[at] != '\n';
}

static int add_function(struct recorder *r, size_t *cap, const char *name, size_t n)
{
	const char **functions = arena_grow(&r->arena, r->functions, cap, r->n_functions + 1,
					    sizeof *functions);
	/* Early releases name what they wrap, not what was called. */
	bool wrapper = n > 5 && memcmp(name, "PMPI_", 5) == 0;
	char *copy = arena_strndup(&r->arena, name + wrapper, n - wrapper);
	if (!functions || !copy)
		return -ENOMEM;
	r->functions = functions;
	functions[r->n_functions++] = copy;
	return 0;
}

static int take_functions(struct recorder *r, struct str b, struct err *err)
{
	static const size_t places[] = { 32, 40, 1024 };
	size_t at = 0, cap = 0;
	for (size_t i = 0; i < 3 && !at; i++)
		if (names_from(b, places[i]))
			at = places[i];
	if (!at)
		return err_set(err, -EINVAL, "%s/recorder.mt: the names of functions are not there, or "
			       "damaged", r->path);
	while (at < b.n) {
		const char *end = memchr(b.p + at, '\n', b.n - at);
		size_t n = end ? (size_t)(end - b.p) - at : b.n - at;
		if (r->n_functions >= FUNCTIONS_MAX)
			return err_set(err, -EINVAL, "%s/recorder.mt: more than %d functions", r->path,
				       FUNCTIONS_MAX);
		if (add_function(r, &cap, b.p + at, n))
			return err_set(err, -ENOMEM, "out of memory");
		at += n + 1;
	}
	/* Behind them what the program itself had traced of its own functions: no number of the list. */
	if (add_function(r, &cap, USER_FUNCTION, strlen(USER_FUNCTION)))
		return err_set(err, -ENOMEM, "out of memory");
	r->n_functions--;
	return 0;
}

static int take_metadata(struct recorder *r, XXH3_state_t *hash, struct err *err)
{
	struct str b;
	int rc = take_file(r, "recorder.mt", &b, hash, err);
	if (rc)
		return rc;
	if (b.n < 33)
		return err_set(err, -EINVAL, "%s/recorder.mt is cut", r->path);
	/* With flags before them the times stand 8 bytes later. */
	size_t at = plausible(f64_at(b.p + 8), f64_at(b.p + 16)) ? 8 : 16;
	r->begin_s = f64_at(b.p + at);
	r->tick_s = f64_at(b.p + at + 8);
	if (!plausible(r->begin_s, r->tick_s))
		return err_set(err, -EINVAL, "%s/recorder.mt: no time of begin, or no resolution: it is "
			       "damaged", r->path);
	uint32_t ranks = u32_at(b.p);
	if (ranks < 1 || ranks > RANKS_MAX)
		return err_set(err, -EINVAL, "%s/recorder.mt: %u processes: it is damaged", r->path, ranks);
	r->n_ranks = ranks;
	r->ranks = arena_array(&r->arena, ranks, sizeof *r->ranks);
	if (!r->ranks)
		return err_set(err, -ENOMEM, "out of memory");
	return take_functions(r, b, err);
}

/* ---- tables and grammars ------------------------------------------------------------------------
 */

static int unpacked(struct recorder *r, struct str *b, const char *name, struct err *err)
{
	size_t used;
	struct str plain;
	int rc = recorder_block(&r->arena, *b, &plain, &used, name, err);
	if (rc == 1)
		*b = plain;
	return rc < 0 ? rc : 0;
}

static int take_table(struct recorder *r, const char *file, struct recorder_table **ret,
		      XXH3_state_t *hash, struct err *err)
{
	struct str b;
	int rc = take_file(r, file, &b, hash, err);
	const char *name = path_of(r, file);
	*ret = arena_alloc(&r->arena, sizeof **ret);
	if (!rc && (!*ret || !name))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = unpacked(r, &b, name, err);
	return rc ? rc : recorder_table_parse(*ret, &r->arena, b, r->n_functions, name, err);
}

/* One grammar: the next packed block of all that are left, or where left is NULL a file of its own. */
static int take_grammar(struct recorder *r, uint32_t i, uint32_t n, struct str *left, size_t n_keys,
			XXH3_state_t *hash, struct err *err)
{
	char file[48];
	struct str plain = { 0 };
	size_t used = 0;
	(void)snprintf(file, sizeof file, "%u.cfg", i);
	const char *name = path_of(r, left ? "ug.cfg" : file);
	if (!name)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = left ? recorder_block(&r->arena, *left, &plain, &used, name, err)
		      : take_file(r, file, &plain, hash, err);
	if (left && rc == 0)
		rc = err_set(err, -EINVAL, "%s: %u of %u grammars are there: it is cut or damaged", name, i, n);
	if (rc < 0)
		return rc;
	if (left) {
		left->p += used;
		left->n -= used;
	}
	return recorder_grammar_parse(&r->grammars[i], &r->arena, plain, n_keys, name, err);
}

/* Which grammar each process has; one whose times are not there is missing. */
static int share_grammars(struct recorder *r, const struct recorder_table *table, struct str which,
			  struct err *err)
{
	for (size_t i = 0; i < r->n_ranks; i++) {
		char times[48];
		uint32_t g = u32_at(which.p + 4 * i);
		if (g >= r->n_grammars)
			return err_set(err, -EINVAL, "%s/ug.mt: process %zu has grammar %u of %zu", r->path, i,
				       g, r->n_grammars);
		(void)snprintf(times, sizeof times, "%zu.ts", i);
		r->ranks[i].table = table;
		if (r->times_at || is_there(r, times)) {
			r->ranks[i].grammar = &r->grammars[g];
			continue;
		}
		r->n_missing++;
		r->ranks[i].missing = arena_strdup(&r->arena, times);
		if (!r->ranks[i].missing)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* ug.mt: which grammar each rank has, and how many there are. They are in ug.cfg, one behind the other;
 * releases before 2.5 with shared tables have a file for each. */
static int take_shared_grammars(struct recorder *r, const struct recorder_table *table,
				XXH3_state_t *hash, struct err *err)
{
	struct str which, b;
	bool together = is_there(r, "ug.cfg");
	int rc = take_file(r, "ug.mt", &which, hash, err);
	if (!rc && together)
		rc = take_file(r, "ug.cfg", &b, hash, err);
	if (rc)
		return rc;
	uint32_t n = which.n == 4 * (r->n_ranks + 1) ? u32_at(which.p + 4 * r->n_ranks) : 0;
	if (n < 1 || n > r->n_ranks)
		return err_set(err, -EINVAL, "%s/ug.mt: not of %zu processes: it is damaged", r->path,
			       r->n_ranks);
	r->grammars = arena_array(&r->arena, n, sizeof *r->grammars);
	if (!r->grammars)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = take_grammar(r, i, n, together ? &b : NULL, table->n, hash, err);
	r->n_grammars = n;
	return rc ? rc : share_grammars(r, table, which, err);
}

/* A process whose files are not there is missing; one whose files are damaged is a failure. */
static int take_own(struct recorder *r, size_t i, const struct recorder_table *shared,
		    XXH3_state_t *hash, struct err *err)
{
	static const char *const ends[] = { "cst", "cfg", "ts" };
	struct recorder_rank *rank = &r->ranks[i];
	struct recorder_table *table;
	struct str b;
	char name[48];
	for (size_t k = 0; k < 3; k++) {
		(void)snprintf(name, sizeof name, "%zu.%s", i, ends[k]);
		bool needed = (k != 0 || !shared) && (k != 2 || !r->times_at);
		if (needed && !is_there(r, name)) {
			rank->missing = arena_strdup(&r->arena, name);
			r->n_missing++;
			return rank->missing ? 0 : err_set(err, -ENOMEM, "out of memory");
		}
	}
	int rc = 0;
	rank->table = shared;
	(void)snprintf(name, sizeof name, "%zu.cst", i);
	if (!shared) {
		rc = take_table(r, name, &table, hash, err);
		rank->table = table;
	}
	(void)snprintf(name, sizeof name, "%zu.cfg", i);
	if (!rc)
		rc = take_file(r, name, &b, hash, err);
	const char *path = path_of(r, name);
	struct recorder_grammar *g = arena_alloc(&r->arena, sizeof *g);
	if (!rc && (!path || !g))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = unpacked(r, &b, path, err);
	if (!rc)
		rc = recorder_grammar_parse(g, &r->arena, b, rank->table->n, path, err);
	rank->grammar = g;
	return rc;
}

static int take_calls(struct recorder *r, XXH3_state_t *hash, struct err *err)
{
	struct recorder_table *shared = NULL;
	int rc = 0;
	bool together = is_there(r, "ug.cfg"), shared_grammars = together || is_there(r, "ug.mt");
	if (is_there(r, "recorder.cst"))
		rc = take_table(r, "recorder.cst", &shared, hash, err);
	else if (shared_grammars && !together && is_there(r, "0.cst"))
		rc = take_table(r, "0.cst", &shared, hash, err);
	else if (shared_grammars)
		rc = err_set(err, -EINVAL, "%s/recorder.cst is missing: without it no call of the trace can "
			     "be told; copy the trace again", r->path);
	if (rc)
		return rc;
	r->merged = shared || r->times_at;
	if (shared_grammars)
		rc = take_shared_grammars(r, shared, hash, err);
	for (size_t i = 0; !shared_grammars && i < r->n_ranks && !rc; i++)
		rc = take_own(r, i, shared, hash, err);
	if (!rc && r->n_missing == r->n_ranks)
		rc = err_set(err, -EINVAL, "%s: %s and the files of all other processes are missing", r->path,
			     r->ranks[0].missing);
	return rc;
}

/* ---- times --------------------------------------------------------------------------------------
 */

/* recorder.ts: how long each process's part is, then the parts. */
static int find_times(struct recorder *r, struct err *err)
{
	const char *path = path_of(r, "recorder.ts");
	struct stat st;
	size_t head = 8 * r->n_ranks;
	if (!path || stat(path, &st))
		return 0;
	FILE *f = fopen(path, "re");
	char *b = arena_alloc(&r->arena, head);
	r->times_at = arena_array(&r->arena, r->n_ranks, sizeof *r->times_at);
	r->times_bytes = arena_array(&r->arena, r->n_ranks, sizeof *r->times_bytes);
	int rc = b && r->times_at && r->times_bytes ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (!rc && (!f || fread(b, 1, head, f) != head))
		rc = err_set(err, -EINVAL, "%s is cut: it ends within its table; copy the trace again", path);
	if (f)
		(void)fclose(f);
	uint64_t at = head;
	for (size_t i = 0; i < r->n_ranks && !rc; i++) {
		r->times_at[i] = at;
		r->times_bytes[i] = u64_at(b + 8 * i);
		if (__builtin_add_overflow(at, r->times_bytes[i], &at) ||
		    (at > (uint64_t)st.st_size && !r->salvage))
			rc = err_set(err, -EINVAL, "%s is cut or damaged: the times of process %zu would go on "
				     "to byte %llu of %llu; copy the trace again", path, i,
				     (unsigned long long)at, (unsigned long long)st.st_size);
	}
	return rc;
}

int recorder_ticks_of(struct recorder *r, size_t i, struct recorder_ticks **ret, struct err *err)
{
	char name[48];
	(void)snprintf(name, sizeof name, "%zu.ts", i);
	const char *path = path_of(r, r->times_at ? "recorder.ts" : name);
	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	return recorder_ticks_open(ret, path, r->times_at ? r->times_at[i] : 0,
				   r->times_at ? r->times_bytes[i] : UINT64_MAX, err);
}

/* Each call has a pair of times. A grammar that says more, be it a bomb, ends here. */
static int compare_times(struct recorder *r, size_t i, struct err *err)
{
	struct recorder_rank *rank = &r->ranks[i];
	struct recorder_ticks *t;
	int rc = recorder_ticks_of(r, i, &t, err);
	if (rc)
		return rc;
	rank->events = rank->grammar->n_rules ? rank->grammar->rules[0].events : 0;
	rank->times = recorder_ticks_count(t);
	recorder_ticks_close(t);
	if (rank->times == rank->events || (r->salvage && rank->times < rank->events))
		return 0;
	return err_set(err, -EINVAL,
		       "%s: process %zu has %llu calls, and times for %llu: the trace is cut or damaged; copy "
		       "it again",
		       r->path, i, (unsigned long long)rank->events, (unsigned long long)rank->times);
}

static int hash_times(struct recorder *r, XXH3_state_t *hash, struct err *err)
{
	for (size_t i = 0; i < (r->times_at ? 1 : r->n_ranks); i++) {
		char name[48], piece[16384];
		(void)snprintf(name, sizeof name, "%zu.ts", i);
		const char *path = path_of(r, r->times_at ? "recorder.ts" : name);
		FILE *f = path ? fopen(path, "re") : NULL;
		size_t n;
		while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
			(void)XXH3_128bits_update(hash, piece, n);
		if (f)
			(void)fclose(f);
		if (!path)
			return err_set(err, -ENOMEM, "out of memory");
	}
	XXH128_hash_t h = XXH3_128bits_digest(hash);
	(void)snprintf(r->hash, sizeof r->hash, "%016llx%016llx", (unsigned long long)h.high64,
		       (unsigned long long)h.low64);
	return 0;
}

/* ---- open ---------------------------------------------------------------------------------------
 */

static int open_all(struct recorder *r, struct err *err)
{
	XXH3_state_t *hash = XXH3_createState();
	int rc = hash ? look_at_path(r, err) : err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		(void)XXH3_128bits_reset(hash);
		rc = take_metadata(r, hash, err);
	}
	if (!rc)
		rc = find_times(r, err);
	if (!rc)
		rc = take_calls(r, hash, err);
	for (size_t i = 0; i < r->n_ranks && !rc; i++)
		if (r->ranks[i].grammar)
			rc = compare_times(r, i, err);
	if (!rc)
		rc = hash_times(r, hash, err);
	(void)XXH3_freeState(hash);
	return rc;
}

int recorder_open(struct recorder **ret, const char *path, bool salvage, struct err *err)
{
	struct recorder *r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->salvage = salvage;
	r->arena.max_bytes = (size_t)4 << 30;
	r->path = arena_strdup(&r->arena, path);
	int rc = r->path ? open_all(r, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		recorder_close(r);
		return rc == -ENOTSUP ? -EINVAL : rc;
	}
	*ret = r;
	return 0;
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	arena_free(&r->arena);
	free(r);
}
