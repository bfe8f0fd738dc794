/* Files of tokens, and comparing one. */
#define _GNU_SOURCE /* explicit_bzero */
#include "daemon/token.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

#define TOKEN_MIN 16

/* Group bits may be those of an access list: so systemd hands a credential to a dynamic user. */
static int check_file(const char *path, struct err *err)
{
	struct stat st;
	if (stat(path, &st))
		return err_set(err, -errno, "token file %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "token file %s: not a file", path);
	mode_t forbidden = st.st_uid == 0 && !(st.st_mode & 0222) ? 0007 : 0077;
	if (st.st_mode & forbidden)
		return err_set(err, -EACCES,
			       "token file %s: others may read or change it; chmod 600", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(err, -EACCES, "token file %s: it belongs to another user", path);
	return 0;
}

static int take_line(struct tokens *t, const char *line, size_t n, const char *path, int number,
		     struct err *err)
{
	while (n && (line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	if (!n || line[0] == '#')
		return 0;
	if (n < TOKEN_MIN || n > TOKEN_BYTES)
		return err_set(err, -EINVAL, "%s:%d: a token has %d to %d characters; this has %zu",
			       path, number, TOKEN_MIN, TOKEN_BYTES, n);
	for (size_t i = 0; i < n; i++)
		if (line[i] <= ' ' || line[i] >= 0x7f)
			return err_set(err, -EINVAL, "%s:%d: a token has printable characters only",
				       path, number);
	if (t->n == TOKENS_MAX)
		return err_set(err, -EINVAL, "%s:%d: more than %d tokens", path, number,
			       TOKENS_MAX);
	memcpy(t->items[t->n++], line, n);
	return 0;
}

int tokens_read(struct tokens *ret, const char *path, struct err *err)
{
	*ret = (struct tokens){ .n = 0 };
	if (!path)
		return 0;
	struct buf b = { .max = 65536 };
	int rc = check_file(path, err), number = 1;
	if (!rc)
		rc = file_read(&b, path, err);
	for (const char *at = b.data; at && *at && !rc; number++) {
		size_t n = strcspn(at, "\n");
		rc = take_line(ret, at, n, path, number, err);
		at += n + (at[n] == '\n');
	}
	if (b.data)
		explicit_bzero(b.data, b.len);
	buf_done(&b);
	if (rc)
		*ret = (struct tokens){ .n = 0 };
	return rc;
}

bool tokens_match(const struct tokens *t, const char *authorization)
{
	char given[TOKEN_BYTES] = { 0 };
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	const char *text = authorization + 7 + strspn(authorization + 7, " ");
	size_t n = strlen(text);
	if (n < TOKEN_MIN || n > TOKEN_BYTES)
		return false;
	memcpy(given, text, n);
	/* Every byte of every token is looked at, whatever is found on the way. */
	bool found = false;
	for (size_t i = 0; i < t->n; i++) {
		unsigned char differs = 0;
		for (size_t k = 0; k < TOKEN_BYTES; k++)
			differs |= (unsigned char)(given[k] ^ t->items[i][k]);
		found |= differs == 0;
	}
	explicit_bzero(given, sizeof given);
	return found;
}
