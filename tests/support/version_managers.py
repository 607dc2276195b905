"""Make version managers that choose which program a name starts."""

import os
import subprocess
from pathlib import Path

from tests.support.runs import script

SHIM = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* A version manager in small: it starts the program that its file in the working folder names. */
static const char *mark = MARK;
int main(int count, char **words) {
    char line[4096] = "";
    FILE *file = fopen(CHOOSER, "r");
    if (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\\n")] = 0;
        execv(line, words);
    }
    puts(count > 9 ? mark : "itself");
    return 0;
}
"""
"""Stands in for managers that Debian, PyPI and npm do not carry, by their own names and marks."""


def hard_linked(manager: Path, tool: Path) -> Path:
    """Install by a hard link next to the manager, as rustup does where it cannot symlink."""
    os.link(manager, tool)
    return tool


def manager(folder: Path, name: str, mark: str, chooser: str) -> Path:
    """Build a manager's program."""
    folder.mkdir(parents=True)
    source = folder.parent / "shim.c"
    source.write_text(SHIM)
    words: list[str | Path] = [
        f'-DMARK="{mark}"',
        f'-DCHOOSER="{chooser}"',
        "-o",
        folder / name,
        source,
    ]
    subprocess.run(["gcc", *words], check=True)
    return folder / name


def canary(folder: Path, name: str = "evil") -> tuple[Path, Path]:
    """Write a program of the work tree; return it and the file that it writes."""
    flag = folder.parent / f"{name} ran"
    return script(folder / name, f"#!/bin/sh\n: > '{flag}'\n"), flag
