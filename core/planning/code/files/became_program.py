"""Find what a command may start by now, although it was no program when it was judged."""

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.operands import code_named, programs_named
from core.planning.code.words.arguments import inline_text
from core.planning.paths.search_path import SearchPath
from core.programs.program import program_of


def became_program(command: PlannedCommand, cwd: str, *, unread: bool) -> str:
    """Return a program that a command names by now, and that it does not bind; or ``""``.

    It was data when the command was judged, or did not exist. ``unread``: a shell reads it all.
    """
    search = SearchPath(())
    for one in command.effective:
        if one.executable is None:
            continue
        named = code_named(inline_text(one.argv, one.executable.realpath), cwd, search)
        starts = "PATH=" in one.argv[-1] if unread else may_start_others(one.argv, one.executable)
        if starts:
            named += programs_named(one.argv, cwd, search).files
        bound = {file.path for file in (*one.operands, *command.operands)}
        if found := next((file.path for file in named if file.path not in bound), ""):
            return found
    return ""


def may_start_others(argv: tuple[str, ...], executable: PinnedFile) -> bool:
    """Return whether a program may start what its words name, and it is not known which."""
    program = program_of(argv[0], executable)
    inline = program.inline is not None and program.inline.problem(argv[1:]) is not None
    return inline or program.laden is not None
