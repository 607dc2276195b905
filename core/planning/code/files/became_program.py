"""Find what a command may start by now, although it was no program when it was judged."""

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.named import code_named, programs_named
from core.planning.code.files.operands import Code, together
from core.planning.code.words.arguments import inline_text
from core.planning.paths.pins import Unpinned
from core.planning.paths.search_path import SearchPath
from core.programs.program import program_of


def became_program(command: PlannedCommand, cwd: str, *, unread: bool) -> str:
    """Return a clause about a program that a command names by now and does not bind, or ``""``.

    It was data when the command was judged, or did not exist. ``unread``: a shell reads it all.
    """
    for one in command.effective:
        named = _named(one, cwd, unread=unread)
        if isinstance(named, Unpinned):
            return f"`{one.argv[0]}` {named.why} by now"
        bound = {file.path for file in (*one.operands, *command.operands)}
        if found := next((file.path for file in named.files if file.path not in bound), ""):
            return f"`{found}` was no program when `{command.argv[0]}` was approved"
    return ""


def _named(command: PlannedCommand, cwd: str, *, unread: bool) -> Code | Unpinned:
    if command.executable is None:
        return Code()
    argv, search = command.argv, SearchPath(())
    named = code_named(inline_text(argv, command.executable.realpath), cwd, search)
    starts = "PATH=" in argv[-1] if unread else may_start_others(argv, command.executable)
    return together(named, programs_named(argv, cwd, search)) if starts else named


def may_start_others(argv: tuple[str, ...], executable: PinnedFile) -> bool:
    """Return whether a program may start what its words name, and it is not known which."""
    program = program_of(argv[0], executable)
    inline = program.inline is not None and program.inline.problem(argv[1:]) is not None
    return inline or program.laden is not None
