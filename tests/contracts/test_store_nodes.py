"""State what every engine must do with nodes: ask once, pair once, never replace silently."""

import pytest
from sqlalchemy import Connection, select

from core.errors import BadRequest, NotFound
from core.model.node import Node, NodeId, PairingRequest
from core.store.people import nodes
from core.store.people.nodes import CHANGED, MOST_REQUESTS, PairingDraft, TooManyRequests
from core.store.schema.people_tables import ALL_TABLES
from tests.support.stores import OpenStore

A, B = NodeId("a1" * 32), NodeId("b2" * 32)
MINUTE = 60_000


def _draft(
    key: NodeId = A, name: str = "web", word: str = "t1", at: str = "10.0.0.1"
) -> PairingDraft:
    return PairingDraft(key, word, name, at)


async def _asked(bench: OpenStore, draft: PairingDraft | None = None) -> PairingRequest:
    return await bench.store.write(nodes.request, draft or _draft())


async def _paired(bench: OpenStore, draft: PairingDraft | None = None) -> Node:
    asked = await _asked(bench, draft)
    return await bench.store.write(nodes.approve, asked.code, "uid:0")


def _everything(conn: Connection) -> str:
    return repr([conn.execute(select(table)).all() for table in ALL_TABLES.sorted_tables])


async def test_a_request_waits_and_a_code_pairs_it(bench: OpenStore) -> None:
    """What the request showed is what is paired; the code is used up."""
    asked = await _asked(bench)
    assert await bench.store.read(nodes.requests) == (asked,)

    node = await bench.store.write(nodes.approve, asked.code.lower(), "uid:0")
    assert (node.id, node.name, node.address, node.by) == (A, "web", "10.0.0.1", "uid:0")
    assert await bench.store.read(nodes.listed) == (node,)
    assert await bench.store.read(nodes.requests) == ()
    with pytest.raises(NotFound, match="No node waits"):
        await bench.store.write(nodes.approve, asked.code, "uid:0")


async def test_asking_again_is_the_same_request_and_no_longer_life(bench: OpenStore) -> None:
    """A node that reconnects gets no second code, and its five minutes keep running."""
    first = await _asked(bench)
    await bench.advance(4 * MINUTE)
    assert await _asked(bench) == first
    await bench.advance(MINUTE)
    with pytest.raises(NotFound):
        await bench.store.write(nodes.approve, first.code, "uid:0")
    assert (await _asked(bench)).code != first.code


@pytest.mark.parametrize(
    "other", [_draft(name="db"), _draft(word="t2"), _draft(at="10.0.0.2")], ids=str
)
async def test_a_changed_request_has_a_new_code(bench: OpenStore, other: PairingDraft) -> None:
    """The reader of the first code allowed what it showed, and nothing else."""
    first = await _asked(bench)
    second = await _asked(bench, other)

    assert second.code != first.code
    assert await bench.store.read(nodes.requests) == (second,)
    with pytest.raises(NotFound):
        await bench.store.write(nodes.approve, first.code, "uid:0")


async def test_another_key_supersedes_nothing(bench: OpenStore) -> None:
    """A second node of the same name waits until the first gives the name up."""
    first = await _paired(bench)
    asked = await _asked(bench, _draft(B, "WEB"))

    with pytest.raises(BadRequest, match="already called 'web'"):
        await bench.store.write(nodes.approve, asked.code, "uid:0")
    assert await bench.store.read(nodes.listed) == (first,)
    assert await bench.store.read(nodes.requests) == (asked,)
    second = await bench.store.write(nodes.approve, asked.code, "uid:0", "web 2")
    assert second.name == "web 2"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("w\u0435b", "cannot be shown"),
        ("web\u200b", "cannot be shown"),
        ("\u202ebew", "cannot be shown"),
        ("w\u1d07b", "cannot be shown"),
        ("vveb", "taken for the paired node 'web'"),
        ("WEB ", "already called 'web'"),
        ("\uff57eb", "cannot be shown"),
        ("10.0.0.9", "is an address"),
        ("::1", "is an address"),
        (A[:6].upper(), "taken for the paired node 'web'"),
        ("\u3164", "cannot be shown"),
    ],
)
async def test_a_name_that_could_mean_another_is_refused(
    bench: OpenStore, name: str, why: str
) -> None:
    """When a node is allowed, under its own or a given name, and when it is renamed later."""
    await _paired(bench)
    asked = await _asked(bench, _draft(B, name))
    for given in (None, name):
        with pytest.raises(BadRequest, match=why):
            await bench.store.write(nodes.approve, asked.code, "uid:0", given)
    other = await bench.store.write(nodes.approve, asked.code, "uid:0", "wed")
    with pytest.raises(BadRequest, match=why):
        await bench.store.write(nodes.rename, B, name)
    assert (await bench.store.read(nodes.listed))[1] == other


async def test_a_twin_is_found_among_the_paired(bench: OpenStore) -> None:
    """Of another node only: its own name is not a twin, and a distinct name has none."""
    web = await _paired(bench)
    assert nodes.twin("w\u0435b", B, [web]) == web
    assert nodes.twin(A[:8], B, [web]) == web
    assert nodes.twin("web", A, [web]) is None
    assert nodes.twin("db", B, [web]) is None


async def test_one_address_leaves_room_for_others(bench: OpenStore) -> None:
    """It has as many requests waiting as it may; a node elsewhere still asks."""
    for number in range(nodes.MOST_OF_ADDRESS):
        await _asked(bench, _draft(NodeId(f"{number:064x}"), f"n{number}"))
    late = NodeId("e" * 64)
    with pytest.raises(TooManyRequests):
        await _asked(bench, _draft(late, "one more"))
    assert await _asked(bench, _draft(NodeId("0" * 64), "n0"))  # it already waits
    assert await _asked(bench, _draft(late, "elsewhere", at="10.9.9.9"))


async def test_a_node_is_admitted_by_its_own_token(bench: OpenStore) -> None:
    """Another token, another id, or a revoked node: not admitted."""
    await _paired(bench)
    seen = await bench.store.write(nodes.admit, A, "t1", "10.0.0.7")

    assert seen is not None
    assert (seen.address, seen.seen_ms is None) == ("10.0.0.7", False)
    assert await bench.store.read(nodes.listed) == (seen,)
    assert await bench.store.write(nodes.admit, B, "t1", "10.0.0.7") is None
    with pytest.raises(BadRequest, match="another token"):
        await bench.store.write(nodes.admit, A, "t2", "10.0.0.7")
    await bench.store.write(nodes.revoke, A)
    assert await bench.store.write(nodes.admit, A, "t1", "10.0.0.7") is None


async def test_no_token_is_kept(bench: OpenStore) -> None:
    """Neither of a request nor of a node; the control is the name, which exists."""
    token = "0123456789abcdef" * 4
    await _paired(bench, _draft(word=token))
    await _asked(bench, _draft(B, "db", token))
    kept = await bench.store.read(_everything)
    assert token not in kept
    assert "'db'" in kept


async def test_a_paired_node_cannot_ask_to_be_paired(bench: OpenStore) -> None:
    """No one who knows its id makes a person allow it again."""
    await _paired(bench)
    with pytest.raises(BadRequest, match="already paired"):
        await _asked(bench, _draft(word="t9"))


async def test_names_are_changed_and_stay_different(bench: OpenStore) -> None:
    """A node may be renamed to its own name in another spelling, never to another's."""
    await _paired(bench)
    await _paired(bench, _draft(B, "db"))
    await bench.store.write(nodes.rename, B, "Data Base")
    await bench.store.write(nodes.rename, B, "data base")

    with pytest.raises(BadRequest, match="already"):
        await bench.store.write(nodes.rename, B, "Web")
    with pytest.raises(NotFound):
        await bench.store.write(nodes.rename, NodeId("c3" * 32), "x")
    with pytest.raises(NotFound):
        await bench.store.write(nodes.revoke, NodeId("c3" * 32))
    assert [one.name for one in await bench.store.read(nodes.listed)] == ["web", "data base"]


async def test_requests_are_bounded_and_expire(bench: OpenStore) -> None:
    """A flood of unknown keys fills nothing, and five minutes later there is room again."""
    for number in range(MOST_REQUESTS):
        at = f"10.1.0.{number}"
        await _asked(bench, _draft(NodeId(f"{number:064x}"), f"n{number}", at=at))
    with pytest.raises(TooManyRequests):
        await _asked(bench)
    await bench.advance(5 * MINUTE)
    assert (await _asked(bench)).id == A
    assert len(await bench.store.read(nodes.requests)) == 1


async def test_each_change_wakes_who_listens(bench: OpenStore) -> None:
    """A gateway is told of a revoked node at once; being seen again is not a change."""
    bench.store.subscribe(bench.notes.append)
    await _paired(bench)
    await bench.store.write(nodes.rename, A, "x")
    await bench.store.write(nodes.revoke, A)
    assert bench.notes.count(CHANGED) >= 4
    before = len(bench.notes)
    await bench.store.write(nodes.admit, A, "t1", "10.0.0.7")
    assert len(bench.notes) == before


async def test_a_denied_request_is_over(bench: OpenStore) -> None:
    """The code is used up, and pairs nothing; another request keeps waiting."""
    asked, other = await _asked(bench), await _asked(bench, _draft(B, "db"))
    assert await bench.store.read(nodes.waits, A)
    assert await bench.store.write(nodes.deny, asked.code.lower()) == asked
    assert not await bench.store.read(nodes.waits, A)
    assert await bench.store.read(nodes.requests) == (other,)
    for act in (nodes.deny, nodes.approve):
        with pytest.raises(NotFound):
            await bench.store.write(act, asked.code, *(() if act is nodes.deny else ("uid:0",)))


async def test_when_a_node_was_seen_last_is_when_it_left(bench: OpenStore) -> None:
    """Not when it came; an unpaired one is let go."""
    node = await _paired(bench)
    await bench.store.write(nodes.admit, A, "t1", "10.0.0.1")
    (came,) = await bench.store.read(nodes.listed)
    await bench.advance(MINUTE)
    await bench.store.write(nodes.left, node.id)
    await bench.store.write(nodes.left, B)
    (left,) = await bench.store.read(nodes.listed)
    assert came.seen_ms is not None
    assert left.seen_ms is not None
    assert left.seen_ms - came.seen_ms >= MINUTE
