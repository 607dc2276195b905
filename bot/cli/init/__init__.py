"""Offer `sayso init`: what it asks, and what it shows."""
