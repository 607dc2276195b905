"""Define which system calls a sandbox refuses, and which arguments of others it checks.

Both filters are written from these: ``seccomp`` for bubblewrap, ``container_profile`` for engines.
"""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
NEW_TIME = 0x80
"""CLONE_NEWTIME; in ``clone`` the same bit belongs to the signal number."""

OWN_DESCRIPTORS = 0x400
"""CLONE_FILES. In ``unshare`` it gives a thread its own descriptors, as a thread made without it
has. What a run holds is counted by process (``held_files``), so a thread's would not be seen."""
A_THREAD = 0x10000
"""CLONE_THREAD."""
RANGE_UNSHARES = 2
"""CLOSE_RANGE_UNSHARE in the flags of ``close_range``: the same as ``unshare`` before it closes."""

FAMILIES = (0, 2, 10, 16)
"""AF_UNSPEC, INET, INET6, NETLINK. AF_VSOCK would reach past the network namespace."""

UNIX = 1
"""AF_UNIX. A filter sees neither the path that a socket is connected to nor what listens there, so
without ``unix_sockets`` none is made at all. What ``socketpair`` makes is connected already and
cannot be connected again (EISCONN, unix(7)), but for datagrams: each names an address."""

PAIR_TO_ANYBODY = 0b1010
"""Set in SOCK_DGRAM and SOCK_RAW, which makes a datagram pair as well; in no SOCK_STREAM or
SOCK_SEQPACKET, nor in the flags SOCK_CLOEXEC and SOCK_NONBLOCK."""

TTY_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal from which this was started."""

SET_ID = 0o6000
"""S_ISUID and S_ISGID. Files in the workspace belong to the gateway's user outside as well, so a
program with these bits would give that user's rights to anyone who can reach the workspace."""

MODE_OF = {"chmod": 1, "fchmod": 1, "mkdir": 1, "mknod": 1, "creat": 1}
MODE_OF |= {"fchmodat": 2, "fchmodat2": 2, "mkdirat": 2, "mknodat": 2}
"""Which argument is a file's mode. On directories too: a filter cannot see what a path names."""

FLAGS_OF = {"open": 1, "openat": 2}
"""Which argument are the flags of a call whose next one is a mode, if the call makes a file."""

MAKES_A_FILE = 0x40 | 0x400000
"""O_CREAT and __O_TMPFILE; without them the mode is whatever the register held (open(2))."""

UNREADABLE = ("clone3", "openat2")
"""Calls whose flags or modes are in memory, which a filter cannot read; callers fall back."""

GRANTING = ("setxattr", "lsetxattr", "fsetxattr", "setxattrat")
"""Extended attributes hold access lists and file capabilities; which one is named in memory.
ENOTSUP is what a file system without them answers, and copying programs continue without."""

AT_ONCE = ("fallocate",)
"""Takes room on a disk at once, faster than ``core.runner.supervisor.processes.disk_use`` notices.

ENOTSUP is what a file system without it answers, and posix_fallocate(3) then writes instead.
"""

REFUSED = (
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"),
    *("kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module"),
    *("bpf", "perf_event_open", "userfaultfd", "fanotify_init", "open_by_handle_at"),
    *("add_key", "request_key", "keyctl"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex"),
    *("swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup"),
    *("lookup_dcookie", "iopl", "ioperm", "modify_ldt", "uselib"),
)
