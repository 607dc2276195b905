"""Read ``exec-acl.toml``: which agent on which machine may run which vectors here (S4).

A file that is missing at the default path turns remote exec off. Everything else that is wrong
stops the start: whoever reads a list of permissions in two ways lets somebody in.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import ConfigError
from core.policy.templates import ArgvTemplate
from core.policy.wrappers import is_shell, names_of
from core.remote.acl_lines import line_of
from core.remote.ids import KeyId

DEFAULT_PATH = Path("/etc/sayso/exec-acl.toml")
LARGEST_STDIN = 1 << 20
LARGEST_STREAM = 64 << 20
LONGEST_RUN_S = 24 * 3600
_LARGEST_FILE = 1 << 20
_DECODE_LINE = re.compile(r"(.*?) \(at line (\d+), column \d+\)", re.DOTALL)

Bytes = Annotated[int, Field(ge=0, le=LARGEST_STREAM)]
Kept = Annotated[int, Field(ge=1, le=LARGEST_STREAM)]
DurationS = Annotated[int, Field(ge=1, le=LONGEST_RUN_S)]
Count = Annotated[int, Field(ge=1, le=1024)]


def _absolute(path: str) -> str:
    if not path.startswith("/") or not path.isprintable():
        raise ValueError("must be an absolute path")
    return path


Path_ = Annotated[str, AfterValidator(_absolute)]


class _Table(BaseModel):
    """A table of the file: unknown keys and wrong types are refused."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)


def _vector(argv: tuple[str, ...]) -> tuple[str, ...]:
    try:
        template = ArgvTemplate.parse(argv)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    program = template.literal_at(0)
    if program is None or ("/" in program and not program.startswith("/")):
        raise ValueError("the program must be a plain name or an absolute path, no template")
    if is_shell(names_of(program)):
        raise ValueError(f"{program!r} is a shell; list the command that it would run (S4)")
    return argv


class CommandTable(_Table):
    """One allowed vector."""

    argv: Annotated[tuple[str, ...], Field(strict=False, min_length=1), AfterValidator(_vector)]


class AllowTable(_Table):
    """One pair of agent and machine, and the vectors that it may run."""

    description: str = ""
    agent_id: KeyId
    machine_id: KeyId
    commands: Annotated[tuple[CommandTable, ...], Field(strict=False, min_length=1)]


class ExecTable(_Table):
    """``[exec]``: the caps, with S4's values where one is not set. Sizes in bytes."""

    enabled: bool
    max_stdout_bytes: Kept = 16 << 20
    max_stderr_bytes: Kept = 16 << 20
    max_stdin_bytes: Annotated[int, Field(ge=0, le=LARGEST_STDIN)] = LARGEST_STDIN
    max_duration_secs: DurationS = 300
    max_concurrent_per_agent: Count = 4
    max_concurrent_total: Count = 32
    warn_stdout_bytes: Bytes = 8 << 20
    warn_stderr_bytes: Bytes = 8 << 20
    warn_duration_secs: DurationS = 60
    default_cwd: Path_ = "/"
    audit_log_path: Path_ | None = None
    audit_tasklist_id: str | None = None
    allow: Annotated[tuple[AllowTable, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _caps_fit(self) -> Self:
        if self.max_concurrent_per_agent > self.max_concurrent_total:
            raise ValueError("max_concurrent_per_agent is above max_concurrent_total")
        return self


class _File(_Table):
    exec: ExecTable


@dataclass(frozen=True, slots=True)
class AclEntry:
    """What one agent on one machine may run."""

    agent_id: str
    machine_id: str
    commands: tuple[ArgvTemplate, ...]

    def allows(self, argv: tuple[str, ...]) -> bool:
        """Tell whether a vector is listed, element by element, ``//`` in a path refused."""
        return any(command.matches(argv, strict=True) for command in self.commands)


@dataclass(frozen=True, slots=True)
class Acl:
    """The list in force: its caps, and its entries by ``(agent_id, machine_id)``."""

    table: ExecTable
    entries: Mapping[tuple[str, str], AclEntry] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, name: str = "exec-acl.toml") -> "Acl":
        """Read the text of a list; ``name`` stands before the line in messages.

        Raises:
            ConfigError: naming the line and what is wrong there.
        """
        try:
            table = _File.model_validate(tomllib.loads(text)).exec
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(_undecoded(name, str(error))) from None
        except ValidationError as error:
            raise ConfigError(_complaints(name, text, error)) from None
        except RecursionError:
            raise ConfigError(f"{name}: it is nested too deeply.") from None
        return cls(table, _entries(table))

    def entry(self, agent_id: str, machine_id: str) -> AclEntry | None:
        """Return what exactly this pair may run."""
        return self.entries.get((agent_id, machine_id))


def _entries(table: ExecTable) -> dict[tuple[str, str], AclEntry]:
    found: dict[tuple[str, str], AclEntry] = {}
    for allow in table.allow:
        pair = (allow.agent_id, allow.machine_id)
        before = found[pair].commands if pair in found else ()
        commands = tuple(ArgvTemplate.parse(command.argv) for command in allow.commands)
        found[pair] = AclEntry(*pair, before + commands)
    return found


def _undecoded(name: str, words: str) -> str:
    placed = _DECODE_LINE.fullmatch(words)
    return f"{name}:{placed[2]}: {placed[1]}." if placed else f"{name}: {words}."


def _complaints(name: str, text: str, error: ValidationError) -> str:
    told = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        key = ".".join(str(part) for part in fault["loc"])
        words = fault["msg"].removeprefix("Value error, ").removesuffix(".")
        if fault["type"] == "string_pattern_mismatch":
            words = "must be 64 lower-case hex digits"
        told.append(f"{name}:{line_of(text, fault['loc'])}: {key}: {words}.")
    return "\n".join(told)


def load_acl(explicit: Path | None = None, default: Path = DEFAULT_PATH) -> Acl | None:
    """Return the list, ``None`` where none is at the default path: remote exec is off then.

    Raises:
        ConfigError: the explicit file is missing; or the file is unsafe or malformed.
    """
    if explicit is not None:
        return load_explicit(explicit)
    return load_explicit(default) if os.path.lexists(default) else None


def load_explicit(path: Path) -> Acl:
    """Return the list of a file that has to be there.

    Raises:
        ConfigError: it is missing, unsafe or malformed; the message names the line.
    """
    try:
        text = _read(path)
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there. Write it, or name another file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}. Mend it, or move it away.") from error
    return Acl.parse(text, str(path))


def _read(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
            raise ConfigError(f"{path} is no regular file of at most {_LARGEST_FILE} bytes.")
        if status.st_uid not in {os.geteuid(), 0} or mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(
                f"{path} has uid {status.st_uid} and mode {mode:04o}: others could write who may "
                f"run what. It must be yours or root's: chmod go-w '{path}'"
            )
        return file.read().decode()
