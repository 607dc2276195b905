"""Offer `sayso terminal`: a shell of an agent's Unix user, at this terminal."""
