"""Fetch secrets from where the configuration says they are: ``{env: …}`` or ``{file: …}``."""

from collections.abc import Mapping
from pathlib import Path

from bot.settings.home import check_reachable, expand, read_file
from core.errors import ConfigError, StateError
from core.files.unreadable import unreadable

MAX_BYTES = 65_536
"""A larger secret file is not a secret."""


class SecretMissing(ConfigError):
    """A secret cannot be had. Put it where the configuration says that it is."""


def fetch(reference: Mapping[str, object], home: Path, environ: Mapping[str, str]) -> str:
    """Return the secret that a reference names; file paths are relative to the home.

    Raises:
        SecretMissing: the reference is malformed, or it refers to something that does not exist.
    """
    match list(reference.items()):
        case [("env", str(name))]:
            return _from_environment(name, environ)
        case [("file", str(name))]:
            return _from_file(home / expand(name, environ))
        case _:
            raise SecretMissing('write the secret as text, {env: "NAME"} or {file: "path"}')


def _from_environment(name: str, environ: Mapping[str, str]) -> str:
    if value := environ.get(name, ""):
        return value
    raise SecretMissing(f"environment variable {name} is not set; set it before starting Sayso")


def _from_file(path: Path) -> str:
    try:
        content, status = read_file(path, MAX_BYTES)
        check_reachable(path, status)
        value = content.decode().removesuffix("\n").removesuffix("\r")
    except StateError as error:
        raise SecretMissing(str(error)) from error
    except UnicodeDecodeError as error:
        raise SecretMissing(f"{path} is not UTF-8 text") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SecretMissing(unreadable(path, error)) from error
    if len(content) > MAX_BYTES:
        raise SecretMissing(f"{path} is larger than {MAX_BYTES} bytes; is it the right file?")
    if not value:
        raise SecretMissing(f"{path} is empty")
    return value
