"""Settings for ``sandbox``: how commands on the host ``sandbox`` are confined, and their access."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from core.settings.base import AbsolutePath, RelativePath, Section, Word, Words

_MEMORY_MB = 512
_PIDS = 256
_PRIVATE_MB = 512

Paths = Annotated[tuple[AbsolutePath, ...], Field(strict=False)]


class SandboxBackend(StrEnum):
    """What encloses sandboxed commands."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"
    NONE = "none"


class SandboxSection(Section):
    """``sandbox``: the host ``sandbox``."""

    backend: Annotated[SandboxBackend, Field(strict=False)] = Field(
        default=SandboxBackend.AUTO,
        description="the sandbox backend: auto (docker where image or rootfs is set and it "
        "works, else bubblewrap), bubblewrap, docker, or none (such commands are denied)",
    )
    workspace: AbsolutePath | None = Field(
        default=None,
        description="the one folder that sandboxed commands may change; null: the folder that the "
        "command is run in, if that is a project, not a home, a system folder or Sayso's own",
    )
    network: bool = Field(
        default=False,
        description="whether sandboxed commands share this machine's network, loopback included",
    )
    unix_sockets: bool = Field(
        default=False,
        description="with bubblewrap, whether sandboxed commands may make Unix sockets; they then "
        "reach those of this machine in the workspace, and those that appear during a run",
    )
    hide: Paths = Field(
        default=(), description="files and folders that sandboxed commands must not see, either"
    )
    protect: Annotated[tuple[RelativePath, ...], Field(strict=False)] = Field(
        default=(".git/hooks", ".git/config", ".envrc", ".vscode", ".idea", ".husky"),
        description="what sandboxed commands cannot change at the top of the workspace and of each "
        "repository in it, because other programs obey it later; relative paths",
    )
    show: Paths = Field(
        default=(),
        description="files and folders besides the system's that sandboxed commands may read, such "
        "as a language that is installed in a home",
    )
    private_mb: Annotated[int, Field(ge=16)] = Field(
        default=_PRIVATE_MB,
        description="what each private folder of a sandboxed command may hold, in MiB: its home, "
        "/var/tmp and /dev/shm, which are in memory and are full then, and /tmp, which is below "
        "$SAYSO_HOME and whose run is ended",
    )
    landlock: bool = Field(
        default=False,
        description="with bubblewrap, whether Landlock restricts the files as well; costs some 15 "
        "ms per command",
    )
    docker_binary: Word = Field(
        default="docker", description="the container engine: docker, podman or an absolute path"
    )
    image: Word | None = Field(
        default=None, description="the container image, which must be present locally; null: none"
    )
    rootfs: AbsolutePath | None = Field(
        default=None, description="a folder that podman uses as the root instead of an image"
    )
    docker_options: Words = Field(
        default=(), description="further options of docker run, after Sayso's own"
    )
    memory_mb: Annotated[int, Field(ge=16)] | None = Field(
        default=_MEMORY_MB, description="a container's memory in MiB; null: no limit of its own"
    )
    pids: Annotated[int, Field(ge=1)] | None = Field(
        default=_PIDS, description="a container's processes; null: no limit of its own"
    )
