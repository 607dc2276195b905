"""Draw wrapper command lines: from the grammar, and near misses of it."""

import os
import shlex
import shutil
from random import Random

_CPU = min(os.sched_getaffinity(0))
TOOLS = ("tool", "other", "./tool", "a=b", "-tool")
_ARGUMENTS = ("a", "-x", "--", "b c", "A=b", "", "é", "it's", "-c", "tool", "$HOME", "--help", "5")

# Each option with the values that it takes; what the real program refuses at once is left out.
OPTIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "env": (("A=b",), ("LANG=C",), ("--",), ("TZ=UTC",), ("_=x y",)),
    "nice": (("-n", "5"), ("-n3",), ("--adjustment=2",), ("--adjustment", "1"), ("-7",), ("--",)),
    "nohup": (("--",),),
    "stdbuf": (("-o", "0"), ("-oL",), ("--error=4k",), ("-e", "L", "-i", "0"), ("--output", "0")),
    "time": (("-p",), ("-q",), ("-pv",), ("-f", "-n"), ("--format=%e",), ("--verbose",), ("--",)),
    "timeout": (
        ("-k", "9"),
        ("-s", "TERM"),
        ("-vk5",),
        ("--signal=KILL",),
        ("--foreground",),
        ("--preserve-status",),
        ("--kill-after", "9s"),
        ("--",),
    ),
    "setsid": (("-w",), ("--wait",), ("-w", "--")),
    "ionice": (("-c", "2"), ("-c3", "-t"), ("--class", "idle"), ("-n5",), ("-tn", "5"), ("--",)),
    "chrt": (("-o",), ("-b",), ("-vi",), ("--idle",), ("--",)),
    "taskset": (("--",),),
    "xargs": (
        ("-0",),
        ("-r",),
        ("-n", "1"),
        ("-rn2",),
        ("--max-procs=2",),
        ("-d", " "),
        ("-tx",),
        ("--null",),
        ("-L1",),
        ("--",),
    ),
}
OPERANDS = {"timeout": ("9", "9.5s", "1m", "0"), "chrt": ("0",), "taskset": (f"{1 << _CPU:x}",)}

# Spelt differently, of other programs, or of another meaning. None reaches another process.
NEAR_MISSES = (
    ("-i",),
    ("-",),
    ("-u", "A"),
    ("-S", "other z"),
    ("-Sother z",),
    ("--split-string=other z",),
    ("-C", "/"),
    ("--ignore-env",),
    ("-a", "x"),
    ("-n",),
    ("-n5x",),
    ("--adj=5",),
    ("--5",),
    ("-o", "0"),
    ("-oL",),
    ("-I", "{}"),
    ("-I{}", "{}"),
    ("-i", "tool"),
    ("-e",),
    ("-E", "tool"),
    ("-l",),
    ("-s",),
    ("--sig", "TERM"),
    ("--kill=5",),
    ("-k",),
    ("5",),
    ("-0k", "tool"),
    ("--verb",),
    ("-f", "tool"),
    ("--format", "tool"),
    ("-c",),
    ("-cw",),
    ("--",),
    ("",),
    ("A=b",),
    ("=b",),
    ("-pf", "tool"),
    ("-fp", "tool"),
    ("-tc", "3"),
    ("-d", "tool"),
    ("--max-args", "tool"),
)
SHELLS = tuple(name for name in ("sh", "bash", "dash", "zsh") if shutil.which(name))
_SHELL_OPTIONS = ("-c", "-ec", "-euc", "-ce", "-e -c", "-eo nounset -c", "-c -e", "-c --", "-fc")
_SHELL_MISSES = ("-lc", "-ic", "-sc", "-c +e", "-oc", "-e", "--norc -c", "-c -", "-eco nounset")
_JOINS = (" | ", " && ", " || ", "; ")


def _several(rng: Random, choices: tuple[tuple[str, ...], ...], most: int) -> list[str]:
    return [word for _ in range(rng.randint(0, most)) for word in rng.choice(choices)]


def _command(rng: Random) -> list[str]:
    name = rng.choice(TOOLS[:2]) if rng.random() < 0.8 else rng.choice(TOOLS)
    return [name, *rng.choices(_ARGUMENTS, k=rng.randint(0, 3))]


def _shell(rng: Random, depth: int) -> list[str]:
    parts = [shlex.join(draw(rng, depth - 1)) for _ in range(rng.choice((1, 1, 2, 3)))]
    payload = parts[0]
    for part in parts[1:]:
        payload += rng.choice(_JOINS) + part
    options = rng.choice(_SHELL_OPTIONS if rng.random() < 0.8 else _SHELL_MISSES)
    surplus = ["tool"] if rng.random() < 0.1 else []
    name = rng.choice(SHELLS)
    # Without -f zsh reads start-up files, so it is unwrapped only with it.
    quiet = ["-f"] if name == "zsh" and rng.random() < 0.9 else []
    return [name, *quiet, *options.split(), payload, *surplus]


def _wrapper(rng: Random, depth: int) -> list[str]:
    name = rng.choice(tuple(OPTIONS))
    words = _several(rng, OPTIONS[name], 2)
    operands = list(OPERANDS.get(name, ()))
    words += [rng.choice(operands)] if operands else []
    if rng.random() < 0.25:
        at = rng.randint(0, len(words))
        words[at:at] = rng.choice(NEAR_MISSES)
    spelling = name if rng.random() < 0.8 else f"/usr/bin/{name}"
    return [spelling, *words, *draw(rng, depth - 1)]


def draw(rng: Random, depth: int = 3) -> list[str]:
    """Return one vector, with up to ``depth`` wrappers around a recording program."""
    kind = rng.random()
    if depth <= 0 or kind < 0.3:
        return _command(rng)
    if kind < 0.38:
        return [
            "busybox",
            rng.choice(("cat", "env", "nice", "timeout", "sh", "ls")),
            *_command(rng),
        ]
    return _shell(rng, depth) if kind < 0.5 else _wrapper(rng, depth)
