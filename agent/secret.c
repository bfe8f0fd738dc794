/* Reading a token. */
#define _GNU_SOURCE /* explicit_bzero */
#include "agent/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"

#define TOKEN_MIN 16

/* Group bits may be those of an access list: so systemd hands a credential to a dynamic user. */
static int check_mode(const char *path, struct err *err)
{
	struct stat st;
	if (stat(path, &st))
		return err_set(err, -errno, "token file %s: %s; [server] token_file names it", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "token file %s: not a file", path);
	mode_t forbidden = st.st_uid == 0 && !(st.st_mode & 0222) ? 0007 : 0077;
	if (st.st_mode & forbidden)
		return err_set(err, -EACCES,
			       "token file %s: others may read or change it; chmod 600", path);
	return 0;
}

/* The first line that is not empty and no comment. */
static int take_token(char ret[SECRET_BYTES], const char *text, const char *path, struct err *err)
{
	for (const char *at = text; at && *at;) {
		size_t n = strcspn(at, "\n"), next = n + (at[n] == '\n');
		while (n && (at[n - 1] == '\r' || at[n - 1] == ' '))
			n--;
		if (!n || *at == '#') {
			at += next;
			continue;
		}
		if (n < TOKEN_MIN || n >= SECRET_BYTES)
			return err_set(err, -EINVAL,
				       "token file %s: a token has %d to %d characters", path,
				       TOKEN_MIN, SECRET_BYTES - 1);
		for (size_t i = 0; i < n; i++)
			if (at[i] <= ' ' || at[i] >= 0x7f)
				return err_set(err, -EINVAL,
					       "token file %s: a token has printable characters "
					       "only",
					       path);
		memcpy(ret, at, n);
		ret[n] = 0;
		return 0;
	}
	return err_set(err, -EINVAL, "token file %s holds no token", path);
}

int secret_read(char ret[SECRET_BYTES], const char *path, struct err *err)
{
	struct buf b = { .max = 65536 };
	int rc = check_mode(path, err);
	if (!rc)
		rc = file_read(&b, path, err);
	if (!rc)
		rc = take_token(ret, b.data, path, err);
	if (b.data)
		explicit_bzero(b.data, b.len);
	buf_done(&b);
	return rc;
}
