"""Verify who asks: contacts, envelopes, replays; keys and certificates are in ``core.trust``."""
