/* Names of how a search in an application's output ended; they are part of the record. */
#include "core/metric.h"

const char *metric_status_name(enum metric_status s)
{
	static const char *const names[] = {
		[METRIC_NONE] = "none",
		[METRIC_OK] = "ok",
		[METRIC_NOT_MATCHED] = "not_matched",
		[METRIC_NOT_A_NUMBER] = "not_a_number",
		[METRIC_OVERFLOWED] = "overflowed",
		[METRIC_LOG_MISSING] = "log_missing",
		[METRIC_TOO_COSTLY] = "too_costly",
	};
	return names[s];
}
