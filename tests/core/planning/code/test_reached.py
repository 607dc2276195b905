"""What becomes code by the input of a program, and what a text that nobody read makes code."""

import pytest

from core.planning.code.reached import DEEPEST_TEXT, by_text, by_vector

TAKING = (
    *("sh", "sh -", "bash -s a", "bash -e", "sh +e", "dash -o noglob", "python3", "python3 -"),
    *("python3 -W ignore", "python3 -i x.py", "perl", "node", "node -i x.js", "lua -", "php"),
    *("awk -f -", "sed -f /dev/stdin", "make -f -", "psql", "psql db", "gdb prog", "fish"),
    *("sudo sh", "sudo -s", "sudo -u a -i", "su", "su - bob", "sudo su", "env python3 -"),
    *("timeout 5 bash", "nohup sh -s a", "busybox sh", "setsid sh", "chroot /x", "unshare -r"),
    *("ssh host", "ssh -p 22 host", "ssh host bash -s", "docker exec -i c sh", "script log"),
    *("xargs sh", "xargs -n1 sh -c", "xargs -I{} sh -c {}", "xargs -IX sh -c X", "xargs env"),
    *("parallel", "parallel -j4", "at now", "batch", "crontab", "crontab -", "ed file", "R"),
    *("find . -exec sh ;", "watch sh", "strace -f sh"),
)
LEAVING = (
    *(
        "cat",
        "grep x",
        "sort",
        "head -n 3",
        "jq .",
        "tee a",
        "sh x.sh",
        "bash -e x.sh -",
        "sh +x x",
    ),
    *(
        "python3 x.py",
        "python3 -W ignore x.py",
        "python3 -m json.tool",
        "python3 -c x",
        "perl -ne x",
    ),
    *("node x.js", "node --inspect x.js", "node -e 1", "deno run x.ts", "ruby -e 1", "php x.php"),
    *("awk x", "awk -f x.awk", "sed s/a/b/", "make", "psql -c x", "psql -f x.sql"),
    *("sudo tail log", "sudo -u bob grep x", "sudo sh x.sh", "su - bob x", "env cat", "nohup cat"),
    *("ssh host cat", "docker exec -i c cat", "kubectl apply -f -", "script -c cat log"),
    *(
        "xargs rm",
        "xargs -n1 sh x.sh",
        "xargs python3 x.py",
        "parallel grep x",
        "xargs -I{} mv {} a",
    ),
    *("find . -name x", "crontab -l x", "timeout 5 python3 x.py"),
)


@pytest.mark.parametrize("line", TAKING)
def test_code_comes_by_the_input(line: str) -> None:
    """No script is named, or the input is named as one."""
    words = line.split()

    assert by_vector(words, words[0]).takes


@pytest.mark.parametrize("line", LEAVING)
def test_the_input_is_data(line: str) -> None:
    """It may change: no interpreter is fed, or one that has its code."""
    words = line.split()

    assert not by_vector(words, words[0]).takes


def test_a_shell_in_a_shell_takes_the_input() -> None:
    """The text of the outer one says so."""
    assert by_vector(("sh", "-c", "cd a && sh"), "/bin/dash").takes
    assert not by_vector(("sh", "-c", "cd a && cat"), "/bin/dash").takes


def test_a_program_goes_by_its_real_name_as_well() -> None:
    """A link to an interpreter is one."""
    assert by_vector(("./tool",), "/usr/bin/dash").takes
    assert not by_vector(("./tool",), "/usr/bin/cat").takes


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("sh notes > log", {"notes"}, {"log"}),
        ("sh < notes > log", {"notes"}, {"log"}),
        ("bash < notes data", {"data"}, {"notes"}),
        ("bash < notes -s data", {"notes"}, {"data"}),
        ("python3 x < data > log", {"x"}, {"data", "log"}),
        (". ./notes data", {"./notes"}, {"data"}),
        ("awk -f notes data > log", {"notes"}, {"data", "log"}),
        ("cat notes data | tail | sh > log", {"notes", "data"}, {"log"}),
        ('"$x" < notes', {"notes"}, set()),
        ("/bin/s? < notes", {"notes"}, set()),
        ('eval "$(cat notes)"', {"notes"}, set()),
        ("F=notes; sh < $F", {"notes"}, set()),
        ("sh $D/notes > log", {"notes"}, {"log"}),
        ("bash <<E\nsh notes\nE", {"notes"}, set()),
        ("cat <<E > log\nsh notes\nE", set(), {"notes", "log"}),
        ("su -c 'sh < notes' > log", {"notes"}, {"log"}),
        ("BASH_ENV=notes bash -c true > log", {"notes"}, {"log"}),
        ("sort < data | head > log", set(), {"data", "log"}),
        ("for one in a b; do echo $one; done < data", set(), {"data"}),
        ("echo 'sh < notes' > log", set(), {"notes", "log"}),
    ],
)
def test_what_a_text_makes_code(text: str, code: set[str], data: set[str]) -> None:
    """What it feeds, sources or gives an interpreter; not what it writes or only reads."""
    files = set(by_text(text).files)

    assert code <= files
    assert not data & files


def test_what_is_too_deep_counts_as_code() -> None:
    """A text within so many others is not looked at further."""
    text = "cat notes"
    for _ in range(DEEPEST_TEXT + 1):
        text = f"echo $({text})"

    assert by_text(text).takes
    assert "notes" in by_text(text).files
