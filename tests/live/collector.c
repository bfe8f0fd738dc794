/* A collector that is told of operations by its program, for tests/system/live. */
#include "collectors/live.h"
#define PUBLIC __attribute__((visibility("default")))
PUBLIC int t_start(void)
{
	static const struct live_options o = {
		.collector = "test", .runtime = "t", .observes = 255, .calls = true
	};
	return live_start(&o);
}
PUBLIC void t_op(long b, long e)
{
	struct flow *f = live_take();
	if (!f)
		return;
	flow_dropped(f, 0);
	flow_op(f, &(struct flow_op){ b, e, 8, (unsigned)flow_device(f, "d", "d"),
				      (unsigned)flow_name(f, "k", 1), 0 });
	live_give(f);
}
