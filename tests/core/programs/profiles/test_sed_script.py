"""Read sed scripts, and hold the reading against the real sed."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.programs.profiles.sed_script import sed_problem
from tests.support.tables import rows

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

SPOILERS = st.sampled_from(SED_REFUSED + SED)
PIECES = st.sampled_from(
    [*"epPwWrRdDgGhHnNlq;{}!$,/|#\n 1~:bty=sMI\\[]", "s/a/b/", "canary", "touch canary", "/a/"]
)


@rows("script", SED)
def test_printing_scripts_pass(script: str) -> None:
    """Everyday sed scripts are known."""
    assert sed_problem(script) is None


@rows("script", [*SED_REFUSED, "p\nw canary", "s\na\nb\ne", "p\\\nw canary", "p" * 3000])
def test_scripts_that_write_or_run_are_unknown(script: str) -> None:
    """Whatever writes, runs, reads another file or is not understood asks."""
    assert sed_problem(script) is not None


@pytest.mark.timeout(180)
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES | SPOILERS, min_size=1, max_size=6).map("".join))
def test_known_scripts_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    """The real sed, given a script that is called harmless, leaves no trace."""
    if sed_problem(script) is None:
        folder = tmp_path_factory.mktemp("sed")
        assert trace(folder, ["/usr/bin/sed", "-n", script, "input"]) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/sed", "w canary", "input"],
        ["/usr/bin/sed", "1e touch canary", "input"],
    ],
)
def test_unknown_ones_do_leave_traces(tmp_path: Path, argv: list[str]) -> None:
    """Negative control: the checker sees what the refused ones do."""
    assert trace(tmp_path, argv, 30) is not None


def trace(folder: Path, argv: list[str], seconds: float = 0.5) -> str | None:
    """Run a program next to two files and return what it changed; endless loops are cut off."""
    (folder / "input").write_text("a x 1\nb y 2\n", encoding="utf-8")
    # `:a;ba` loops forever, which a run's time limit ends.
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env={"PATH": "/usr/bin:/bin"},
        )
    found = sorted(one.name for one in folder.iterdir())
    return None if found == ["input"] else f"{argv}: {found}"
