"""Offer `sayso exec`, `sayso diagnostics` and `sayso check`: remote exec."""
