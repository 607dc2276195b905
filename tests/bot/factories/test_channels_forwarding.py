"""Turn the configuration's ladder into the rules that lead to people."""

from pathlib import Path

from bot.factories.channels import forwarding, timing
from bot.settings import load
from core.approvals.routing.forwarding import Asker
from core.model.identity import AgentId, SessionKey, Target

CONFIG = """{
  approvals: {exec: {
    sessionFilter: ["/^agent:main:/"],
    ask: [
      {to: [{channel: "slack", to: "C1"}], session: true, for: 300, remind: 120},
      {to: [{channel: "telegram", to: 42}], for: 600, wake: true},
    ],
    quietHours: {from: "22:00", until: "07:00", zone: "Europe/Berlin"},
  }},
}
"""
NIGHT, DAY = 1_777_932_000_000, 1_777_888_800_000  # 2026-05-05 00:00 and 2026-05-04 12:00 in Berlin
TEAM, CHIEF, CHAT = Target("slack", "C1"), Target("telegram", "42"), Target("slack", "D9")


def _home(folder: Path, config: str) -> Path:
    folder.chmod(0o700)
    file = folder / "config.json5"
    file.write_text(config)
    file.chmod(0o600)
    return folder


def test_ladder_quiet_hours_and_filter(tmp_path: Path) -> None:
    """By day the team, then the chief; at night the chief at once; other sessions no one."""
    rules = forwarding(load(_home(tmp_path, CONFIG), environ={}))

    def places(session: str, at_ms: int) -> list[tuple[Target, int]]:
        asker = Asker(AgentId("main"), SessionKey(session), CHAT, at_ms)
        ladder = rules.ladder(asker, 1, None, lambda _: True)
        return [(route.target, route.after_ms) for route in ladder.routes]

    assert [(CHAT, 0), (TEAM, 0), (CHIEF, 300_000)] == places("agent:main:1", DAY)
    assert [(CHIEF, 0)] == places("agent:main:1", NIGHT)
    assert [] == places("other:agent:main:1", DAY)


def test_one_step_without_a_ladder(tmp_path: Path) -> None:
    """The timeout, and one reminder at half time, even with an odd number of milliseconds."""
    settings = load(_home(tmp_path, "{approvals: {exec: {timeout: 0.005}}}"), environ={})
    clock = timing(settings)

    assert () == forwarding(settings).steps
    assert (5, 3) == (clock.timeout_ms, clock.remind_ms)
