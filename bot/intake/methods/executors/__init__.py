"""Offer what runs in executors: agents that answer prompts, and terminals."""
