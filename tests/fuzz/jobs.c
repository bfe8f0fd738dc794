/* Any bytes as /proc/PID/cgroup: what is found lies within them. */
#include <stdint.h>
#include <stdlib.h>

#include "node/jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(struct str slice, struct str text)
{
	if (slice.p && (slice.p < text.p || slice.p + slice.n > text.p + text.n))
		abort();
}

static void job_within(const struct job_place *job, struct str text)
{
	within(job->job, text);
	within(job->step, text);
	within(job->job_path, text);
	within(job->container, text);
	if (!job->manager != !job->job.p || !job->manager != !job->job_path.p ||
	    !job->runtime != !job->container.p || (job->step.p && !job->manager))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { .p = (const char *)data, .n = n };
	struct cgroup_place place;
	struct job_place job;
	cgroup_place_read(&place, text);
	within(place.path, text);
	within(place.unified, text);
	within(place.memory, text);
	within(place.cpu, text);
	within(place.io, text);
	job_within(&place.job, text);
	job_place_read(&job, text);
	job_within(&job, text);
	return 0;
}
