"""Offer `sayso approvals`: show and change exec-approvals.json."""
