"""Prepare text for people: mask secrets, escape control characters, mark confusables."""
