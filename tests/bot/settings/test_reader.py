import re
import threading
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.settings import InvalidConfig, Settings, load, read
from core.errors import ConfigError, StateError
from core.model.policy import ExecAsk, ExecHost, ExecSecurity


def told(home: Path, text: str, **environ: str) -> list[str]:
    """Return the lines of the error that this configuration causes."""
    (home / "config.json5").write_text(text)
    with pytest.raises(InvalidConfig) as caught:
        read(home, environ)
    return str(caught.value).splitlines()


def loaded(home: Path, text: str, **environ: str) -> Settings:
    """Return the settings that this configuration gives."""
    (home / "config.json5").write_text(text)
    return load(home, environ=environ)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a private empty home."""
    tmp_path.chmod(0o700)
    return tmp_path


def test_without_a_file_the_defaults_rule(tmp_path: Path) -> None:
    """A fresh installation starts, and nothing may run."""
    settings = load(tmp_path / "new", environ={})

    assert settings.tools.exec.security is ExecSecurity.DENY
    assert settings.home == tmp_path / "new"
    assert settings.channels.telegram is None
    assert settings.store_url == f"sqlite:///{tmp_path / 'new' / 'state.db'}"
    assert settings.audit_path == tmp_path / "new" / "audit.jsonl"


def test_what_was_read_cannot_be_changed(home: Path) -> None:
    """Many parts share one reading; a reload makes another and leaves those of the first alone."""
    reading = read(home, {})

    with pytest.raises(FrozenInstanceError):
        reading.settings = load(home, environ={})  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        reading.settings.tools.exec.timeout = 1


def test_reading_alone_creates_nothing(tmp_path: Path) -> None:
    """`config check` may run before the home exists."""
    read(tmp_path / "none", {})

    assert not (tmp_path / "none").exists()


def test_the_environment_overrides_the_file_key_by_key(home: Path) -> None:
    """One variable replaces one key and leaves its neighbours."""
    settings = loaded(
        home,
        '{tools: {exec: {host: "gateway", ask: "off", safeBins: ["jq", "wc"], timeout: 60}}}',
        SAYSO_TOOLS__EXEC__ASK="always",
        SAYSO_TOOLS__EXEC__SAFEBINS='["head"]',
        SAYSO_TOOLS__EXEC__NOTICEAFTER="2.5",
        SAYSO_APPROVALS__EXEC__REMIND="false",
    )

    section = settings.tools.exec
    assert (section.host, section.ask) == (ExecHost.GATEWAY, ExecAsk.ALWAYS)
    assert (section.safe_bins, section.timeout) == (("head",), 60)
    assert section.notice_after_ms == 2500
    assert settings.approvals.exec.remind is False


def test_a_variable_can_hold_a_section_or_null(home: Path) -> None:
    """Sections are merged as in a file, and null is nothing."""
    settings = loaded(
        home,
        '{tools: {exec: {host: "gateway", node: "n"}}}',
        SAYSO_TOOLS__EXEC="{ask: 'always'}",
        SAYSO_TOOLS__EXEC__NODE="null",
        SAYSO_AGENTS__LIST="[{id: 'a', tools: {exec: {ask: 'off'}}}]",
    )

    assert settings.tools.exec.host is ExecHost.GATEWAY
    assert settings.tools.exec.ask is ExecAsk.ALWAYS
    assert settings.tools.exec.node is None
    assert settings.agents.entries[0].tools.exec.ask is ExecAsk.OFF


def test_other_variables_are_left_alone(home: Path) -> None:
    """Only SAYSO_ with a double underscore names a setting."""
    settings = loaded(home, "{}", SAYSO_HOME="/x", SAYSO_DEBUG="1", TOOLS__EXEC__ASK="off")

    assert settings.tools.exec.ask is ExecAsk.ON_MISS


def test_a_secret_is_fetched_from_file_and_variable(home: Path) -> None:
    """The file names where the secret is; the value never shows."""
    (home / "url").write_text("postgresql://u:hunter2@localhost/x\n")
    settings = loaded(home, '{store: {url: {file: "url"}}}')

    assert settings.store_url == "postgresql://u:hunter2@localhost/x"
    assert "hunter2" not in repr(settings)
    override = loaded(home, "{}", SAYSO_STORE__URL='{env: "DB"}', DB="sqlite:////x")
    assert override.store_url == "sqlite:////x"


def test_a_word_from_another_section_is_not_offered(home: Path) -> None:
    """`enabled` exists below `tools`; a chat platform without such a key gets its own keys."""
    lines = told(home, '{channels: {telegram: {token: "1:a", enabled: true}}}')
    assert len(lines) == 1
    assert "channels.telegram.enabled: unknown key; known keys: " in lines[0]


def test_every_mistake_has_one_line_of_its_own(home: Path) -> None:
    """File, line, key and what to do: unknown, ill-typed, missing and duplicate keys at once."""
    lines = told(
        home,
        """{
  tools: {exec: {aks: "off", ask: "alway", timeout: "9",
    safeBins: ["jq", 3]}},
  ask: "off",
  approvals: {exec: {wibble: 1, remind: "yes",
    targets: [{channel: "telegram"}]}},
  agents: {list: [{id: "a b"}]},
  store: {url: {env: "NOPE"}, retentionDays: 1.5},
  store: 3,
}""",
    )

    assert lines == [
        "config.json5:2: tools.exec.aks: unknown key; did you mean `ask`?",
        (
            "config.json5:2: tools.exec.ask: must be one of off, on-miss, always;"
            " did you mean `always`?"
        ),
        "config.json5:2: tools.exec.timeout: must be a number, not text",
        "config.json5:3: tools.exec.safeBins[1]: must be text in quotes, not a number",
        "config.json5:4: ask: unknown key; did you mean `tools.exec.ask`?",
        (
            "config.json5:5: approvals.exec.wibble: unknown key; known keys: enabled, mode,"
            " agentFilter, sessionFilter, targets, approvers, quorum, timeout, remind, ask,"
            " allowAlwaysIdle, tiers, pending, quietHours, suggest, zone, threads"
        ),
        "config.json5:5: approvals.exec.remind: must be true or false, not text",
        "config.json5:6: approvals.exec.targets[0].to: is required; add it",
        (
            "config.json5:7: agents.list[0].id: must be 1 to 64 letters, digits, dots, dashes or"
            " underscores"
        ),
        "config.json5:9: store: duplicate key; first defined in line 8",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"tools.exec.ask": "off"}', "unknown key; write `tools: { exec: { ask: … } }`"),
        ('{tools: {"exec.ask": "off"}}', "unknown key; write `exec: { ask: … }`"),
        ('{"http.enabled": true}', "unknown key; write `http: { enabled: … }`"),
        ('{"approvals.exec.targets": []}', "write `approvals: { exec: { targets: … } }`"),
        ('{"tools.exec.wibble": 1}', "unknown key; known keys: "),
        ('{"toolsexec.": 1}', "unknown key; did you mean `tools`?"),
        ('{"tools.": 1}', "unknown key; did you mean `tools`?"),
    ],
)
def test_a_key_as_pages_name_it_is_shown_as_the_file_has_it(
    home: Path, text: str, said: str
) -> None:
    """Pages and messages write tools.exec.ask; in the file these are three keys."""
    (line,) = told(home, text)
    assert said in line


def test_a_missing_secret_is_told_once(home: Path) -> None:
    """The key, the line and the variable to set; no second complaint about its type."""
    assert told(home, '{store: {\nurl: {env: "NOPE"}}}') == [
        (
            "config.json5:2: store.url: environment variable NOPE is not set;"
            " set it before starting Sayso"
        )
    ]


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("SAYSO_TOLS__EXEC", "1", "tols: unknown key; did you mean `tools`?"),
        ("SAYSO_TOOLS__EXEC__AKS", "off", "tools.exec.aks: unknown key; did you mean `ask`?"),
        (
            "SAYSO_TOOLS__EXEC__ASK",
            "",
            "tools.exec.ask: must be one of off, on-miss, always",
        ),
        (
            "SAYSO_TOOLS__EXEC__TIMEOUT",
            "soon",
            (
                "tools.exec.timeout: must be written as JSON5: a number, true, false, null,"
                ' ["a", "b"] or {…}'
            ),
        ),
        (
            "SAYSO_TOOLS__EXEC__SAFEBINS",
            '["jq", 1]',
            "tools.exec.safeBins[1]: must be text in quotes, not a number",
        ),
        (
            "SAYSO_TOOLS__EXEC",
            "{ask: 'off', ask: 'off'}",
            'tools.exec: must be written as JSON5: a number, true, false, null, ["a", "b"] or {…}',
        ),
        (
            "SAYSO_TOOLS__EXEC",
            "{aks: 'off'}",
            "tools.exec.aks: unknown key; did you mean `ask`?",
        ),
        (
            "SAYSO_TOOLS__EXEC__ASK__NOW",
            "1",
            "tools.exec.ask.now: unknown key; this one has no keys",
        ),
    ],
)
def test_a_wrong_variable_is_told_by_its_name(home: Path, name: str, value: str, line: str) -> None:
    """The place to fix is the variable, even if the file has the same key."""
    text = '{tools: {exec: {safeBins: ["jq", "wc"], ask: "off"}}}'
    (told_line,) = told(home, text, **{name: value})

    assert told_line.startswith(f"{name}: {line}")


@pytest.mark.parametrize("text", ["3", "[]", '"tools"', "null"])
def test_a_file_without_a_section_is_told(home: Path, text: str) -> None:
    """A configuration is one object."""
    assert told(home, text) == ["config.json5: must be one object: { … }"]


def test_a_section_that_is_a_word_is_told(home: Path) -> None:
    """A section needs braces."""
    assert told(home, '{tools: "exec"}') == [
        "config.json5:1: tools: must be a section: { … }, not text"
    ]


def test_bytes_that_are_no_text_are_told(home: Path) -> None:
    """The place of the first bad byte helps to find it."""
    (home / "config.json5").write_bytes(b"{a: '\xff'}")

    with pytest.raises(ConfigError, match="is not UTF-8 text at byte 5"):
        read(home, {})


def test_a_wrong_secret_is_not_printed(home: Path) -> None:
    """A token at the wrong key or of the wrong kind must not reach the screen."""
    (line,) = told(home, '{approvals: {exec: {timeout: "123:hunter2"}}}')

    assert "hunter2" not in line


def test_a_key_cannot_move_the_cursor(home: Path) -> None:
    """Control and bidirectional characters of a key are shown as escapes."""
    (line,) = told(home, '{"\\u001b[2J\\u202e": 1}')

    assert "\x1b" not in line
    assert "\\x1b[2J\\u202e" in line


@pytest.mark.parametrize("name", ["home", "ask_fallback", "model_config"])
def test_only_the_files_own_spelling_is_a_key(home: Path, name: str) -> None:
    """Python's names for settings are unknown keys in a file."""
    (line,) = told(home, f"{{tools: {{exec: {{{name}: 1}}}}}}")
    (at_top,) = told(home, f"{{{name}: 1}}")

    assert "unknown key" in line
    assert "unknown key" in at_top


def test_a_home_that_others_write_is_refused(home: Path) -> None:
    """Reading does not trust a file that anyone could have put there."""
    home.chmod(0o777)

    with pytest.raises(StateError):
        load(home, environ={})


def test_two_threads_read_their_own_settings(tmp_path: Path) -> None:
    """Readings at the same time do not mix their sources."""
    results: dict[str, set[str]] = {"off": set(), "always": set()}

    def keep_reading(word: str) -> None:
        for _ in range(50):
            variables = {"SAYSO_TOOLS__EXEC__ASK": word}
            results[word].add(read(tmp_path, variables).settings.tools.exec.ask)

    threads = [threading.Thread(target=keep_reading, args=(word,)) for word in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {"off": {"off"}, "always": {"always"}}


def test_a_rule_whose_example_does_not_behave_is_a_mistake_of_the_file(home: Path) -> None:
    """`config check` and every start name the example by its line and key."""
    lines = told(
        home,
        """{tools: {exec: {rules: [
  {match: {argv: ["rm", "<PATH>"]}, decide: "allow",
   examples: {match: [["rm", "a"]],
     miss: [["rm", "b"]]}},
]}}}""",
    )
    (line,) = lines
    assert line == (
        "config.json5:4: tools.exec.rules[0].examples.miss[0]: the example ['rm', 'b'] is matched"
        " by its rule; correct one of the two"
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('{match: {}, decide: "deny"}', "needs exactly one of argv, glob, effect, reads and words"),
        ('{match: {argv: ["a"], glob: "/a"}, decide: "deny"}', "needs exactly one"),
        ('{match: {argv: []}, decide: "deny"}', "name the program"),
        ('{match: {argv: ["a"]}}', "is required"),
        ('{match: {argv: ["a"]}, decide: "no"}', "must be one of allow, ask, deny"),
        ('{match: {argv: ["a", "<X>"]}, decide: "ask"}', "unknown template"),
        ('{match: {effect: "reads"}, decide: "ask"}', "must be one of writes, network, runs"),
        ('{match: {argv: ["a"]}, decide: "ask", examples: {miss: [[]]}}', "empty vector"),
    ],
)
def test_an_ill_written_rule_is_told(home: Path, rule: str, words: str) -> None:
    """Each mistake in a rule has its line and says what to do."""
    (line,) = told(home, "{tools: {exec: {rules: [" + rule + "]}}}")
    assert line.startswith("config.json5:1: tools.exec.rules[0]")
    assert words in line


def test_a_rules_mistake_does_not_wait_behind_others(home: Path) -> None:
    """Wrong keys elsewhere, a malformed rule, and two rules that fail: all of it in one pass."""
    lines = told(
        home,
        """{tools: {exec: {ask: "alway", wibble: 1, rules: [
  {match: {argv: ["git push"]}, decide: "deny"},
  {match: {argv: ["a"]}, decide: "no"},
  {match: {argv: ["rm"]}, decide: "ask", examples: {match: [["ls"]]}},
  {match: {argv: ["rm"]}, decide: "ask", examples: {match: [["rm"]]}},
]}},
agents: {list: [{id: "coder", tools: {exec: {rules: [
  {match: {argv: ["a", "<X>"]}, decide: "ask"}]}}}]},
}""",
    )

    assert [
        ("config.json5:1", "tools.exec.ask"),
        ("config.json5:1", "tools.exec.wibble"),
        ("config.json5:2", "tools.exec.rules[0].match"),
        ("config.json5:3", "tools.exec.rules[1].decide"),
        ("config.json5:4", "tools.exec.rules[2].examples.match[0]"),
        ("config.json5:8", "agents.list[0].tools.exec.rules[0].match"),
    ] == sorted((line.split(": ")[0], line.split(": ")[1]) for line in lines)


def test_every_rule_that_fails_is_told_where_nothing_else_is_wrong(home: Path) -> None:
    """One line for each, and none for those that pass."""
    bad = '{match: {argv: ["git push"]}, decide: "deny"}'
    good = '{match: {argv: ["git", "push"]}, decide: "deny"}'
    lines = told(home, f"{{tools: {{exec: {{rules: [{bad},{good},{bad}]}}}}}}")

    assert ["tools.exec.rules[0].match", "tools.exec.rules[2].match"] == [
        line.split(": ")[1] for line in lines
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        'roots: [{name: "shop", path: "srv"}], rules: [RULE]',  # the root that it needs is wrong
        'rules: [{match: {argv: ["cat", "<PATH:shop>"], args: 1}, decide: "ask"}]',
        'rules: [RULE], rules: [RULE], roots: [{name: "shop", path: "/srv"}]',
    ],
)
def test_what_follows_from_another_mistake_is_not_told(home: Path, wrong: str) -> None:
    """A rule is judged by what its owner wrote, never by what is left of it."""
    rule = '{match: {argv: ["cat", "<PATH:shop>"]}, decide: "ask"}'
    lines = told(home, "{tools: {exec: {" + wrong.replace("RULE", rule) + "}}}")

    assert 1 == len(lines), lines


def test_rules_of_a_variable_replace_those_of_the_file(home: Path) -> None:
    """The list in effect is judged, besides what else is wrong; its place is given."""
    bad = '[{match: {argv: ["git push"]}, decide: "deny"}]'
    lines = told(
        home,
        "{tools: {exec: {ask: 'alway', rules: " + bad + "}}}",
        SAYSO_TOOLS__EXEC__RULES='[{match: {argv: ["ls"]}, decide: "ask"}]',
    )
    (above,) = told(home, "{}", SAYSO_TOOLS__EXEC__RULES=bad)

    assert 1 == len(lines), lines
    assert above.startswith("SAYSO_TOOLS__EXEC__RULES: tools.exec.rules[0].match: ")


def test_a_malformed_secret_names_what_it_was_read_from(tmp_path: Path) -> None:
    """The place is where the configuration refers to it; the mistake is elsewhere."""
    file = tmp_path / "config.json5"
    for reference, source in (
        ('{file: "t"}', f"{tmp_path}/t"),
        ('{env: "TG"}', "environment variable TG"),
    ):
        file.write_text(f"{{channels: {{telegram: {{\n  token: {reference}}}}}}}")
        file.chmod(0o600)
        (tmp_path / "t").write_text("no token")
        (tmp_path / "t").chmod(0o600)
        with pytest.raises(InvalidConfig) as failed:
            read(tmp_path, {"TG": "no token"})
        assert str(failed.value).endswith(f"it was read from {source}")
        assert str(failed.value).startswith("config.json5:2: channels.telegram.token: must look")


def test_a_store_of_another_kind_is_a_mistake_and_its_password_is_not_shown(home: Path) -> None:
    """`sayso config check` finds it, not only the start."""
    said = "config.json5:1: store.url: must begin with sqlite:/// or postgresql://"
    assert told(home, '{store: {url: "mysql://u:hunter2@db/x"}}') == [said]
    for url in ("sqlite:////x/y.db", "postgresql://u:p@db/x", "postgres://db/x"):
        assert loaded(home, f'{{store: {{url: "{url}"}}}}').store_url == url


def test_without_a_file_a_mistake_is_never_in_it(tmp_path: Path) -> None:
    """What is missing next to a variable is reported there."""
    variable = "SAYSO_CHANNELS__TELEGRAM__APIBASEURL"
    with pytest.raises(InvalidConfig) as failed:
        read(tmp_path, {variable: "http://127.0.0.1:1"})
    assert str(failed.value) == f"{variable}: channels.telegram.token: is required; add it"
    with pytest.raises(InvalidConfig) as failed:
        read(tmp_path, {"SAYSO_CHANNELS__TELEGRAM__TOKEN": "x"})
    assert str(failed.value).startswith("SAYSO_CHANNELS__TELEGRAM__TOKEN: channels.telegram.token")


def test_the_mark_of_a_gateway_is_its_stores_and_gives_no_secret_away(tmp_path: Path) -> None:
    """The same at each start and for gateways on one store; a password is not part of it."""

    def mark(home: str, **environ: str) -> str:
        return load(tmp_path / home, environ=environ).mark

    assert re.fullmatch(r"[0-9a-f]{8}", mark("one"))
    assert mark("one") == mark("one") != mark("two")
    first, other = ("postgresql://u:{}@db.example/x?password={}".format(*[one] * 2) for one in "pq")
    shared = mark("one", SAYSO_STORE__URL=first)
    assert shared == mark("two", SAYSO_STORE__URL=other) != mark("one")
    assert shared != mark("one", SAYSO_STORE__URL="postgresql://u:p@db.example/y")
