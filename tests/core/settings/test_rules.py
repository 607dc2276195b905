"""Take a rule that says which commands it is about in exactly one way."""

from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import ValidationError

from core.settings.rules import MatchSection
from tests.support.tables import rows


@rows(
    "match, complaint",
    [
        ({"argv": ["git", "status"]}, ""),
        ({"argv": ["git"], "cwd": "/srv/app"}, ""),
        ({"glob": "/usr/bin/*"}, ""),
        ({"effect": "writes"}, ""),
        ({"reads": "/etc/shadow"}, ""),
        ({"words": "*push*"}, ""),
        ({"argv": []}, "name the program at least"),
        ({}, "needs exactly one"),
        ({"cwd": "/srv/app"}, "needs exactly one"),
        ({"argv": ["git"], "glob": "/usr/bin/*"}, "needs exactly one"),
        ({"argv": [], "words": "*push*"}, "needs exactly one"),
    ],
)
def test_a_match_is_made_by_one_of_its_keys(match: dict[str, Any], complaint: str) -> None:
    """An empty vector would name no program, and a folder alone would be about all of them."""
    with pytest.raises(ValidationError, match=complaint) if complaint else nullcontext():
        MatchSection.model_validate(match)
