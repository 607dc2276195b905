"""Compile and check rules, capabilities, skills and file denials.

::

    compiled      the rules and lists of each agent, and every mistake in them
    rules         what the owner's rules decide about single commands
    capabilities  the tools and files that an agent was granted
    file_denials  files that nobody may read without a question
    skills        the programs of agents' skills
    lint_rules    rules that allow more than they seem to, or do nothing
    lint_entries  the same of allowlist entries
    self_test     the examples in the shipped profiles
"""
