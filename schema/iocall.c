#include "schema/iocall.h"

#include <string.h>

#define INFO(name, interface, kind, signature) [IO_##name] = { #name, interface, kind, signature },
static const struct io_call_info calls[IO_CALL_LIMIT] = { IO_CALLS(INFO) };

const struct io_call_info *io_call_info(unsigned call)
{
	return &calls[call < IO_CALL_LIMIT ? call : IO_CALL_NONE];
}

enum io_call io_call_of(const char *name)
{
	for (unsigned i = 1; i < IO_CALL_LIMIT; i++)
		if (calls[i].name && strcmp(calls[i].name, name) == 0)
			return (enum io_call)i;
	return IO_CALL_NONE;
}

const char *io_interface_name(unsigned interface)
{
	static const char *const names[IO_INTERFACES] = { "posix", "stdio", "mpiio", "aio",
							  "uring" };
	return interface < IO_INTERFACES ? names[interface] : NULL;
}

const char *io_kind_name(unsigned kind)
{
	static const char *const names[IO_KINDS] = { "open", "close", "read", "write", "copy",
						     "seek", "sync",  "meta", "map",   "wait" };
	return kind < IO_KINDS ? names[kind] : NULL;
}
