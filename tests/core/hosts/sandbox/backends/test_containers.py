"""Remove containers with a real podman that refuses for a while, as busy engines do."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.containers import Containers
from tests.support.podman import OPTIONS, Podman, a_podman
from tests.support.runs import running

LABEL = "sayso-run=0busy"
BUSY = """#!/bin/sh
if [ "$1" = {refused} ] && [ "$(wc -l <{said})" -lt {times} ]; then
  echo refused >>{said}
  echo "Error: container state improper: stopping" >&2
  exit 125
fi
exec {podman} "$@"
"""


@pytest.fixture
def podman() -> Iterator[Podman]:
    """Yield a real podman with a container of ours and a foreign one."""
    with a_podman() as one:
        for name, label in (("ours", LABEL), ("theirs", "sayso-run=0other")):
            options = ("--network", "none", "--label", label, "--name", name, *OPTIONS)
            made = one("create", *options, "--rootfs", one.rootfs, "/bin/sleep", "30")
            assert made.returncode == 0, made.stderr
        yield one


def busy(podman: Podman, folder: Path, refused: str, times: int) -> tuple[str, Path]:
    """Return an engine that refuses one of its commands this many times, and where it says so."""
    said, binary = folder / "said", folder / "engine.sh"
    said.touch()
    text = BUSY.format(refused=refused, said=said, times=times, podman=podman.binary)
    binary.write_text(text)
    binary.chmod(0o755)
    return str(binary), said


def names(podman: Podman) -> list[str]:
    """Return the names of all existing containers."""
    return podman("ps", "--all", "--format", "{{.Names}}").stdout.split()


@pytest.mark.parametrize("refused", ["rm", "ps"])
async def test_an_engine_that_is_busy_is_asked_again(
    refused: str, podman: Podman, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it refused twice it finally does; foreign containers stay (the control)."""
    engine, said = busy(podman, tmp_path, refused, 2)
    async with running() as runner:
        await Containers(runner, engine, {}).remove(LABEL)

    assert said.read_text().split() == ["refused"] * 2
    assert names(podman) == ["theirs"]
    assert caplog.records == []


async def test_what_an_engine_never_removes_is_told(
    podman: Podman, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends after a bounded number of tries, and the log says how to find what is left."""
    engine, said = busy(podman, tmp_path, "rm", 99)
    async with running() as runner:
        with caplog.at_level(logging.WARNING):
            await Containers(runner, engine, {}).remove(LABEL)

    assert len(said.read_text().split()) == 5
    assert sorted(names(podman)) == ["ours", "theirs"]
    assert f"ps --all --filter label={LABEL}` and remove them" in caplog.text
