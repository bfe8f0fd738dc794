/* What a process may see of the caller's environment. */
#define _GNU_SOURCE
#include "suite/env.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Needed to start programs at all, or telling them which devices and processors they were
 * given. Nothing here changes what is computed: that must be declared by the case. */
const char *const env_allowed[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ",
	"LD_LIBRARY_PATH",
	/* what the batch system gave */
	"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_GPUS",
	"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK", "SLURM_CPUS_ON_NODE",
	"SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_LOCALID", "SLURM_PROCID",
	/* CUDA */
	"CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_CACHE_PATH", "CUDA_DEVICE_ORDER",
	"CUDA_MODULE_LOADING", "GPU_DEVICE_ORDINAL", "NVIDIA_VISIBLE_DEVICES",
	"NVIDIA_DRIVER_CAPABILITIES",
	/* HIP */
	"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "ROCM_PATH",
	"HIP_PATH",
	/* XLA */
	"TPU_NAME", "TPU_VISIBLE_CHIPS", "XLA_FLAGS", "JAX_PLATFORMS", NULL
};

static const char *const credential_parts[] = {
	"TOKEN",   "SECRET", "PASSWD",     "PASSWORD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY",
	"API_KEY", "APIKEY", "ACCESS_KEY", "SESSION",  "COOKIE",     "BEARER",
};

/* What the tool or a benchmark suite's launcher sets itself. Also with HPCPERF_ before it. */
static const char *const reserved_names[] = {
	"ROI_LOG", "SKIP_VERIFY", "GPUS",     "NP",
	"DRY_RUN", "INPUT_ARGS",  "INPUT_ID", "L3_RUN_SUBDIR",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool word_ends(char c)
{
	return !c || c == '_';
}

/* AUTH anywhere, but AUTHOR and AUTHORS only say who wrote something. */
static bool has_auth(const char *upper)
{
	for (const char *p = upper; (p = strstr(p, "AUTH")); p += 4) {
		bool author = strncmp(p, "AUTHOR", 6) == 0;
		bool end = author && (word_ends(p[6]) || (p[6] == 'S' && word_ends(p[7])));
		if (!end)
			return true;
	}
	return false;
}

/* A word that ends in PWD (DB_PWD, MYPWD_FILE), but not the shell's two folders. */
static bool has_pwd(const char *upper)
{
	if (strcmp(upper, "PWD") == 0 || strcmp(upper, "OLDPWD") == 0)
		return false;
	for (const char *p = upper; (p = strstr(p, "PWD")); p += 3)
		if (word_ends(p[3]))
			return true;
	return false;
}

bool env_denied(const char *name)
{
	char upper[256];
	size_t n = strlen(name);
	if (n >= sizeof upper)
		return true; /* nobody needs such a name, and nobody could check it */
	for (size_t i = 0; i <= n; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	for (size_t i = 0; i < COUNT(credential_parts); i++)
		if (strstr(upper, credential_parts[i]))
			return true;
	if (n >= 4 && strcmp(upper + n - 4, "_KEY") == 0)
		return true;
	return has_auth(upper) || has_pwd(upper);
}

static bool reserved(const char *name)
{
	if (strncmp(name, "ROIMETER_", 9) == 0)
		return true;
	bool theirs = strncmp(name, "HPCPERF_", 8) == 0;
	const char *rest = theirs ? name + 8 : name;
	for (size_t i = theirs ? 0 : 1; i < COUNT(reserved_names); i++)
		if (strcmp(rest, reserved_names[i]) == 0)
			return true;
	return false;
}

static bool well_formed(const char *name)
{
	if (!*name || (*name >= '0' && *name <= '9'))
		return false;
	for (const char *p = name; *p; p++)
		if (!((*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_'))
			return false;
	return true;
}

enum env_verdict env_may_declare(const char *name)
{
	if (!well_formed(name))
		return ENV_BAD_NAME;
	if (env_denied(name))
		return ENV_CREDENTIAL;
	return reserved(name) ? ENV_RESERVED : ENV_OK;
}

const char *env_verdict_text(enum env_verdict v)
{
	switch (v) {
	case ENV_OK:
		return "ok";
	case ENV_BAD_NAME:
		return "bad name";
	case ENV_CREDENTIAL:
		return "credential name";
	case ENV_RESERVED:
		return "reserved";
	case ENV_TWICE:
		return "set twice";
	}
	return "bad name";
}

/* ---- the environment of one execution ------------------------------------------------------ */

struct environment {
	struct arena *arena;
	char **items;
	size_t n, room;
	size_t refused_room;
	struct txts *refused;
};

static size_t name_length(const char *entry)
{
	const char *equals = strchr(entry, '=');
	return equals ? (size_t)(equals - entry) : 0;
}

/* Later ones win: what the case says beats what was passed on. */
static int put(struct environment *b, const char *name, const char *value)
{
	char *entry = arena_printf(b->arena, "%s=%s", name, value);
	if (!entry)
		return -ENOMEM;
	size_t n = strlen(name);
	for (size_t i = 0; i < b->n; i++)
		if (strncmp(b->items[i], name, n) == 0 && b->items[i][n] == '=') {
			b->items[i] = entry;
			return 0;
		}
	b->items = arena_grow(b->arena, b->items, &b->room, b->n + 2, sizeof *b->items);
	if (!b->items)
		return -ENOMEM;
	b->items[b->n++] = entry;
	b->items[b->n] = NULL;
	return 0;
}

static int refuse(struct environment *b, const char *name)
{
	struct txts *r = b->refused;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->items[i], name) == 0)
			return 0;
	r->items = arena_grow(b->arena, r->items, &b->refused_room, r->n + 1, sizeof *r->items);
	if (!r->items)
		return -ENOMEM;
	r->items[r->n] = arena_strdup(b->arena, name);
	return r->items[r->n++] ? 0 : -ENOMEM;
}

static bool listed(const char *name, const struct txts *allow)
{
	for (size_t i = 0; env_allowed[i]; i++)
		if (strcmp(env_allowed[i], name) == 0)
			return true;
	for (size_t i = 0; allow && i < allow->n; i++) {
		const char *a = allow->items[i];
		size_t n = strlen(a);
		bool glob = n && a[n - 1] == '*';
		if (glob ? strncmp(a, name, n - 1) == 0 : strcmp(a, name) == 0)
			return true;
	}
	return false;
}

static int pass_on(struct environment *b, char *const *envp, const struct txts *allow)
{
	for (; envp && *envp; envp++) {
		size_t n = name_length(*envp);
		char *name = n ? arena_strndup(b->arena, *envp, n) : NULL;
		if (n && !name)
			return -ENOMEM;
		/* The tool's own names come from the runner, never from around it. */
		if (!n || reserved(name) || !listed(name, allow))
			continue;
		bool again = false; /* as for getenv, the first of two counts */
		for (size_t i = 0; i < b->n && !again; i++)
			again = strncmp(b->items[i], *envp, n + 1) == 0;
		if (again)
			continue;
		int rc = env_denied(name) ? refuse(b, name) : put(b, name, *envp + n + 1);
		if (rc)
			return rc;
	}
	return 0;
}

int env_build(struct arena *a, char *const *envp, const struct txts *allow,
	      const struct env_pair *set, size_t n_set, const struct env_pair *own, size_t n_own,
	      char ***ret_envp, struct txts *ret_refused)
{
	struct txts refused = { 0 };
	struct environment b = { .arena = a, .refused = &refused };
	b.items = arena_grow(a, NULL, &b.room, 8, sizeof *b.items);
	if (!b.items)
		return -ENOMEM;
	int rc = pass_on(&b, envp, allow);
	for (size_t i = 0; !rc && i < n_set; i++)
		rc = env_denied(set[i].name) ? refuse(&b, set[i].name)
					     : put(&b, set[i].name, set[i].value);
	for (size_t i = 0; !rc && i < n_own; i++)
		rc = put(&b, own[i].name, own[i].value);
	if (rc)
		return rc;
	*ret_envp = b.items;
	if (ret_refused)
		*ret_refused = refused;
	return 0;
}

int env_check_inputs(const struct suite_case *c, char *const *envp, struct err *err)
{
	for (size_t i = 0; i < c->inputs.n; i++) {
		const char *name = c->inputs.items[i];
		size_t n = strlen(name);
		bool declared = false, around = false;
		for (size_t k = 0; k < c->n_env && !declared; k++)
			declared = strcmp(c->env[k].name, name) == 0;
		for (char *const *e = envp; e && *e && !around; e++)
			around = strncmp(*e, name, n) == 0 && (*e)[n] == '=';
		if (around && !declared)
			return err_set(err, -EINVAL,
				       "%s/%s: %s is an input of %s and is set in your "
				       "environment, but the case does "
				       "not declare it, so it would be dropped and another input "
				       "measured; unset %s, "
				       "or add it to the case's env",
				       c->app, c->name, name, c->app, name);
	}
	return 0;
}
