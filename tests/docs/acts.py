"""Do what people do besides a page's commands: answer prompts, send codes, stop the gateway."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.docs.scene import Act, Scene
from tests.docs.shell import User
from tests.support.new_user import allow, say
from tests.support.platform_processes import ANA, Chat, chats


def answer(key: str) -> Act:
    """Answer the prompt in the gateway's terminal."""
    return lambda user: user.press(key)


allow_once = answer("a")


deny = answer("d")


def code(user: User) -> str:
    """Return the code of what waits, else of the newest grant, else of the newest request."""
    for line in ("pending", "grants list", "history"):
        found = json.loads(user.do(f"sayso {line} --json", "second") or "[]")
        if found:
            return str(found[0].get("code") or found[0]["id"][:6].upper())
    raise AssertionError("nothing was asked")


def ask(line: str) -> Act:
    """Ask for a command in its own terminal, and wait until people are asked."""

    def go(user: User) -> None:
        user.terminal("agent").type(line)
        assert user.served is not None
        user.served.wait_for("a (allow once)")

    return go


def stop(user: User) -> None:
    """Stop the gateway as an operator would."""
    user.stop()


def pair_with(name: str, files: Mapping[str, str]) -> Scene:
    """Return the scene of a platform: its server, the token files, and a person with an account."""
    known: dict[str, Chat] = {}

    @contextmanager
    def server() -> Iterator[Mapping[str, str]]:
        with chats(name) as running:
            known[name] = running[name]
            url = str(running[name].section()["apiBaseUrl"])
            yield {f"SAYSO_CHANNELS__{name.upper()}__APIBASEURL": url}

    def save_tokens(user: User) -> None:
        user.do(f"cd {user.home}; umask 077")
        for file, key in files.items():
            (user.home / file).write_text(f"{known[name].started[key]}\n")
            (user.home / file).chmod(0o600)

    def pair(user: User) -> None:
        say(known[name], ANA, user.terminal().wait_for(r"/pair [0-9A-Z]{8}")[0])
        allow(known[name])

    def is_set_up(user: User) -> None:
        assert "Sayso is set up" in user.terminal().output

    return Scene(
        server=server,
        ahead={"sayso init": save_tokens},
        beside={"sayso init": pair},
        after=is_set_up,
    )
