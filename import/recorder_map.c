/* One call after the other: names become numbers, arguments places of an event. */
#define _GNU_SOURCE
#include "import/recorder_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>


struct str recorder_arg(const struct recorder_key *key, size_t i)
{
	const char *p = key->args.p, *end = p + key->args.n;
	for (; p < end; i--) {
		const char *blank = memchr(p, ' ', (size_t)(end - p));
		size_t n = blank ? (size_t)(blank - p) : (size_t)(end - p);
		if (!i)
			return n == 3 && memcmp(p, "???", 3) == 0 ? (struct str){ NULL, 0 }
								  : (struct str){ p, n };
		p += n + 1;
	}
	return (struct str){ NULL, 0 };
}

bool recorder_number(struct str text, int64_t *ret)
{
	size_t i = text.n && text.p[0] == '-';
	int64_t x = 0;
	if (!text.p || i == text.n)
		return false;
	for (; i < text.n; i++)
		if (text.p[i] < '0' || text.p[i] > '9' || __builtin_mul_overflow(x, 10, &x) ||
		    __builtin_add_overflow(x, text.p[i] - '0', &x))
			return false;
	*ret = text.p[0] == '-' ? -x : x;
	return true;
}

static bool is_text(struct str s, const char *text)
{
	return s.p && s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* ---- names --------------------------------------------------------------------------------------
 */

struct name {
	uint64_t hash;
	uint32_t text;   /* number */
	uint32_t handle; /* the newest that is open under this name; 0: none */
	char *bytes;
	size_t n;
};

struct open_handle {
	uint32_t number, before; /* of the same name, opened before it */
	uint32_t name;           /* 1 + index */
	int64_t at;              /* where the next access begins; -1: not known */
	bool append, view;
};

#define FUNCTIONS_KEPT 1024

struct recorder_names {
	struct recorder_taker taker;
	struct name *names;
	size_t n_names, cap_names;
	uint32_t *slots; /* 1 + name */
	size_t n_slots;
	struct open_handle *handles; /* by number less FIRST_HANDLE */
	size_t n_handles, cap_handles;
	uint32_t texts;
	const struct recorder_mapping *by_function[FUNCTIONS_KEPT];
	bool looked_for[FUNCTIONS_KEPT];
};

#define FIRST_HANDLE 4 /* 1 to 3 are standard input, output, error */

int recorder_names_new(struct recorder_names **ret, const struct recorder_taker *taker)
{
	struct recorder_names *n = calloc(1, sizeof *n);
	if (!n)
		return -ENOMEM;
	if (taker)
		n->taker = *taker;
	*ret = n;
	return 0;
}

void recorder_names_free(struct recorder_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_names; i++)
		free(n->names[i].bytes);
	free(n->names);
	free(n->slots);
	free(n->handles);
	free(n);
}

static size_t slot_of(const struct recorder_names *n, uint64_t hash, struct str s)
{
	for (size_t i = (size_t)hash;; i++) {
		uint32_t at = n->slots[i &= n->n_slots - 1];
		const struct name *name = at ? &n->names[at - 1] : NULL;
		if (!at || (name->hash == hash && name->n == s.n && memcmp(name->bytes, s.p, s.n) == 0))
			return i;
	}
}

static int grow_slots(struct recorder_names *n)
{
	size_t more = n->n_slots ? 2 * n->n_slots : 256;
	uint32_t *slots = calloc(more, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(n->slots);
	n->slots = slots;
	n->n_slots = more;
	for (size_t i = 0; i < n->n_names; i++)
		slots[slot_of(n, n->names[i].hash,
			      (struct str){ n->names[i].bytes, n->names[i].n })] = (uint32_t)i + 1;
	return 0;
}

static void *room_for(void *items, size_t *cap, size_t n, size_t item_bytes)
{
	if (n < *cap)
		return items;
	size_t more = *cap ? 2 * *cap : 64;
	void *grown = realloc(items, more * item_bytes);
	if (grown)
		*cap = more;
	return grown;
}

/* 1 + index of the name; 0: out of memory. */
static uint32_t name_of(struct recorder_names *n, struct str s)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.p[i]) * 1099511628211u;
	hash ^= hash >> 32;
	if (2 * n->n_names >= n->n_slots && grow_slots(n))
		return 0;
	size_t slot = slot_of(n, hash, s);
	if (n->slots[slot])
		return n->slots[slot];
	struct name *names = room_for(n->names, &n->cap_names, n->n_names, sizeof *names);
	if (!names)
		return 0;
	n->names = names;
	char *bytes = malloc(s.n + 1);
	if (!bytes)
		return 0;
	if (s.n)
		memcpy(bytes, s.p, s.n);
	bytes[s.n] = '\0';
	names[n->n_names++] = (struct name){ .hash = hash, .bytes = bytes, .n = s.n };
	return n->slots[slot] = (uint32_t)n->n_names;
}

/* The number of a text; 0: none, or out of memory. */
static uint32_t text_of(struct recorder_names *n, struct str s)
{
	uint32_t at = s.p ? name_of(n, s) : 0;
	if (!at)
		return 0;
	struct name *name = &n->names[at - 1];
	if (!name->text) {
		name->text = ++n->texts;
		if (n->taker.text)
			n->taker.text(n->taker.self, name->text, name->bytes, name->n);
	}
	return name->text;
}

static struct open_handle *handle_at(struct recorder_names *n, uint32_t number)
{
	return number >= FIRST_HANDLE && number - FIRST_HANDLE < n->n_handles
		       ? &n->handles[number - FIRST_HANDLE]
		       : NULL;
}

/* key: under what later calls name it. path: of the file, p NULL: not known. */
static uint32_t make_handle(struct recorder_names *n, struct str key, struct str path,
			    enum io_interface interface, bool was_open, int64_t flags)
{
	uint32_t at = key.p ? name_of(n, key) : 0;
	struct open_handle *handles = room_for(n->handles, &n->cap_handles, n->n_handles, sizeof *handles);
	if (!at || !handles)
		return 0;
	n->handles = handles;
	bool append = interface == IO_POSIX && flags >= 0 && (flags & O_APPEND);
	uint32_t number = FIRST_HANDLE + (uint32_t)n->n_handles++;
	handles[number - FIRST_HANDLE] = (struct open_handle){ .number = number, .name = at,
							       .before = n->names[at - 1].handle,
							       .at = was_open || append ? -1 : 0,
							       .append = append };
	n->names[at - 1].handle = number;
	struct recorder_handle told = { .number = number, .path = text_of(n, path),
					.type = IO_FILE,
					.interface = (uint8_t)interface, .was_open = was_open,
					.flags = flags };
	if (n->taker.handle)
		n->taker.handle(n->taker.self, &told);
	return number;
}

/* The newest that is open under this name; a name that was never opened was so before anybody looked. */
static uint32_t handle_of(struct recorder_names *n, struct str key, enum io_interface interface)
{
	static const char *const standard[] = { "stdin", "stdout", "stderr" };
	for (uint32_t i = 0; i < 3; i++)
		if (is_text(key, standard[i]))
			return i + 1;
	uint32_t at = key.p ? name_of(n, key) : 0;
	if (!at)
		return 0;
	if (n->names[at - 1].handle)
		return n->names[at - 1].handle;
	bool path = key.n && key.p[0] == '/';
	return make_handle(n, key, path ? key : (struct str){ NULL, 0 }, interface, true, -1);
}

static void close_handle(struct recorder_names *n, uint32_t number)
{
	struct open_handle *h = handle_at(n, number);
	if (h && n->names[h->name - 1].handle == number)
		n->names[h->name - 1].handle = h->before;
}

/* ---- arguments ----------------------------------------------------------------------------------
 */

static int64_t type_bytes(struct str name)
{
	static const struct {
		const char *name;
		int bytes;
	} types[] = {
		{ "MPI_BYTE", 1 },          { "MPI_CHAR", 1 },        { "MPI_SIGNED_CHAR", 1 },
		{ "MPI_UNSIGNED_CHAR", 1 }, { "MPI_PACKED", 1 },      { "MPI_INT8_T", 1 },
		{ "MPI_UINT8_T", 1 },       { "MPI_C_BOOL", 1 },      { "MPI_SHORT", 2 },
		{ "MPI_UNSIGNED_SHORT", 2 }, { "MPI_INT16_T", 2 },    { "MPI_UINT16_T", 2 },
		{ "MPI_INT", 4 },           { "MPI_UNSIGNED", 4 },    { "MPI_FLOAT", 4 },
		{ "MPI_INT32_T", 4 },       { "MPI_UINT32_T", 4 },    { "MPI_LONG", 8 },
		{ "MPI_UNSIGNED_LONG", 8 }, { "MPI_LONG_LONG", 8 },   { "MPI_LONG_LONG_INT", 8 },
		{ "MPI_UNSIGNED_LONG_LONG", 8 }, { "MPI_INT64_T", 8 }, { "MPI_UINT64_T", 8 },
		{ "MPI_DOUBLE", 8 },        { "MPI_INTEGER", 4 },     { "MPI_REAL", 4 },
		{ "MPI_DOUBLE_PRECISION", 8 }, { "MPI_REAL4", 4 },    { "MPI_REAL8", 8 },
		{ "MPI_INTEGER8", 8 },      { "MPI_CHARACTER", 1 },
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (is_text(name, types[i].name))
			return types[i].bytes;
	return -1;
}

static int64_t whence_of(struct str s)
{
	static const char *const words[][3] = { { "SEEK_SET", "MPI_SEEK_SET", "600" },
						{ "SEEK_CUR", "MPI_SEEK_CUR", "602" },
						{ "SEEK_END", "MPI_SEEK_END", "604" } };
	int64_t x = 0;
	for (int w = 0; w < 3; w++)
		for (int i = 0; i < 3; i++)
			if (is_text(s, words[w][i]))
				return w;
	(void)recorder_number(s, &x);
	return x;
}

struct mapped {
	struct recorder_names *n;
	const struct io_call_info *info;
	struct recorder_event *to;
	struct str made, path, type; /* type: of the elements */
	bool product;                /* a factor of the bytes was seen */
	bool lacking;                /* bytes that should be there are not a number */
	bool nowhere;                /* nor is the offset */
};

static void put_arg(struct mapped *m, size_t place, struct str s)
{
	int64_t *to = &m->to->event.arg[place];
	char letter = strlen(m->info->signature) > place ? m->info->signature[place] : ':';
	switch (letter) {
	case 'h':
		*to = handle_of(m->n, s, m->info->interface);
		if (!m->to->handle)
			m->to->handle = (uint32_t)*to;
		break;
	case 'p':
		m->path = m->path.p ? m->path : s;
		*to = text_of(m->n, s);
		break;
	case 't':
		m->type = s;
		*to = text_of(m->n, s);
		break;
	case 'w':
		*to = whence_of(s);
		break;
	case 'n':
		m->lacking = m->lacking || !recorder_number(s, to) || *to < 0;
		if (*to < 0)
			*to = 0;
		break;
	case 'o':
		m->nowhere = m->nowhere || !recorder_number(s, to);
		break;
	default:
		(void)recorder_number(s, to);
	}
}

static void put_factor(struct mapped *m, struct str s)
{
	int64_t x = 0;
	int64_t *to = &m->to->event.arg[1];
	if (!recorder_number(s, &x) || x < 0 || (m->product && __builtin_mul_overflow(*to, x, &x))) {
		m->lacking = true;
		x = 0;
	}
	*to = x;
	m->product = true;
}

static void put_args(struct mapped *m, const struct recorder_key *key, const char *places)
{
	for (size_t i = 0; places[i]; i++) {
		struct str s = places[i] == '.' ? (struct str){ NULL, 0 } : recorder_arg(key, i);
		if (places[i] >= '0' && places[i] <= '5')
			put_arg(m, (size_t)(places[i] - '0'), s);
		else if (places[i] == '*')
			put_factor(m, s);
		else if (places[i] == 'r' && !recorder_number(s, &m->to->event.result))
			m->lacking = true;
		else if (places[i] == '=')
			m->made = s;
	}
}

/* Bytes of an access of MPI-IO: elements times their size, where that is known. */
static void put_elements(struct mapped *m)
{
	const char *signature = m->info->signature;
	const char *count = strstr(signature, "it");
	if (m->info->interface != IO_MPIIO || !count ||
	    (m->info->kind != IO_READ && m->info->kind != IO_WRITE))
		return;
	int64_t bytes = type_bytes(m->type), *to = &m->to->event.arg[1];
	int64_t elements = m->to->event.arg[count - signature];
	m->lacking = bytes < 0 || elements < 0 || __builtin_mul_overflow(bytes, elements, to);
	if (m->lacking)
		*to = 0;
}

/* ---- results ------------------------------------------------------------------------------------
 */

/* Recorder keeps no results: what was asked for is taken as moved. */
static void put_moved(struct mapped *m)
{
	struct io_event *e = &m->to->event;
	struct open_handle *h = handle_at(m->n, m->to->handle);
	const char *signature = m->info->signature;
	const char *offset = strchr(signature, 'o');
	if (m->info->kind != IO_READ && m->info->kind != IO_WRITE)
		return;
	if (strncmp(signature, "hn", 2) == 0)
		e->result = e->arg[1];
	else if (e->call == IO_fgetc || e->call == IO_fputc)
		e->result = 1;
	else if (e->call == IO_fprintf && e->result > 0)
		e->result--; /* Recorder has the room that the text takes, with its NUL */
	else
		m->lacking = true;
	if (e->call == IO_readv || e->call == IO_writev)
		m->lacking = true;
	m->to->bytes_unknown = m->lacking;
	if (offset && offset < strchr(signature, ':')) {
		bool view = h && h->view;
		m->to->place_unknown = m->nowhere;
		e->at = view || m->nowhere ? -1 : e->arg[offset - signature];
	} else if (h && m->info->interface != IO_MPIIO) {
		e->at = h->at;
		if (h->at >= 0 && (m->lacking || __builtin_add_overflow(h->at, e->result, &h->at)))
			h->at = -1;
	}
}

static void put_position(struct mapped *m)
{
	struct io_event *e = &m->to->event;
	struct open_handle *h = handle_at(m->n, m->to->handle);
	if (e->call == IO_MPI_File_set_view && h)
		h->view = true;
	if ((e->call != IO_lseek && e->call != IO_fseek) || !h)
		return;
	m->to->place_unknown = m->nowhere;
	if (m->nowhere)
		h->at = -1;
	else if (e->arg[2] == 0)
		h->at = e->arg[1];
	else if (e->arg[2] != 1 || (h->at >= 0 && __builtin_add_overflow(h->at, e->arg[1], &h->at)))
		h->at = -1;
	if (h->append || h->at < 0)
		h->at = -1;
	e->result = e->call == IO_lseek && h->at >= 0 ? h->at : 0;
}

static int put_handle(struct mapped *m)
{
	struct io_event *e = &m->to->event;
	int64_t flags = e->call == IO_open ? e->arg[1] : e->call == IO_creat ? O_WRONLY | O_CREAT | O_TRUNC
									    : -1;
	struct str key = m->made.p ? m->made : m->path;
	if (m->info->kind == IO_CLOSE)
		close_handle(m->n, m->to->handle);
	if (m->info->kind != IO_OPEN)
		return 0;
	/* A copy has no name of its own in the trace: what is done with it later can't be told. */
	if (!key.p)
		key = (struct str){ "?", 1 };
	e->result = make_handle(m->n, key, m->path, m->info->interface, false, flags);
	struct open_handle *h = handle_at(m->n, (uint32_t)e->result);
	if (h && e->call == IO_fopen && m->type.p && memchr(m->type.p, 'a', m->type.n))
		h->at = -1;
	if (!m->to->handle)
		m->to->handle = (uint32_t)e->result;
	return e->result ? 0 : -ENOMEM;
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static const struct recorder_mapping *mapping_of(struct recorder_names *n,
						   const struct recorder_call *call)
{
	uint32_t function = call->key->function;
	if (function >= FUNCTIONS_KEPT)
		return recorder_mapping_of(call->function);
	if (!n->looked_for[function]) {
		n->looked_for[function] = true;
		n->by_function[function] = recorder_mapping_of(call->function);
	}
	return n->by_function[function];
}

int recorder_map(struct recorder_names *n, const struct recorder_call *call, struct recorder_event *ret)
{
	const struct recorder_mapping *mapping = mapping_of(n, call);
	*ret = (struct recorder_event){ .class = RECORDER_OTHER, .event = { .at = -1 } };
	if (!mapping) {
		if (strncmp(call->function, "MPI_", 4) == 0 && strncmp(call->function, "MPI_File_", 9) != 0) {
			ret->class = RECORDER_MPI;
			ret->mpi = recorder_mpi_class(call->function);
		}
		return 0;
	}
	ret->class = RECORDER_FILE;
	ret->event.call = mapping->call;
	ret->event.depth = call->key->depth;
	struct mapped m = { .n = n, .info = io_call_info(mapping->call), .to = ret };
	put_args(&m, call->key, mapping->places);
	put_elements(&m);
	put_moved(&m);
	put_position(&m);
	return put_handle(&m);
}
