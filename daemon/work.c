/* First come, first served. */
#include "daemon/work.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define WAITING_MAX 4096
#define THREADS_MAX 16

struct work_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct work *first, **last;
	int waiting, n;
	bool stop;
	struct worker {
		struct work_pool *pool;
		struct store *store;
		pthread_t thread;
		bool runs;
	} workers[THREADS_MAX];
};

static void *work_loop(void *arg)
{
	struct worker *me = arg;
	struct work_pool *p = me->pool;
	(void)pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->first && !p->stop)
			(void)pthread_cond_wait(&p->wake, &p->lock);
		struct work *w = p->first;
		if (!w)
			break;
		p->first = w->next;
		if (!p->first)
			p->last = &p->first;
		p->waiting--;
		(void)pthread_mutex_unlock(&p->lock);
		w->run(w, me->store); /* w may be gone now */
		(void)pthread_mutex_lock(&p->lock);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

int work_start(struct work_pool **ret, const char *db, int threads, struct err *err)
{
	struct work_pool *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->wake, NULL);
	p->last = &p->first;
	p->n = threads < THREADS_MAX ? threads : THREADS_MAX;
	int rc = 0;
	for (int i = 0; i < p->n && !rc; i++) {
		struct worker *w = &p->workers[i];
		w->pool = p;
		rc = store_open(&w->store, db, STORE_READ, err);
		if (!rc && pthread_create(&w->thread, NULL, work_loop, w))
			rc = err_set(err, -EAGAIN, "no thread can be started");
		w->runs = !rc;
	}
	if (rc)
		work_free(p);
	else
		*ret = p;
	return rc;
}

bool work_put(struct work_pool *p, struct work *w)
{
	(void)pthread_mutex_lock(&p->lock);
	bool room = p->waiting < WAITING_MAX && !p->stop;
	if (room) {
		w->next = NULL;
		*p->last = w;
		p->last = &w->next;
		p->waiting++;
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (room) /* behind the unlock: else it would wake only to wait for the lock */
		(void)pthread_cond_signal(&p->wake);
	return room;
}

void work_stop(struct work_pool *p)
{
	if (!p || p->stop)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->stop = true;
	(void)pthread_cond_broadcast(&p->wake);
	(void)pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->n; i++) {
		if (p->workers[i].runs)
			(void)pthread_join(p->workers[i].thread, NULL);
		store_close(p->workers[i].store);
	}
}

void work_free(struct work_pool *p)
{
	if (!p)
		return;
	work_stop(p);
	(void)pthread_cond_destroy(&p->wake);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}
