"""Import the rules of other products, never looser than they were meant.

Each product has its reader: ``openclaw``, ``claude_code``, ``codex``, ``gemini``. What they read
is stated in ``statements``; ``convert`` turns that into allowlist entries and rules, ``write`` puts
them into a home.
"""
