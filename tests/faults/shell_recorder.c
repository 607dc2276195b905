/* Stands between a shell and execve: writes the vector to file descriptor 9 as
 * "<argc>\0<folder>\0<fd 0>\0<fd 1>\0<fd 2>\0<argv[0]>\0...<argv[argc-1]>\0", a descriptor being
 * "null", "pipe" or its inode, and ends the process instead of starting a program, so
 * that no line of the fuzz can ever do harm. The exit status is the parity of the vector's bytes,
 * inverted when RECORDER_FLIP is "1", so that && and || are taken both ways. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define RECORD_FD 9
#define ROOM (128 * 1024)

static size_t describe(int fd, char *into, size_t room)
{
    struct stat found;
    int used;

    if (fstat(fd, &found) != 0)
        used = snprintf(into, room, "closed");
    else if (S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3))
        used = snprintf(into, room, "null");
    else if (S_ISFIFO(found.st_mode))
        used = snprintf(into, room, "pipe");
    else
        used = snprintf(into, room, "%lu", (unsigned long)found.st_ino);
    return (size_t)used + 1;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    static char record[ROOM];
    const char *flip = getenv("RECORDER_FLIP");
    size_t bytes = 0, used, count = 0;

    (void)path;
    (void)envp;
    while (argv[count])
        count++;
    used = (size_t)snprintf(record, ROOM, "%zu", count) + 1;
    if (!getcwd(record + used, PATH_MAX))
        _exit(124);
    used += strlen(record + used) + 1;
    for (int fd = 0; fd < 3; fd++)
        used += describe(fd, record + used, 64);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(argv[i]);
        if (used + length + 1 > ROOM)
            _exit(125);
        memcpy(record + used, argv[i], length + 1);
        used += length + 1;
        bytes += length;
    }
    if (write(RECORD_FD, record, used) != (ssize_t)used)
        _exit(126);
    _exit((int)(bytes & 1) ^ (flip && *flip == '1'));
}
