/* Any bytes as hpcperf-roi-log 2, and what they add up to. */
#include <stdint.h>
#include <stdlib.h>

#include "core/roi.h"
#include "schema/hpcperflog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct roi_logs logs = { 0 };
	struct err err = { "" };
	int rc = hpcperflog_parse(&logs, "fuzz", data, n, &err);
	if (rc ? !err.text[0] || logs.n : !logs.n)
		abort(); /* a failure without a sentence, or with half a result */
	for (size_t i = 0; i < logs.n; i++) {
		struct roi_process p;
		struct roi_job job;
		roi_process_sum(logs.items[i], &p);
		if (p.wall_ns > p.gross_ns || p.finished > p.entries)
			abort();
		if ((roi_job_sum(&p, 1, &job) == 0) != (p.entries > 0))
			abort();
	}
	roilogs_done(&logs);
	return 0;
}
