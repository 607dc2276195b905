/* A disk that fails: while the file $FAILING_SWITCH exists, what would write to a file below
 * $FAILING_FOLDER fails with EIO. With the word "sync" in it only what waits for the disk fails:
 * the bytes are in memory by then, as on a real disk whose cache cannot be written back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int below(const char *path) {
    const char *folder = getenv("FAILING_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* 0: works; 1: nothing reaches the disk; 2: everything fails. */
static int mode(void) {
    const char *name = getenv("FAILING_SWITCH");
    if (!name || access(name, F_OK)) return 0;
    int saved = errno, fd = open(name, O_RDONLY | O_CLOEXEC);
    char word[5] = "";
    ssize_t count = fd < 0 ? 0 : read(fd, word, 4);
    if (fd >= 0) close(fd);
    errno = saved;
    return count == 4 && memcmp(word, "sync", 4) == 0 ? 1 : 2;
}

static int fails(int fd, int at) {
    int now = mode();
    if (now < at) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    struct stat status;
    if (!below(path) || fstat(fd, &status) || S_ISSOCK(status.st_mode)) return 0;
    errno = EIO;
    return 1;
}

static int fails_at(const char *path) {
    if (mode() < 2 || path[0] != '/' || !below(path)) return 0;
    errno = EIO;
    return 1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define ON_FD(type, name, at, args, call) \
    type name args { REAL(name); return fails(fd, at) ? -1 : real call; }

ON_FD(ssize_t, write, 2, (int fd, const void *b, size_t n), (fd, b, n))
ON_FD(ssize_t, writev, 2, (int fd, const struct iovec *v, int n), (fd, v, n))
ON_FD(ssize_t, pwrite, 2, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
ON_FD(ssize_t, pwrite64, 2, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
ON_FD(int, ftruncate, 2, (int fd, off_t n), (fd, n))
ON_FD(int, ftruncate64, 2, (int fd, off64_t n), (fd, n))
ON_FD(int, fsync, 1, (int fd), (fd))
ON_FD(int, fdatasync, 1, (int fd), (fd))

int posix_fallocate64(int fd, off64_t o, off64_t n) {
    REAL(posix_fallocate64);
    return fails(fd, 2) ? EIO : real(fd, o, n);
}
int posix_fallocate(int fd, off_t o, off_t n) {
    REAL(posix_fallocate);
    return fails(fd, 2) ? EIO : real(fd, o, n);
}

#define ON_PATH(type, name, args, path, call) \
    type name args { REAL(name); return fails_at(path) ? -1 : real call; }

ON_PATH(int, rename, (const char *a, const char *b), b, (a, b))
ON_PATH(int, unlink, (const char *a), a, (a))
ON_PATH(int, mkdir, (const char *a, mode_t m), a, (a, m))
ON_PATH(int, rmdir, (const char *a), a, (a))

#define ON_OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        mode_t bits = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            bits = va_arg(rest, mode_t); \
            va_end(rest); \
            if ((flags & O_CREAT) && access(path, F_OK) && fails_at(path)) return -1; \
        } \
        return real(path, flags, bits); \
    }

ON_OPEN(open)
ON_OPEN(open64)
