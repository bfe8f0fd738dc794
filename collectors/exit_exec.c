/* Preloaded with exit.c: exec ends a program, too, and no library in it is told. These tell
 * collectors before it, and after it where it failed. All of libc's functions are here, since those
 * call each other past us; what spawns a process (posix_spawn, system, popen) execs in a child and
 * is left alone. exec may be called in a signal handler and in a child of vfork, so nothing is
 * allocated here. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define COLLECTORS 4

/* Of libc, or of somebody else who was preloaded behind us. */
static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
} next;

static struct {
	void (*before)(void), (*failed)(void);
} told[COLLECTORS];
static unsigned n_told;

PUBLIC void roimeter_at_exec_1(void (*before)(void), void (*failed)(void));
PUBLIC int execveat(int folder, const char *path, char *const argv[], char *const envp[],
		    int flags);

void roimeter_at_exec_1(void (*before)(void), void (*failed)(void))
{
	unsigned i = __atomic_fetch_add(&n_told, 1, __ATOMIC_RELAXED);
	if (i >= COLLECTORS)
		return;
	__atomic_store_n(&told[i].failed, failed, __ATOMIC_RELEASE);
	__atomic_store_n(&told[i].before, before, __ATOMIC_RELEASE);
}

/* Before main: dlsym is not for signal handlers. */
__attribute__((constructor)) static void find(void)
{
	*(void **)&next.execv = dlsym(RTLD_NEXT, "execv");
	*(void **)&next.execvp = dlsym(RTLD_NEXT, "execvp");
	*(void **)&next.execvpe = dlsym(RTLD_NEXT, "execvpe");
	*(void **)&next.fexecve = dlsym(RTLD_NEXT, "fexecve");
	*(void **)&next.execveat = dlsym(RTLD_NEXT, "execveat");
	*(void **)&next.execve = dlsym(RTLD_NEXT, "execve");
}

static void before(void)
{
	if (!next.execve) /* another library execs as it is loaded */
		find();
	for (unsigned i = 0; i < COLLECTORS; i++) {
		void (*f)(void) = __atomic_load_n(&told[i].before, __ATOMIC_ACQUIRE);
		if (f)
			f();
	}
}

static int failed(int rc)
{
	int saved = errno;
	for (unsigned i = 0; i < COLLECTORS; i++) {
		void (*f)(void) = __atomic_load_n(&told[i].failed, __ATOMIC_ACQUIRE);
		if (f)
			f();
	}
	errno = saved;
	return rc;
}

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* ---- a list of arguments ----------------------------------------------------------------------
 */

PUBLIC int execve(const char *path, char *const argv[], char *const envp[])
{
	before();
	return failed(next.execve ? next.execve(path, argv, envp)
				  : (int)syscall(SYS_execve, path, argv, envp));
}

PUBLIC int execv(const char *path, char *const argv[])
{
	before();
	return failed(next.execv ? next.execv(path, argv) : missing());
}

PUBLIC int execvp(const char *file, char *const argv[])
{
	before();
	return failed(next.execvp ? next.execvp(file, argv) : missing());
}

PUBLIC int execvpe(const char *file, char *const argv[], char *const envp[])
{
	before();
	return failed(next.execvpe ? next.execvpe(file, argv, envp) : missing());
}

PUBLIC int fexecve(int fd, char *const argv[], char *const envp[])
{
	before();
	return failed(next.fexecve ? next.fexecve(fd, argv, envp) : missing());
}

/* glibc has it since 2.34 only. */
int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
	before();
	return failed(next.execveat ? next.execveat(folder, path, argv, envp, flags)
				    : (int)syscall(SYS_execveat, folder, path, argv, envp, flags));
}

/* ---- arguments one by one ---------------------------------------------------------------------
 */

/* Of the list, with the NULL at its end. */
static size_t bytes_of(const char *arg, va_list *args)
{
	size_t n = 1;
	for (; arg; n++)
		arg = va_arg(*args, const char *);
	return n * sizeof(char *);
}

static void fill(char **argv, const char *arg, va_list *args)
{
	*argv = (char *)(uintptr_t)arg;
	for (; *argv; argv++)
		argv[1] = va_arg(*args, char *);
}

/* The list is on the stack, as libc has it. cppcheck would rather have an array of variable length,
 * which the compiler is told to refuse. */
PUBLIC int execl(const char *path, const char *arg, ...)
{
	va_list args;
	va_start(args, arg);
	/* cppcheck-suppress allocaCalled */
	char **argv = alloca(bytes_of(arg, &args));
	va_end(args);
	va_start(args, arg);
	fill(argv, arg, &args);
	va_end(args);
	return execv(path, argv);
}

PUBLIC int execlp(const char *file, const char *arg, ...)
{
	va_list args;
	va_start(args, arg);
	/* cppcheck-suppress allocaCalled */
	char **argv = alloca(bytes_of(arg, &args));
	va_end(args);
	va_start(args, arg);
	fill(argv, arg, &args);
	va_end(args);
	return execvp(file, argv);
}

PUBLIC int execle(const char *path, const char *arg, ...)
{
	va_list args;
	va_start(args, arg);
	/* cppcheck-suppress allocaCalled */
	char **argv = alloca(bytes_of(arg, &args));
	va_end(args);
	va_start(args, arg);
	fill(argv, arg, &args);
	char *const *envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}
