"""Plan the opening of a terminal: which shell, and what people are asked."""

import pwd
import shlex

from core.model.command import AgentPart, AgentPartKind

_PLAIN = "/bin/sh"
_NO_SHELLS = ("/nologin", "/false", "/true")


def is_terminal(part: AgentPart | None) -> bool:
    """Return whether a request opens a terminal."""
    return part is not None and part.kind is AgentPartKind.TERMINAL


def terminal_argv(part: AgentPart, argv: tuple[str, ...], user: str) -> tuple[str, ...]:
    """Return the vector of a terminal with its shell: the named one, or the user's own."""
    if not is_terminal(part) or argv[1:] != ("",):
        return argv
    return (argv[0], _shell_of(user))


def terminal_text(argv: tuple[str, ...], user: str, folder: str) -> str:
    """Return what people are asked about a terminal."""
    return (
        f"opens an interactive terminal as user {user} in folder {shlex.quote(folder)} ({argv[1]})"
    )


def _shell_of(user: str) -> str:
    """Return a user's login shell, a plain one where the user may not log in."""
    try:
        shell = pwd.getpwnam(user).pw_shell
    except KeyError:
        return _PLAIN
    return shell if shell.startswith("/") and not shell.endswith(_NO_SHELLS) else _PLAIN
