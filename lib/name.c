#include "lib/name.h"

static int is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

const char *name_fault(struct str name)
{
	if (!name.p || !name.n)
		return "is empty";
	if (name.n > NAME_MAX_CHARS)
		return "is longer than 64 characters";
	if (name.p[0] == '.' || name.p[0] == '-')
		return "begins with \".\" or \"-\"";
	for (size_t i = 0; i < name.n; i++)
		if (!is_plain(name.p[i]))
			return "has other characters than letters, digits, \".\", \"_\" and \"-\"";
	return NULL;
}
