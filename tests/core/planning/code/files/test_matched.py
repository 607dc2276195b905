"""Find what globs of a text name, and no more than a line may lead to."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.planning.code.files.bulk_lookup import TOO_MANY
from core.planning.code.files.matched import paths_matched
from core.planning.further_code import became_program
from tests.support.runs import drifts, planned, request, script
from tests.support.tables import rows


def matched(at: Path, *words: str) -> list[str]:
    """Return what words match in a folder, relative to it."""
    found = paths_matched([str(at)], words)
    assert isinstance(found, list)
    return sorted(str(Path(one).relative_to(at)) for one in found)


@rows(
    "pattern, names",
    [
        ("*", "a.sh b.sh c.txt d"),
        ("*.sh", "a.sh b.sh"),
        ("?.sh", "a.sh b.sh"),
        ("[ab].sh", "a.sh b.sh"),
        ("[!a].sh", "b.sh"),
        ("[^a].sh", "b.sh"),
        ("[[:alpha:]].sh", "a.sh b.sh"),
        ("./a*", "a.sh"),
        (".*", ".e .h.sh"),
        ("d/*", "d/a.sh d/f"),
        ("*/a.sh", "d/a.sh"),
        ("*/*", "d/a.sh d/f"),
        ("**/a.sh", "d/a.sh"),
        ("d/", ""),
        ("*/", "a.sh b.sh c.txt d"),
        ("{a,b}.sh", "a.sh b.sh"),
        ("d/{a,{b,c}}.sh", "d/a.sh"),
        ("{1..3}.sh", "a.sh b.sh"),
        ("a.sh", ""),
        ("no*", ""),
        ("no/*", ""),
        ("a.sh/*", ""),
        ("/usr/bin/*", ""),
        ("/proc/self/fd/*", ""),
    ],
)
def test_what_a_glob_matches(pattern: str, names: str, tmp_path: Path) -> None:
    """As a shell does by default, which hides what begins with a dot."""
    for folder in (tmp_path / "d", tmp_path / ".e"):
        folder.mkdir(exist_ok=True)
    (tmp_path / "d" / "f").mkdir(exist_ok=True)
    for name in ("a.sh", "b.sh", "c.txt", ".h.sh", "d/a.sh"):
        (tmp_path / name).touch()

    assert " ".join(matched(tmp_path, pattern)) == names


def test_a_glob_leaves_the_system_again(tmp_path: Path) -> None:
    """Only what it names at last counts, not the folders on the way."""
    (tmp_path / "a.sh").touch()

    found = paths_matched([str(tmp_path)], [f"/usr/b*/../..{tmp_path}/*.sh"])

    assert isinstance(found, list)
    assert any(Path(one).samefile(tmp_path / "a.sh") for one in found)


@pytest.mark.parametrize(("count", "words"), [(1_100, ["*"]), (300, [f"*{n}" for n in range(300)])])
def test_more_than_a_line_may_lead_to_is_refused(
    tmp_path: Path, count: int, words: list[str]
) -> None:
    """Too many files, and too many globs."""
    for number in range(count):
        (tmp_path / str(number)).touch()

    assert paths_matched([str(tmp_path)], words) is TOO_MANY


@rows(
    "line",
    [
        "(sh d/no*)",
        "(sh d/note[s])",
        "(. d/no*)",
        "(cat d/no* | sh)",
        "(cd d; sh no*)",
        "(cd d*; sh notes)",
        "(sh */notes)",
        "(sh d/{no,x}tes)",
        "(for f in d/*; do sh $f; done)",
        "(for f in */; do sh $f/notes; done)",
        "if true; then sh d/no*; fi",
        "time sh d/no*",
        "bash -c 'sh d/no*'",
        "bash -c 'for f in d/no*; do sh $f; done'",
        "find d -name 'no*' -exec sh {} +",
        "find d -type f -exec sh {} \\;",
        "(find d -name 'no*' -exec sh {} +)",
        "find d -name 'no*' | xargs sh",
        "(for i in te; do sh d/no${i}s; done)",
        "(for i in te; do python3 ./d/no${i}s; done)",
        "(ls d | while read f; do . d/$f; done)",
        '(while read f; do bash -x "d/$f"; done < log)',
        "(sh d/$(ls d | head -1))",
        "(cd d; for i in te; do sh no${i}s; done)",
        "ls d | xargs -I% sh d/%",
        "ls d | xargs -I{} bash -c 'sh d/{}'",
        "ls d | xargs -n1 -I% ./d/%",
        "(ls d | xargs -I% sh d/%)",
        "(seq 3 | parallel sh d/no{})",
        "(parallel 'sh d/{.}' ::: notes.gz)",
    ],
)
def test_what_a_glob_names_as_code_is_bound(line: str) -> None:
    """It stays what it was when the question was asked, and nothing is added to it."""
    for change in ("notes", "nosuch"):
        with TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "d").mkdir()
            script(place / "d" / "notes", "echo good\n")
            plan = planned(request(line, cwd=folder))
            assert not drifts(plan)
            if change == "nosuch" and not line.replace("'", "").count("no*"):
                continue
            script(place / "new", "echo evil\n")
            (place / "new").rename(place / "d" / change)
            if change == "nosuch":
                assert became_program(plan)
            else:
                assert drifts(plan)


@rows(
    "line",
    [
        "(wc -l d/*)",
        "(for f in d/*; do wc -l $f; done)",
        "bash -c 'for f in d/no*; do echo $f; done'",
        "(cat d/* | grep good)",
        "for f in a/x; do sh ${f##*/}; done",
        "bash -c 'for f in a/x.c; do sh ${f%%.*}; done'",
        "echo a/x | xargs -I% sh -c 'f=%; sh ${f##*/}'",
        "DEBUG=* sh -c 'sh $x'",
        "find d -type f -exec wc -l {} +",
        "find d -name 'no*' -exec grep -l good {} \\;",
        "find d -type f -exec sh -c 'wc \"$1\"' _ {} \\;",
        "(for i in te; do wc d/no${i}s; done)",
        "(for i in te; do python3 a.py d/no${i}s; done)",
        "(for i in te; do sh a.sh < d/no${i}s; done)",
        "(for f in $(ls); do sh $f; done)",
        "(for f in $(ls); do sh ./$f.sh; done)",
        "ls d | xargs -I% wc -l d/%",
        "ls d | xargs -I% sh -c 'wc -l d/%'",
        "ls d | xargs -I% cp d/% a/%",
    ],
)
def test_what_a_glob_names_as_data_may_change(line: str) -> None:
    """Nobody is asked again because of a log."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "d").mkdir()
        for name in ("log", "d/notes"):
            (place / name).write_text("good\n")
        plan = planned(request(line, cwd=folder))
        for name in ("log", "d/notes"):
            (place / name).write_text("more\n")

        assert not drifts(plan)
        assert became_program(plan) == ""
