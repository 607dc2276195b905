"""Import a file of another product; print what came over, or write it where that is safe."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from bot.policy_tools.entries import add_command
from bot.policy_tools.importing import claude_code, codex, gemini, openclaw
from bot.policy_tools.importing.carrying import Imported, ImportedRule, carried
from bot.policy_tools.importing.statements import LARGEST, Statement
from bot.policy_tools.judging import APPROVALS_NAME, present_settings
from bot.settings import Settings, ensure_home, home_folder
from bot.settings.home import CONFIG_NAME, read_file
from core.approvals.allowlist_file import ApprovalsFile
from core.approvals.rendering import redact
from core.errors import BadRequest
from core.model.command import PinnedFile
from core.runner.resolve import SearchPath


class Source(StrEnum):
    """The products whose rules can be imported."""

    OPENCLAW = "openclaw"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"


_READERS: Mapping[Source, Callable[[bytes, str], tuple[Statement, ...]]] = {
    Source.OPENCLAW: openclaw.read,
    Source.CLAUDE_CODE: claude_code.read,
    Source.CODEX: codex.read,
    Source.GEMINI: gemini.read,
}


def import_file(source: Source, path: Path, environ: Mapping[str, str]) -> Imported:
    """Return what a file of another product comes to here; nothing is changed.

    Raises:
        SaysoError: the file, or the configuration in effect, cannot be used.
    """
    try:
        data, _ = read_file(path, LARGEST)
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}. Name a file.") from error
    search = SearchPath(present_settings(environ).tools.exec.search_path)

    def find(word: str) -> PinnedFile | None:
        found = search.find(word, "/")
        return found if isinstance(found, PinnedFile) else None

    statements = _READERS[source](data, path.name)
    return carried(statements, path.name, find, str(Path.home()))


def write(imported: Imported, environ: Mapping[str, str]) -> None:
    """Add the entries to exec-approvals.json, once the rules that narrow them stand.

    Where there is no configuration yet, one with the rules is made. An existing one is its owner's
    text, comments and all, and is not rewritten.

    Raises:
        BadRequest: a rule is missing in tools.exec.rules; nothing was written.
    """
    home = home_folder(None, environ)
    ensure_home(home)
    config = home / CONFIG_NAME
    if imported.rules and not config.exists():
        fd = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(f"{{\n  tools: {{\n    exec: {{\n{rules_text(imported)}    }},\n  }},\n}}\n")
    missing = _missing(imported, present_settings(environ))
    if missing:
        raise BadRequest(
            f"{missing} of the rules are not in tools.exec.rules of {config}; nothing was written. "
            "Run the command without --write, put its rules there, and repeat it."
        )
    approvals = ApprovalsFile(home / APPROVALS_NAME)
    for one in imported.entries:
        approvals.add(one.agent, one.entry.pattern, one.entry.argv)


def _missing(imported: Imported, settings: Settings) -> int:
    known = {(rule.match.argv, rule.match.glob, rule.decide) for rule in settings.tools.exec.rules}
    wanted = {(rule.argv, rule.glob, rule.decide.word) for rule in imported.rules}
    return len(wanted - known)


def rules_text(imported: Imported) -> str:
    """Return the rules as they stand in config.json5, below ``tools.exec``."""
    lines = [f"        {json.dumps(rule_json(rule))},\n" for rule in imported.rules]
    return f"      rules: [\n{''.join(lines)}      ],\n"


def rule_json(rule: ImportedRule) -> dict[str, object]:
    """Return a rule as the configuration has it."""
    match: dict[str, object] = (
        {"glob": rule.glob} if rule.argv is None else {"argv": list(rule.argv)}
    )
    return {"match": match, "decide": rule.decide.word, "reason": rule.reason}


def to_json(imported: Imported) -> dict[str, object]:
    """Return everything, for programs."""
    return {
        "rules": [rule_json(rule) for rule in imported.rules],
        "entries": [
            {
                "agent": one.agent,
                "pattern": one.entry.pattern,
                "argv": None if one.entry.argv is None else list(one.entry.argv),
            }
            for one in imported.entries
        ],
        "left": [
            {"place": one.place, "text": redact(one.text).text, "why": one.why}
            for one in imported.left
        ],
    }


def shown(imported: Imported) -> str:
    """Word an import for a terminal: rules and entries to copy, then what did not come over."""
    return "\n".join([*_rules(imported), *_entries(imported), *_left(imported)]) + "\n"


def _rules(imported: Imported) -> Iterator[str]:
    yield f"{_counted(len(imported.rules), 'rule')} for tools.exec of {CONFIG_NAME}:"
    if imported.rules:
        yield rules_text(imported).rstrip("\n")


def _entries(imported: Imported) -> Iterator[str]:
    yield ""
    yield f"{_counted(len(imported.entries), 'allowlist entry', 'allowlist entries')}:"
    for one in imported.entries:
        yield f"  {redact(add_command(one.agent, one.entry)).text}"


def _left(imported: Imported) -> Iterator[str]:
    yield ""
    yield f"{_counted(len(imported.left), 'line')} that did not come over, or not wholly:"
    for one in imported.left:
        yield f"  {redact(one.place).text}: {redact(one.text).text}"
        yield f"      {redact(one.why).text}"


def _counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or f'{one}s'}"
