/* A call of MPI: one at a time on each thread, whatever MPI calls of itself meanwhile. */
#include "collectors/io_mpi.h"

#include "collectors/live_impl.h"

static __thread bool within __attribute__((tls_model("initial-exec")));
static uint64_t lock;
static uint32_t lock_forks;

bool mpi_begin(struct io_span *c)
{
	if (within || !io_begin(c))
		return false;
	within = true;
	io_deeper(c);
	return true;
}

uint64_t mpi_returned(const struct io_span *c, int *ret_errno)
{
	(void)c;
	uint64_t now = io_now();
	*ret_errno = errno;
	return now;
}

void mpi_higher(const struct io_span *c)
{
	io_higher(c);
}

void mpi_done(const struct io_span *c, int saved_errno)
{
	(void)c;
	within = false;
	errno = saved_errno;
}

void mpi_end(const struct io_span *c, enum io_mpi_class class_)
{
	io_higher(c);
	io_end_mpi(c, class_);
	within = false;
}

/* A child of fork has one thread, which does not hold it. */
bool mpi_lock(void)
{
	if (GET(lock_forks) != io.forks) {
		PUT(lock, 0);
		PUT(lock_forks, io.forks);
	}
	return lock_take(&lock) == 0;
}

void mpi_unlock(void)
{
	lock_give(&lock);
}
