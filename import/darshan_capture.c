/* Not there yet: the accesses of DXT, which a log tells one by one, as calls. */
#include "import/darshan_capture.h"

#include <errno.h>

int darshan_capture(struct record *rec, struct darshan_gathered *g, const char *folder,
		    struct err *err)
{
	(void)rec;
	(void)g;
	(void)folder;
	return err_set(err, -ENOTSUP, "--capture: accesses of DXT are not written as a capture yet");
}
