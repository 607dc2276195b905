"""Offer `sayso policy`: explain, test, backtest, suggest and import rules."""
