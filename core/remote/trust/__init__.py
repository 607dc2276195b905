"""Verify who is at the other end: certificates, contacts, envelopes, replays."""
