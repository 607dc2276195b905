import pytest

from core.model.decision import Decision
from core.policy.judge.environment import judge_name
from tests.support.tables import rows


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "C.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("NO_COLOR", "1"),
        ("COLUMNS", "120"),
        ("CI", ""),
    ],
)
def test_harmless_names_pass(name: str, value: str) -> None:
    """A small list of names needs no one's approval."""
    assert judge_name(name, value) is Decision.ALLOW


@pytest.mark.parametrize("name", ["FOO", "DEBUG", "MY_TOKEN", "lang"])
def test_unknown_names_ask(name: str) -> None:
    """A name in no list is shown to a person."""
    assert judge_name(name, "x") is Decision.ASK


@pytest.mark.parametrize(
    ("name", "value"),
    [("LANG", "../../tmp/x"), ("TZ", "/tmp/zone"), ("TZ", "a/../b"), ("TERM", "a/b")],
)
def test_a_harmless_name_with_a_path_asks(name: str, value: str) -> None:
    """A locale or zone named by path is a file that others may have written (CVE-2014-0475)."""
    assert judge_name(name, value) is Decision.ASK


@rows(
    "name",
    """LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PATH path Path BASH_ENV ENV IFS SHELL HOME
    GIT_SSH_COMMAND GIT_PAGER PYTHONPATH PYTHONHOME NODE_OPTIONS RUBYOPT PERL5LIB
    CLASSPATH LESSOPEN PAGER EDITOR VISUAL SSH_ASKPASS RUSTUP_TOOLCHAIN MAKEFLAGS
    XDG_CONFIG_HOME ZDOTDIR HTTPS_PROXY http_proxy GREP_OPTIONS TAR_OPTIONS SAYSO_RUN
    BASH_FUNC_x%% JAVA_TOOL_OPTIONS CARGO_HOME npm_config_registry DOCKER_HOST
    PROMPT_COMMAND""".split(),  # noqa: SIM905 - a word list is easier to read than a column
)
def test_dangerous_names_are_denied(name: str) -> None:
    """Names that choose code, paths or helpers may never be set by a request, in any case."""
    assert judge_name(name, "x") is Decision.DENY


@rows("name", ["", " LD_PRELOAD", "LD_PRELOAD\u200b", "BAD-KEY", "1X", "A=B", "É", "A\n"])
def test_names_that_are_no_names_are_denied(name: str) -> None:
    """No trimming, no normalising: odd spellings are refused as they are (CVE-2026-34426)."""
    assert judge_name(name, "x") is Decision.DENY


@pytest.mark.parametrize("value", ["a\nLD_PRELOAD=/x", "\0", "\x1b[2J", "\ud800", "\u2028"])
def test_values_with_controls_are_denied(value: str) -> None:
    """A value that could end its line, or move a cursor, is refused under any name."""
    assert judge_name("LANG", value) is Decision.DENY
