"""Importing, held against oracles written from the products' own documentation."""
