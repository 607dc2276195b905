import pytest

from core.model.node import Node, NodeId
from core.nodes.selection import NoNode, select

A, B, C = ("a1" * 32, "a1" * 31 + "b2", "c3" * 32)


def _node(key: str, name: str, address: str) -> Node:
    return Node(NodeId(key), name, address, paired_ms=1, by="uid:0")


BUILD = _node(A, "Build  Box", "10.0.0.1")
WEB = _node(B, "web", "10.0.0.2")
MAC = _node(C, "mac", "10.0.0.2")
NODES = (BUILD, WEB, MAC)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        (A, BUILD),
        ("build box", BUILD),
        ("Build_Box", BUILD),
        ("\uff37\uff25\uff22", WEB),
        ("10.0.0.1", BUILD),
        (C[:6], MAC),
        (A[:63], BUILD),
    ],
)
def test_a_word_means_an_id_a_name_an_address_or_the_start_of_an_id(word: str, meant: Node) -> None:
    """Select a node in S0's four ways; a name is compared without case, width and spacing."""
    assert select(word, NODES) is meant


def test_the_earlier_way_wins() -> None:
    """A name that reads like another node's id, address or start of an id never shadows an id."""
    liar = _node("d4" * 32, C, "10.0.0.9")
    assert select(C, (liar, *NODES)) is MAC
    named = _node("d4" * 32, "10.0.0.1", "10.0.0.9")
    assert select("10.0.0.1", (*NODES, named)) is named
    started = _node("d4" * 32, "x", C[:6])
    assert select(C[:6], (*NODES, started)) is started


@pytest.mark.parametrize("word", ["10.0.0.2", A[:8]])
def test_a_tie_is_an_error_that_names_the_candidates(word: str) -> None:
    """Two nodes behind one address, or with ids that begin alike."""
    found = select(word, NODES)

    assert isinstance(found, NoNode)
    assert "web (" in found.why
    assert ("mac (" in found.why) == (word == "10.0.0.2")


def test_two_equal_names_are_a_tie() -> None:
    """Neither is preferred."""
    found = select("WEB", (WEB, _node("d4" * 32, "web", "10.0.0.9")))
    assert isinstance(found, NoNode)
    assert "could be any of web (" in found.why


@pytest.mark.parametrize("twin", ["w\u0435b", "web\u200b", "we\u202eb", "vveb"])
def test_a_name_that_looks_like_another_is_never_picked(twin: str) -> None:
    """Typed for the other, it means none; next to it, neither is preferred, however typed."""
    liar = _node("d4" * 32, twin, "10.0.0.9")
    assert select("web", (WEB, MAC)) is WEB
    for word, nodes in ((twin, (WEB, MAC)), ("web", (liar, MAC))):
        found = select(word, nodes)
        assert isinstance(found, NoNode)
        assert "no node is called" in found.why
    for word in ("web", twin):
        found = select(word, (WEB, liar))
        assert isinstance(found, NoNode)
        assert "could be any of web (" in found.why


@pytest.mark.parametrize("word", [C[:5], "", "nothing", "10.0.0", C.upper()])
def test_what_names_no_node_is_an_error(word: str) -> None:
    """Five characters of an id are too few."""
    found = select(word, NODES)
    assert isinstance(found, NoNode)
    assert "no node is called" in found.why


def test_without_a_word_the_only_node_is_meant_and_of_several_none() -> None:
    """S0: unset means any node, but several without a binding are ambiguous."""
    assert select(None, (MAC,)) is MAC
    found = select(None, NODES)
    assert isinstance(found, NoNode)
    assert "names none" in found.why
    assert "Build  Box" in found.why
    nobody = select(None, ())
    assert isinstance(nobody, NoNode)
    assert "no node is paired" in nobody.why


def test_a_sentence_names_eight_candidates_at_most() -> None:
    """Many nodes do not fill a chat."""
    many = tuple(_node(f"{n:064x}", f"n{n}", "1.1.1.1") for n in range(20))
    found = select(None, many)
    assert isinstance(found, NoNode)
    assert found.why.endswith("12 more")
