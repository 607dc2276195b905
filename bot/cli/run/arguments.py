"""Parse the words of `sayso run`: one table of options, for the parser and the fast path.

Loading ``argparse`` takes a third of the start, so words in their plain forms are parsed here,
exactly as it parses them; all others, including mistakes and ``--help``, are left to it.
"""

from bot.cli.arg_types import seconds, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

VALUES: "dict[str, tuple[str, str, str]]" = {
    "--agent": (
        "agent",
        "A",
        "the agent that asks (default: main, or the one bound to your user)",
    ),
    "--session": ("session", "K", "the session that receives the events"),
    "--task": ("task", "T", "the task (default: $SAYSO_TASK); people can allow for a task"),
    "--cwd": ("cwd", "D", "working directory (default: the current one)"),
    "--timeout": (
        "timeout",
        "S",
        "how many seconds the command may run once it starts; a day at most",
    ),
    "--host": ("host", "", "the host it runs on (default: as configured)"),
    "--node": ("node", "N", "which node, with --host node"),
    "--ask": ("ask", "", "ask more often than configured"),
    "--security": ("security", "", "allow less than configured; no effect in the sandbox"),
    "--env": ("env", "K=V", "request an environment variable"),
    "--request-key": ("request_key", "KEY", "idempotency key: the same key is the same request"),
    "--stdin-file": ("stdin_file", "F", "use a file as standard input"),
}
FLAGS = {
    "--stdin": ("stdin", "forward standard input, up to 1 MiB"),
    "--pty": ("pty", "run one command in a terminal (host gateway)"),
    "--no-wait": ("no_wait", "print the id and return (exit 4)"),
    "--json": ("json", "print the result as one JSON object"),
}
CHOICES = {
    "--host": ("sandbox", "gateway", "node"),
    "--ask": ("off", "on-miss", "always"),
    "--security": ("deny", "allowlist", "full"),
}
DEFAULTS: "dict[str, object]" = {"session": "main"}


class Words:
    """The arguments, under the names that the parser gives them."""

    def __init__(self) -> None:
        self.__dict__.update({name: DEFAULTS.get(name) for name, _, _ in VALUES.values()})
        self.__dict__.update({name: False for name, _ in FLAGS.values()})
        self.__dict__.update(line=None, argv=[], env=[])


def add_arguments(parser: "ArgumentParser") -> None:
    """Add every argument to a parser."""
    add = parser.add_argument
    add("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell")
    add("argv", nargs="*", metavar="-- ARGV", help="an argument vector")
    for option, (name, value, meaning) in VALUES.items():
        if option == "--env":
            add(option, action="append", default=[], metavar=value, help=meaning)
        elif option in CHOICES:
            add(option, choices=CHOICES[option], help=meaning)
        else:
            kind: Callable[[str], object] = seconds if option == "--timeout" else str
            default = DEFAULTS.get(name)
            add(option, dest=name, type=kind, default=default, metavar=value, help=meaning)
    for option, (name, meaning) in FLAGS.items():
        add(option, dest=name, action="store_true", help=meaning)


def quick(words: list[str]) -> "Namespace | None":
    """Return the arguments of words in their plain forms, ``None`` if the parser is needed."""
    found = Words()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            found.__dict__["argv"] = words[at + 1 :]
            break
        at += 1
        if word in FLAGS:
            found.__dict__[FLAGS[word][0]] = True
            continue
        if at == len(words) or words[at][:1] in {"-", ""} or not _take(found, word, words[at]):
            return None
        at += 1
    return found  # type: ignore[return-value]  # it has the attributes of one


def _take(found: Words, option: str, value: str) -> bool:
    """Store one option with its value; ``False`` leaves it to the parser."""
    if option == "-c":
        found.__dict__["line"] = value
        return True
    if option not in VALUES or value not in CHOICES.get(option, (value,)):
        return False
    name = VALUES[option][0]
    if option == "--env":
        found.__dict__["env"] = [*found.__dict__["env"], value]
        return True
    known = seconds_of(value) if option == "--timeout" else value
    found.__dict__[name] = known
    return known is not None


def misplaced(words: "list[str]") -> str:
    """Return what is wrong with words that begin with an option of `sayso run`, else ``""``."""
    from shlex import join  # noqa: PLC0415 - for mistakes only

    first = words[0]
    option = "-c" if first.startswith("-c") else first.partition("=")[0]
    if option not in {"-c", "--", *VALUES, *FLAGS} - {"--json"}:  # which most commands have, too
        return ""
    return f"no command before {option}; did you mean `sayso run {join(words)}`?"
