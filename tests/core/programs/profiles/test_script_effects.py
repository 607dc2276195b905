"""Never take a script that starts programs in an awk or sed of this machine for harmless."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from core.programs.profiles.script_effects import awk_may_run, sed_may_run

AWKS = [name for name in ("awk", "gawk", "mawk", "original-awk") if shutil.which(name)]
AWK = (
    '{print /"/; system("touch ran"); print /"/}',
    '{if (1) /"/; system("touch ran"); /"/}',
    '{x = 1 + /"/; system("touch ran"); y = $/"/}',
    '{length /"/; system("touch ran"); length /"/}',
    '{x = 1 / /"/; system("touch ran"); y = 1 / /"/}',
    '{x = 1 ~ /"/; system("touch ran"); y = 1 ~ /"/}',
    '/"*/ {system("touch ran")} /"*1/',
)
SED = (
    "\\a1ae touch ran",
    "\\a1aIe touch ran",
    "\\s1se touch ran",
    "sxaxtouch ranxe",
    "/a/e touch ran",
)
PIECES_OF_AWK = (
    *'///"(){};1a$+-%^<~!=#,?:\\x',
    *("print", "printf", "return", "in", "else", "do", "while(0)", "if(1)", "for(;0;)", "/=", "++"),
    *("--", '"x"', "getline", "length", "length()", "a[1]", "NF", "&&", "||", "BEGIN", "exit"),
    *("next", "case", ".5", "1e", "in a"),
)
TEMPLATES_OF_AWK = (
    '{%s /"/; system("touch ran"); %s /"/}',
    '{%s/"/%s system("touch ran") %s/"/}',
    'BEGIN{x = 1; %s "/" %s; system("touch ran"); %s "/"}',
)
PIECES_OF_SED = (*"s\\ae/1xIMgp!{};y,$icbtql:n[]0", "e touch")
TEMPLATES_OF_SED = (
    "%s\\a1a%se touch ran",
    "%ssa1%satouch ranae%s",
    "%s/1/%se touch ran",
    "%ss,1,touch ran,%se",
)


def _runs(argv: list[str], cwd: Path) -> bool:
    """Return whether a command makes the file that its script should make."""
    (cwd / "log").write_text("1\na\n")
    subprocess.run(
        argv, cwd=cwd, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL
    )
    ran = cwd / "ran"
    found = ran.exists()
    ran.unlink(missing_ok=True)
    return found


@pytest.mark.parametrize("program", AWK)
def test_awk_programs_that_hide_a_command_between_slashes(program: str, tmp_path: Path) -> None:
    """A program with which at least one awk here starts others is known to do so."""
    assert any(_runs([name, program, "log"], tmp_path) for name in AWKS)
    assert awk_may_run(program)


@pytest.mark.parametrize("script", SED)
def test_sed_scripts_that_hide_a_command_behind_a_letter(script: str, tmp_path: Path) -> None:
    """A script with which sed starts a program is known to do so."""
    (tmp_path / "log").write_text("a1\n")
    assert _runs(["sed", script, "log"], tmp_path)
    assert sed_may_run(script)


def _drawn(templates: tuple[str, ...], pieces: tuple[str, ...], many: int) -> list[str]:
    draw = random.Random(25)
    found = []
    for _ in range(many):
        text = draw.choice(templates)
        while "%s" in text:
            text = text.replace("%s", "".join(draw.choices(pieces, k=draw.randrange(4))), 1)
        found.append(text)
    return found


@pytest.mark.deep
def test_no_drawn_awk_program_runs_what_is_taken_for_none(tmp_path: Path) -> None:
    """What is not known to start programs starts none, in any awk here; enough of it is drawn."""
    drawn = _drawn(TEMPLATES_OF_AWK, PIECES_OF_AWK, 2_000)
    quiet = [one for one in drawn if not awk_may_run(one)]
    assert len(quiet) > 100
    assert [one for one in quiet for name in AWKS if _runs([name, one, "log"], tmp_path)] == []


@pytest.mark.deep
def test_no_drawn_sed_script_runs_what_is_taken_for_none(tmp_path: Path) -> None:
    """The same for sed."""
    drawn = _drawn(TEMPLATES_OF_SED, PIECES_OF_SED, 2_000)
    quiet = [one for one in drawn if not sed_may_run(one)]
    assert len(quiet) > 100
    assert [one for one in quiet if _runs(["sed", one, "log"], tmp_path)] == []
