"""Import the rules of other products, never looser than they were meant.

Each product has its reader: ``openclaw``, ``claude_code``, ``codex``, ``gemini``. What they read
is stated in ``statements``; ``convert`` turns that into allowlist entries and rules, ``write`` puts
them into a home.

::

    import_files       imports files: the way in
    documents          parses them into plain values
    claude_code        permissions of Claude Code;  gitignore: its path patterns
    codex              rules and settings of Codex
    gemini             policy and settings of Gemini CLI
    openclaw           files of OpenClaw
    statements         what a file says about commands
    scope              where a file's rules apply
    command_text       text of commands, with `*`, as words
    template_elements  such words as elements of a template
    convert            statements as rules and entries
    result             the fate of each line
    report             the same, for people and programs
    write              writes it, if it is no looser than the source
"""
