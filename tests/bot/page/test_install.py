"""Serve what a phone needs to install the page: to everyone, about no one, with strict policy."""

import struct

from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser


def test_the_manifest_names_pictures_that_are_there(home: ApiGateway) -> None:
    """Each has its stated size, and comes from here."""
    stranger = PageBrowser.at(home)
    answer = stranger.get("/manifest.webmanifest")
    assert answer.headers["content-type"].startswith("application/manifest+json")
    found = answer.json()
    assert (found["start_url"], found["scope"], found["display"]) == ("/", "/", "standalone")
    assert {one["purpose"] for one in found["icons"]} == {"any", "maskable"}
    for icon in found["icons"]:
        picture = stranger.get(icon["src"])
        assert picture.headers["content-type"] == icon["type"] == "image/png"
        assert picture.content[:8] == b"\x89PNG\r\n\x1a\n"
        assert "x".join(map(str, struct.unpack(">II", picture.content[16:24]))) == icon["sizes"]


def test_the_worker_and_its_note_hold_nothing_of_anybody(home: ApiGateway) -> None:
    """The same whether signed in or not; always revalidated, and held to the policy."""
    home.ask("git push origin secret-branch")
    stranger, ana = PageBrowser.at(home), PageBrowser.signed_in(home)
    for path in ("/worker.js", "/offline", "/manifest.webmanifest"):
        ours, theirs = ana.get(path), stranger.get(path)
        assert ours.content == theirs.content
        assert "secret-branch" not in theirs.text
        assert "default-src 'none'" in theirs.headers["content-security-policy"]
        assert "set-cookie" not in theirs.headers
    worker = stranger.get("/worker.js")
    assert worker.headers["cache-control"] == "no-cache"
    assert worker.headers["content-type"].startswith("text/javascript")
    assert "unsafe" not in worker.headers["content-security-policy"]
