"""Discord keeps the contract, on the real discord.py against a local server."""

from tests.contracts.channel import ChannelContract


class TestDiscord(ChannelContract):
    """The contract; the world is in conftest."""
