"""Attack the sandbox: each attack prints ESCAPED if it succeeds.

Python programs; words in capitals are names that the test sets beforehand.
"""

PRELUDE = """
import ctypes, errno, fcntl, os, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    typed = [ctypes.c_long(one) if isinstance(one, int) else one for one in words]
    result = libc.syscall(number, *typed)
    return result, ctypes.get_errno()
def escaped(*words):
    print("ESCAPED", *words, flush=True)
def tried(*words):
    print("TRIED", *words, flush=True)
X86 = os.uname().machine == "x86_64"
"""

READS_THE_HOME = """
print(open(HOME + "/state.db").read())
escaped()
"""

READS_THE_HOME_BY_A_LINK = """
os.symlink(HOME + "/state.db", "link")
try:
    print(open("link").read())
    escaped()
finally:
    os.unlink("link")
"""

READS_THE_HOME_BY_A_HARD_LINK = """
os.link(HOME + "/state.db", "hard")
try:
    print(open("hard").read())
    escaped()
finally:
    os.unlink("hard")
"""

READS_THE_HOME_BY_A_ROOT = """
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        open(f"/proc/{name}/root{HOME}/state.db").read()
        escaped("through", name)
    except OSError:
        pass
"""

READS_THE_HOME_BY_A_DESCRIPTOR = """
kept = os.open(HOME, os.O_PATH) if os.path.exists(HOME) else -1
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        for fd in os.listdir(f"/proc/{name}/fd"):
            for way in ("", "/..", "/../.."):
                path = f"/proc/{name}/fd/{fd}{way}"
                if os.path.isdir(path) and "state.db" in os.listdir(path):
                    escaped(path)
                if os.path.exists(f"{path}/home/state.db"):
                    escaped(path)
    except OSError:
        pass
"""

WRITES_OUTSIDE = """
open(OUTSIDE + "/planted", "w").write("x")
escaped()
"""

WRITES_THE_ROOT = """
path = "/etc/sayso-escape-" + str(os.getpid())
open(path, "w").write("x")
os.unlink(path)
escaped()
"""

REMOUNTS_THE_ROOT = """
MS_REMOUNT, MS_BIND = 32, 4096
os.makedirs("mnt", exist_ok=True)
if libc.mount(b"/etc", b"mnt", None, MS_BIND, None) == 0:
    libc.umount2(b"mnt", 2)
    escaped()
"""

MOUNTS = """
os.makedirs("mnt", exist_ok=True)
if libc.mount(b"none", b"mnt", b"tmpfs", 0, None) == 0:
    libc.umount2(b"mnt", 2)
    escaped("mount")
fsopen, opened = call(430, b"tmpfs", 0)
if fsopen >= 0:
    escaped("fsopen")
"""

MAKES_A_DEVICE = """
import stat
os.mknod("device", stat.S_IFBLK | 0o600, os.makedev(7, 0))
os.unlink("device")
escaped()
"""

REACHES_LOOPBACK = """
socket.create_connection(("127.0.0.1", PORT), 2).close()
escaped()
"""

REACHES_UNIX_SOCKETS = """
open(READY, "w").close()
while not os.path.exists(GO):
    time.sleep(0.005)
import json
TARGETS = json.load(open(GO))
STREAM, DATAGRAM, RAW, SEQUENCE = 1, 2, 3, 5
SOCKET, PAIR, SENDMMSG = (41, 53, 307) if X86 else (198, 199, 269)
def new(kind, high=0):
    fd, why = call(SOCKET, 1 | high, kind | 0x80000, 0)
    return [fd] if fd >= 0 else []
def pair(kind):
    ends = (ctypes.c_int * 2)()
    made, why = call(PAIR, 1, kind, 0, ends)
    return list(ends) if made == 0 else []
def connect(one, address):
    one.connect(address)
    one.send(b"x")
def sendto(one, address):
    one.sendto(b"x", address)
def sendmsg(one, address):
    one.sendmsg([b"x"], [], 0, address)
def sendmmsg(one, address):
    name = struct.pack("=H", 1) + address.encode()
    name, data = ctypes.create_string_buffer(name, len(name)), ctypes.create_string_buffer(b"x")
    part = struct.pack("=QQ", ctypes.addressof(data), 1)
    part = ctypes.create_string_buffer(part, len(part))
    words = (ctypes.addressof(name), len(name), ctypes.addressof(part), 1, 0, 0, 0, 0)
    message = struct.pack("=QI4xQQQQi4xI4x", *words)
    message = ctypes.create_string_buffer(message, len(message))
    sent, why = call(SENDMMSG, one.fileno(), message, 1, 0)
    if sent < 0:
        raise OSError(why, "sendmmsg")
SENDING = (sendto, sendmsg, sendmmsg)
WAYS = {
    STREAM: [(new, (STREAM,), (connect,)), (new, (STREAM, 1 << 32), (connect,)),
             (pair, (STREAM,), (connect, sendto))],
    SEQUENCE: [(new, (SEQUENCE,), (connect,)), (pair, (SEQUENCE,), (connect,))],
    DATAGRAM: [(new, (DATAGRAM,), (connect, *SENDING)), (new, (RAW,), (connect,)),
               (pair, (DATAGRAM,), (connect, *SENDING)), (pair, (RAW,), (connect, *SENDING))],
}
for name, kind, address in TARGETS:
    for making, words, actions in WAYS[kind]:
        for action in actions:
            tried(name, kind, making.__name__, *words, action.__name__)
            for fd in making(*words):
                try:
                    with socket.socket(1, kind, fileno=fd) as one:
                        one.setblocking(False)
                        action(one, address)
                        escaped(name)
                except OSError:
                    pass
"""

REACHES_A_SOCKET_BY_OLD_NUMBERS = """
import mmap
# socketcall(2) of 32-bit programs: its numbers, and pointers below 4 GiB (MAP_32BIT).
if not X86:
    sys.exit(159)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, 8192, 7, 0x62, -1, 0)
code = b"\\x53\\x89\\xf8\\x89\\xf3\\x89\\xd1\\xcd\\x80\\x5b\\xc3"
ctypes.memmove(page, code, len(code))
function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)(page)
def old(which, *words):
    packed = struct.pack(f"={len(words)}I", *words)
    ctypes.memmove(page + 4096, packed, len(packed))
    return function(102, which, page + 4096)
fd = old(1, 1, 1, 0)
address = struct.pack("=H", 1) + SOCKET.encode()
ctypes.memmove(page + 4200, address, len(address))
if fd >= 0 and old(3, fd, page + 4200, len(address)) == 0:
    escaped()
"""

HAS_FOREIGN_SOCKETS = """
import stat
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        for fd in os.listdir(f"/proc/{name}/fd"):
            if stat.S_ISSOCK(os.stat(f"/proc/{name}/fd/{fd}").st_mode):
                escaped(name, fd)
    except OSError:
        pass
"""

FILLS = """
# What it holds it keeps for HOLD seconds, so whoever looks at all sees it.
import mmap
MIB = 1 << 20
kept = []
def written(name):
    with open(name, "wb") as file:
        for _ in range(EACH):
            file.write(bytes(MIB))
            time.sleep(PAUSE)
def removed(name):
    file = open(name, "wb", buffering=0)
    os.unlink(name)
    kept.append(file)
    for _ in range(EACH):
        file.write(bytes(MIB))
        time.sleep(PAUSE)
def mapped(name):
    with open(name, "wb+") as file:
        file.truncate(EACH * MIB)
        with mmap.mmap(file.fileno(), EACH * MIB) as memory:
            for at in range(0, EACH * MIB, MIB):
                memory[at:at + MIB] = b"x" * MIB
def deep(name):
    for _ in range(20):
        name += "/d"
    os.makedirs(name)
    written(name + "/file")
def by_a_thread(name, own):
    # A thread may have open files of its own, which /proc/PID/fd does not show.
    import threading
    gone, done = threading.Event(), threading.Event()
    def fill():
        own()
        removed(name)
        gone.set()
        done.wait(HOLD)
    threading.Thread(target=fill, daemon=True).start()
    gone.wait()
def by_own_table(name):
    by_a_thread(name, lambda: call(272 if X86 else 97, 0x400))
def by_closing(name):
    by_a_thread(name, lambda: call(436, 1000, 1001, 2))
def led_by_dead(name):
    # A first thread that has ended shows nothing of the others.
    import threading
    def fill():
        time.sleep(0.1)
        for count in range(FILES):
            removed(f"{name}{count}")
        time.sleep(HOLD)
        os.write(1, b"ESCAPED\\n")
        os._exit(0)
    threading.Thread(target=fill, daemon=True).start()
    call(60 if X86 else 93, 0)
def forked(name):
    child = os.fork()
    if child == 0:
        written(name)
        os._exit(0)
    os.waitpid(child, 0)
def allocated(name):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
    done, why = call(285 if X86 else 47, fd, 0, 0, EACH * MIB)
    if done == 0:
        kept.append(fd)
    else:
        os.posix_fallocate(fd, 0, EACH * MIB)
def only_mapped(name):
    library = ctypes.CDLL(None)
    library.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
    written(name)
    fd = os.open(name, os.O_RDONLY)
    library.mmap(None, 4096, 1, 1, fd, 0)
    os.unlink(name)
    os.close(fd)
def sent(name, by=0):
    import socket
    if not by:
        kept.extend(socket.socketpair())
    written(name)
    with open(name, "rb") as file:
        socket.send_fds(by or kept[-1], [b"x"], [file.fileno()])
    os.unlink(name)
def sent_twice(name):
    import socket
    one, other = socket.socketpair()
    sent(name, one)
    if not kept:
        kept.extend(socket.socketpair())
    for end in (one, other):
        socket.send_fds(kept[0], [b"x"], [end.fileno()])
        end.close()
try:
    for count in range(FILES):
        globals()[WAY](f"{FOLDER}/file{count}")
except OSError as error:
    if error.errno != errno.ENOSPC:
        raise
time.sleep(HOLD)
escaped()
"""

FILLS_MEMORY = """
for number, folder in enumerate(PLACES):
    tried(folder)
    try:
        for count in range(MANY):
            with open(f"{folder}/sayso-fill-{count}", "wb", buffering=0) as file:
                for _ in range(16):
                    if file.write(bytes(1 << 20)) < 1 << 20:
                        raise OSError(errno.ENOSPC, "full")
        escaped(folder)
    except OSError:
        pass
"""

SENDS_RAW_PACKETS = """
socket.socket(17, socket.SOCK_RAW, 0)
escaped()
"""

SIGNALS = """
os.kill(VICTIM, signal.SIGTERM)
escaped()
"""

SEES_PROCESSES = """
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        if open(f"/proc/{name}/cmdline", "rb").read().split(bytes(1))[-2] == MARK[::-1].encode():
            escaped("saw", name)
    except (OSError, IndexError):
        pass
"""

GAINS_A_USER = """
os.execv("./becomes", ["becomes", "-u"])
"""

HAS_CAPABILITIES = """
line = next(one for one in open("/proc/self/status") if one.startswith("CapEff"))
if int(line.split()[1], 16):
    escaped(line)
"""

TRACES = """
child = os.fork()
if child == 0:
    time.sleep(20)
    os._exit(0)
libc.ptrace.argtypes = [ctypes.c_long] * 4
traced = libc.ptrace(16, child, 0, 0) == 0
memory = ctypes.create_string_buffer(8)
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
part = Part(ctypes.addressof(memory), 8)
read = libc.process_vm_readv(child, ctypes.byref(part), 1, ctypes.byref(part), 1, 0) == 8
os.kill(child, signal.SIGKILL)
if traced or read:
    escaped("ptrace" if traced else "", "process_vm_readv" if read else "")
"""

MAKES_A_USER_NAMESPACE = """
CLONE_NEWUSER = 0x10000000
child = os.fork()
if child == 0:
    os._exit(0 if libc.unshare(CLONE_NEWUSER) == 0 else 1)
if os.waitpid(child, 0)[1] == 0:
    escaped("unshare")
child, why = call(56 if X86 else 220, CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
if child > 0:
    escaped("clone")
arguments = struct.pack("=11Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
child, why = call(435, arguments, len(arguments))
if child == 0:
    os._exit(0)
if child > 0:
    escaped("clone3")
"""

TYPES_INTO_A_TERMINAL = """
import pty, termios
master, slave = pty.openpty()
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    try:
        # Only the lower half of a request counts for the kernel.
        for request in (termios.TIOCSTI, termios.TIOCSTI | 1 << 32):
            if libc.ioctl(slave, ctypes.c_ulong(request), b"x") == 0:
                os._exit(0)
    finally:
        os._exit(1)
if os.waitpid(child, 0)[1] == 0:
    escaped()
"""

WRITES_PROC_SYS = """
with open("/proc/sys/kernel/printk_ratelimit") as file:
    now = file.read()
with open("/proc/sys/kernel/printk_ratelimit", "w") as file:
    file.write(now)
escaped()
"""

USES_THE_KEYRING = """
keyctl = 250 if X86 else 219
found, why = call(keyctl, 0, -3, 1)
if found >= 0:
    escaped(found)
"""

LOADS_BPF = """
bpf = 321 if X86 else 280
attributes = struct.pack("=IIII", 2, 4, 4, 1) + bytes(112)
made, why = call(bpf, 0, attributes, len(attributes))
if made >= 0 or why not in (errno.EPERM, errno.ENOSYS):
    escaped(made, why)
"""

RINGS = """
parameters = ctypes.create_string_buffer(120)
made, why = call(425, 1, parameters)
if made >= 0 or why not in (errno.EPERM, errno.ENOSYS):
    escaped(made, why)
"""

LEAVES_THE_NAMESPACE = """
fd = os.open("/proc/self/ns/uts", os.O_RDONLY)
if libc.setns(fd, 0) == 0:
    escaped()
"""

CHANGES_ITS_ROOT = """
if libc.chroot(b".") == 0:
    escaped()
"""

HAS_FOREIGN_DESCRIPTORS = """
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        if fd > 2 and os.path.isdir(f"/proc/self/fd/{fd}/.."):
            escaped(fd, os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        pass
"""

SETS_IDS = """
import stat
HERE, MAKE, UNNAMED, EMPTY_PATH = -100, 0x41, 0x410002, 0x1000
OLD = {"open": 2, "creat": 85, "chmod": 90, "mknod": 133} if X86 else {}
AT = (257, 268, 259, 91) if X86 else (56, 53, 33, 52)
OPENAT, FCHMODAT, MKNODAT, FCHMOD = AT
OPENAT2, FCHMODAT2 = 437, 452
counted = iter(range(10_000))
def fresh():
    return f"f{next(counted)}".encode()
def made():
    name = fresh()
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o700))
    return name
def look(how, name):
    try:
        mode = os.lstat(name).st_mode
    except OSError:
        return
    if mode & 0o6000:
        escaped(how, oct(mode))
def attempt(how, name, *words):
    tried(how, oct(bits))
    call(*words)
    look(how, name)
for bits in (0o4755, 0o2755, 0o6755, 0o4755 | 1 << 16):
    regular = stat.S_IFREG | bits
    new, old = [fresh() for _ in range(6)], [made() for _ in range(5)]
    if OLD:
        attempt("open", new[0], OLD["open"], new[0], MAKE, bits)
        attempt("creat", new[1], OLD["creat"], new[1], bits)
        attempt("mknod", new[2], OLD["mknod"], new[2], regular, 0)
        attempt("chmod", old[0], OLD["chmod"], old[0], bits)
    how = struct.pack("=3Q", MAKE, bits & 0o7777, 0)
    attempt("openat", new[3], OPENAT, HERE, new[3], MAKE, bits)
    attempt("openat2", new[4], OPENAT2, HERE, new[4], how, len(how))
    attempt("mknodat", new[5], MKNODAT, HERE, new[5], regular, 0)
    attempt("fchmod", old[1], FCHMOD, os.open(old[1], os.O_RDWR), bits)
    attempt("fchmodat", old[2], FCHMODAT, HERE, old[2], bits)
    attempt("fchmodat2", old[3], FCHMODAT2, HERE, old[3], bits, 0)
    opened = os.open(old[4], os.O_RDONLY)
    attempt("fchmodat2 by descriptor", old[4], FCHMODAT2, opened, b"", bits, EMPTY_PATH)
    unnamed, why = call(OPENAT, HERE, b".", UNNAMED, bits)
    if unnamed >= 0:
        name = fresh()
        tried("O_TMPFILE", oct(bits))
        libc.linkat(HERE, f"/proc/self/fd/{unnamed}".encode(), HERE, name, 0x400)
        look("O_TMPFILE", name)
"""

GIVES_RIGHTS_BY_ATTRIBUTES = """
open("file", "w").close()
fd = os.open("file", os.O_RDWR)
# An access list that lets user 65534 write (acl(5), linux/posix_acl_xattr.h).
ALL = 0xFFFFFFFF
entries = ((1, 6, ALL), (2, 7, 65534), (4, 0, ALL), (16, 7, ALL), (32, 0, ALL))
acl = struct.pack("=I", 2) + b"".join(struct.pack("=HHI", *one) for one in entries)
capability = struct.pack("=5I", 0x02000001, 1 << 7, 0, 0, 0)
keys = {b"system.posix_acl_access": acl, b"security.capability": capability, b"user.a": b"x"}
first = 188 if X86 else 5
for key, value in keys.items():
    for number, target in ((first, b"file"), (first + 1, b"file"), (first + 2, fd)):
        tried(key, number)
        made, why = call(number, target, key, value, len(value), 0)
        if made == 0:
            escaped(key, number)
    held = ctypes.create_string_buffer(value, len(value))
    arguments = struct.pack("=QII", ctypes.addressof(held), len(value), 0)
    tried(key, "setxattrat")
    made, why = call(463, -100, b"file", 0, key, arguments, len(arguments))
    if made == 0:
        escaped(key, "setxattrat")
"""

READS_SHADOW = """
open("/etc/shadow").read()
escaped()
"""

OUTLIVES = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(READY, "w").write("x")
        time.sleep(30)
    os._exit(0)
os.wait()
while not os.path.exists(READY):
    time.sleep(0.005)
while not os.path.exists(GO):
    time.sleep(0.005)
"""


def program(attack: str, **names: object) -> str:
    """Return an attack with its names set."""
    given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    return f"{PRELUDE}{given}{attack}"
