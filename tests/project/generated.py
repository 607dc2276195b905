"""Generate the pages that must agree with the code; `make docs` writes them.

``config.example.json5`` holds every key with its default, ``docs/reference/configuration.md`` the
same as tables, ``docs/reference/cli.md`` every command, ``docs/reference/methods.md`` every method
and route, ``docs/reference/exec-approvals-socket.md`` the companion's protocol with its test
vectors. All are checked in, and tests compare them.
"""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

from bot.settings.model import SHAPE
from bot.settings.schema import Kind, Shape
from tests.project import cli_reference, methods_reference, socket_reference

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config.example.json5"
REFERENCE = ROOT / "docs" / "reference" / "configuration.md"

_WIDTH = 100
_SAMPLES = {
    "agents.list[].id": '"coder"',
    "approvals.exec.targets[].channel": '"telegram"',
    "approvals.exec.targets[].to": '"123456789"',
    "approvals.exec.ask[].to[].channel": '"slack"',
    "approvals.exec.ask[].to[].to": '"C012AB3CD"',
    "approvals.exec.ask[].session": "true",
    "tools.exec.rules[].match.effect": '"network"',
    "agents.list[].tools.exec.rules[].match.effect": '"network"',
    "tools.exec.rules[].decide": '"ask"',
    "intake.unix[].user": '"agent"',
    "node.passkeys[].id": '"3q2-7w"',
    "node.passkeys[].publicKey": '"pQECAyYgASFYIA"',
    "execution.users[].user": '"sayso_alice"',
    "execution.users[].agents": '["coder"]',
    "execution.users[].people": '["telegram:1001"]',
    "intake.unix[].agents": '["coder"]',
    "agents.list[].runtime.command": '["/opt/agents/node_modules/.bin/claude-agent-acp"]',
    "secrets.keys[].service": '"anthropic"',
    "secrets.keys[].file": '"anthropic-key"',
    "tools.exec.roots[].name": '"shop"',
    "tools.exec.roots[].path": '"/srv/shop"',
    "agents.list[].tools.exec.rules[].decide": '"ask"',
    "http.tls.cert": '"api.pem"',
    "http.tls.key": '"api-key.pem"',
    "channels.telegram.webhook.url": '"https://sayso.example/telegram/updates"',
    "channels.telegram.webhook.secret": '{env: "TELEGRAM_WEBHOOK_SECRET"}',
    "channels.webhook.url": '"https://prompts.example/hook"',
    "channels.webhook.secret": '{env: "SAYSO_WEBHOOK_SECRET"}',
    "channels.plugins[].name": '"folder"',
    "channels.telegram.token": '{env: "TELEGRAM_BOT_TOKEN"}',
    "channels.slack.botToken": '{env: "SLACK_BOT_TOKEN"}',
    "channels.slack.appToken": '{env: "SLACK_APP_TOKEN"}',
    "channels.discord.token": '{env: "DISCORD_BOT_TOKEN"}',
}
"""The example's values for keys that have no default, or no suitable one."""

_EXAMPLE_HEAD = """\
// Every setting of Sayso with its default. Copy what you change to $SAYSO_HOME/config.json5
// (~/.sayso/config.json5 if SAYSO_HOME is not set); what is not there keeps its default.
//
// JSON5: comments, unquoted keys and trailing commas are fine. Durations are seconds. A secret is
// written as text, as {env: "NAME"} or as {file: "path"}. A variable overrides this file:
// SAYSO_TOOLS__EXEC__ASK=always. `sayso config check` names every mistake by its line, `sayso
// config show` prints what is in effect. The same as tables: docs/reference/configuration.md.
"""

_REFERENCE_HEAD = """\
# Configuration

Generated from the settings models by `make docs`; a test compares.

Sayso reads `$SAYSO_HOME/config.json5` (default `~/.sayso/config.json5`) once, at its start. What is
not there keeps its default; [`config.example.json5`](../../config.example.json5) has every key in
place. `sayso config check` names every mistake by its line, `sayso config show` prints what is in
effect and where it was set.

**Environment.** A variable overrides the file: `SAYSO_` and the key's path with `__` between the
parts, in any case. `SAYSO_TOOLS__EXEC__ASK=always` sets `tools.exec.ask`. Text and words are taken
as they are; numbers, `true`, `false`, `null`, lists and sections are written as JSON5:
`SAYSO_TOOLS__EXEC__SAFEBINS='["jq", "wc"]'`. A list is replaced whole, a section key by key.

**Secrets** are written as text, as `{env: "NAME"}` (that variable's value) or as `{file: "path"}`
(the file's text without its last line end; a relative path starts at `$SAYSO_HOME`). They are
masked wherever settings are shown.

**Mistakes.** An unknown, duplicate or ill-typed key stops the start with exit code 2 and one line
each: file, line, key, and the nearest key that there is. A home that others may write, or a file in
it that they may rewrite, is refused: whoever writes the configuration decides what runs.

**Durations** are seconds, at most 30 days.
"""


def example() -> str:
    """Return the text of ``config.example.json5``."""
    body = [line for key, shape in SHAPE.fields.items() for line in _entry((key,), shape)]
    indented = textwrap.indent("\n".join(body), "  ", lambda line: bool(line.strip()))
    return f"{_EXAMPLE_HEAD}{{\n{indented}\n}}\n"


def _entry(path: tuple[str, ...], shape: Shape) -> Iterator[str]:
    """Yield the lines of one key: why, then the key with its default."""
    yield from textwrap.wrap(
        _meaning(shape),
        _WIDTH - 2 * len(path),
        initial_indent="// ",
        subsequent_indent="// ",
        break_on_hyphens=False,
    )
    if shape.kind is Kind.SECTION:
        lines = [f"{path[-1]}: {{", *_section(path, shape), "},"]
        yield from (f"// {line}" for line in lines) if shape.optional else lines
    elif shape.item is not None and shape.item.kind is Kind.SECTION:
        item = ["{", *_section((*path[:-1], f"{path[-1]}[]"), shape.item), "},"]
        yield from (f"{path[-1]}: [", *(f"  // {line}" for line in item), "],")
    else:
        yield f"{path[-1]}: {default(path, shape)},"


def _section(path: tuple[str, ...], shape: Shape) -> Iterator[str]:
    for key, child in shape.fields.items():
        for line in _entry((*path, key), child):
            yield f"  {line}"


def default(path: tuple[str, ...], shape: Shape) -> str:
    """Return a key's sample if it has one, else its default as JSON5."""
    assert shape.about is not None
    sample = _SAMPLES.get(".".join(path))
    if sample is not None:
        return sample
    value = shape.about.get_default(call_default_factory=True)
    return json.dumps(value, ensure_ascii=False)


def reference() -> str:
    """Return the text of ``docs/reference/configuration.md``."""
    sections = "".join(_tables((), SHAPE))
    return f"{_REFERENCE_HEAD}{sections}"


def _tables(path: tuple[str, ...], shape: Shape) -> Iterator[str]:
    """Yield a table for each section that has settings of its own, then those below it."""
    rows = [
        _row((*path, key), child)
        for key, child in shape.fields.items()
        if child.kind is not Kind.SECTION
    ]
    if rows:
        yield f"\n## `{'.'.join(path)}`\n\n"
        yield f"{_sentence(shape)}\n\n" if shape.about is not None else ""
        yield "| Key | Holds | Default | Meaning |\n| --- | --- | --- | --- |\n"
        yield from rows
    for key, child in shape.fields.items():
        yield from _tables((*path, key), child)
        if child.item is not None and child.item.kind is Kind.SECTION:
            yield from _tables((*path, f"{key}[]"), child.item)


def _row(path: tuple[str, ...], shape: Shape) -> str:
    required = shape.about is not None and shape.about.is_required()
    shown = "*required*" if required else f"`{default(path, shape)}`"
    return f"| `{path[-1]}` | {_kind(shape)} | {shown} | {_meaning(shape)} |\n"


def _meaning(shape: Shape) -> str:
    """Return what the model says about a key.

    Raises:
        ValueError: it has no description.
    """
    if shape.about is None or not shape.about.description:
        raise ValueError(f"a setting has no description: {shape}")
    return shape.about.description


def _sentence(shape: Shape) -> str:
    text = _meaning(shape)
    return f"{text[0].upper()}{text[1:]}."


def _kind(shape: Shape) -> str:
    """Return in words what a key contains."""
    if shape.words:
        return " \\| ".join(f"`{word}`" for word in shape.words)
    if shape.item is not None:
        return "list of sections" if shape.item.kind is Kind.SECTION else "list of text"
    if shape.kind is not Kind.DATA:
        return shape.kind.value
    assert shape.about is not None
    written = str(shape.about.annotation)
    if "Mapping" in written:
        return "sections by name"
    return "true or false" if "bool" in written else "seconds" if "float" in written else "number"


def main() -> None:
    """Write all pages."""
    EXAMPLE.write_text(example(), encoding="utf-8")
    REFERENCE.parent.mkdir(parents=True, exist_ok=True)
    REFERENCE.write_text(reference(), encoding="utf-8")
    cli_reference.PAGE.write_text(cli_reference.page(), encoding="utf-8")
    methods_reference.PAGE.write_text(methods_reference.page(), encoding="utf-8")
    socket_reference.PAGE.write_text(socket_reference.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
