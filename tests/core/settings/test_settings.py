from dataclasses import fields

import pytest
from pydantic import SecretStr, ValidationError

from core.model.identity import AgentId, Target
from core.model.policy import AskFallback, ExecAsk, ExecHost, ExecPolicy, ExecSecurity, PolicyLayer
from core.settings import CoreSettings
from core.settings.approvals import ApprovalsExecSection, ForwardMode, TargetEntry
from core.settings.base import Section
from core.settings.execution import AgentExecSection, ExecSection
from core.settings.gateway import StoreSection
from tests.support.tables import rows


def refused(section: type[Section], **keys: object) -> str:
    """Return the kind of error that these keys meet."""
    with pytest.raises(ValidationError) as caught:
        section.model_validate(keys)
    return caught.value.errors()[0]["type"]


def test_defaults_are_the_safe_ones_of_the_seeds() -> None:
    """Nothing runs and people are asked unless the configuration says otherwise."""
    section = ExecSection()

    assert section.host is ExecHost.SANDBOX
    assert section.security is ExecSecurity.DENY
    assert section.ask is ExecAsk.ON_MISS
    assert section.ask_fallback is AskFallback.DENY


def test_defaults_agree_with_the_policy_of_the_model() -> None:
    """A setting that no layer sets has the same value in the settings and in the model."""
    section, policy = ExecSection(), ExecPolicy()
    settings = {field.name for field in fields(ExecPolicy)} - {"sources", "skip_approvals"}

    assert {name: getattr(policy, name) for name in settings} == {
        name: getattr(section, name) for name in settings
    }


def test_words_of_a_file_become_enums_and_tuples() -> None:
    """Strings and lists, all that JSON5 has, are read into the model's types."""
    section = ExecSection.model_validate({"askFallback": "allowlist", "safeBins": ["jq"]})

    assert section.ask_fallback is AskFallback.ALLOWLIST
    assert section.safe_bins == ("jq",)


@rows(
    "keys, kind",
    [
        ({"aks": "off"}, "extra_forbidden"),
        ({"ask": "On-Miss"}, "enum"),
        ({"ask": 1}, "enum"),
        ({"timeout": "30"}, "float_type"),
        ({"timeout": True}, "float_type"),
        ({"timeout": 0}, "greater_than"),
        ({"timeout": -1}, "greater_than"),
        ({"timeout": float("nan")}, "finite_number"),
        ({"timeout": float("inf")}, "finite_number"),
        ({"timeout": 30 * 24 * 3600 + 1}, "less_than_equal"),
        ({"safeBins": "jq"}, "tuple_type"),
        ({"safeBins": [1]}, "string_type"),
        ({"safeBins": [""]}, "value_error"),
        ({"safeBins": ["j\u202eq"]}, "value_error"),
        ({"safeBins": ["j\nq"]}, "value_error"),
        ({"searchPath": []}, "too_short"),
        ({"searchPath": ["bin"]}, "value_error"),
        ({"searchPath": ["/bin:/tmp"]}, "value_error"),
        ({"node": ""}, "value_error"),
    ],
)
def test_a_wrong_value_is_refused(keys: dict[str, object], kind: str) -> None:
    """Nothing is converted silently and no unknown key passes."""
    assert refused(ExecSection, **keys) == kind


def test_a_layer_holds_only_what_was_set() -> None:
    """A default is not a layer, so the source that a person sees stays true."""
    section = ExecSection(ask=ExecAsk.ALWAYS, timeout=1.5)

    assert section.layer("tools.exec") == PolicyLayer(
        source="tools.exec", ask=ExecAsk.ALWAYS, timeout_ms=1500
    )
    assert ExecSection().layer("tools.exec") == PolicyLayer(source="tools.exec")


def test_a_default_that_was_written_is_a_layer() -> None:
    """Writing the default value into the file sets it."""
    section = ExecSection.model_validate({"security": "deny"})

    assert section.layer("tools.exec").security is ExecSecurity.DENY


def test_every_knob_of_the_model_can_be_set_for_one_agent() -> None:
    """The agent's section and the policy layer have the same settings; rules are not a setting.

    Only a person in a chat skips approvals, never a file.
    """
    settings = {field.name.removesuffix("_ms") for field in fields(PolicyLayer)} - {"source"}

    assert settings - {"skip_approvals"} == set(AgentExecSection.model_fields) - {"rules"}


def test_an_agents_layer_precedes_the_global_one() -> None:
    """Precedence is agent, then global; an agent that is not listed has the global layer only."""
    settings = CoreSettings.model_validate(
        {
            "tools": {"exec": {"ask": "always"}},
            "agents": {"list": [{"id": "coder", "tools": {"exec": {"security": "full"}}}]},
        }
    )

    own, everyone = settings.exec_layers(AgentId("coder"))
    assert own == PolicyLayer("agents.list[coder].tools.exec", security=ExecSecurity.FULL)
    assert everyone == PolicyLayer("tools.exec", ask=ExecAsk.ALWAYS)
    assert settings.exec_layers(AgentId("main")) == (everyone,)


@pytest.mark.parametrize("agent", ["", "a b", "-x", "x" * 65, "ä"])
def test_an_agent_needs_a_plain_name(agent: str) -> None:
    """Agent names appear in file keys and messages, so their characters are few."""
    with pytest.raises(ValidationError):
        CoreSettings.model_validate({"agents": {"list": [{"id": agent}]}})


def test_an_agent_is_listed_once() -> None:
    """Two entries for one agent would make one of them silently ineffective."""
    with pytest.raises(ValidationError, match="listed twice"):
        CoreSettings.model_validate({"agents": {"list": [{"id": "a"}, {"id": "a"}]}})


def test_a_target_becomes_a_place() -> None:
    """Missing account and thread are empty in the model."""
    entry = TargetEntry(channel="telegram", to="-100", thread="7")

    assert entry.target() == Target(channel="telegram", to="-100", account="", thread="7")


def test_asking_defaults_to_the_chat_that_asked() -> None:
    """S1's default mode is session, with ten minutes to answer."""
    section = ApprovalsExecSection()

    assert section.mode is ForwardMode.SESSION
    assert section.timeout_ms == 600_000
    assert section.remind


def test_a_duration_is_never_zero_milliseconds() -> None:
    """Rounding must not turn a short time limit into none."""
    assert ApprovalsExecSection(timeout=0.0001).timeout_ms == 1


def test_a_store_url_does_not_show() -> None:
    """The URL may hold a password, so no representation prints it."""
    section = StoreSection(url=SecretStr("postgresql://sayso:hunter2@localhost/sayso"))

    assert "hunter2" not in f"{section!r} {section} {section.model_dump_json()}"


def test_a_rejected_value_is_not_quoted() -> None:
    """An error about a misplaced secret must not print it."""
    with pytest.raises(ValidationError) as caught:
        ExecSection.model_validate({"timeout": "hunter2"})

    assert "hunter2" not in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    """Settings are read once; nothing may change a setting afterwards."""
    section = ExecSection()

    with pytest.raises(ValidationError):
        section.security = ExecSecurity.FULL


def test_an_id_without_quotes_is_the_same_id() -> None:
    """People write numeric ids bare; other values are still refused."""
    entry = TargetEntry.model_validate({"channel": "telegram", "to": -1001234})

    assert Target("telegram", "-1001234") == entry.target()
    for wrong in (1.5, True, None, ["1"]):
        with pytest.raises(ValidationError):
            TargetEntry.model_validate({"channel": "telegram", "to": wrong})
