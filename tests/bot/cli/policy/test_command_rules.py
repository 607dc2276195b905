"""List the rules of a running gateway with `sayso policy rules`, for people and programs."""

import json
from pathlib import Path

from tests.support.gateway_process import GatewayProcess, write_config

RULES = [
    {
        "match": {"argv": ["git", "push", "origin", "<NAME>"], "cwd": "/srv"},
        "decide": "ask",
        "tier": "critical",
        "reason": "somebody looks",
    },
    {"match": {"glob": "/usr/bin/shred"}, "decide": "deny"},
]


def test_the_rules_in_effect_are_listed(tmp_path: Path) -> None:
    """One per line with its place and reason; an agent without its own has those of all."""
    home = tmp_path / "home"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config.setdefault("tools", {}).setdefault("exec", {})["rules"] = RULES
    (home / "config.json5").write_text(json.dumps(config))
    running = GatewayProcess(home)
    running.start()
    try:
        shown = running.cli("policy", "rules")
        found = running.json("policy", "rules", "--agent", "coder")
    finally:
        running.stop()

    assert shown.stdout == (
        "ask    argv git push origin <NAME>  in /srv  critical  (tools.exec.rules[0])\n"
        "       somebody looks\n"
        "deny   glob /usr/bin/shred  (tools.exec.rules[1])\n"
    )
    assert [one["decide"] for one in found] == ["ask", "deny"]
