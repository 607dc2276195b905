"""Follow docs/how-to/prompt-an-agent.md as written: real users, the real sudo, a small agent."""

import shutil
from pathlib import Path

import pytest

from tests.support.executor_page import (
    LINE,
    ROOT,
    SAYSO,
    SERVE,
    as_ann,
    blocks,
    followed,
    quoted,
    reported,
)

EXECUTORS = ROOT / "docs/how-to/executors.md"
PAGE = ROOT / "docs/how-to/prompt-an-agent.md"
KEY = "sk-ant-api03-example"
APPROVE = f"""
for i in $(seq 300); do
    code=$(as ann {SAYSO} pending --json | jq -r '.[0].code // empty')
    [ -n "$code" ] && break
    sleep 0.1
done
as ann {SAYSO} pending
setsid setpriv --reuid ann --regid "$(id -g ann)" --init-groups env HOME=/home/ann {SAYSO} \
    approve "$code" DECISION
"""


def scene() -> str:
    """Return the steps of both pages up to a running gateway."""
    setup, user, _doctor, folder, *_ = blocks(EXECUTORS, "sh")
    key, _prompt = blocks(PAGE, "sh")
    (config,) = blocks(PAGE, "json5")
    more = (
        'tools: {exec: {host: "gateway"}}, proof: {every: 3600},'
        'channels: {terminal: {approvers: ["uid:$(id -u ann)"]}},'
    )
    return f"""
cd /
{as_ann(setup)}{as_ann(user)}{as_ann(folder)}rm /etc/sudoers.d/ann
mkdir -p /opt/agents
{{ echo '#!/usr/bin/python3 -I'; cat /opt/sayso/tests/support/acp_agent.py; }} > /opt/agents/agent
chmod 755 /opt/agents/agent
as ann mkdir -m 700 /home/ann/.sayso
cat > /home/ann/.sayso/config.json5 <<END
{config.replace("{", "{" + more, 1)}END
chown ann: /home/ann/.sayso/config.json5
as ann sh -c {quoted(key.strip())}
{SERVE}
set +e
"""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_page_as_written(tmp_path: Path) -> None:
    """The prompt asks, the answer decides, the file is the other user's, the key is nowhere."""
    assert shutil.which("sudo"), "sudo is missing: tests/system_packages.sh installs it"
    _, prompt = blocks(PAGE, "sh")
    asks = f"as ann sh -c {quoted(prompt.strip())} > /tmp/said 2>&1 & asking=$!\n"
    ends = 'wait $asking; echo "$?|$(tr "\\n" " " < /tmp/said)"\n'
    script = scene()
    script += asks + APPROVE.replace("DECISION", "deny") + ends
    script += "ls /srv/work/notes 2>/dev/null && echo made\n"
    script += asks + APPROVE.replace("DECISION", "allow-once") + ends
    script += reported(
        [
            "stat -c %U /srv/work/notes",
            "cat /srv/work/notes",
            f"as ann {SAYSO} prompt coder --cwd /srv/work --json show",
            f"as ann {SAYSO} prompt other --cwd /srv/work hello",
            f"as ann {SAYSO} prompt coder --cwd /srv/work die",
            f"as ann {SAYSO} history",
            f"grep -rl {KEY} /home/ann /srv /tmp/said",
        ]
    )
    printed = followed(tmp_path, script, seconds=220)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    denied, allowed, owner, text, show, other, died, history, secrets = found

    assert "sayso_alice" in printed
    assert '"no-1"' in denied, printed
    assert "\nmade\n" not in printed
    assert '"yes-1"' in allowed
    assert (allowed[:2], owner.strip()) == ("0|", "0|sayso_alice")
    assert text.strip() == "0|made by the agent"
    assert show.startswith("0|")
    assert '"token_usage"' in show
    assert KEY not in show + history
    assert other.startswith("3|")
    assert "security_deny" in other
    assert died.startswith("1|")
    assert "it is dead" in died
    assert secrets.split() == ["0|/home/ann/.sayso/anthropic-key"]
