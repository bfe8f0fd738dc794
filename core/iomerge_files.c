/* Files of all processes: those of one name are one, and those of one inode on one node that were
 * made at the same time: the number of a file that is removed is soon another one's. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/iomerge_impl.h"
#include "lib/num.h"

struct use {
	const struct iopicture *of;
	const struct iopicture_file *file;
	size_t group;
};

static int by_name(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = strcmp(x->file->name, y->file->name);
	return order ? order : (x->of > y->of) - (x->of < y->of);
}

static bool has_inode(const struct use *u)
{
	return known(u->file->device) && known(u->file->inode) && known(u->file->born_us) &&
	       (u->of->boot || u->of->host);
}

static int by_inode(const void *a, const void *b)
{
	const struct use *const *x = a, *const *y = b;
	const char *left = (*x)->of->boot ? (*x)->of->boot : (*x)->of->host;
	const char *right = (*y)->of->boot ? (*y)->of->boot : (*y)->of->host;
	int order = strcmp(left, right);
	if (order)
		return order;
	if ((*x)->file->device != (*y)->file->device)
		return (*x)->file->device < (*y)->file->device ? -1 : 1;
	if ((*x)->file->inode != (*y)->file->inode)
		return (*x)->file->inode < (*y)->file->inode ? -1 : 1;
	if ((*x)->file->born_us != (*y)->file->born_us)
		return (*x)->file->born_us < (*y)->file->born_us ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static size_t root_of(size_t *parent, size_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

static void join(size_t *parent, size_t a, size_t b)
{
	a = root_of(parent, a);
	b = root_of(parent, b);
	parent[a > b ? a : b] = a < b ? a : b;
}

/* Groups have the place of their first use. */
static int group(struct use *uses, size_t n)
{
	size_t *parent = calloc(n + 1, sizeof *parent), with = 0;
	const struct use **places = calloc(n + 1, sizeof *places);
	int rc = parent && places ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		parent[i] = i;
		if (i && strcmp(uses[i - 1].file->name, uses[i].file->name) == 0)
			join(parent, i - 1, i);
		if (has_inode(&uses[i]))
			places[with++] = &uses[i];
	}
	if (with)
		qsort(places, with, sizeof *places, by_inode);
	for (size_t i = 1; i < with; i++) {
		const struct use *x = places[i - 1], *y = places[i];
		bool same = x->file->device == y->file->device &&
			    x->file->inode == y->file->inode &&
			    x->file->born_us == y->file->born_us &&
			    strcmp(x->of->boot ? x->of->boot : x->of->host,
				   y->of->boot ? y->of->boot : y->of->host) == 0;
		if (same)
			join(parent, (size_t)(x - uses), (size_t)(y - uses));
	}
	for (size_t i = 0; !rc && i < n; i++)
		uses[i].group = root_of(parent, i);
	free(parent);
	free(places);
	return rc;
}

static int by_group(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	return x->group != y->group ? (x->group > y->group ? 1 : -1) : by_name(a, b);
}

/* ---- one file ------------------------------------------------------------------------------- */

/* "key=value" lines as a list. */
static int put_lines(struct arena *a, struct txts *to, const char *text)
{
	size_t n = 1;
	for (const char *c = text; *c; c++)
		n += *c == '\n';
	to->items = arena_array(a, n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (const char *at = text; *at; at += *at == '\n') {
		size_t bytes = strcspn(at, "\n");
		if (bytes && !(to->items[to->n++] = arena_strndup(a, at, bytes)))
			return -ENOMEM;
		at += bytes;
	}
	return 0;
}

static int height(const char *interface)
{
	return !interface                        ? -1
	       : strcmp(interface, "mpiio") == 0 ? 2
						 : strcmp(interface, "stdio") == 0;
}

static void put_times(const struct iomerge *m, const struct use *u, struct io_file *to)
{
	int64_t zero = 0;
	if (!known(u->file->first_s) || !iomerge_zero(m, u->of, &zero))
		return;
	double first = u->file->first_s + (double)zero / 1e9;
	double last = u->file->last_s + (double)zero / 1e9;
	to->first_s = known(to->first_s) ? fmin(to->first_s, first) : first;
	to->last_s = known(to->last_s) ? fmax(to->last_s, last) : last;
}

static int add_use(const struct iomerge *m, const struct use *u, struct io_file *to)
{
	struct arena *a = &m->rec->arena;
	const struct iopicture_file *f = u->file;
	int rc = iomerge_add(a, &io_sums_block, &to->whole, &f->whole);
	if (!rc)
		rc = iomerge_add(a, &io_sums_block, &to->roi, &f->roi);
	if (!rc)
		rc = iomerge_add(a, &io_pattern_block, &to->whole_pattern, &f->whole_pattern);
	if (!rc)
		rc = iomerge_add(a, &io_pattern_block, &to->roi_pattern, &f->roi_pattern);
	if (!rc && f->hints_set && !to->hints_set.items)
		rc = put_lines(a, &to->hints_set, f->hints_set);
	if (!rc && f->hints_in_force && !to->hints_in_force.items)
		rc = put_lines(a, &to->hints_in_force, f->hints_in_force);
	if (known(f->size_bytes))
		to->size_bytes =
			known(to->size_bytes) ? fmax(to->size_bytes, f->size_bytes) : f->size_bytes;
	to->block_bytes = known(to->block_bytes) ? to->block_bytes : f->block_bytes;
	to->filesystem = to->filesystem ? to->filesystem : f->filesystem;
	to->interface = height(f->interface) > height(to->interface) ? f->interface : to->interface;
	put_times(m, u, to);
	return rc;
}

static int put_file(const struct iomerge *m, const struct use *uses, size_t n, struct io_file *to)
{
	double processes = 0;
	int rc = 0;
	block_clear(&io_file_block, to);
	to->name = uses[0].file->name;
	to->type = uses[0].file->type;
	for (size_t i = 0; !rc && i < n; i++) {
		processes += i == 0 || uses[i].of != uses[i - 1].of;
		rc = add_use(m, &uses[i], to);
	}
	bool place = to->name[0] == '/';
	to->processes = processes;
	to->shared = !place ? UNKNOWN : processes > 1 ? YES : NO;
	to->first_s = num15(to->first_s);
	to->last_s = num15(to->last_s);
	iomerge_round(&io_sums_block, &to->roi);
	iomerge_round(&io_sums_block, &to->whole);
	iomerge_round(&io_pattern_block, &to->roi_pattern);
	iomerge_round(&io_pattern_block, &to->whole_pattern);
	return rc;
}

static double known_or_0(double x)
{
	return known(x) ? x : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct io_file *x = a, *y = b;
	double left = known_or_0(x->whole.read_bytes) + known_or_0(x->whole.write_bytes);
	double right = known_or_0(y->whole.read_bytes) + known_or_0(y->whole.write_bytes);
	return left != right ? (left > right ? -1 : 1) : strcmp(x->name, y->name);
}

static int put_all(const struct iomerge *m, const struct use *uses, size_t n)
{
	struct io *io = &m->rec->body.io;
	int rc = 0;
	io->files.items = arena_array(&m->rec->arena, n + 1, sizeof *io->files.items);
	if (!io->files.items)
		return -ENOMEM;
	for (size_t i = 0, k; !rc && i < n; i = k) {
		for (k = i + 1; k < n && uses[k].group == uses[i].group; k++)
			;
		rc = put_file(m, &uses[i], k - i, &io->files.items[io->files.n++]);
	}
	if (!rc && io->files.n)
		qsort(io->files.items, io->files.n, sizeof *io->files.items, by_bytes);
	return rc;
}

int iomerge_files(struct iomerge *m)
{
	struct io *io = &m->rec->body.io;
	double folded = 0;
	size_t room = 0, n = 0;
	for (size_t i = 0; i < m->n; i++)
		room += m->pictures[i]->files.n;
	struct use *uses = calloc(room + 1, sizeof *uses);
	if (!uses)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		const struct iopicture *p = m->pictures[i];
		folded += known_or_0(p->files_folded);
		for (size_t k = 0; k < p->files.n; k++)
			uses[n++] = (struct use){ .of = p, .file = &p->files.items[k] };
	}
	if (n)
		qsort(uses, n, sizeof *uses, by_name);
	int rc = group(uses, n);
	if (!rc && n)
		qsort(uses, n, sizeof *uses, by_group);
	if (!rc)
		rc = put_all(m, uses, n);
	free(uses);
	io->files_total = (double)io->files.n + folded;
	if (io->files.n > IOMERGE_FILES) {
		folded += (double)(io->files.n - IOMERGE_FILES);
		io->files.n = IOMERGE_FILES;
	}
	io->files_folded = folded;
	return rc;
}
