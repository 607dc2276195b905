"""Set the scenes of the pages that need one; every other page needs no preparation."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.docs.acts import allow_once, answer, ask, code, deny, pair_with, stop
from tests.docs.blocks import ROOT
from tests.docs.fragments import Json, merged, parsed, write
from tests.docs.machines import two_machines
from tests.docs.scene import Scene, nothing
from tests.docs.shell import User
from tests.support.postgres import running_postgres

INIT = "sayso init --channel terminal --yes"
ASKING: Json = {
    "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
    "approvals": {"exec": {"mode": "targets", "targets": [{"channel": "terminal", "to": "here"}]}},
    "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
}
"""A gateway that asks in its own terminal."""

NOWHERE = "http://127.0.0.1:9"
NO_TELEGRAM: Json = {"token": {"file": "telegram-token"}, "apiBaseUrl": NOWHERE}
NO_SLACK: Json = {
    "botToken": {"file": "slack-bot-token"},
    "appToken": {"file": "slack-app-token"},
    "apiBaseUrl": f"{NOWHERE}/api/",
}
"""Platforms that a page names and does not need."""


@contextmanager
def free_port() -> Iterator[Mapping[str, str]]:
    """Let the API listen where nothing else does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield {"SAYSO_HTTP__LISTEN": f"127.0.0.1:{port}"}


def port(user: User) -> str:
    """Return the port of the API."""
    return user.environ["SAYSO_HTTP__LISTEN"].rpartition(":")[2]


def tutorial(user: User) -> None:
    """Check what the answers stored; the page shows the written configuration."""
    config = (user.state / "config.json5").read_text()
    page = (ROOT / "docs/tutorial/first-approval.md").read_text()
    assert config.partition("{\n")[2] in page.replace("uid:1000", f"uid:{os.getuid()}"), config
    assert "/usr/bin/uname" in (user.state / "exec-approvals.json").read_text()
    begun = user.terminal().type("sayso run -c 'uname -a'")
    assert user.terminal().status(begun) == 0, "it was to run at once"


PROJECT = """
mkdir ~/shop && cd ~/shop && git init -q . && mkdir build
printf 'test:\\n\\techo ok\\n' > Makefile
printf 'b\\na\\nb\\n' > words.txt
echo 'SELECT 1;' > fix.sql
printf '#!/bin/sh\\necho deployed\\n' > deploy && chmod +x deploy
git add . && git -c user.name=Ana -c user.email=ana@example commit -qm First
"""
"""A project with what the pages name in it."""
SOURCES = """
mkdir -p ~/.claude ~/app/.claude ~/.codex/rules ~/.gemini/policies ~/.openclaw
echo '{"permissions": {"allow": ["Bash(git log:*)"]}}' > ~/.claude/settings.json
cp ~/.claude/settings.json ~/app/.claude/
echo 'prefix_rule(pattern=["git", "log"], decision="allow")' > ~/.codex/rules/default.rules
echo '{}' > ~/.gemini/settings.json
cat > ~/.gemini/policies/my-rules.toml <<'END'
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git log"
decision = "allow"
priority = 100
END
echo '{"version": 1, "agents": {}}' > ~/.openclaw/exec-approvals.json
"""
"""The files of other products, where they keep them."""
CLONE = f"mkdir ~/sayso && cd ~/sayso && ln -s {ROOT}/docs docs\n"
"""A folder that a page may write to, where the checkout is expected."""


def at_home(user: User) -> str:
    """Return the user's home."""
    return str(user.home)


def shop(user: User) -> str:
    """Return the folder of the project."""
    return str(user.home / "shop")


def journal_copy(user: User) -> str:
    """Copy the journal, and return the destination."""
    copy = user.home / "copy.jsonl"
    copy.write_bytes((user.state / "audit.jsonl").read_bytes())
    return str(copy)


def take_example(user: User) -> None:
    """Edit the configuration as the page says."""
    mine = parsed((user.state / "config.json5").read_text())
    example = parsed((ROOT / "docs" / "examples" / "developer.json5").read_text())
    write(user, {**mine, **example})


def move_away(user: User) -> None:
    """Rotate until there are three segments, and move the older two to another folder."""
    user.do(
        "for one in 2 3; do sayso run --security deny -c true || sayso audit rotate; done; "
        "mv ~/.sayso/audit.jsonl.00000[12] ~"
    )


def rotate(user: User) -> None:
    """Have a gateway run whose journal has a segment that no older copy has."""
    user.serve()
    user.do("sayso run --security deny -c true || sayso audit rotate")


def all_segments(user: User) -> None:
    """Check that the journal's first segment is where the page copied it."""
    for folder in (user.home / "backup" / "live", user.state):
        assert (folder / "audit.jsonl.000001").exists(), folder


def serve_once(user: User) -> None:
    """Have a gateway run once."""
    user.serve()
    user.stop()


def grant_for_a_while(user: User) -> None:
    """Let an agent ask, and allow it for half an hour."""
    ask("sayso run -c uname")(user)
    user.do(f"sayso approve {code(user)} 30m", "second")


def monitored(user: User) -> None:
    """Check what the timer wrote for node_exporter."""
    assert "sayso_journal_verified 1\n" in (user.home / "sayso.prom").read_text()


def postgresql() -> Scene:
    """Return the scene of a database server; the password is typed when asked for."""

    @contextmanager
    def server() -> Iterator[Mapping[str, str]]:
        with running_postgres() as running:
            yield {"PGHOST": str(running.folder), "PGUSER": "postgres"}

    def password(user: User) -> None:
        for _ in range(2):
            user.terminal().asked(b":")
            os.write(user.terminal().keys, b"PASSWORD\n")

    def socket_url(user: User) -> str:
        return f"@/sayso?host={user.environ['PGHOST']}"

    def serve(user: User) -> None:
        write(user, {**ASKING, **user.config})
        user.serve()
        assert "store: took a write" in user.do("sayso doctor || true")
        assert not (user.state / "state.db").exists(), "the store is SQLite"

    return Scene(
        server=server,
        before="mkdir -m 700 ~/.sayso",
        words={"@localhost/sayso": socket_url},
        beside={"createuser": password},
        after=serve,
    )


SCENES: Mapping[str, Scene] = {
    "README.md": Scene(before=INIT, beside={"sayso run": allow_once}),
    "docs/tutorial/first-approval.md": Scene(
        words={"uid:1000": f"uid:{os.getuid()}"},
        beside={"sayso run -c 'date": answer("d"), "sayso run -c 'uname": answer("A")},
        statuses={"sayso run -c 'date > /tmp/when'": 3},
        after=tutorial,
    ),
    "docs/how-to/telegram.md": pair_with("telegram", {"t": "token"}),
    "docs/how-to/slack.md": pair_with("slack", {"bot": "botToken", "app": "appToken"}),
    "docs/how-to/discord.md": pair_with("discord", {"t": "token"}),
    "docs/how-to/api.md": Scene(gateway=True, server=free_port, words={"8791": port}),
    "docs/how-to/example-policy.md": Scene(before=INIT, ahead={"sayso config check": take_example}),
    "docs/how-to/exec-tool.md": Scene(config=ASKING, gateway=True, words={"/home/ana": at_home}),
    "docs/how-to/gate-proof.md": Scene(config=ASKING, gateway=True),
    "docs/how-to/import-rules.md": Scene(before=SOURCES, words={"/home/ana": at_home}),
    "docs/how-to/people.md": Scene(
        config=merged(ASKING, {"channels": {"telegram": NO_TELEGRAM, "slack": NO_SLACK}}),
        gateway=True,
        words={"7K3F9Q": code},
        ahead={"sayso grants list": grant_for_a_while},
        before=PROJECT,
        waiting=("sayso run -c 'make test'",),
        elsewhere=("sayso people", "sayso approve"),
    ),
    "docs/how-to/monitoring.md": Scene(
        gateway=True,
        before=f"cp -r {ROOT}/docs/examples/monitoring ~ && cd ~/monitoring",
        server=free_port,
        words={"/var/lib/node_exporter": at_home, "verify-journal.sh >": "./verify-journal.sh >"},
        after=monitored,
    ),
    "docs/how-to/postgresql.md": postgresql(),
    "docs/how-to/remote-exec.md": two_machines(),
    "docs/how-to/run.md": Scene(
        config=ASKING,
        gateway=True,
        before=PROJECT,
        words={"K3F7QZ": code},
        beside={
            "sayso run --stdin --": nothing,
            "sayso run --stdin-file": deny,
            "sayso run": allow_once,
            "id=": deny,
        },
        statuses={"sayso run --stdin-file fix.sql -- psql shop": 3},
    ),
    "docs/how-to/sandbox.md": Scene(
        gateway=True, before=PROJECT, statuses={"sayso run --host gateway -c 'git push'": 3}
    ),
    "docs/how-to/test-a-policy.md": Scene(
        before=f"{CLONE}mkdir -m 700 ~/.sayso\n"
        "cp -p docs/examples/developer.json5 ~/.sayso/config.json5",
        ahead={"cp ~/.sayso/config.json5": serve_once},
    ),
    "docs/how-to/tokens.md": Scene(config=ASKING, gateway=True),
    "docs/reference/api.md": Scene(gateway=True, before="mkdir ~/shop", words={"/srv/shop": shop}),
    "docs/reference/approvals-file.md": Scene(before="sayso approvals allowlist add /usr/bin/rg"),
    "docs/reference/audit.md": Scene(
        config=ASKING,
        gateway=True,
        words={
            "/var/log/sayso/exec.log": journal_copy,
            "copy-of-audit.jsonl": journal_copy,
            "/archive": at_home,
        },
        ahead={"sayso audit verify --from 3": move_away},
    ),
    "docs/reference/policy.md": Scene(
        config={"tools": {"exec": {"roots": [{"name": "project", "path": "~/projects"}]}}},
        before=CLONE + """echo '{"command": "git status"}' > requests.jsonl""",
    ),
    "docs/how-to/back-up.md": Scene(
        gateway=True,
        config=ASKING,
        ahead={"(umask 077 && mkdir -p ~/backup &&": stop, "cd ~/.sayso": rotate, "mv": stop},
        after=all_segments,
    ),
}
