"""Run a user's terminals: bash in as many as a page needs, and the gateway in its own."""

import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.docs.blocks import ROOT
from tests.support.terminal import Screen, terminal
from tests.support.waiting import wait_until

_DONE = re.compile(r"@@done (\d+)\n")
_SERVE = re.compile(r"sayso serve( .*)?")
_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""
BIN = Path(sys.executable).parent


class Bash:
    """A bash with its own controlling terminal; it runs what it is sent, one script at a time."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self.output = ""
        self._count = 0
        self._scripts = folder
        self.keys, slave = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-ISc", _FRONT, str(slave), "/bin/bash", "--norc"],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            pass_fds=(slave,),
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def type(self, text: str) -> int:
        """Type commands without waiting for their end; return where their output begins."""
        begun = len(self.output)
        self._count += 1
        script = self._scripts / f"{id(self)}-{self._count}"
        script.write_text(f"{text}\n")
        assert self._process.stdin is not None
        self._process.stdin.write(f'. {script} </dev/null; echo "@@done $?"\n')
        self._process.stdin.flush()
        return begun

    def status(self, begun: int, seconds: float = 60) -> int:
        """Wait until what was typed has ended, and return its exit status."""
        wait_until("the end of the command", lambda: _DONE.search(self.output, begun), seconds)
        found = _DONE.search(self.output, begun)
        assert found is not None
        return int(found[1])

    def printed(self, begun: int) -> str:
        """Return what was printed since, once that has ended."""
        return _DONE.split(self.output[begun:])[0]

    def wait_for(self, pattern: str, begun: int = 0) -> re.Match[str]:
        """Wait until the shell has printed something, and return it."""
        wait_until(pattern, lambda: re.search(pattern, self.output[begun:]), 60)
        found = re.search(pattern, self.output[begun:])
        assert found is not None
        return found

    def asked(self, words: bytes) -> None:
        """Wait until a program asks on the terminal itself, as for a password."""
        shown = b""
        while words not in shown:
            ready, _, _ = select.select([self.keys], [], [], 30)
            assert ready, f"waited for {words!r}: {shown!r}"
            shown += os.read(self.keys, 1024)

    def close(self) -> None:
        """End it, as closing its window does."""
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)
        os.close(self.keys)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output += line


class User:
    """A home, the terminals that are open in it, and `sayso serve` once it was typed."""

    def __init__(self, home: Path, stack: ExitStack, more: Mapping[str, str]) -> None:
        self.home = home
        self.state = home / ".sayso"
        self.config: dict[str, object] = {}
        self.served: Screen | None = None
        self.others: dict[str, Mapping[str, str]] = {}
        self._serving: subprocess.Popen[bytes] | None = None
        self._stack = stack
        self._open: dict[str, Bash] = {}
        # An installed Sayso has its bytecode, whatever this checkout's owner prefers.
        left_out = {name for name in os.environ if "SAYSO" in name} | {"PYTHONDONTWRITEBYTECODE"}
        environ = {key: value for key, value in os.environ.items() if key not in left_out}
        own = {"HOME": str(home), "PATH": f"{BIN}:{environ['PATH']}"}
        self.environ = {**environ, **own, **more}

    def terminal(self, name: str = "first") -> Bash:
        """Return a terminal, opened when first requested."""
        if name not in self._open:
            scripts = self.home / ".typed"
            scripts.mkdir(exist_ok=True)
            self._open[name] = Bash({**self.environ, **self.others.get(name, {})}, scripts)
            self._stack.callback(self._open[name].close)
        return self._open[name]

    def do(self, text: str, terminal: str = "first") -> str:
        """Run a preparation, which must succeed, and return what it printed."""
        bash = self.terminal(terminal)
        begun = bash.type(text)
        assert bash.status(begun) == 0, bash.output[begun:]
        return bash.printed(begun)

    def serve(self, line: str = "sayso serve") -> None:
        """Type `sayso serve` into its own terminal, and wait for its first line."""
        self._serving, self.served = self._started(line, self.environ)

    def serve_other(self, name: str) -> None:
        """Type `sayso serve` with another terminal's environment."""
        self._started("sayso serve", {**self.environ, **self.others[name]})

    def _started(
        self, line: str, environ: Mapping[str, str]
    ) -> tuple[subprocess.Popen[bytes], Screen]:
        assert _SERVE.fullmatch(line)
        program, *words = line.split()
        entered = terminal(str(BIN / program), *words, environ=environ)
        process, master = self._stack.enter_context(entered)
        screen = Screen(master)
        screen.wait_for("gateway.sock")
        return process, screen

    def stop(self) -> None:
        """Stop the gateway as an operator would."""
        assert self._serving is not None
        self._serving.terminate()
        self._serving.wait(20)
        self._serving = self.served = None

    def press(self, keys: str) -> None:
        """Answer the prompt in the gateway's terminal."""
        assert self.served is not None
        self.served.wait_for("a (allow once)")
        self.served.answer(keys)


def is_serve(text: str) -> bool:
    """Return whether a command is the gateway, which occupies its terminal."""
    return _SERVE.fullmatch(text.strip()) is not None


@contextmanager
def a_user(home: Path, **environ: str) -> Iterator[User]:
    """Open a user's terminals for as long as the block lasts."""
    home.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as stack:
        yield User(home, stack, environ)
