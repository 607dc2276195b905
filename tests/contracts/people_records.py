"""Link people and their accounts in a store."""

from core.model.identity import Actor
from core.store.people import pairing, people
from core.store.people.pairing import PairOutcome
from tests.support.stores import OpenStore

ANA_SLACK = Actor("slack", "U1", "Ana")


async def pair(bench: OpenStore, name: str, actor: Actor) -> None:
    """Link an account to a person, who is added first if needed."""
    await bench.store.write(people.add, name)
    drawn = await bench.store.write(pairing.begin, name)
    assert drawn is not None
    done = await bench.store.write(pairing.pair, drawn.code, actor)
    assert (PairOutcome.LINKED, name) == (done.outcome, done.person)
