"""Check what the executor does before it may be trusted."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.executors import direct

ROOT = Path(__file__).parents[3]
HEAVY = {"asyncio", "dataclasses", "subprocess", "threading", "logging", "pathlib", "inspect"}


def test_it_imports_the_standard_library_and_little_of_ours() -> None:
    """S2 "No DB access, no API keys": there is no code for either in the process."""
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import bot.executor.main\nprint(*sys.modules, sep='\\n')"
    )
    words = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    loaded = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    ours = {name for name in loaded if name.partition(".")[0] in {"bot", "core", "channels"}}

    assert {".".join(name.split(".")[:3]) for name in ours} == {
        *("bot", "bot.executor", "bot.executor.connection", "bot.executor.executor"),
        *("bot.executor.main", "bot.executor.own_socket"),
        *("core", "core.files", "core.files.file_identity", "core.isolation"),
        *(
            "core.isolation.wire",
            "core.runner",
            "core.runner.remains",
            "core.runner.supervisor",
            "core.shell",
        ),
        "core.shell.placeholders",
    }
    assert {name.partition(".")[0] for name in loaded - ours} <= {
        *sys.stdlib_module_names,
        "__main__",
    }
    assert loaded & HEAVY == set()


def test_without_a_socket_nothing_starts(executor_path: str) -> None:
    """A person who runs it learns what it is for."""
    done = subprocess.run(
        [executor_path],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    usage = subprocess.run(
        [executor_path, "--sockets"], capture_output=True, text=True, timeout=20, check=False
    )

    assert (done.returncode, "descriptor 0 is not a socket" in done.stderr) == (1, True)
    assert (usage.returncode, usage.stderr[:6]) == (2, "usage:")


def test_it_keeps_nothing_of_whoever_started_it(executor_path: str) -> None:
    """Descriptors that were inherited are closed before the first call."""
    with open("/etc/hostname", "rb") as secret:  # noqa: PTH123 - its number is what matters
        os.set_inheritable(secret.fileno(), True)
        with direct(executor_path) as executor:
            executor.say(b'{"id":1,"method":"ping"}\n')
            executor.hear()
            fds = Path(f"/proc/{executor.process.pid}/fd")
            held = {str(one.readlink()) for one in fds.iterdir()}
            folder = str(Path(f"/proc/{executor.process.pid}/cwd").readlink())

    assert "/etc/hostname" not in held
    assert {name.split(":")[0] for name in held} <= {"/dev/null", "pipe", "socket", "anon_inode"}
    assert folder == "/"
