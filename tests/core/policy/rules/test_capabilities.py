from dataclasses import replace
from posixpath import join, normpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.command import UNKNOWN_LEAD, PinnedDirectory, PlannedCommand, Unreadable
from core.model.decision import Decision, DenialReason, Reason
from core.model.policy import ExecSecurity, Trust
from core.policy.judge.evaluate import denial_reason, evaluate
from core.policy.matching.template_element import below
from core.policy.rules.compiled import compiled
from tests.core.policy.configured_rules import CODER, HOME, provisions, settings
from tests.support.plans import LISTED, command, listed, pinned, plan_of, wrapped
from tests.support.tables import rows

FULL = replace(LISTED, security=ExecSecurity.FULL)
CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
GRANTED = {
    "tools": ["Exec"],
    "files": {"read": ["/usr/bin", "/srv/app"], "write": ["/srv/app/out"]},
}


def problem(*commands: PlannedCommand, folder: str = "/srv/app", **changes: Any) -> str | None:
    """Return what the capabilities refuse of commands in a folder; plans are otherwise allowed."""
    held = provisions(capabilities={**GRANTED, **changes})
    plan = replace(plan_of(*commands), cwd=PinnedDirectory(folder, 1, 1))
    found = evaluate(plan, FULL, listed(), provisions=held)
    if found.decision is Decision.ALLOW:
        return None
    assert (found.decision, found.reason) == (Decision.DENY, Reason.CAPABILITY)
    assert denial_reason(found) is DenialReason.CAPABILITY_DENIED
    return found.why


def test_without_the_section_there_are_no_limits() -> None:
    """An agent without capabilities is held to policy alone."""
    held = provisions()
    plan = plan_of(command("cat", "/etc/shadow"))
    assert held.capabilities is None
    assert evaluate(plan, FULL, listed(), provisions=held).decision is Decision.ALLOW


def test_the_tool_must_be_granted() -> None:
    """S3: no ``Exec`` in the tool grants, no command; case counts, and nothing is the default."""
    assert problem(command("ls")) is None
    for tools in ([], ["exec"], ["Bash"]):
        assert "Exec is not granted" in str(problem(command("ls"), tools=tools))


@rows(
    "words",
    [
        ["notes"],
        ["-n", "TODO", "src/a.py"],
        ["/srv/app/x"],
        ["./a/b"],
        ["https://example.org/etc/passwd"],
        ["--file=src/x"],
        ["@types/x"],
        ["a..b"],
        ["-"],
        ["../app/x"],
    ],
)
def test_paths_below_granted_folders_pass(words: list[str]) -> None:
    """Relative words are below the folder, addresses of other machines are not files."""
    assert problem(command("cat", *words)) is None


@rows(
    "word",
    [
        "/etc/passwd",
        "//etc/passwd",
        "../x",
        "/srv/application",
        "/srv/app/../other",
        "a/../../x",
        "--file=/etc/passwd",
        "-f/etc/passwd",
        "-f../../x",
        "-Isrc-a/../../../x",
        "of=/dev/sda",
        "@/etc/passwd",
        "host:/etc/passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "file://localhost/etc/passwd",
        "git+file://localhost/etc",
        "unix://run/x",
        "--path=a://b:/etc/x",
        "-/etc/x",
        "-include-x/etc/x",
        "a://../../../etc/passwd",
        "a,/etc/passwd",
        "~/x",
        "~root/x",
        "..",
        "{a,/etc/b}",
        "+/etc/x",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(word: str) -> None:
    """Glued to options, after ``=``, ``:`` and ``@``, up through folders: each is seen."""
    assert problem(command("cat", word)) is not None


def test_program_and_folder_lie_below_granted_folders() -> None:
    """S3: argv[0] and cwd must be readable; of a link both ends count."""
    assert "program /opt/tool" in str(problem(command("/opt/tool")))
    assert problem(command("ls", realpath="/opt/ls")) is not None
    assert "working directory" in str(problem(command("ls"), folder="/home"))
    for one in (command("ls"), wrapped("env", "ls")):
        moved = replace(one, cwd=PinnedDirectory("/home", 1, 1))
        assert "working directory /home" in str(problem(moved))


@pytest.mark.parametrize(
    "argv",
    [
        *(("cp", "a", "b"), ("make",), ("zyzzyva", "x"), ("tee", "x")),
        ("kubectl", "top", "pods", "--kubeconfig=f"),
    ],
)
def test_what_may_write_stays_below_folders_for_writing(argv: tuple[str, ...]) -> None:
    """Writers, runners of others and unknown programs need a folder granted for writing."""
    assert "granted for writing" in str(problem(command(*argv)))
    assert problem(command(*argv), folder="/srv/app/out") is None
    assert problem(command(*argv, "../x"), folder="/srv/app/out") is not None


def test_what_a_wrapper_runs_is_held_to_the_grants() -> None:
    """Unwrapped where that is certain, refused where it is not."""
    assert problem(wrapped("env", "cat", "x")) is None
    assert problem(wrapped("sh", "-c", "ls; cat /etc/passwd")) is not None
    assert "cannot be held" in str(problem(wrapped("sudo", "ls")))
    shelled = replace(plan_of(command("/bin/sh", "-c", "x")), unreadable=Unreadable("R4", "x"))
    held = provisions(capabilities=GRANTED)
    found = evaluate(shelled, FULL, listed(), provisions=held)
    assert found.reason is Reason.CAPABILITY
    assert "a line that only a shell can read" in found.why


@pytest.mark.parametrize(
    "argv",
    [
        ("env",),
        ("echo", "; rm -rf /"),
        ("echo", "/etc/passwd", "~root", "../.."),
        ("printf", "%s", "/etc/x"),
        ("expr", "8", "/", "2"),
        ("basename", "/etc/passwd"),
    ],
)
def test_a_word_that_is_no_file_is_none(argv: tuple[str, ...]) -> None:
    """S3 §1: the semicolon is not interpreted, and neither is the slash; bare env prints."""
    assert problem(command(*argv)) is None
    assert "working directory" in str(problem(command(*argv), folder="/home"))


@pytest.mark.parametrize(
    "argv",
    [
        ("env", "-i"),
        ("env", "-0"),
        ("/srv/app/echo", "/etc/passwd"),
        ("/usr/bin/echo2", "/etc/passwd"),
        ("ls", "/etc"),
        ("printenv2", "/etc/passwd"),
    ],
)
def test_a_word_of_any_other_program_may_be_a_file(argv: tuple[str, ...]) -> None:
    """Only programs of the table in system directories are believed, and env only when bare."""
    assert problem(command(*argv)) is not None


def test_arguments_that_nobody_has_seen_are_refused() -> None:
    """What xargs adds may name anything, unless the command never names a file."""
    assert "from standard input" in str(problem(wrapped("xargs", "cat")))
    assert "from standard input" in str(problem(wrapped("xargs", "-n1", "env")))
    assert "from standard input" in str(problem(wrapped("xargs", "timeout", "5", "cat")))
    assert problem(wrapped("xargs", "echo")) is None


def test_a_link_named_echo_is_not_echo() -> None:
    """Both paths of a program count."""
    assert problem(command("echo", "/etc/passwd", realpath="/usr/bin/cat")) is not None


def test_a_bound_link_counts_by_where_it_leads() -> None:
    """What the planner looked up is also judged by its real path."""
    script = pinned("/srv/app/x.awk", "/etc/x.awk")
    reader = replace(command("cat", "x.awk"), operands=(script,))
    assert "/etc/x.awk" in str(problem(reader))


@pytest.mark.parametrize(
    ("real", "refused"),
    [
        ("/etc/x", "/srv/app/l leads to /etc/x, outside the folders granted for reading"),
        ("/srv/application", "outside the folders"),
        (UNKNOWN_LEAD, "more places than are checked"),
        ("/srv/app/out/x", None),
        ("/usr/bin/x", None),
    ],
)
def test_a_link_counts_by_where_it_leads(real: str, refused: str | None) -> None:
    """Within the granted folders links are free, however they are named (S3 "Symlink")."""
    for word in ("l", "--file=l", "-fl"):
        found = problem(replace(command("cat", word), links=(("/srv/app/l", real),)))
        assert found is None if refused is None else refused in str(found)


def test_a_link_for_a_writer_leads_to_a_folder_for_writing() -> None:
    """What is read-only is not written to through a link."""
    links = (("/srv/app/out/l", "/srv/app/x"),)
    written = replace(command("touch", "l"), links=links)
    assert "granted for writing" in str(problem(written, folder="/srv/app/out"))


@pytest.mark.parametrize(
    "words",
    [
        "-s ../../../../root /srv/app/out/rootl",
        "-s ../../../x ../..",
        "-sft/srv/app/out ../../x",
        "--target-directory=/srv/app/out ../../x -s",
        "-t /srv/app/out -s ../../x",
        "-s ../../../x ../../ -S .bak",
        "-s" + " a" * 99,
    ],
)
def test_a_links_target_is_seen_from_where_the_link_will_lie(words: str) -> None:
    """A target is relative to its link's folder; from the working directory it may look fine."""
    deep = "/srv/app/out/1/2/3/4"
    assert problem(command("ln", *words.split()), folder=deep) is not None
    assert problem(command("touch", *words.split()), folder=deep) is None


@pytest.mark.parametrize(
    "words", ["-s ../../a b", "-s /srv/app/out/x ../l", "-s ../x", "-s a b c .", "-st .. a ../b"]
)
def test_links_within_the_granted_folders_are_made(words: str) -> None:
    """What leads out from nowhere is made as usual."""
    assert problem(command("ln", *words.split()), folder="/srv/app/out/1/2/3/4") is None


def test_a_link_lies_where_its_folder_leads() -> None:
    """The folder of the new link may be a link itself."""
    links = (("/srv/app/out/1/2/l/new", "/srv/app/out/new"),)
    made = replace(command("ln", "-s", "../x", "l/new"), links=links)
    assert "/srv/app/x is outside" in str(problem(made, folder="/srv/app/out/1/2"))
    assert problem(replace(made, links=()), folder="/srv/app/out/1/2") is None


def test_a_root_may_lie_behind_a_link() -> None:
    """A granted folder counts by its real path too, but not where the agent may have made it."""
    files = {"read": ["/run/tool", "/usr/bin"], "write": ["/var/run", "/var/run/in"]}
    real = {"/var/run": "/run", "/var/run/in": "/etc", "/run/tool": "/opt/tool"}
    held = compiled(
        settings(capabilities={"tools": ["Exec"], "files": files}),
        HOME,
        real=lambda path: real.get(path, path),
    )
    granted = held.of(CODER).capabilities
    assert granted is not None
    assert granted.write == ("/var/run", "/var/run/in", "/run")
    assert set(granted.read) == {"/run/tool", "/usr/bin", "/opt/tool"}


def test_grants_widen_nothing() -> None:
    """What is granted still asks when it is not listed."""
    held = provisions(capabilities=GRANTED)
    found = evaluate(plan_of(command("cal")), LISTED, listed(), provisions=held)
    assert (found.decision, found.reason) == (Decision.ASK, Reason.NOT_LISTED)


@given(st.lists(st.sampled_from(["/", "..", ".", "a", "-", "=", "srv", "app", "/srv/app/", "etc"])))
def test_no_spelling_of_a_path_leaves_the_folders(parts: list[str]) -> None:
    """What a plain reader would open outside every granted folder is refused."""
    word = "".join(parts)
    opened = f"/{normpath(join('/srv/app', word)).lstrip('/')}"
    outside = not any(below(root, opened) for root in ("/srv/app", "/usr/bin"))
    assert problem(command("cat", word)) is not None or not outside or word[:1] == "-"


@pytest.mark.parametrize(
    "words", [("{}",), ("env", "{}"), ("nice", "{}"), ("env", "A=b", "{}"), ("timeout", "5", "{}")]
)
def test_a_program_that_comes_from_standard_input_is_refused(words: tuple[str, ...]) -> None:
    """`xargs -I{} env {}` starts what it reads: no folder can be checked against that."""
    planned = innermost_unresolved(wrapped("xargs", "-I{}", *words))
    assert "not known before it starts" in str(problem(planned))


def innermost_unresolved(planned: PlannedCommand) -> PlannedCommand:
    """Return a command whose last wrapper starts a program that the planner did not find."""
    if not planned.inner:
        return replace(planned, executable=None)
    return replace(planned, inner=tuple(innermost_unresolved(one) for one in planned.inner))


@rows(
    "argv",
    [
        ("find", ".", "-exec", "cat", "{}", ";"),
        ("find", ".", "-exec", "cat", "{}", "+"),
        ("find", "-L", ".", "-name", "*.md", "-exec", "grep", "-l", "x", "{}", ";"),
        ("find", ".", "-exec", "echo", "{}", ";", "-exec", "head", "-n1", "{}", ";"),
        ("env", "find", ".", "-exec", "md5sum", "{}", "+"),
        ("grep", "-R", "x", "."),
        ("grep", "-nR", "x", "."),
        ("grep", "--dereference-rec", "x"),
        ("diff", "-r", "a", "b"),
        ("sort", "--files0-from=list"),
        ("wc", "--files0-from", "-"),
        ("rg", "-L", "x"),
    ],
)
def test_files_that_are_not_named_are_not_read(argv: tuple[str, ...]) -> None:
    """A link below a granted folder may lead anywhere, and no one has checked where."""
    assert "cannot be held" in str(problem(wrapped(*argv)))


@pytest.mark.parametrize(
    "argv",
    [
        ("find", ".", "-exec", "ls", "-l", "{}", ";"),
        ("find", ".", "-exec", "echo", "{}", "+"),
        ("find", ".", "-name", "*.md"),
        ("grep", "-r", "x", "."),
        ("diff", "a", "b"),
        ("sort", "a"),
    ],
)
def test_what_shows_names_or_follows_no_link_may(argv: tuple[str, ...]) -> None:
    """The control: names are not contents, and grep -r skips links."""
    assert problem(wrapped(*argv)) is None
