"""Check that only the demo, in its own process, lets another origin frame a gateway's pages.

A setting that did so would some day be turned on where the page is reachable; this finds a second
caller.
"""

import ast

from tests.project.tracked import ROOT, modules

_PASSES_IT_ON = {"bot/app.py", "bot/wiring/api.py"}


def tellers(sources: dict[str, str]) -> set[str]:
    """Return the modules that give ``framed_by`` in a call, besides those that pass it on."""
    return {
        path
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and any(one.arg == "framed_by" for one in node.keywords)
    } - _PASSES_IT_ON


def _sources() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in modules()
        if "framed_by" in path.read_text(encoding="utf-8")
    }


def test_only_the_demo_lets_its_screen_frame_the_page() -> None:
    """No command, setting or other program does."""
    assert tellers(_sources()) == {"bot/demo/play.py"}


def test_a_second_one_would_be_found() -> None:
    """The control."""
    planted = {**_sources(), "bot/cli/serve.py": "gateway(settings, framed_by=settings.origin)"}
    assert tellers(planted) == {"bot/demo/play.py", "bot/cli/serve.py"}


def test_the_settings_have_no_word_for_it() -> None:
    """Neither by name nor in a model of the settings."""
    folders = ("core/settings", "bot/settings")
    assert [path for path in _sources() if path.startswith(folders)] == []
