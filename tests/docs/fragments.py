"""Check fragments of config.json5 as the gateway reads them, strictly."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import json5

from bot.settings import InvalidConfig, load
from tests.docs.shell import User

Json = dict[str, object]
SAMPLES = {
    "telegram.token": "123456789:AA" + "x" * 33,
    "slack.botToken": "xoxb-1-1-x",
    "slack.appToken": "xapp-1-1-x",
    "discord.token": "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabc12." + "x" * 38,
    "store.url": "postgresql://sayso:PASSWORD@localhost/sayso",
}
"""What a secret of each kind looks like, by its section and key."""


def parsed(text: str) -> Json:
    """Return a fragment as sections; rules alone are rules of `tools.exec`."""
    for whole in (text, f"{{{text}}}", f"[{text}]"):
        try:
            found = json5.loads(whole, allow_duplicate_keys=False)
        except ValueError:
            continue
        if isinstance(found, list):
            return {"tools": {"exec": {"rules": found}}}
        assert isinstance(found, dict)
        return {"tools": {"exec": {"rules": [found]}}} if "match" in found else found
    raise AssertionError(f"this is not JSON5:\n{text}")


def merged(below: Json, above: Json) -> Json:
    """Return sections with others merged into them, as a reader would edit a file."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def write(user: User, config: Json, state: Path | None = None) -> None:
    """Write a configuration, and the secret files that it names."""
    _make(state or user.state, user.home, config)


def check(user: User, config: Json, place: str) -> None:
    """Load a configuration as the gateway does, separately from the one in effect."""
    folder = user.home / "checked"
    environ = _make(folder, user.home, config)
    with _home(user.home):
        try:
            load(folder, environ=environ)
        except InvalidConfig as error:
            raise AssertionError(f"{place}: {error}") from error


def _make(folder: Path, home: Path, config: Json) -> dict[str, str]:
    folder.mkdir(mode=0o700, exist_ok=True)
    environ: dict[str, str] = {}
    for key, kind, name in _secrets(config):
        sample = SAMPLES.get(key, "0123456789" * 4)
        if kind == "env":
            environ[name] = sample
            continue
        path = folder / name.replace("~", str(home), 1) if name.startswith("~") else folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            path.write_text(sample)
            path.chmod(0o600)
    (folder / "config.json5").write_text(json.dumps(config, indent=2))
    (folder / "config.json5").chmod(0o600)
    return environ


def _secrets(value: object, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each secret of a configuration: its last two keys, ``file`` or ``env``, its name."""
    if isinstance(value, dict):
        if len(value) == 1 and (kind := next(iter(value))) in {"file", "env"}:
            yield key, str(kind), str(value[kind])
            return
        for name, one in value.items():
            yield from _secrets(one, f"{key.rpartition('.')[2]}.{name}")
    elif isinstance(value, list):
        for one in value:
            yield from _secrets(one, key)


@contextmanager
def _home(home: Path) -> Iterator[None]:
    """Let `~` be the user's home while the settings are read."""
    before = os.environ["HOME"]
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        os.environ["HOME"] = before
