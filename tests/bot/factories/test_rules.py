"""Compile a configuration's rules, capabilities and skills for this machine."""

from pathlib import Path

from bot.factories.rules import provisions_of
from bot.settings import load
from tests.bot.policy_tools.past import home


def test_skills_are_looked_up_on_the_search_path_of_the_settings(tmp_path: Path) -> None:
    """An existing program is pinned; for a missing one, the settings' reader is told why."""
    tools = tmp_path / "tools"
    tools.mkdir()
    greet = tools / "greet"
    greet.write_text("#!/bin/sh\n")
    greet.chmod(0o755)
    exec_settings = {"searchPath": [str(tools)]}
    config = {"tools": {"exec": exec_settings}, "skills": {"bins": ["greet", "absent"]}}

    skills = provisions_of(load(home(tmp_path, config), environ={})).skills

    assert [str(greet)] == [pin.path for _, pin in skills.pins.values()]
    (line,) = skills.lint
    assert f"no executable file `absent` on the search path {tools}" in line
