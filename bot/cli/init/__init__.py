"""Offer `sayso init`: its questions and its screens."""
