"""Compile and check rules, capabilities, skills and file denials."""
