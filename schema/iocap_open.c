/* A capture's folder, and what is asked of it. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/iocap_impl.h"

/* Numbers of symbols for each byte of a limit: of 64 MiB some two seconds. Bytes of a base are much
 * quicker. */
#define WORK_FOR_BYTE 2
#define BASE_BYTES_QUICKER 16

/* ---- opening ---- */

int iocap_table_room(struct iocap *c, uint64_t bytes, struct err *err)
{
	if (!c->max_bytes)
		return 0;
	if (bytes > c->max_bytes - c->tables)
		return err_set(err, -EFBIG, "its tables are larger than %zu bytes", c->max_bytes);
	c->tables += (size_t)bytes;
	return 0;
}

int iocap_work(struct iocap *c, uint64_t more, struct err *err)
{
	c->work += c->max_bytes ? more : 0;
	if (c->max_bytes && c->work / WORK_FOR_BYTE > c->max_bytes)
		return err_set(err, -EFBIG, "it says the same too often for a limit of %zu bytes",
			       c->max_bytes);
	return 0;
}

int iocap_no_memory(const struct iocap *c, struct err *err)
{
	return c->arena.full ? err_set(err, -EFBIG, "its texts are larger than %zu bytes",
				       c->max_bytes ? c->max_bytes : (size_t)1 << 30)
			     : err_set(err, -ENOMEM, "out of memory");
}

static int look(struct iocap *c, struct iocap_view *v, const char *path, struct err *err)
{
	if (!c->max_bytes)
		return iocap_view_open(v, path, err);
	int rc = iocap_view_read(v, path, c->max_bytes - c->files, err);
	c->files += rc ? 0 : v->n;
	return rc;
}

static void look_away(struct iocap *c, struct iocap_view *v)
{
	c->files -= c->max_bytes ? v->n : 0;
	iocap_view_close(v);
}

static int add(struct iocap *c, const char *name, struct rprocess **ret, struct err *err)
{
	int rc = iocap_table_room(c, sizeof **ret + sizeof *ret, err);
	if (rc)
		return rc;
	struct rprocess *p = calloc(1, sizeof *p);
	struct rprocess **more = realloc(c->processes, (c->n + 1) * sizeof *more);
	if (more)
		c->processes = more;
	if (p)
		p->name = arena_strdup(&c->arena, name);
	if (!p || !more || !p->name) {
		free(p);
		return iocap_no_memory(c, err);
	}
	p->of = c;
	c->processes[c->n++] = *ret = p;
	return 0;
}

/* The newer of the two that a process may have left. */
static const uint8_t *find_open(struct rprocess *p, struct iocap *c, size_t *ret_n)
{
	const uint8_t *best = NULL;
	uint64_t best_turn = 0;
	for (int i = 0; i < 2; i++) {
		const char *path = arena_printf(&c->arena, "%s-open%d", p->name, i);
		struct iocap_view v = { 0 };
		uint64_t turn;
		size_t n;
		if (!path || look(c, &v, path, NULL))
			continue;
		const uint8_t *got = iocap_open_get(v.p, v.n, &turn, &n);
		if (got && (!best || turn > best_turn)) {
			look_away(c, &p->open);
			p->open = v;
			best = got;
			best_turn = turn;
			*ret_n = n;
		} else {
			look_away(c, &v);
		}
	}
	return best;
}

static void base_done(struct iocap *c)
{
	iocap_blocks_done(&c->base.blocks);
	look_away(c, &c->base.file);
	free(c->base.path);
	c->base = (struct iocap_base){ 0 };
}

/* Thousands of processes may have the same one. */
static int base_open(struct iocap *c, const struct rprocess *p, const char *path, struct err *err)
{
	struct iocap_base *b = &c->base;
	if (b->path && strcmp(b->path, path) == 0)
		return 0;
	base_done(c);
	b->path = strdup(path);
	int rc = b->path ? look(c, &b->file, path, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc)
		return err_wrap(err, rc, "%s: it is stored as what differs from another", p->name);
	rc = iocap_work(c, b->file.n / BASE_BYTES_QUICKER, err);
	if (rc)
		return rc;
	b->blocks.max = c->max_bytes / sizeof *b->blocks.items;
	if (iocap_blocks_list(&b->blocks, b->file.p, b->file.n, IOCAP_MAGIC))
		return 0;
	if (b->blocks.max && b->blocks.n == b->blocks.max)
		return err_set(err, -EFBIG, "%s has too many parts for a limit of %zu bytes", path,
			       c->max_bytes);
	return err_set(err, -EINVAL,
		       "%s: the capture is stored as what differs from %s, which is damaged",
		       p->name, path);
}

/* One that is stored as what differs from another. */
static int open_alike(struct iocap *c, struct rprocess *p, const char *name, size_t n,
		      struct err *err)
{
	const char *slash = strrchr(p->name, '/');
	const char *path =
		arena_printf(&c->arena, "%.*s%.*s", slash ? (int)(slash + 1 - p->name) : 0, p->name,
			     (int)n, name);
	int rc = path ? base_open(c, p, path, err) : iocap_no_memory(c, err);
	return rc ? rc
		  : iocap_process_read(c, p, p->file.p, p->file.n, &c->base.blocks, NULL, 0, err);
}

static int open_file(struct iocap *c, const char *path, struct err *err)
{
	struct rprocess *p;
	int rc = add(c, path, &p, err);
	if (!rc)
		rc = look(c, &p->file, path, err);
	if (rc)
		return rc;
	size_t n = 0, n_base = 0;
	const char *base = iocap_alike_base(p->file.p, p->file.n, &n_base);
	if (base)
		return open_alike(c, p, base, n_base, err);
	const uint8_t *open = find_open(p, c, &n);
	return iocap_process_read(c, p, p->file.p, p->file.n, NULL, open, n, err);
}

static bool is_ours(const char *name)
{
	size_t n = strlen(name), m = strlen(IOCAP_SUFFIX);
	return n > m && strcmp(name + n - m, IOCAP_SUFFIX) == 0;
}

static int open_folder(struct iocap *c, const char *path, struct err *err)
{
	DIR *d = opendir(path);
	if (!d)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = 0;
	c->is_folder = true;
	for (struct dirent *e; !rc && (e = readdir(d));) {
		if (!is_ours(e->d_name))
			continue;
		const char *file = arena_printf(&c->arena, "%s/%s", path, e->d_name);
		rc = file ? open_file(c, file, err) : iocap_no_memory(c, err);
	}
	(void)closedir(d);
	if (!rc && !c->n)
		rc = err_set(err, -EINVAL,
			     "%s: there is no capture in it (no file *" IOCAP_SUFFIX
			     "); `roimeter capture -o FOLDER -- COMMAND` makes one",
			     path);
	return rc;
}

static int by_rank(const void *a, const void *b)
{
	const struct rprocess *x = *(struct rprocess *const *)a, *y = *(struct rprocess *const *)b;
	if (x->facts.rank != y->facts.rank)
		return x->facts.rank < y->facts.rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

int iocap_open(struct iocap **ret, const char *path, struct err *err)
{
	return iocap_open_within(ret, path, 0, err);
}

int iocap_open_within(struct iocap **ret, const char *path, size_t max_bytes, struct err *err)
{
	struct iocap *c = calloc(1, sizeof *c);
	struct stat st;
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->max_bytes = c->arena.max_bytes = max_bytes;
	int rc = stat(path, &st) == 0 ? 0
				      : err_set(err, -errno, "open %s: %s", path, strerror(errno));
	if (!rc)
		rc = S_ISDIR(st.st_mode) ? open_folder(c, path, err) : open_file(c, path, err);
	base_done(c);
	if (rc) {
		iocap_close(c);
		return rc;
	}
	if (c->n)
		qsort(c->processes, c->n, sizeof *c->processes, by_rank);
	*ret = c;
	return 0;
}

int iocap_open_bytes(struct iocap **ret, const void *bytes, size_t n, const char *name,
		     struct err *err)
{
	struct iocap *c = calloc(1, sizeof *c);
	struct rprocess *p = NULL;
	int rc = c ? add(c, name, &p, err) : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = iocap_process_read(c, p, bytes, n, NULL, NULL, 0, err);
	if (rc)
		iocap_close(c);
	else
		*ret = c;
	return rc;
}

void iocap_close(struct iocap *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		iocap_process_free(c->processes[i]);
	free(c->processes);
	arena_free(&c->arena);
	free(c);
}

/* ---- asking ---- */

size_t iocap_processes(const struct iocap *c)
{
	return c->n;
}

const struct iocap_process *iocap_process(const struct iocap *c, size_t process)
{
	return &c->processes[process]->facts;
}

const struct iocap_sums *iocap_sums(const struct iocap *c, size_t process)
{
	return &c->processes[process]->sums;
}

static int by_number(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

const char *iocap_text(const struct iocap *c, size_t process, uint32_t number, size_t *ret_bytes)
{
	struct rprocess *p = c->processes[process];
	if (!p->texts_sorted && p->n_texts)
		qsort(p->texts, p->n_texts, sizeof *p->texts, by_number);
	p->texts_sorted = true;
	struct text key = { .number = number };
	const struct text *t =
		p->n_texts ? bsearch(&key, p->texts, p->n_texts, sizeof *p->texts, by_number)
			   : NULL;
	if (t && ret_bytes)
		*ret_bytes = t->bytes;
	return t ? t->text : NULL;
}

int iocap_handles_make(struct rprocess *p, struct err *err)
{
	struct rstream *s = &p->streams[IOCAP_STREAMS];
	if (p->handles_made)
		return 0;
	p->handles_made = true;
	if (s->symbols > HANDLES_MAX)
		return err_set(err, -EINVAL, "%s: it has more handles than can be read", p->name);
	if (!s->symbols)
		return 0;
	int rc = iocap_table_room(
		p->of, s->symbols * (sizeof *p->handle_numbers + sizeof *p->handle_infos), err);
	if (rc)
		return rc;
	p->handle_numbers = malloc(s->symbols * sizeof *p->handle_numbers);
	p->handle_infos = malloc(s->symbols * sizeof *p->handle_infos);
	if (!p->handle_numbers || !p->handle_infos)
		return err_set(err, -ENOMEM, "out of memory");
	struct walk w;
	uint32_t symbol, newest = 0, number = 0;
	iocap_walk_init(&w, p, s, true);
	while ((rc = iocap_walk_next(&w, &symbol, err)) > 0) {
		int64_t v = 0;
		if (symbol & 1)
			rc = iocap_walk_value(&w, IOCAP_V_HANDLE, &v, err);
		if (rc < 0)
			break;
		number = (uint32_t)(number + 1 + (uint64_t)v);
		p->handle_numbers[p->n_handles] = number;
		p->handle_infos[p->n_handles++] = symbol < 2 ? newest++ : symbol / 2 - 1;
	}
	iocap_walk_done(&w);
	return rc;
}

/* Numbers mostly stand in order: where they do not, the last that has it. */
static bool handle_find(const struct rprocess *p, uint32_t number, size_t *ret)
{
	size_t low = 0, high = p->n_handles;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (p->handle_numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	for (*ret = low; low < p->n_handles && p->handle_numbers[low] == number; low++)
		*ret = low;
	if (*ret < p->n_handles && p->handle_numbers[*ret] == number)
		return true;
	for (size_t i = p->n_handles; i-- > 0;)
		if (p->handle_numbers[i] == number) {
			*ret = i;
			return true;
		}
	return false;
}

const struct iocap_handle *iocap_handle(const struct iocap *c, size_t process, uint32_t number)
{
	struct rprocess *p = c->processes[process];
	size_t i;
	if (iocap_handles_make(p, NULL) || !handle_find(p, number, &i) ||
	    p->handle_infos[i] >= p->n_infos)
		return NULL;
	p->answer = p->infos[p->handle_infos[i]];
	p->answer.number = number;
	return &p->answer;
}

size_t iocap_streams(const struct iocap *c, size_t process)
{
	return c->processes[process]->n_streams;
}

const struct iocap_signature *iocap_signature(const struct iocap *c, size_t process,
					      uint32_t signature)
{
	const struct rprocess *p = c->processes[process];
	return signature < p->n_signatures ? &p->signatures[signature] : NULL;
}

size_t iocap_segments(const struct iocap *c, size_t process, size_t stream)
{
	return c->processes[process]->streams[stream].n_segments;
}

size_t iocap_rules(const struct iocap *c, size_t process, size_t stream, size_t segment)
{
	return c->processes[process]->streams[stream].segments[segment].rules;
}

const struct iocap_item *iocap_rule(const struct iocap *c, size_t process, size_t stream,
				    size_t segment, size_t rule, size_t *ret_items,
				    uint64_t *ret_events)
{
	struct rprocess *p = c->processes[process];
	const struct segment *g = &p->streams[stream].segments[segment];
	if (p->decoded_of != g) {
		iocap_symbols_free(&p->decoded);
		p->decoded_of = NULL;
		if (iocap_symbols_read(p, g, false, &p->decoded, NULL))
			return NULL;
		p->decoded_of = g;
	}
	const struct symbols *s = &p->decoded;
	*ret_items = s->begin[rule + 1] - s->begin[rule];
	if (ret_events)
		*ret_events = s->events[rule];
	return &s->items[s->begin[rule]];
}
