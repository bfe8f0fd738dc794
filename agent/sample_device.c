/* Block devices, each by its name; network devices, all together. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECTOR_BYTES 512 /* of diskstats, whatever the device's own are */
#define MAX_KNOWN 4096

/* ---- what a name stands for ---- */

/* Asked of /sys once for each name that is seen. */
struct known {
	char name[40]; /* of a block device at most 31, of a network device 15 */
	bool yes;
};

struct names {
	const char *root;
	struct known *items;
	size_t n, cap, next;
};

static bool known_is(const struct known *k, struct str name)
{
	return strncmp(k->name, name.p, name.n) == 0 && !k->name[name.n];
}

static struct known *names_add(struct names *s, struct str name)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		struct known *items =
			cap > MAX_KNOWN ? NULL : realloc(s->items, cap * sizeof *items);
		if (!items)
			return NULL;
		s->items = items;
		s->cap = cap;
	}
	struct known *k = &s->items[s->n++];
	memcpy(k->name, name.p, name.n);
	k->name[name.n] = 0;
	return k;
}

/* Is there BEFORE name AFTER? The order of lines seldom changes. */
static bool names_ask(struct names *s, struct str name, const char *before, const char *after)
{
	char path[PATH_MAX], in_sys[sizeof s->items->name];
	if (!name.n || name.n >= sizeof in_sys || memchr(name.p, 0, name.n))
		return false;
	for (size_t tried = 0; tried < s->n; tried++) {
		size_t i = s->next < s->n ? s->next : 0;
		s->next = i + 1;
		if (known_is(&s->items[i], name))
			return s->items[i].yes;
	}
	struct known *k = names_add(s, name);
	if (!k)
		return false;
	for (size_t i = 0; i <= name.n; i++)
		in_sys[i] = k->name[i] == '/' ? '!' : k->name[i]; /* cciss/c0d0 */
	int n = snprintf(path, sizeof path, "%s%s%s%s", s->root, before, in_sys, after);
	k->yes = n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
	return k->yes;
}

static int names_open(void **ret_self, const char *root)
{
	struct names *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->root = root;
	*ret_self = s;
	return 0;
}

static void names_close(void *self, struct sample_reader *r)
{
	struct names *s = self;
	(void)r;
	if (s)
		free(s->items);
	free(s);
}

/* ---- /proc/diskstats ---- */

/* After the device's name, in the order of Documentation/admin-guide/iostats.rst. */
enum {
	READS,
	READS_MERGED,
	SECTORS_READ,
	READ_MS,
	WRITES,
	WRITES_MERGED,
	SECTORS_WRITTEN,
	WRITE_MS,
	IN_FLIGHT,
	BUSY_MS,
	WAITING_MS,
	DISK_FIELDS
};

enum { DISK_VALUES = 8 };

static const struct text_key disk_keys[DISK_VALUES] = {
	{ "", "reads", 1, 1 },
	{ "", "read_bytes", SECTOR_BYTES, 1 },
	{ "", "read_s", 1, 1e3 },
	{ "", "writes", 1, 1 },
	{ "", "write_bytes", SECTOR_BYTES, 1 },
	{ "", "write_s", 1, 1e3 },
	{ "", "busy_s", 1, 1e3 },
	{ "", "waiting_s", 1, 1e3 },
};
static const unsigned char disk_field[DISK_VALUES] = {
	READS, SECTORS_READ, READ_MS, WRITES, SECTORS_WRITTEN, WRITE_MS, BUSY_MS, WAITING_MS,
};

static void disk_put(struct str name, struct str rest, struct buf *more)
{
	double fields[DISK_FIELDS], values[DISK_VALUES];
	for (size_t i = 0; i < DISK_FIELDS; i++)
		fields[i] = text_next_number(&rest);
	for (size_t i = 0; i < DISK_VALUES; i++)
		values[i] = fields[disk_field[i]] * disk_keys[i].times / disk_keys[i].per;
	sample_put_thing(more, "disk", name, disk_keys, DISK_VALUES, values);
}

/* Whole devices: what a partition did is in them. Loop devices and memory disks repeat what others
 * do. */
static void disks_parse(void *self, struct str text, double *values, struct buf *more)
{
	(void)values;
	struct str line, word, name;
	unsigned put = 0, left_out = 0;
	while (text_line(&text, &line)) {
		if (!text_word(&line, &word) || !text_word(&line, &word) ||
		    !text_word(&line, &name) || text_begins(name, "loop") ||
		    text_begins(name, "ram") || !names_ask(self, name, "/sys/block/", ""))
			continue;
		if (put++ < SAMPLE_MAX_THINGS)
			disk_put(name, line, more);
		else
			left_out++;
	}
	sample_put_left_out(more, "disks_left_out", left_out);
}

const struct sampler sample_disks = {
	.name = "disks",
	.path = "/proc/diskstats",
	.parse = disks_parse,
	.open = names_open,
	.close = names_close,
};

/* ---- /proc/net/dev ---- */

enum { NET_VALUES = 8, NET_MAX_COLUMNS = 32 };

/* The column of a value, as the second line of the file calls it; the columns of "Receive" come
 * first, those of "Transmit" behind the second bar. */
static const struct text_key net_keys[NET_VALUES] = {
	{ "bytes", "net_rx_bytes", 1, 1 }, { "packets", "net_rx_packets", 1, 1 },
	{ "errs", "net_rx_errors", 1, 1 }, { "drop", "net_rx_dropped", 1, 1 },
	{ "bytes", "net_tx_bytes", 1, 1 }, { "packets", "net_tx_packets", 1, 1 },
	{ "errs", "net_tx_errors", 1, 1 }, { "drop", "net_tx_dropped", 1, 1 },
};

/* columns[i]: which of the values column i is, or -1. False: this is not the line of names. */
static bool net_columns(struct str line, signed char columns[NET_MAX_COLUMNS])
{
	const char *bar = memchr(line.p, '|', line.n);
	const char *second = bar ? memchr(bar + 1, '|', line.n - (size_t)(bar + 1 - line.p)) : NULL;
	if (!second)
		return false;
	size_t n = 0;
	memset(columns, -1, NET_MAX_COLUMNS);
	for (unsigned part = 0; part < 2; part++) {
		const char *from = part ? second + 1 : bar + 1;
		struct str rest = { .p = from,
				    .n = part ? line.n - (size_t)(from - line.p)
					      : (size_t)(second - from) };
		struct str word;
		for (; n < NET_MAX_COLUMNS && text_word(&rest, &word); n++)
			for (unsigned i = 0; i < NET_VALUES / 2; i++)
				if (text_is(word, net_keys[i].key))
					columns[n] = (signed char)(part * NET_VALUES / 2 + i);
	}
	return n > 2; /* the first line has a word in each part */
}

static void net_add(struct str rest, const signed char columns[NET_MAX_COLUMNS], double *sums)
{
	struct str word;
	for (size_t i = 0; i < NET_MAX_COLUMNS && text_word(&rest, &word); i++) {
		if (columns[i] < 0)
			continue;
		double *sum = &sums[columns[i]];
		*sum = (known(*sum) ? *sum : 0) + text_number(word);
	}
}

/* Devices that are hardware: a bridge, a bond and what is in them would count a byte twice. Where
 * there is none, as in a namespace, all but the loopback. */
static void net_parse(void *self, struct str text, double *values, struct buf *more)
{
	double others[NET_VALUES];
	signed char columns[NET_MAX_COLUMNS];
	struct str line;
	bool named = false, hardware = false;
	(void)more;
	for (size_t i = 0; i < NET_VALUES; i++)
		others[i] = (double)NAN;
	while (text_line(&text, &line)) {
		if (net_columns(line, columns)) {
			named = true;
			continue;
		}
		const char *colon = memrchr(line.p, ':', line.n); /* one may be in a name: eth0:1 */
		if (!named || !colon)
			continue;
		struct str name = { .p = line.p, .n = (size_t)(colon - line.p) }, word;
		struct str rest = { .p = colon + 1, .n = line.n - name.n - 1 };
		if (!text_word(&name, &word) || text_is(word, "lo"))
			continue;
		bool is_hardware = names_ask(self, word, "/sys/class/net/", "/device");
		hardware |= is_hardware;
		net_add(rest, columns, is_hardware ? values : others);
	}
	if (!hardware)
		memcpy(values, others, sizeof others);
}

const struct sampler sample_net = {
	.name = "net",
	.path = "/proc/net/dev",
	.keys = net_keys,
	.n_keys = COUNT(net_keys),
	.parse = net_parse,
	.open = names_open,
	.close = names_close,
};
