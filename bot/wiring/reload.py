"""Reload a changed configuration while the gateway runs (SIGHUP).

::

    read ─▶ invalid: one line, the old one stays
         ─▶ compare ─▶ what needs a restart: one line per setting
                    ─▶ the rest: built completely ─▶ journal ─▶ put in place, all in one step

Permissions change at once; what is listening, connected or open stays as it was started.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from bot.chat.inbox import GateInbox, inbox_of
from bot.factories.channels import approvers, references, senders
from bot.factories.policy import rulebook_of
from bot.gate_proof.chat import ProvingSender
from bot.gate_proof.prover import Prover
from bot.gate_proof.tool import ProvingAgent
from bot.settings import InvalidConfig, Settings, read
from bot.settings.home import CONFIG_NAME
from bot.settings.problems import Problem, dotted
from bot.settings.show import leaves
from bot.wiring import logs
from bot.wiring.gate import broker_of
from bot.wiring.gate_proof import add_tool, configured_audience, with_proving_agent
from channels.base import Channel
from core.errors import SaysoError
from core.gate.gate import Gate
from core.policy.rules.lint_rules import lint
from core.text.render import redact

_log = logging.getLogger(__name__)
_CHANGEABLE = re.compile(
    r"tools\.exec\.(?!searchPath$).*"
    r"|tools\.elevated\.enabled"
    r"|agents\.list.*"
    r"|approvals\.exec\.(?!zone$|threads$|suggest\.).*"
    r"|logging\.level"
    r"|channels\.(\w+|plugins\[\d+\])\.(approvers|senders)"
)
"""The settings that a running gateway can adopt; everything else needs a restart."""
_LONGEST = 400
_GONE = "is empty or missing; restart the gateway to run with the defaults"


@dataclass(slots=True)
class Reloading:
    """The parts of a running gateway that a configuration changes.

    ``started`` is the configuration that it was started with, ``current`` the one in effect.
    """

    gate: Gate
    inbox: GateInbox
    prover: Prover
    sender: ProvingSender
    agent: ProvingAgent
    channels: Mapping[str, Channel]
    environ: Mapping[str, str]
    started: Settings
    current: Settings = field(init=False)

    def __post_init__(self) -> None:
        """Start with the configuration that the gateway was started with."""
        self.current = self.started

    async def reload(self) -> bool:
        """Read the configuration and adopt what can change; return whether it could be used."""
        try:
            await self._reload()
        except InvalidConfig as wrong:
            first, *more = str(wrong).splitlines()
            rest = f" (and {len(more)} more: sayso config check)" if more else ""
            _log.error("not reloaded, the old configuration stays in effect: %s%s", first, rest)
            return False
        except SaysoError as failure:
            _log.error("not reloaded, the old configuration stays in effect: %s", str(failure))
            return False
        except Exception:  # noqa: BLE001 - logged whole; the next SIGHUP must be heard
            _log.exception("not reloaded, the old configuration stays in effect")
            return False
        return True

    async def _reload(self) -> None:
        home = self.started.home
        reading = await asyncio.to_thread(read, home, self.environ)
        found = reading.settings
        changed = {key: pair for key, pair in _changes(self.current, found) if _can(key)}
        late = sorted(key for key, _ in _changes(self.started, found) if not _can(key))
        if (changed or late) and not reading.is_set:
            # An editor may have emptied the file to rewrite it: the defaults forbid nothing.
            raise InvalidConfig([Problem(CONFIG_NAME, (), _GONE)])
        unknown = sorted(references(found) - references(self.started))
        adopt = await asyncio.to_thread(self._prepared, _with_fixed(found, self.started))
        if changed or late:
            record: dict[str, object] = {"changed": changed, "after_restart": late}
            await self.gate.journal.append("config", record)
        adopt()
        self.current = found
        for key in late:
            _log.warning("%s takes effect after a restart", key)
        for reference in unknown:
            _log.warning("members of %s take effect after a restart", reference)
        names = ", ".join(changed) if changed else "nothing that applies without a restart"
        _log.info("the configuration was reloaded; changed: %s", names)

    def _prepared(self, settings: Settings) -> Callable[[], None]:
        """Rebuild everything that depends on the settings; return what puts it in place at once."""
        gate = self.gate
        book = rulebook_of(settings)
        for line in lint(book.compiled):
            _log.warning("%s", line)
        home, offered = settings.home, book.compiled
        compiled = with_proving_agent(offered, home, self.agent)
        editor = gate.broker.answering.editor
        broker = broker_of(settings, gate.store, self.channels, editor)
        people, acting = approvers(settings), self.sender.joined(senders(settings))
        elevated = settings.tools.elevated.enabled
        around = self.inbox.surroundings
        parts = inbox_of(gate, people, acting, elevated=elevated, surroundings=around).parts
        audience = configured_audience(settings, self.channels)

        def adopt() -> None:
            # Without an await: no request is judged by half of each configuration.
            gate.rulebook.adopt(replace(book, compiled=compiled))
            gate.rulebook.senders = acting
            gate.broker = broker
            logs.set_level(settings.logging.level)
            gate.execution.notice_after_ms = settings.tools.exec.notice_after_ms
            self.inbox.parts = parts
            self.prover.alarm.announcer.turn_to(audience)
            add_tool(self.prover, offered, home, self.agent)

        return adopt


def _can(key: str) -> bool:
    return _CHANGEABLE.fullmatch(key) is not None


def _changes(old: Settings, new: Settings) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each setting that differs, with both values as text if they are not secret."""
    before = {dotted(path): value for path, value in leaves(old)}
    after = {dotted(path): value for path, value in leaves(new)}
    missing = object()
    # A section that was added or removed is one key with null on one side, and many on the other.
    whole = tuple(f"{key}." for key in before.keys() ^ after.keys() if _is_null(before, after, key))
    for key in {**before, **after}:
        if before.get(key, missing) != after.get(key, missing) and not key.startswith(whole):
            yield key, {"from": _words(before.get(key)), "to": _words(after.get(key))}


def _is_null(before: Mapping[str, object], after: Mapping[str, object], key: str) -> bool:
    return before.get(key) is None and after.get(key) is None


def _words(value: object) -> str:
    text = redact(json.dumps(value, ensure_ascii=False, default=str)).text
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _with_fixed(found: Settings, started: Settings) -> Settings:
    """Return the new settings, keeping what policy is compiled from and only a restart changes."""
    exec_ = found.tools.exec.model_copy(update={"search_path": started.tools.exec.search_path})
    return found.model_copy(update={"tools": found.tools.model_copy(update={"exec": exec_})})
