"""Hold the reading of awk programs against four awks: a known program writes and starts nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.programs.profiles.awk_script import awk_problem
from tests.support.tables import rows

AWKS = ("mawk", "gawk", "original-awk", "busybox")
# What starts a program or writes a file, bare and hidden in strings and regular expressions.
EVIL = (
    'system("touch canary")',
    'print "x" > "canary"',
    'print "x" | "cat > canary"',
    '"touch canary" | getline',
    '/"/; system("touch canary"); x = "/"',
    '1 / 2 / system("touch canary") / 3',
)
# Strings and regular expressions that only look like it; awks differ on the last one.
LOOKS = ('"/; system(\\"touch canary\\"); /"', '/system("touch canary")/', '/[/]/; x = "]/"')
PIECES = (
    *("BEGIN", "END", "{", "}", "(", ")", "[", "]", ";", "\n", ",", " ", "$", "/", "/=", "=", "~"),
    *("if", "while", "for", "do", "else", "print", "printf", "length", "in", "next", "getline"),
    *(
        "x",
        "$1",
        "NF",
        "1",
        "2.5",
        '"a"',
        '"/"',
        '"\\""',
        "/a/",
        "/\\//",
        "/[^/]/",
        "/[]/]/",
        "/=/",
    ),
    *(">", ">>", "<", "|", "||", "&&", "!", "++", "--", "+", "-", "?", ":", "**", "#", "\\\n"),
    *("substr(", "split(", "f(", "system(", "close(", "@", "ENVIRON", "func", "return"),
    *EVIL,
    *LOOKS,
)


def run(folder: Path, awk: str, program: str) -> bool:
    """Run a program over one line of input; return whether it left anything."""
    assert shutil.which(awk), f"{awk} is missing: tests/system_packages.sh installs it"
    argv = [awk, *(["awk"] if awk == "busybox" else []), "--", program]
    subprocess.run(
        argv,
        input=b"a b/c 3\n",
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=5,
        check=False,
    )
    return any(folder.iterdir())


def traces(folder: Path, program: str) -> list[str]:
    """Return the awks under which a program wrote or started something."""
    found = []
    for awk in AWKS:
        place = folder / awk
        place.mkdir()
        try:
            if run(place, awk, program):
                found.append(awk)
        except subprocess.TimeoutExpired:  # an infinite loop is not a trace
            continue
    return found


@pytest.mark.timeout(300)
@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9))
def test_a_known_program_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    """A program that the reader knows is run by every awk, and no file exists afterwards."""
    program = "".join(pieces)
    if awk_problem(program) is None:
        assert traces(tmp_path_factory.mktemp("run"), program) == [], program


@pytest.mark.parametrize("evil", EVIL)
def test_what_leaves_something_is_unknown(tmp_path: Path, evil: str) -> None:
    """Negative control: the checker sees what these do, and the reader refuses each of them."""
    program = f"BEGIN {{ if (1) {evil} }}"
    assert awk_problem(program) is not None
    assert traces(tmp_path, program)


@rows(
    "program",
    [
        "{print $1}",
        'NR>1 && NR<=10 {print $9, "(" $6, $7 ")"}',
        '{for(i=11;i<=NF;i++) printf "%s ", $i; print ""}',
        "/start/,/`;$/",
        "{s+=$1; c[$2]++} END {for (k in c) print k, c[k]/NR, s/(NR+1)}",
        "$3 > 100 && $1 ~ /^[a-z]+$/ {n++}\nEND {print n}",
        '{gsub(/[^a-z\\t ]+/, "|"); print toupper(substr($0, 2))}',
        "!seen[$0]++",
        "{if ($1 == 0) next; else x = $1 / 2; print x}",
        "NR == 1 {next}\n/system(x)/ {n++}; /close(x)/ {n--} /fflush/",
    ],
)
def test_everyday_programs_are_known(program: str) -> None:
    """Fields, sums, loops, strings and patterns print without a question."""
    assert awk_problem(program) is None


def test_known_programs_are_plenty_in_the_fuzz() -> None:
    """The property is meaningful: many of the pieces make known programs on their own."""
    assert sum(awk_problem(piece) is None for piece in PIECES) >= 20
