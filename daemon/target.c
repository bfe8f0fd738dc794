/* Origin-form only: "/path?name=value&..". */
#include "daemon/target.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "schema/utf8.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode from[0..n) to *at, which moves on behind a NUL. NULL: refused. */
static const char *decode(char **at, const char *from, size_t n, bool query, struct err *err)
{
	char *text = *at, *to = text;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)from[i];
		if (c == '%') {
			int high = i + 1 < n ? hex(from[i + 1]) : -1;
			int low = i + 2 < n ? hex(from[i + 2]) : -1;
			if (high < 0 || low < 0) {
				(void)err_set(err, -EINVAL,
					      "a %% in the address is not followed by "
					      "two hexadecimal digits");
				return NULL;
			}
			c = (unsigned char)(high * 16 + low);
			i += 2;
			/* What an intermediary may take for the end of a segment is none here. */
			if (!query && (c == '/' || c == '\\')) {
				(void)err_set(err, -EINVAL, "an encoded slash in the path");
				return NULL;
			}
		} else if (query && c == '+') {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7f) {
			(void)err_set(err, -EINVAL, "a control character in the address");
			return NULL;
		}
		*to++ = (char)c;
	}
	*to++ = 0;
	*at = to;
	if (utf8_valid(text, (size_t)(to - text) - 1))
		return text;
	(void)err_set(err, -EINVAL, "the address is not UTF-8");
	return NULL;
}

static int check_segments(const char *path, struct err *err)
{
	for (const char *at = path; *at;) {
		size_t n = strcspn(++at, "/");
		if ((n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return err_set(err, -EINVAL, "a dot segment in the path");
		at += n;
	}
	return 0;
}

static int add_param(struct target *t, char **at, const char *from, size_t n, struct err *err)
{
	const char *equals = memchr(from, '=', n);
	size_t name_n = equals ? (size_t)(equals - from) : n;
	if (t->n_params == TARGET_PARAMS)
		return err_set(err, -EINVAL, "more than %d query parameters", TARGET_PARAMS);
	const char *name = decode(at, from, name_n, true, err);
	const char *value = !name    ? NULL
			    : equals ? decode(at, equals + 1, n - name_n - 1, true, err)
				     : decode(at, from, 0, true, err);
	if (!value)
		return -EINVAL;
	if (target_param(t, name))
		return err_set(err, -EINVAL, "the query has \"%.40s\" twice", name);
	t->params[t->n_params++] = (struct target_param){ .name = name, .value = value };
	return 0;
}

int target_parse(struct target *ret, const char *raw, struct err *err)
{
	ret->n_params = 0;
	ret->path = "";
	/* Each piece gets a NUL where its separator was: the decoded text never is longer. */
	if (strlen(raw) >= TARGET_BYTES - TARGET_PARAMS)
		return err_set(err, -ENAMETOOLONG, "the address is longer than %d bytes",
			       TARGET_BYTES - TARGET_PARAMS);
	for (const char *c = raw; *c; c++)
		if (*c <= 0x20 || *c == 0x7f || *c == '#')
			return err_set(err, -EINVAL, "a byte in the address that must be encoded");
	if (raw[0] != '/')
		return err_set(err, -EINVAL, "the address must begin with a slash");
	char *at = ret->text;
	size_t n = strcspn(raw, "?");
	ret->path = decode(&at, raw, n, false, err);
	if (!ret->path) {
		ret->path = "";
		return -EINVAL;
	}
	int rc = check_segments(ret->path, err);
	const char *query = raw[n] ? raw + n + 1 : "";
	while (!rc && *query) {
		size_t one = strcspn(query, "&");
		if (one)
			rc = add_param(ret, &at, query, one, err);
		query += one + (query[one] == '&');
	}
	return rc;
}

const char *target_param(const struct target *t, const char *name)
{
	for (size_t i = 0; i < t->n_params; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return t->params[i].value;
	return NULL;
}
