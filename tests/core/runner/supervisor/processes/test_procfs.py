import os
import signal
import subprocess
import sys

from core.runner.supervisor.processes import procfs
from tests.support.waiting import until

TREE = "import os, time\nfor _ in range(3): os.fork()\ntime.sleep(60)"
"""Eight processes: itself and seven descendants."""


async def test_descendants_are_counted() -> None:
    """Both ways of counting see the whole tree, and the quick one stops soon after its bound."""
    argv = (sys.executable, "-I", "-S", "-c", TREE)
    head = subprocess.Popen(argv, start_new_session=True)  # noqa: ASYNC220 - it only sleeps
    try:
        await until(lambda: procfs.count_descendants(head.pid, 100) == 7)

        assert procfs.count_among(procfs.processes(), head.pid) == 7
        assert 3 <= procfs.count_descendants(head.pid, 2) <= 5
        assert procfs.count_descendants(os.getpid(), 100) >= 8
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
    assert procfs.count_descendants(head.pid, 100) == 0


def test_the_machine_has_threads() -> None:
    """The kernel's own figure counts at least every process that is visible here."""
    assert procfs.threads() >= len(procfs.processes()) - 20


BLIND = """
import os, resource
from core.runner.supervisor.processes import procfs
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
for look in (procfs.own_children, procfs.processes, procfs.threads, procfs.boot_id,
             lambda: procfs.process(1), lambda: list(procfs.descendants(1))):
    try:
        print(look())
    except OSError as error:
        print(error.strerror)
"""


def test_who_cannot_look_sees_no_absence() -> None:
    """Without a descriptor every check fails; none of them finds that nothing is there."""
    argv = (sys.executable, "-c", BLIND)
    told = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["Too many open files"] * 6


def test_who_kept_a_descriptor_back_sees_its_children() -> None:
    """The same process without any, except the one that it holds back; again and again."""
    kept = BLIND.replace("(3, 3))", "(4, 4))").replace(
        "resource.set", "procfs.keep_spare()\nresource.set"
    )
    argv = (sys.executable, "-c", kept + "print(procfs.own_children(), procfs.own_children())")
    told = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert (told[0], told[-1]) == ("[]", "[] []")
    assert told[1] == "Too many open files"
