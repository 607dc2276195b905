"""Bind the files whose content an interpreter in a pipeline gets."""

import os
from pathlib import Path

import pytest

from tests.support.runs import planned, request, script


def bound(line: str, at: Path) -> list[list[str]]:
    """Return, by command, the names of the files in a folder that a plan binds."""
    commands = planned(request(line, cwd=at)).commands
    return [
        [os.path.relpath(one.path, at) for one in command.operands if one.path.startswith(str(at))]
        for command in commands
    ]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("cat notes | sh", [["notes"], []]),
        ("cat no* | sh", [["notes"], []]),
        ("cat notes | head | sudo sh", [["notes"], [], []]),
        ("cat notes | tee log | sh", [["notes"], [], []]),
        ("cat notes | sh </dev/null", [[], []]),
        ("cat notes; sh", [[], []]),
        ("cat log && cat notes | sh", [[], ["notes"], []]),
        ("cat notes | sh | cat log", [["notes"], [], []]),
        ("cd sub && cat ../notes | sh", [["notes"], []]),
        ("cat pipe | sh", [[], []]),
        ("cat absent /dev/null /proc/version | sh", [[], []]),
        ("cat /etc/hostname | sh", [[], []]),
        ("sh -c 'cat notes | sh'", [["notes"]]),
        ("cat log | grep x", [[], []]),
        ("cat log | sh x.sh", [[], ["x.sh"]]),
        ("sudo tail log", [[]]),
        ("setsid ./x.sh log", [["x.sh"]]),
        ("env PATH=. x.sh log", [["x.sh"]]),
        ("tar -xf log --to-command=./x.sh", [["x.sh"]]),
        ("find . -exec ./x.sh log ;", [["x.sh"]]),
        ("zcat packed | sh", [["packed.gz"], []]),
        ("gzip -dc packed | sh", [["packed.gz"], []]),
        ("bash -c 'sh < <(zcat packed)'", [["packed.gz"]]),
        ("cat packed | sh", [[], []]),
        ("tar -xOflog | sh", [["log"], []]),
        ("curl -s file:{}/n%6ftes | sh", [["notes"], []]),
        ("curl -s FILE://localhost{}/notes | sh", [["notes"], []]),
        ("cat /proc/self/root{}/notes | sh", [["notes"], []]),
        ("vim -S notes log", [["notes"]]),
        ("vim -c 'source notes' log", [["notes"]]),
        ("git difftool -yx./x.sh --cached", [["x.sh"]]),
        ("git -c protocol.ext.allow=always ls-remote ext::sub/../x.sh", [["x.sh"]]),
        ("git -c alias.q=!./x.sh q", [["x.sh"]]),
        ("tar -cI./x.sh -flog notes", [["x.sh"]]),
        ("sh -c 'cd sub && cd deep && sh s'", [["sub/deep/s"]]),
    ],
)
def test_what_is_bound(tmp_path: Path, line: str, names: list[list[str]]) -> None:
    """Where it is opened: with the command that names it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep").mkdir()
    for name in ("notes", "packed.gz", "sub/deep/s"):
        (tmp_path / name).write_text("echo\n")
    (tmp_path / "log").write_text("1\n")
    script(tmp_path / "x.sh", "#!/bin/sh\n")
    os.mkfifo(tmp_path / "pipe")
    line = line.replace(" ;", r" \;") if "find" in line else line

    assert bound(line.replace("{}", str(tmp_path)), tmp_path) == names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("find sub -name s -exec sh {} @", ["sub/s"]),
        ("find sub -name s -exec sh {} +", ["sub/s"]),
        ("find sub -name s -execdir python3 {} @", ["sub/s"]),
        ("find sub -iname S -ok sh {} @", ["sub/s"]),
        ("find {at}/sub -name s -exec bash -x {} @", ["sub/s"]),
        ("find sub other -name s -exec env sh {} @", ["sub/s", "other/s"]),
        ("find sub -name s -exec sh -c 'sh \"$1\"' _ {} @", ["sub/s"]),
        ("find sub -name s -exec sh -c '. {}' @", ["sub/s"]),
        ("find sub -name s -exec {} @", ["sub/s"]),
        ("find sub -name s -exec nice {} @", ["sub/s"]),
        ("nice find sub -name s -exec sh {} @", ["sub/s"]),
        ("flock log find sub -name s -exec sh {} @", ["sub/s"]),
        ("bash -c 'find sub -name s -exec sh {} +'", ["sub/s"]),
        ("cd sub && find . -name s -exec sh {} @", ["sub/s"]),
        ("find sub -name s -exec cat {} @", []),
        ("find sub -name s -exec nice wc {} @", []),
        ("find sub -name s -exec sed -n 1p {} @", []),
        ("find sub -name s -exec chmod +x {} +", []),
        ("find sub -name s", []),
        ("echo sub | xargs -I% sh %/s", ["sub/s"]),
        ("echo sub | xargs -I % sh %/s", ["sub/s"]),
        ("echo sub | xargs -IDIR sh DIR/s", ["sub/s"]),
        ("echo sub | xargs --replace=DIR sh DIR/s", ["sub/s"]),
        ("echo sub | xargs -i sh {}/s", ["sub/s"]),
        ("echo sub | xargs -n1 -I% sh -c 'sh %/s'", ["sub/s"]),
        ("echo sub | xargs -I% sh -c 'cd %; sh s'", ["sub/s"]),
        ("echo sub | xargs -I% nice sh %/s", ["sub/s"]),
        ("echo sub | xargs -I% timeout 5 %/s", ["sub/s"]),
        ("echo sub | xargs -I % %/s", ["sub/s"]),
        ("echo s | xargs -I% sh sub/%", ["sub/s"]),
        ("(echo sub | xargs -I% sh %/s)", ["sub/s"]),
        ("bash -c 'echo sub | xargs -I% sh %/s'", ["sub/s"]),
        ("echo sub | xargs -I% cp %/s log", []),
        ("echo sub/s | xargs -I% cat %", []),
        ("(a=sub; a+=/s; sh $a)", ["sub/s"]),
        ("a=sub; a+=/s; $a", ["sub/s"]),
        ("declare a=sub; declare a+=/s; sh $a", ["sub/s"]),
        ("bash -c 'a=s; a+=ub; a+=/s; sh ${{a}}'", ["sub/s"]),
        ("env a=sub bash -c 'a+=/s; sh $a'", ["sub/s"]),
    ],
)
def test_a_folder_and_a_name_in_it_are_put_together(
    tmp_path: Path, line: str, names: list[str]
) -> None:
    """They are in two words, or in two commands, and the program puts them together."""
    for folder in ("sub", "other"):
        (tmp_path / folder).mkdir()
        script(tmp_path / folder / "s", "#!/bin/sh\n")
    (tmp_path / "log").touch()
    line = line.replace("{at}", str(tmp_path)).replace("{{a}}", "{a}").replace("@", r"\;")

    assert sorted({one for found in bound(line, tmp_path) for one in found}) == sorted(names)


def test_a_folder_that_others_may_write_to_is_said(tmp_path: Path) -> None:
    """As with a named script: they could put there what is fed."""
    open_to_all = tmp_path / "shared"
    open_to_all.mkdir()
    (open_to_all / "notes").write_text("echo\n")
    closed = planned(request("cat shared/notes | sh", cwd=tmp_path)).commands[0]
    open_to_all.chmod(0o777)
    exposed = planned(request("cat shared/notes | sh", cwd=tmp_path)).commands[0]

    assert closed.exposed == ""
    assert exposed.exposed == str(open_to_all)


@pytest.mark.parametrize(
    ("line", "fed"),
    [
        ("cat notes | python3", [False, True]),
        ("echo 1 | python3 -", [False, True]),
        ("echo 1 | node | head", [False, True, False]),
        ("echo 1 | sqlite3 app.db", [False, True]),
        ("echo 1 | ed notes", [False, True]),
        ("echo 1 | cat; python3", [False, False, False]),
        ("echo 1 | python3 </dev/null", [False, False]),
        ("echo 1 | python3 x.py", [False, False]),
        ("echo 1 | python3 -m json.tool", [False, False]),
        ("echo 1 | sqlite3 app.db 'select 1'", [False, False]),
        ("echo 1 | docker exec -i db psql", [False, True]),
        ("cat notes | ssh host sh", [False, True]),
        ("cat notes | ssh -o BatchMode=yes host", [False, True]),
        ("cat notes | kubectl exec -i pod -- sh", [False, True]),
        ("cat notes | ex -s log", [False, True]),
        ("cat notes | ssh host cat", [False, False]),
        ("cat notes | docker exec -i db tee log", [False, False]),
        ("cat notes | jq .", [False, False]),
    ],
)
def test_what_takes_its_code_from_a_pipe(tmp_path: Path, line: str, fed: list[bool]) -> None:
    """No file is its code; where that code runs makes no difference."""
    found = planned(request(line, cwd=tmp_path)).commands
    assert [one.fed for one in found] == fed


def test_a_link_with_another_name_takes_it_as_well(tmp_path: Path) -> None:
    """What is stored is about the program itself: `/usr/bin/perl`."""
    (tmp_path / "make").symlink_to("/usr/bin/perl")
    found = planned(request("echo 1 | ./make", cwd=tmp_path)).commands
    assert [one.fed for one in found] == [False, True]


@pytest.mark.parametrize("line", ["cat x | timeout 5 python3", "timeout 5 sh -c 'cat x | python3'"])
def test_what_a_wrapper_starts_takes_it_as_well(tmp_path: Path, line: str) -> None:
    """What is stored would be about the program within."""
    found = planned(request(line, cwd=tmp_path)).commands[-1]
    assert [one.fed for one in found.effective if one.argv == ("python3",)] == [True]
