"""Write an import into a home, but only if the result is no looser than the source."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.policy_tools.importing.import_files import Source
from bot.policy_tools.importing.result import Fate, Imported, ImportedRule
from bot.policy_tools.judge import APPROVALS_NAME, present_settings
from bot.policy_tools.own_approvals import OwnApprovals
from bot.settings import Settings, ensure_home, home_folder
from bot.settings.home import CONFIG_NAME
from core.approvals.file import edit
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.schema import Raw
from core.errors import BadRequest, SaysoError
from core.model.identity import DEFAULT_AGENT, AgentId
from core.model.policy import AskFallback, ExecHost, ExecPolicy, ExecSecurity
from core.policy.judge.precedence import resolve
from core.settings.rules import RuleSection

_SAFE_BINS: Mapping[Source, tuple[str, ...]] = {
    Source.CLAUDE_CODE: ("grep", "head", "tail", "wc"),
    Source.OPENCLAW: ("cut", "head", "tail", "tr", "uniq", "wc"),
}
"""What the source also runs without a rule; for other products nothing is documented."""
_MOST_NAMED = 10


def write(imported: Imported, source: Source, environ: Mapping[str, str]) -> None:
    """Add the entries to exec-approvals.json, once every rule is in the configuration.

    If there is no configuration yet, one with the rules is created, in which commands run on this
    machine and what is not listed needs an answer. An existing one is its owner's text, including
    comments, and is not rewritten.

    Raises:
        BadRequest: the result would be looser than the source; nothing was written.
    """
    home = home_folder(None, environ)
    lost = imported.of(Fate.LOST)
    if lost:
        raise BadRequest(_lost_words(imported, home, environ))
    ensure_home(home)
    config = home / CONFIG_NAME
    if config.exists():
        _check_existing(imported, config, home, environ)
    else:
        _create(config, config_text(imported, source))
        try:
            present_settings(environ)
        except SaysoError:
            config.unlink()
            raise
    OwnApprovals(environ).change(lambda raw: (None, _add(raw, imported)))


def _add(raw: Raw, imported: Imported) -> bool:
    """Add the entries, and return whether any of them was new."""
    added = [
        edit.add_entry(raw, one.agent, one.entry.pattern, one.entry.argv)
        for one in imported.entries
    ]
    return any(changed for _, changed in added)


def _create(config: Path, text: str) -> None:
    fd = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)


def config_text(imported: Imported, source: Source) -> str:
    """Return a configuration that asks about everything that the import does not allow."""
    bins = json.dumps(list(_SAFE_BINS.get(source, ())))
    return (
        "{\n  tools: {\n    exec: {\n"
        '      host: "gateway",\n      security: "allowlist",\n      ask: "on-miss",\n'
        f"      safeBins: {bins},\n{rules_text(imported.rules)}    }},\n  }},\n}}\n"
    )


def rules_text(rules: tuple[ImportedRule, ...]) -> str:
    """Return the rules as they are written in config.json5, below ``tools.exec``."""
    lines = [f"        {json.dumps(rule.json())},\n" for rule in rules]
    return f"      rules: [\n{''.join(lines)}      ],\n"


def _lost_words(imported: Imported, home: Path, environ: Mapping[str, str]) -> str:
    lost = imported.of(Fate.LOST)
    first = lost[0].place
    words = (
        f"{len(lost)} of the lines that ask or deny could not be carried over, the first at "
        f"{first.file}, {first.where}; nothing was written. Write rules for them by hand, take "
        "them out of the file, and repeat it."
    )
    present = list(_present_allows(imported, home, environ))
    if present:
        words += f" Until then these may run what the source denies: {_named(present)}."
    return words


def _named(words: list[str]) -> str:
    more = len(words) - _MOST_NAMED
    return "; ".join(words[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _present_allows(imported: Imported, home: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what already runs unasked in the home: rules that allow, and entries."""
    if not home.is_dir():
        return
    settings = present_settings(environ)
    known = {_key(rule.json()["match"], rule.decide.word) for rule in imported.rules}
    entries = {(one.agent, one.entry.pattern, one.entry.argv) for one in imported.entries}
    for number, rule in enumerate(settings.tools.exec.rules):
        if rule.decide == "allow" and _of_config(rule) not in known:
            yield f"tools.exec.rules[{number}]"
    approvals = ApprovalsFile(home / APPROVALS_NAME)
    for agent in sorted(_agents(settings, approvals)):
        for entry in approvals.entries(agent):
            if (agent, entry.pattern, entry.argv) not in entries:
                yield f"the entry {entry.words} of {agent}"


def _agents(settings: Settings, approvals: ApprovalsFile) -> set[AgentId]:
    return {DEFAULT_AGENT, *(entry.id for entry in settings.agents.entries)} | set(
        approvals.read().agents
    )


def _check_existing(
    imported: Imported, config: Path, home: Path, environ: Mapping[str, str]
) -> None:
    settings = present_settings(environ)
    missing = _missing(imported, settings)
    if missing:
        raise BadRequest(
            f"{missing} of the rules are not in tools.exec.rules of {config}; nothing was written. "
            "Run the command without --write, put its rules there, and repeat it."
        )
    default = next((one for one in imported.of(Fate.CARRIED) if not one.rules), None)
    present = [] if default is None else list(_present_allows(imported, home, environ))
    if default is not None and present:
        raise BadRequest(
            f"{default.place.file}, {default.place.where} asks about or denies what is not listed "
            f"there; nothing was written. Take out what runs unasked here: {_named(present)}."
        )
    approvals = ApprovalsFile(home / APPROVALS_NAME)
    agents = _agents(settings, approvals) | {one.agent for one in imported.entries}
    for agent in sorted(agents):
        policy = resolve(settings.exec_layers(agent), approvals.layer(agent))
        why = _looser(policy)
        if why is not None:
            raise BadRequest(
                f"For the agent {agent}, {why}, which the source asks about; nothing was written. "
                f'Set tools.exec to host: "gateway", security: "allowlist" in {config}.'
            )


def _looser(policy: ExecPolicy) -> str | None:
    """Return the setting that lets unlisted commands run, ``None`` if there is none."""
    if policy.host is ExecHost.SANDBOX:
        return "host is sandbox, where what is not listed runs unasked"
    if policy.security is ExecSecurity.FULL:
        return "security is full, under which what is not listed runs unasked"
    if policy.ask_fallback is AskFallback.FULL:
        return "askFallback is full, so that what nobody answers runs"
    return None


def _missing(imported: Imported, settings: Settings) -> int:
    known = set(map(_of_config, settings.tools.exec.rules))
    wanted = {_key(rule.json()["match"], rule.decide.word) for rule in imported.rules}
    return len(wanted - known)


def _of_config(rule: RuleSection) -> str:
    return _key(rule.match.model_dump(exclude_none=True), rule.decide)


def _key(match: object, decide: str) -> str:
    return json.dumps([match, decide], sort_keys=True, default=list)
