/* A few hundred answers in a table without order: what is asked again and again is a handful of
 * addresses, and looking through all keys' hashes costs less than a microsecond. */
#define _GNU_SOURCE /* strdup */
#include "daemon/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SLOTS 256
#define BYTES_MAX (64u << 20)

struct slot {
	uint64_t hash, version, used; /* used: the tick of the last time */
	char *key;
	struct entity *entity;
};

struct cache {
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
	uint64_t tick;
	size_t bytes;
};

struct cache *cache_new(void)
{
	struct cache *c = calloc(1, sizeof *c);
	if (c)
		(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void empty(struct cache *c, struct slot *s)
{
	if (s->entity)
		c->bytes -= s->entity->bytes;
	entity_drop(s->entity);
	free(s->key);
	*s = (struct slot){ .key = NULL };
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		empty(c, &c->slots[i]);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct slot *find(struct cache *c, const char *key, uint64_t hash)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (c->slots[i].key && c->slots[i].hash == hash &&
		    strcmp(c->slots[i].key, key) == 0)
			return &c->slots[i];
	return NULL;
}

struct entity *cache_get(struct cache *c, const char *key, uint64_t version)
{
	struct entity *e = NULL;
	uint64_t hash = XXH3_64bits(key, strlen(key));
	(void)pthread_mutex_lock(&c->lock);
	struct slot *s = find(c, key, hash);
	if (s && s->version == version) {
		s->used = ++c->tick;
		e = entity_hold(s->entity);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return e;
}

/* An empty slot, or the one that was not used for longest. */
static struct slot *oldest(struct cache *c)
{
	struct slot *old = &c->slots[0];
	for (size_t i = 0; i < SLOTS && old->key; i++)
		if (!c->slots[i].key || c->slots[i].used < old->used)
			old = &c->slots[i];
	return old;
}

static struct slot *oldest_full(struct cache *c)
{
	struct slot *old = NULL;
	for (size_t i = 0; i < SLOTS; i++)
		if (c->slots[i].key && (!old || c->slots[i].used < old->used))
			old = &c->slots[i];
	return old;
}

void cache_put(struct cache *c, const char *key, uint64_t version, struct entity *e)
{
	char *copy = e->bytes <= BYTES_MAX / 2 ? strdup(key) : NULL;
	if (!copy)
		return;
	uint64_t hash = XXH3_64bits(key, strlen(key));
	(void)pthread_mutex_lock(&c->lock);
	struct slot *s = find(c, key, hash);
	if (s)
		empty(c, s);
	while (c->bytes + e->bytes > BYTES_MAX && (s = oldest_full(c)))
		empty(c, s);
	s = oldest(c);
	empty(c, s);
	*s = (struct slot){ .hash = hash,
			    .version = version,
			    .used = ++c->tick,
			    .key = copy,
			    .entity = entity_hold(e) };
	c->bytes += e->bytes;
	(void)pthread_mutex_unlock(&c->lock);
}
