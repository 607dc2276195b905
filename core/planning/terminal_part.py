"""Plan the opening of a terminal: which shell, and what people are asked."""

import pwd
import shlex

_PLAIN = "/bin/sh"
_NO_SHELLS = ("/nologin", "/false", "/true")


def terminal_argv(argv: tuple[str, ...], user: str) -> tuple[str, ...]:
    """Return the vector of a terminal with its shell: the named one, or the user's own."""
    return argv if argv[1:] != ("",) else (argv[0], _shell_of(user))


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
