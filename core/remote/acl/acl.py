"""Read ``exec-acl.toml``: which agent on which machine may run which vectors here (S4).

Any error stops the start: a list of permissions that can be read in two ways lets someone in.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import ConfigError
from core.policy.matching.argv_template import ArgvTemplate
from core.programs.wrappers import is_shell, names_of
from core.remote.acl.line_numbers import line_of
from core.trust.ids import KeyId
from core.validation.model_errors import faults, place

LARGEST_STDIN = 1 << 20
LARGEST_STREAM = 64 << 20
LONGEST_RUN_S = 24 * 3600
_PER_AGENT = 4
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
        raise ValueError("the program must be a plain name or an absolute path, not a template")
    if is_shell(names_of(program)):
        raise ValueError(f"{program!r} is a shell; list the command that it would run")
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
    """``[exec]``: the caps, with S4's values for those that are not set. Sizes are in bytes."""

    enabled: bool
    max_stdout_bytes: Kept = 16 << 20
    max_stderr_bytes: Kept = 16 << 20
    max_stdin_bytes: Annotated[int, Field(ge=0, le=LARGEST_STDIN)] = LARGEST_STDIN
    max_duration_secs: DurationS = 300
    max_concurrent_per_agent: Count = _PER_AGENT
    max_concurrent_total: Count = 32
    warn_stdout_bytes: Bytes = 8 << 20
    warn_stderr_bytes: Bytes = 8 << 20
    warn_duration_secs: DurationS = 60
    default_cwd: Path_ = "/"
    audit_log_path: Path_ | None = None
    audit_tasklist_id: str | None = None
    allow: Annotated[tuple[AllowTable, ...], Field(strict=False)] = ()

    @model_validator(mode="before")
    @classmethod
    def _follow_the_total(cls, given: object) -> object:
        """Lower the defaults to a total that the file sets."""
        if isinstance(given, dict) and "max_concurrent_per_agent" not in given:
            total = given.get("max_concurrent_total")
            if isinstance(total, int) and 0 < total < _PER_AGENT:
                return {**given, "max_concurrent_per_agent": int(total)}
        return given

    @model_validator(mode="after")
    def _caps_fit(self) -> Self:
        one, total = self.max_concurrent_per_agent, self.max_concurrent_total
        if one > total:
            raise ValueError(
                f"max_concurrent_per_agent ({one}) is above max_concurrent_total ({total})"
            )
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
        """Return whether a vector is listed, element by element, ``//`` in a path refused."""
        return any(command.matches(argv, strict=True) for command in self.commands)


@dataclass(frozen=True, slots=True)
class Acl:
    """The list in force: its caps, and its entries by ``(agent_id, machine_id)``.

    ``warnings`` name what is not an error but cannot be intended.
    """

    table: ExecTable
    entries: Mapping[tuple[str, str], AclEntry] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, name: str = "exec-acl.toml") -> "Acl":
        """Read the text of a list; ``name`` precedes the line in messages.

        Raises:
            ConfigError: the message names the line and what is wrong there.
        """
        try:
            table = _File.model_validate(tomllib.loads(text)).exec
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(_undecoded(name, str(error))) from None
        except ValidationError as error:
            raise ConfigError(_complaints(name, text, error)) from None
        except RecursionError:
            raise ConfigError(f"{name}: it is nested too deeply.") from None
        return cls(table, _entries(table), tuple(_warnings(name, text, table)))

    @property
    def vectors(self) -> int:
        """Return how many vectors are listed."""
        return sum(len(entry.commands) for entry in self.entries.values())

    @property
    def summary(self) -> str:
        """Summarise the list in a few words."""
        pairs, vectors = len(self.entries), self.vectors
        counted = f"{pairs} pair{'s' * (pairs != 1)}, {vectors} command{'s' * (vectors != 1)}"
        return f"{counted}, {'enabled' if self.table.enabled else 'not enabled'}"

    def entry(self, agent_id: str, machine_id: str) -> AclEntry | None:
        """Return what this exact pair may run."""
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
    return "\n".join(
        f"{name}:{line_of(text, at)}: {place(at)}: {words}." for at, words in faults(error)
    )


def _warnings(name: str, text: str, table: ExecTable) -> Iterator[str]:
    """Yield the vectors that no request can match, because a word in them is always refused."""
    for number, allow in enumerate(table.allow):
        for index, command in enumerate(allow.commands):
            at = ("exec", "allow", number, "commands", index, "argv")
            for word in command.argv:
                if not _can_match(word):
                    yield (
                        f"{name}:{line_of(text, at)}: {place(at)}: no request can match {word!r}: "
                        "; | & > < ` $, line ends and NUL are refused in every word."
                    )


def _can_match(word: str) -> bool:
    example = "1" if word == "<INT>" else word.replace("<URL_PATH>", "/")
    return not word or ArgvTemplate.parse((word,)).matches((example,), strict=True)
