"""Expand folders, home and globs as a shell would, or ask a person.

``tests/faults/test_shell_fuzz.py`` compares the same with bash and dash.
"""

from pathlib import Path

import pytest

from core.model.command import Connector, Reading, Unreadable
from core.planning.expand import ExpandedLine, NoFolder, expand
from core.planning.paths.globs import MOST_BYTES, MOST_ENTRIES, MOST_MATCHES
from core.shell.reader import read


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with plain, hidden, dashed and blank names, folders and links."""
    (tmp_path / "src" / "in").mkdir(parents=True)
    for name in ("b.py", "a.py", "B.py", "-x.py", "x y.py", ".h.py", "src/m.py", "src/in/n.py"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("src")
    (tmp_path / "gone").symlink_to("nowhere")
    return tmp_path


def expanded(line: str, work: Path, home: str = "/home/u") -> ExpandedLine | Unreadable | NoFolder:
    """Read and expand a line in a folder."""
    reading = read(line)
    assert isinstance(reading, Reading), reading
    return expand(reading, str(work), home)


def words(line: str, work: Path, home: str = "/home/u") -> list[str]:
    """Return the words after the name of a line of one command."""
    found = expanded(line, work, home)
    assert isinstance(found, ExpandedLine), found
    (command,) = found.commands
    return list(command.argv[1:])


@pytest.mark.parametrize(
    ("line", "last", "late"),
    [
        ("echo $?", "0", ()),
        ("cd src && echo $?", "0", ()),
        ("ls; echo $?", "$?", ((1, 0),)),
        ("ls; echo a$?", "a$?", ((1, 1),)),
        ("cd src; ls; echo $?", "$?", ((1, 0),)),
    ],
)
def test_the_last_status_is_known_before_any_command_and_after_cd(
    line: str, last: str, late: tuple[tuple[int, int], ...], work: Path
) -> None:
    """It is 0 there; after a command only the run can know it."""
    found = expanded(line, work)

    assert isinstance(found, ExpandedLine), found
    assert (found.commands[-1].argv[-1], found.commands[-1].late) == (last, late)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["./-x.py", "B.py", "a.py", "b.py", "x y.py"]),
        ("[ab].py", ["a.py", "b.py"]),
        ("?.py", ["B.py", "a.py", "b.py"]),
        (".*.py", [".h.py"]),
        ("-*", ["./-x.py"]),
        ("*/", ["link/", "src/"]),
        ("*/*.py", ["link/m.py", "src/m.py"]),
        ("./s*/in/*", ["./src/in/n.py"]),
        ("gon*", ["gone"]),
        ("'x '*", ["x y.py"]),
    ],
)
def test_globs_become_sorted_names(pattern: str, found: list[str], work: Path) -> None:
    """Names are sorted by bytes, hidden ones left out, and none can become an option."""
    assert words(f"ls {pattern}", work) == found


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[xyz].c", "matches nothing"),
        ("[c-a]*", "order differently"),
        ("[Z-a]*", "order differently"),
        (".*", ". and .."),
        ("s*//in", "before two slashes"),
        ("'*'*", "quoted pattern"),
        ("\\\\*", "quoted pattern"),
    ],
)
def test_a_glob_that_shells_could_take_otherwise_asks(pattern: str, why: str, work: Path) -> None:
    """No match, the folder itself, and escapes next to a glob are not guessed at."""
    found = expanded(f"ls {pattern}", work)
    assert isinstance(found, Unreadable)
    assert found.rule == "R5"
    assert why in found.detail


def test_single_characters_beside_wide_names_ask(work: Path) -> None:
    """Whether ``?`` is a byte or a character depends on the locale; ``*`` is neither."""
    (work / "é.py").touch()
    assert isinstance(expanded("ls ?.py", work), Unreadable)
    assert words("ls *.py", work)[-1] == "é.py"


def test_a_name_that_is_no_text_asks(work: Path) -> None:
    """What cannot be shown is not bound."""
    Path(str(work) + "/\udcff.py").touch()
    found = expanded("ls *.py", work)
    assert isinstance(found, Unreadable)
    assert "UTF-8" in found.detail


def test_matches_are_capped(tmp_path: Path) -> None:
    """The last number of files within the bound is expanded, the next one asks."""
    for number in range(MOST_MATCHES):
        (tmp_path / f"{number:04}").touch()
    assert len(words("ls *", tmp_path)) == MOST_MATCHES
    assert isinstance(expanded("ls * 1", tmp_path), ExpandedLine)
    assert isinstance(expanded("ls * 0*", tmp_path), Unreadable)
    (tmp_path / "more").touch()
    assert isinstance(expanded("ls *", tmp_path), Unreadable)


def test_bytes_of_matches_are_capped(tmp_path: Path) -> None:
    """Long names use up the bound before their number does."""
    for number in range(MOST_BYTES // 250 + 1):
        (tmp_path / f"{number:0250}").touch()
    found = expanded("ls *", tmp_path)
    assert isinstance(found, Unreadable)
    assert "bytes" in found.detail


def test_a_huge_folder_asks(tmp_path: Path) -> None:
    """A folder is scanned up to a bound, so that planning stays quick."""
    for number in range(MOST_ENTRIES + 1):
        (tmp_path / str(number)).touch()
    assert isinstance(expanded("ls x*", tmp_path), Unreadable)


def test_many_stars_take_no_time(tmp_path: Path) -> None:
    """Matching backtracks to the last star only, so no pattern is slow."""
    (tmp_path / ("a" * 250)).touch()
    pattern = "*a" * 120 + "*b"
    assert words(f"ls {pattern}", tmp_path) == [pattern]


@pytest.mark.parametrize("word", ["*.c", "src/*/*/*", "--include=*.c", "http://h:1/x?y=1"])
def test_a_glob_that_matches_nothing_stays_as_it_is(word: str, work: Path) -> None:
    """Both shells then pass the pattern on, as the option or the URL that it may be."""
    assert words(f"ls {word}", work) == [word]


@pytest.mark.parametrize(
    ("word", "found"), [("$(pwd)", ""), ('"$(pwd)"/x', "/x"), ("$(pwd)y", "y")]
)
def test_the_folder_may_be_asked_for(word: str, found: str, work: Path) -> None:
    """``$(pwd)`` is what ``$PWD`` is."""
    assert words(f"ls {word}", work) == [f"{work}{found}"]


def ran(line: str, work: Path) -> list[list[str]]:
    """Return the vectors of a line, without what joins them."""
    found = expanded(line, work)
    assert isinstance(found, ExpandedLine), found
    return [list(command.argv) for command in found.commands]


@pytest.mark.parametrize(
    ("line", "vectors"),
    [
        ("for x in a 'b c'; do ls \"=$x\"; done", [["ls", "=a"], ["ls", "=b c"]]),
        ("for f in src/*; do wc $f; done", [["wc", "src/in"], ["wc", "src/m.py"]]),
        ("cd src && for f in *.py\ndo ls ./${f}x; done; pwd", [["ls", "./m.pyx"], ["pwd"]]),
        ("for i in {1..2}; do ls | wc; done", [["ls"], ["wc"], ["ls"], ["wc"]]),
        ('for f in *.nope; do ls "$f"; done', [["ls", "*.nope"]]),
        ("for f in a; do ls $f/*.py; done", [["ls", "a/*.py"]]),
    ],
)
def test_a_loop_becomes_its_commands(line: str, vectors: list[list[str]], work: Path) -> None:
    """What a loop runs is written out, one command for each turn."""
    assert ran(line, work) == vectors


def test_the_turns_of_a_loop_are_joined_as_by_a_semicolon(work: Path) -> None:
    """What joins the commands of the body stays; a turn does not depend on the one before."""
    found = expanded("for f in a b; do ls $f || x && y; done; z", work)
    assert isinstance(found, ExpandedLine)
    assert "".join(found.connectors) == "||&&;||&&;"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("for f in a 'b c'; do ls $f; done", "split or expand"),
        ("for f in '*'; do ls $f; done", "split or expand"),
        ('for f in -*; do ls "$f"; done', "dash"),
        ("for i in {1..65}; do ls; done", "turns"),
        ("for i in {1..60}; do ls; ls; ls; ls; ls; done", "commands"),
        ('touch x; for f in *; do ls "$f"; done', "may change"),
        ("for f in a b; do touch x; ls *; done", "may change"),
    ],
)
def test_a_loop_of_which_shells_could_make_more_asks(line: str, why: str, work: Path) -> None:
    """Splitting, options, too many commands, and globs after a change are not guessed at."""
    found = expanded(line, work)
    assert isinstance(found, Unreadable)
    assert why in found.detail


@pytest.mark.parametrize("line", ["cd src", "cd src/..", "ls; cd src", "ls && cd src"])
def test_a_line_may_end_in_another_folder(line: str, work: Path) -> None:
    """The last step becomes a program that does nothing, in the folder that it leads to."""
    found = expanded(line, work)
    assert isinstance(found, ExpandedLine)
    assert found.commands[-1].argv == ("true",)
    assert found.commands[-1].folder == str(work if ".." in line else work / "src")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("~", "/home/u"),
        ("~/x", "/home/u/x"),
        ("$HOME/x", "/home/u/x"),
        ("\"$HOME\"' x'", "/home/u x"),
        ("--to=$HOME", "--to=/home/u"),
    ],
)
def test_home_is_the_childs(word: str, found: str, work: Path) -> None:
    """Tilde and variable are replaced by the HOME that the command will have."""
    assert words(f"ls {word}", work) == [found]


@pytest.mark.parametrize("home", ["/home/a b", "/home/*", "/home/[ab]", "/home/é", ""])
def test_an_unquoted_value_that_a_shell_would_take_apart_asks(home: str, work: Path) -> None:
    """Only in quotes may a value contain what splitting or globbing changes."""
    assert isinstance(expanded("ls $HOME", work, home), Unreadable)
    if home:
        assert words('ls "$HOME" ~', work, home) == [home, home]


def test_a_home_that_ends_in_a_slash_asks_after_a_tilde(work: Path) -> None:
    """POSIX.1-2024 drops a slash there that older shells keep."""
    assert isinstance(expanded("ls ~/x", work, "/"), Unreadable)
    assert words("ls ~", work, "/") == ["/"]


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("cd src && ls", ["src"]),
        ("cd src; ls; cat", ["src", "src"]),
        ("true; cd src && ls", ["", "src"]),
        ("cd src && cd in && ls", ["src/in"]),
        ("cd src/in/.. && ls | cat", ["src", "src"]),
        ("cd link && ls", ["link"]),
        ("cd ./src//in/ && ls", ["src/in"]),
        ("true && cd src && ls && cat", ["", "src", "src"]),
    ],
)
def test_cd_leads_the_commands_after_it(line: str, folders: list[str], work: Path) -> None:
    """Each command has the folder, by name, in which a shell would start it."""
    found = expanded(line, work)
    assert isinstance(found, ExpandedLine)
    assert [one.folder for one in found.commands] == [str(work / folder) for folder in folders]
    assert "cd" not in {one.argv[0] for one in found.commands}


def test_a_step_leaves_the_connector_before_it() -> None:
    """A step succeeds, so the command after it depends on what came before the step."""
    found = expanded("false; cd / && ls", Path("/"))
    assert isinstance(found, ExpandedLine)
    assert found.connectors == (Connector.THEN,)


def test_globs_and_pwd_follow_cd(work: Path) -> None:
    """What comes after a step is looked up where the step led, links kept in the name."""
    found = expanded("cd link && ls *.py $PWD", work)
    assert isinstance(found, ExpandedLine)
    assert found.commands[0].argv == ("ls", "m.py", f"{work}/link")


@pytest.mark.parametrize("line", ["cd link/.. && ls", "cd none/../src && ls", "true; cd none; ls"])
def test_a_step_that_is_not_certain_asks(line: str, work: Path) -> None:
    """After a link ``..`` means two things, and what is missing may still be made."""
    found = expanded(line, work)
    assert isinstance(found, Unreadable)
    assert found.rule == "R9"


def test_a_line_that_begins_in_no_folder_is_told_apart(work: Path) -> None:
    """Nothing could come before it to make the folder, so no one need be asked."""
    assert expanded("cd none && ls", work) == NoFolder(str(work / "none"))
    assert expanded("cd a.py; ls", work) == NoFolder(str(work / "a.py"))


@pytest.mark.parametrize("line", ["touch c.py && ls *.py", "./x; ls *", "make | cat; ls *"])
def test_a_glob_after_what_may_change_files_asks(line: str, work: Path) -> None:
    """A shell would expand it only then, and to something else."""
    found = expanded(line, work)
    assert isinstance(found, Unreadable)
    assert "after a command" in found.detail


@pytest.mark.parametrize("line", ["echo all; ls src/*", "cd src && ls *", "make src/* | ls src/*"])
def test_a_glob_after_what_only_reads_is_expanded(line: str, work: Path) -> None:
    """Printing changes no file, and a pipeline's members are all expanded as it starts."""
    found = expanded(line, work)
    assert isinstance(found, ExpandedLine)
    assert found.commands[-1].argv[-1] in {"src/m.py", "m.py"}
