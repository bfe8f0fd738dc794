/* Any bytes as a mark log: read or refused, never more than that. */
#include "schema/marklog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct roi_logs logs = { .n = 0 };
	struct err err;
	(void)marklog_parse(&logs, "fuzz", data, n, &err);
	roilogs_done(&logs);
	return 0;
}
