"""Read sed scripts and awk programs, and hold the reading against the real programs."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.policy.awk_program import awk_problem
from core.policy.sed_script import sed_problem

SED = r"""
1,5p
s/a/b/g
/foo/,/bar/p
$p
10q
/x/d;s|a|b|
s/[^0-9]//g
:a;N;$!ba;s/\n/ /g
1!G;h;$!d
/a/{p;q}
/a/{p;q;}
s/^[[:space:]]*//
2~3p
1,+3p
y/abc/def/
$=
s/.*\(x\).*/\1/p
s#a#b#2p
""".strip().splitlines()

SED_REFUSED = r"""
e
1e touch canary
1w canary
s/a/b/w canary
s/a/b/e
s/a/b/gpe
s/a/b/M e
s|a|b|we
r secret
R secret
w canary
W canary
a x
i x
c x
F
v
/x/e
/x/ e touch canary
1,5{p;e touch canary}
$!{w canary}
1~2e touch canary
/a/I,/b/Ie touch canary
s/[/]/x/e
s/[/]e;p/x/
p;w canary
p}e
b;e touch canary
bx;e touch canary
:a e
q5e
s/a/b/;e
1!e
l w
p w canary
y/a/b/w
\,x,e
""".strip().splitlines()

AWK = r"""
{print $1}
{print $NF}
NR==1
NR>1{print $2}
$3 > 100 {print $1}
/foo/{print}
/foo|bar/
BEGIN{FS=":"}{print $1,$2}
{s+=$1} END {print s/NR}
{printf "%s\n", $1}
{if($3>5)print $1; else print $2}
{for(i=1;i<=NF;i++) print $i}
length($0) > 80
{gsub(/a/,"b"); print}
!seen[$0]++
{a[$1]++} END{for(k in a) print k, a[k]}
/a/,/b/
{print length}
{print substr($0, 1, 5)}
NR % 2 == 0 || /x/
$1 ~ /a|b/ {print}
/^[[:space:]]*#/{next} {print}
""".strip().splitlines()

AWK_REFUSED = r"""
BEGIN{system("touch canary")}
BEGIN{system ("touch canary")}
{print > "canary"}
{print $1 >> "canary"}
{printf("x") > "canary"}
{if(1) print > "canary"}
{print /x/ > "canary"}
{print | "touch canary"}
{print |& "x"}
{"touch canary" | getline}
{getline x < "secret"}
{getline}
@load "x"
@include "x"
{@f()}
function f(){}
func f(){}
{f(1)}
{f (1)}
{close("x")}
{x = 1 / system("touch canary") / 2}
{x = a /b; system("touch canary") /c}
{if (1) /"/; system("touch canary") #"/}
{print ENVIRON["X"]}
{ARGV[1]="secret"}
BEGIN{PROCINFO["x"]=1}
{print 1 > FILENAME}
{x = k in /"/; system("touch canary") #"/}
""".strip().splitlines()

SPOILERS = st.sampled_from(SED_REFUSED + SED)
PIECES = st.sampled_from(
    [*"epPwWrRdDgGhHnNlq;{}!$,/|#\n 1~:bty=sMI\\[]", "s/a/b/", "canary", "touch canary", "/a/"]
)
TOKENS = st.sampled_from(
    [
        *[
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            ";",
            ",",
            "/",
            "|",
            "||",
            ">",
            ">>",
            "<",
            "~",
            "!",
            "=",
            "==",
            "+",
            "-",
            "$",
            "1",
            "x",
            "print",
            "printf",
            "getline",
            "system(",
            '"canary"',
            '"touch',
            'canary"',
            '"sh"',
            "BEGIN",
            "END",
            "if(",
            "else",
            "for",
            "in",
            "/a/",
            '"',
            "'",
            "#",
            "length",
            "NR",
            "close(",
            "|&",
            "&&",
            "\\",
        ],
        *("\n", " ", 'system("touch canary")', 'print > "canary"', '| "sh"'),
    ]
)
AWKS = [path for name in ("mawk", "gawk", "original-awk") if (path := shutil.which(name))]


@pytest.mark.parametrize("script", SED)
def test_printing_scripts_pass(script: str) -> None:
    """Everyday sed scripts are known."""
    assert sed_problem(script) is None


@pytest.mark.parametrize(
    "script", [*SED_REFUSED, "p\nw canary", "s\na\nb\ne", "p\\\nw canary", "p" * 3000]
)
def test_scripts_that_write_or_run_are_unknown(script: str) -> None:
    """Whatever writes, runs, reads another file or is not understood asks."""
    assert sed_problem(script) is not None


@pytest.mark.parametrize("program", AWK)
def test_printing_programs_pass(program: str) -> None:
    """Everyday awk programs are known."""
    assert awk_problem(program) is None


@pytest.mark.parametrize(
    "program",
    [
        *AWK_REFUSED,
        '{print "a\\\nb"}',
        '{print\\\n> "canary"}',
        '{print 1,\n2 > "canary"}',
        '# x \\\nBEGIN{system("touch canary")}',
        "1" * 5000,
    ],
)
def test_programs_that_write_or_run_are_unknown(program: str) -> None:
    """Redirection, pipes, calls and ambiguous slashes ask."""
    assert awk_problem(program) is not None


@pytest.mark.timeout(180)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES | SPOILERS, min_size=1, max_size=6).map("".join))
def test_known_scripts_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    """The real sed, given a script that is called harmless, leaves no trace."""
    if sed_problem(script) is None:
        folder = tmp_path_factory.mktemp("sed")
        assert trace(folder, ["/usr/bin/sed", "-n", script, "input"]) is None


@pytest.mark.timeout(180)
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TOKENS, min_size=1, max_size=9), st.sampled_from(["", " "]))
def test_known_programs_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[str], joint: str
) -> None:
    """Each installed awk, given a program that is called harmless, leaves no trace."""
    program = joint.join(tokens)
    if awk_problem(program) is None:
        for awk in AWKS:
            assert trace(tmp_path_factory.mktemp("awk"), [awk, program, "input"]) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/sed", "w canary", "input"],
        ["/usr/bin/sed", "1e touch canary", "input"],
        ["/usr/bin/awk", 'BEGIN{system("touch canary")}'],
    ],
)
def test_unknown_ones_do_leave_traces(tmp_path: Path, argv: list[str]) -> None:
    """Negative control: the checker sees what the refused ones do."""
    assert trace(tmp_path, argv) is not None


def trace(folder: Path, argv: list[str]) -> str | None:
    """Run a program beside two files and say what it changed; endless loops are cut off."""
    (folder / "input").write_text("a x 1\nb y 2\n", encoding="utf-8")
    # `:a;ba` loops for ever, which a run's time limit ends.
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=0.5,
            check=False,
            env={"PATH": "/usr/bin:/bin"},
        )
    found = sorted(one.name for one in folder.iterdir())
    return None if found == ["input"] else f"{argv}: {found}"
