r"""Deliberate weakenings of the policy code, each with the test that must catch it.

One text of one file is replaced by another one; it occurs there exactly once.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A weakening: in ``core/<file>`` the one place that reads ``old`` reads ``new``.

    ``caught_by`` is the node id, below ``tests/core``, of a test that then fails.
    """

    name: str
    file: str
    old: str
    new: str
    caught_by: str


READERS = (
    Mutant(
        "the tree reader takes an unknown node for a separator",
        "policy/syntax.py",
        '        raise Refused("R4", shape(kind))',
        "        return Connector.THEN",
        "policy/test_syntax.py::test_the_rules_hold_without_the_second_reader",
    ),
    Mutant(
        "the tree reader accepts unknown nodes in a word",
        "policy/syntax_nodes.py",
        "elif kind not in LITERALS and not _is_variable(node):",
        "elif kind in _SHAPES:",
        "policy/test_syntax.py::test_the_rules_hold_without_the_second_reader",
    ),
    Mutant(
        "the tree reader skips text that belongs to no word",
        "policy/syntax.py",
        '    if gap.strip(" \\t"):',
        "    if not gap.isprintable():",
        "policy/test_syntax.py::test_the_rules_hold_without_the_second_reader",
    ),
    Mutant(
        "the second reader is not consulted",
        "policy/shell.py",
        "second = second_reader.read(text)",
        "second = syntax.read(text)",
        "policy/test_shell.py::test_a_reading_needs_both_readers",
    ),
    Mutant(
        "two readers may disagree",
        "policy/shell.py",
        "if first != second or not _survives(first, text):",
        "if not _survives(first, text):",
        "policy/test_shell.py::test_a_reading_needs_both_readers",
    ),
    Mutant(
        "what is shown need not be what was read",
        "policy/shell.py",
        "return canonical == text or second_reader.read(canonical) == reading",
        "return True",
        "policy/test_shell.py::test_a_reading_that_is_written_otherwise_is_refused",
    ),
    Mutant(
        "the second reader drops backslashes in double quotes",
        "policy/second_words.py",
        """!= '"':\n        if mark == "\\\\" and token[at + 1] in '$`"\\\\':""",
        """!= '"':\n        if mark == "\\\\":""",
        "policy/test_second_reader.py::test_words_are_told_apart",
    ),
    Mutant(
        "the tree reader drops backslashes in double quotes",
        "policy/syntax_words.py",
        """_ESCAPED = re.compile(r'\\\\([$`"\\\\])')""",
        """_ESCAPED = re.compile(r'\\\\(.)')""",
        "policy/test_shell.py::test_plain_words_are_read",
    ),
    Mutant(
        "a quoted glob is a glob",
        "policy/second_words.py",
        "kind, piece, at = _inside(token, at) if quoted else _outside(token, at)",
        "kind, piece, at = _outside(token, at)",
        "policy/test_shell.py::test_quotes_keep_expansions_from_happening",
    ),
    Mutant(
        "the second reader lets a comment end in a backslash",
        "policy/second_reader.py",
        r"[^\n]++(?<!\\)",
        r"[^\n]++",
        "policy/test_second_reader.py::test_what_is_not_plain_is_refused",
    ),
    Mutant(
        "the tree reader lets a comment end in a backslash",
        "policy/syntax.py",
        """ or line[end - 1] == "\\\\":""",
        ":",
        "policy/test_syntax.py::test_the_rules_hold_without_the_second_reader",
    ),
    Mutant(
        "a line break is a blank to the second reader",
        "policy/second_reader.py",
        "            if self._words:\n                self.end(Connector.THEN)\n",
        "",
        "policy/test_second_reader.py::test_a_line_break_ends_a_command",
    ),
    Mutant(
        "a line break is a blank to the tree reader",
        "policy/syntax.py",
        'return (Connector.THEN,) if open_commands > 0 and "\\n" in gap else ()',
        "return ()",
        "policy/test_shell.py::test_line_breaks_and_comments_are_read",
    ),
    Mutant(
        "the tree reader accepts files below a redirection",
        "policy/syntax.py",
        r"(?:&|2)?>[ \t]*/dev/null|",
        r"(?:&|2)?>[ \t]*/dev/null[^ ]*|",
        "policy/test_syntax.py::test_the_rules_hold_without_the_second_reader",
    ),
    Mutant(
        "the second reader accepts another file in a redirection",
        "policy/second_reader.py",
        r"(?:2?>|&>|<)[ \t]*/dev/null)",
        r"(?:2?>|&>|<)[ \t]*/[a-z/]+)",
        "policy/test_second_reader.py::test_what_is_not_plain_is_refused",
    ),
    Mutant(
        "a fill character is seen",
        "policy/shell.py",
        "return _invisible(unseen[0]) if unseen else None",
        "return None",
        "policy/test_shell.py::test_the_broken_rule_is_named",
    ),
    Mutant(
        "a shell's own word is a program",
        "policy/shell.py",
        "if name in _SHELL_WORDS:",
        'if name == ".":',
        "policy/test_shell.py::test_shell_words_are_refused_in_each_place",
    ),
    Mutant(
        "a glob match with a dash becomes an option",
        "runner/expand.py",
        'return [f"./{path}" if path.startswith("-") else path for path in found]',
        "return list(found)",
        "runner/test_expand.py::test_globs_become_sorted_names",
    ),
    Mutant(
        "cd leads where it may not be taken",
        "policy/steps.py",
        "if connector is Connector.AND and not {Connector.OR, Connector.THEN}.isdisjoint(later):",
        "if connector is Connector.AND and Connector.OR in later:",
        "policy/test_shell.py::test_the_broken_rule_is_named",
    ),
    Mutant(
        "the folder of a step is forgotten",
        "policy/rule_matching.py",
        "place = folder if command.cwd is None else command.cwd.path",
        "place = folder",
        "policy/test_rules.py::test_a_path_is_judged_where_cd_led",
    ),
    Mutant(
        "the folder of a step is forgotten inside a wrapper",
        "policy/verdicts.py",
        "return self if command.cwd is None else self._replace(folder=command.cwd.path)",
        "return self",
        "policy/test_rules.py::test_a_path_is_judged_where_cd_led",
    ),
)

WRAPPERS = (
    Mutant(
        "an unknown short option of a wrapper is ignored",
        "policy/wrapper_grammar.py",
        "        if name not in grammar.flags:\n            return 0\n",
        "",
        "policy/test_unwrap.py::test_what_the_grammar_does_not_know_is_not_unwrapped",
    ),
    Mutant(
        "an unknown long option of a wrapper is ignored",
        "policy/wrapper_grammar.py",
        "    if kind is None:\n        return 0\n",
        "    if kind is None:\n        return 1\n",
        "policy/test_unwrap.py::test_what_the_grammar_does_not_know_is_not_unwrapped",
    ),
    Mutant(
        "wrappers nest without a limit",
        "policy/unwrap.py",
        "DEEPEST_NESTING = 4",
        "DEEPEST_NESTING = 400",
        "policy/test_unwrap.py::test_the_inner_command_is_judged_as_if_it_stood_there",
    ),
    Mutant(
        "sudo is looked through",
        "policy/data/wrappers.toml",
        "[grammar.nohup]",
        "[grammar.sudo]\n[grammar.nohup]",
        "policy/test_unwrap.py::test_privilege_and_locks_ask_and_promise_nothing",
    ),
    Mutant(
        "privilege is an ordinary program",
        "policy/wrappers.py",
        'kinds |= dict.fromkeys(words(known, "privilege"),',
        'dict.fromkeys(words(known, "privilege"),',
        "policy/test_wrappers.py::test_privilege_is_told_from_other_wrappers",
    ),
    Mutant(
        "inner programs need not be pinned",
        "policy/unwrap.py",
        "if not pins <= set(command.operands) or command.bound",
        "if command.bound",
        "policy/test_unwrap.py::test_a_plan_that_is_not_bound_asks",
    ),
    Mutant(
        "any vector may be bound to a wrapper",
        "policy/unwrap.py",
        "command.bound != bound_vector(\n        found, file, command.inner\n    ):",
        "not command.bound:",
        "policy/test_unwrap.py::test_a_plan_that_is_not_bound_asks",
    ),
    Mutant(
        "a wrapper's namesake has its grammar",
        "policy/unwrap.py",
        'return real if called == name and {place, real_place} <= _trusted() else ""',
        "return real",
        "policy/test_unwrap.py::test_another_file_of_that_name_has_no_grammar",
    ),
    Mutant(
        "xargs runs what unknown arguments could turn",
        "policy/segments.py",
        "if narrowed or (open_ended and not full and not reads_anything(program)):",
        "if narrowed:",
        "policy/test_unwrap.py::test_the_inner_command_is_judged_as_if_it_stood_there",
    ),
    Mutant(
        "a safe bin may get unknown operands from xargs",
        "policy/listing.py",
        " is not None and not open_ended:",
        " is not None:",
        "policy/test_unwrap.py::test_the_inner_command_is_judged_as_if_it_stood_there",
    ),
    Mutant(
        "what a payload expands is left out",
        "policy/unwrap.py",
        "if reading != Reading(commands, reading.connectors) or any(",
        "if any(",
        "policy/test_unwrap.py::test_other_shells_ask",
    ),
    Mutant(
        "only the first command of a payload counts",
        "policy/segments.py",
        "open_ended=more) for one in command.inner]",
        "open_ended=more) for one in command.inner[:1]]",
        "policy/test_unwrap.py::test_every_command_of_a_payload_counts",
    ),
    Mutant(
        "env may set anything",
        "policy/segments.py",
        "changes = judge_changes(found.assignments)",
        "changes = judge_changes(())",
        "policy/test_unwrap.py::test_the_inner_command_is_judged_as_if_it_stood_there",
    ),
    Mutant(
        "the invoked name hides no wrapper",
        "policy/programs.py",
        "names = names_of(word) | names_of(path) | names_of(realpath)",
        "names = names_of(realpath)",
        "policy/test_evaluate.py::test_a_link_is_what_it_is_called_and_what_it_leads_to",
    ),
    Mutant(
        "the real name hides no wrapper",
        "policy/programs.py",
        "names = names_of(word) | names_of(path) | names_of(realpath)",
        "names = names_of(word) | names_of(path)",
        "policy/test_evaluate.py::test_wrappers_ask_whatever_is_listed",
    ),
)

PROFILES = (
    Mutant(
        "an unknown short option is harmless",
        "policy/profiles.py",
        "            if name not in self.profile.flags:\n"
        '                return f"unknown option {name}"\n',
        "",
        "policy/test_profiles.py::test_all_else_is_named",
    ),
    Mutant(
        "an unknown long option is harmless",
        "policy/profiles.py",
        '            return self._next(name, rest)\n        return f"unknown option {name}"',
        "            return self._next(name, rest)\n        return None",
        "policy/test_carriers.py::test_every_documented_carrier_asks_under_strict_trust",
    ),
    Mutant(
        "an abbreviated option is a known one",
        "policy/profiles.py",
        "if name in profile.flags or name in profile.optional:",
        "if any(one.startswith(name) for one in (*profile.flags, *profile.optional)):",
        "policy/test_profiles.py::test_all_else_is_named",
    ),
    Mutant(
        "operands after -- are not counted",
        "policy/profiles.py",
        "                self.operands.extend(reversed(rest))\n",
        "",
        "policy/test_profiles.py::test_all_else_is_named",
    ),
    Mutant(
        "find ends its options at --",
        "policy/profiles.py",
        'if word == "--" and not self.profile.single:',
        'if word == "--":',
        "policy/test_profiles.py::test_each_shape_of_arguments",
    ),
    Mutant(
        "an unknown subcommand is harmless",
        "policy/carrier_profiles.py",
        """return f"the subcommand {''.join(rest[:1])!r} is not known to be harmless\"""",
        "return None",
        "policy/test_evaluate.py::test_a_carrier_asks_under_strict_trust_only",
    ),
    Mutant(
        "sed may write and run by a flag of s",
        "policy/sed_script.py",
        "[gpiIM0-9]{{0,8}}",
        "[gpiIM0-9we]{{0,8}}",
        "policy/test_carrier_scripts.py::test_scripts_that_write_or_run_are_unknown",
    ),
    Mutant(
        "sed may run its input",
        "policy/sed_script.py",
        "[pPdDgGhHxnN=qQz]",
        "[epPdDgGhHxnN=qQz]",
        "policy/test_carrier_scripts.py::test_scripts_that_write_or_run_are_unknown",
    ),
    Mutant(
        "code in a cluster of options is not seen",
        "policy/carriers.py",
        'return word[:1] == "-" and word[:2] != "--" and option[1] in word',
        "return word == option",
        "policy/test_carriers.py::test_code_in_arguments_is_seen",
    ),
    Mutant(
        "a safe bin takes paths",
        "policy/kinds.py",
        "return not path_like(word) and",
        "return",
        "policy/test_safe_bins.py::test_paths_are_refused",
    ),
    Mutant(
        "a safe bin takes files",
        "policy/profiles.py",
        "if len(named) > self.budget:",
        "if len(named) > self.budget + 1:",
        "policy/test_safe_bins.py::test_refused_arguments_do_leak",
    ),
    Mutant(
        "a safe bin may lie anywhere",
        "policy/safe_bins.py",
        " or directory not in _trusted():",
        ":",
        "policy/test_safe_bins.py::test_only_the_real_program_in_a_trusted_directory",
    ),
    Mutant(
        "the invoked path of a safe bin is not looked at",
        "policy/safe_bins.py",
        "if word == name and place in _trusted() else None",
        "if word == name else None",
        "policy/test_safe_bins.py::test_only_the_real_program_in_a_trusted_directory",
    ),
)

LISTS = (
    Mutant(
        "a base name lists every file of that name",
        "policy/allowlist.py",
        "        why = complaint(entry.pattern, home)\n",
        '        if "/" not in entry.pattern:\n'
        '            self._paths.add(f"/**/{entry.pattern}", entry)\n'
        "        why = complaint(entry.pattern, home)\n",
        "policy/test_allowlist.py::test_a_pattern_does_not_cover_the_path",
    ),
    Mutant(
        "a star crosses a slash",
        "policy/path_index.py",
        'if at < len(pattern) and pattern[at] == "**":',
        'if at < len(pattern) and pattern[at] in {"*", "**"}:',
        "policy/test_allowlist.py::test_a_pattern_does_not_cover_the_path",
    ),
    Mutant(
        "case is folded outside ASCII",
        "policy/path_index.py",
        "return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)",
        "return text.casefold()",
        "policy/test_allowlist.py::test_a_pattern_does_not_cover_the_path",
    ),
    Mutant(
        "a path may climb out of its folder",
        "policy/path_index.py",
        r'"(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f\x7f]+)+"',
        r'"(?:/[^/\x00-\x1f\x7f]+)+"',
        "policy/test_allowlist.py::test_a_pattern_does_not_cover_the_path",
    ),
    Mutant(
        "strict trust looks at the real path of a carrier only",
        "policy/listing.py",
        "for path in program.paths:",
        "for path in program.paths[-1:]:",
        "policy/test_evaluate.py::test_a_link_is_what_it_is_called_and_what_it_leads_to",
    ),
    Mutant(
        "strict trust looks at the invoked path of a carrier only",
        "policy/listing.py",
        "for path in program.paths:",
        "for path in program.paths[:1]:",
        "policy/test_evaluate.py::test_a_link_to_a_carrier_is_a_carrier",
    ),
    Mutant(
        "strict trust is classical",
        "policy/listing.py",
        "distrusts = policy.trust is _STRICT and not program.plain",
        "distrusts = not policy",
        "policy/test_evaluate.py::test_a_carrier_asks_under_strict_trust_only",
    ),
    Mutant(
        "a wildcard covers unknown system programs",
        "policy/listing.py",
        "if program.foreign and is_glob(pattern):",
        "if program.foreign and not pattern:",
        "policy/test_evaluate.py::test_a_wildcard_does_not_cover_an_unknown_system_program",
    ),
    Mutant(
        "an entry covers every vector that begins as its own",
        "policy/allowlist.py",
        "literal = self._literal.get(arguments)",
        "literal = next((self._literal[arguments[:n]] for n in range(len(arguments) + 1)"
        " if arguments[:n] in self._literal), None)",
        "policy/test_evaluate.py::test_an_entry_with_arguments_covers_nothing_longer",
    ),
    Mutant(
        "a typed entry covers every vector that begins as its own",
        "policy/allowlist.py",
        "        for template, index in self._typed.get(len(arguments), ()):\n"
        "            if template.fits(arguments, at):",
        "        for template, index in (one for n in self._typed for one in self._typed[n]):\n"
        "            if template.fits(arguments[: len(template.elements)], at):",
        "policy/test_evaluate.py::test_an_entry_with_arguments_covers_exactly_these",
    ),
    Mutant(
        "an access list takes every vector that begins as its own",
        "policy/templates.py",
        "        if len(argv) != len(self._known) or any(_META.search(word) for word in argv):\n"
        "            return False\n"
        "        pairs = zip(self._known, argv, strict=True)",
        "        if len(argv) < len(self._known) or any(_META.search(word) for word in argv):\n"
        "            return False\n"
        "        pairs = zip(self._known, argv)",
        "policy/test_templates.py::test_vectors_are_compared_element_by_element",
    ),
    Mutant(
        "<INT> takes digits of other scripts",
        "policy/templates.py",
        '_INT = re.compile(r"[1-9][0-9]{0,5}")',
        r'_INT = re.compile(r"[1-9]\d{0,5}")',
        "policy/test_templates.py::test_int_takes_nothing_else",
    ),
    Mutant(
        "<PATH> takes a path that climbs",
        "policy/templates.py",
        r'_PART = r"(?!\.\.(?:/|\Z))',
        '_PART = r"',
        "policy/test_templates.py::test_a_rules_templates_take_what_they_say",
    ),
    Mutant(
        "<PATH> takes a link that leads elsewhere",
        "policy/templates.py",
        "return below(root, path) and below(root, at.real.get(path, path))",
        "return below(root, path)",
        "policy/test_templates.py::test_a_rules_templates_take_what_they_say",
    ),
    Mutant(
        "an access list starts shells",
        "policy/segments.py",
        "if is_shell(names):",
        "if not names:",
        "policy/test_evaluate.py::test_an_acl_alone_decides",
    ),
)

DECISIONS = (
    Mutant(
        "a rule that denies loses to one that allows",
        "policy/rules.py",
        "return -decision, -rule.tier.weight,",
        "return decision, -rule.tier.weight,",
        "policy/test_rules.py::test_a_deny_wins_over_everything",
    ),
    Mutant(
        "a rule that asks is dropped",
        "policy/segments.py",
        "if ruling is None or ruling.decision is Decision.ALLOW:",
        "if ruling is None or ruling.decision is not Decision.DENY:",
        "policy/test_rules.py::test_an_ask_rule_asks_about_what_is_listed_and_promises_nothing",
    ),
    Mutant(
        "a rule that forbids is dodged by an odd spelling",
        "policy/rule_matching.py",
        "fits = self.template.fits if self.allows else self.template.may_fit",
        "fits = self.template.fits",
        "policy/test_rules.py::test_a_template_cannot_be_dodged_in_a_rule_that_forbids",
    ),
    Mutant(
        "the laxest command decides about the line",
        "policy/evaluate.py",
        "max(segments, key=_strictness)",
        "min(segments, key=_strictness)",
        "policy/test_evaluate.py::test_a_miss_asks_and_promises_the_real_path",
    ),
    Mutant(
        "an unreadable line is judged by its shell alone",
        "policy/evaluate.py",
        "if plan.unreadable is not None and (not full or context.provisions.rules.restrict):",
        "if plan.unreadable is not None and not full:",
        "policy/test_rules.py::test_full_security_asks_where_a_rule_cannot_look",
    ),
    Mutant(
        "what a request sets is not looked at",
        "policy/evaluate.py",
        "environment = _environment(plan)",
        "environment = None",
        "policy/test_evaluate.py::test_forbidden_variables_deny",
    ),
    Mutant(
        "variables that are in no list are harmless",
        "policy/evaluate.py",
        "return None if full else environment",
        "return None",
        "policy/test_evaluate.py::test_other_variables_ask_and_are_never_stored",
    ),
    Mutant(
        "a request may set PATH",
        "policy/data/environment.toml",
        "\nPATH ENV BASH_ENV",
        "\nENV BASH_ENV",
        "policy/test_environment.py::test_dangerous_names_are_denied",
    ),
    Mutant(
        "a request may set LD_PRELOAD",
        "policy/data/environment.toml",
        "\nLD_ DYLD_",
        "\nDYLD_",
        "policy/test_environment.py::test_dangerous_names_are_denied",
    ),
    Mutant(
        "a request may set what git runs",
        "policy/data/environment.toml",
        " BASH_FUNC_ GIT_ ",
        " BASH_FUNC_ ",
        "policy/test_environment.py::test_dangerous_names_are_denied",
    ),
    Mutant(
        "a forbidden name passes in small letters",
        "policy/environment.py",
        "upper = name.upper()",
        "upper = name",
        "policy/test_environment.py::test_dangerous_names_are_denied",
    ),
    Mutant(
        "the laxer security of two",
        "model/policy.py",
        "return min(a, b, key=_SECURITY_ORDER.index)",
        "return max(a, b, key=_SECURITY_ORDER.index)",
        "policy/test_resolve.py::test_the_stricter_of_two_values_lets_less_run",
    ),
    Mutant(
        "the laxer ask of two",
        "model/policy.py",
        "return min(a, b, key=_ASK_ORDER.index)",
        "return max(a, b, key=_ASK_ORDER.index)",
        "policy/test_resolve.py::test_the_stricter_of_two_values_lets_less_run",
    ),
    Mutant(
        "askFallback full where a place says deny",
        "model/policy.py",
        "return min(a, b, key=_FALLBACK_ORDER.index)",
        "return max(a, b, key=_FALLBACK_ORDER.index)",
        "policy/test_resolve.py::test_the_stricter_of_two_values_lets_less_run",
    ),
    Mutant(
        "the approvals file may widen askFallback",
        "policy/resolve.py",
        '"ask_fallback": lambda p, layer: stricter_fallback(\n'
        "        p.ask_fallback, layer.ask_fallback or p.ask_fallback\n    ),",
        '"ask_fallback": lambda p, layer: layer.ask_fallback or p.ask_fallback,',
        "policy/test_resolve.py::test_a_laxer_call_or_file_changes_nothing",
    ),
    Mutant(
        "a call may widen",
        "policy/resolve.py",
        "owners = [layer for layer in layers if layer.source != CALL]",
        "owners = layers",
        "policy/test_resolve.py::test_a_laxer_call_or_file_changes_nothing",
    ),
    Mutant(
        "the weakest place speaks first",
        "policy/resolve.py",
        "        for layer in layers:\n",
        "        for layer in reversed(layers):\n",
        "policy/test_resolve.py::test_the_first_layer_that_speaks_wins",
    ),
    Mutant(
        "a session decides where its call would",
        "policy/resolve.py",
        "policy = _hardened(_first([call], chosen, policy), call)",
        "policy = _hardened(_first([*owners, call], chosen, policy), call)",
        "policy/test_resolve.py::test_a_call_comes_before_the_session",
    ),
    Mutant(
        "a call may leave its node",
        "policy/resolve.py",
        'chosen = (*_CHOICES, "node") if policy.node is None else _CHOICES',
        'chosen = (*_CHOICES, "node")',
        "policy/test_resolve.py::test_a_call_cannot_leave_its_node_binding",
    ),
    Mutant(
        "writers may write where only reading is granted",
        "policy/capabilities.py",
        "roots = self.write if writes else (*self.read, *self.write)",
        "roots = (*self.read, *self.write)",
        "policy/test_capabilities.py::test_what_may_write_stays_below_folders_for_writing",
    ),
    Mutant(
        "a path glued to an option is not held to the grants",
        "policy/capabilities.py",
        "starts = {found.end() for found in _JOINT.finditer(word)}",
        "starts = set[int]()",
        "policy/test_capabilities.py::test_paths_that_lead_elsewhere_are_refused",
    ),
    Mutant(
        "another file of a skill's name is the skill",
        "policy/skills.py",
        "return name if pin is not None and _same(pin, file) else None",
        "return name or None",
        "policy/test_skills.py::test_another_file_of_the_name_is_no_skill",
    ),
    Mutant(
        "the content of a skill may change",
        "policy/skills.py",
        "return (one.device, one.inode, one.size, one.sha256) == (",
        "return (one.device, one.inode, one.size, other.sha256) == (",
        "policy/test_skills.py::test_another_file_of_the_name_is_no_skill",
    ),
    Mutant(
        "allow-always stores a shell",
        "policy/promises.py",
        "if hidden_by(command.argv, program) is not None:",
        'if hidden_by(command.argv, program) == "":',
        "policy/test_evaluate.py::test_wrappers_ask_whatever_is_listed",
    ),
    Mutant(
        "allow-always stores code",
        "policy/promises.py",
        "stored = not (open_ended or code or any(map(looks_typed, argv[1:])))",
        "stored = not (open_ended or any(map(looks_typed, argv[1:])))",
        "policy/test_evaluate.py::test_code_and_what_reads_like_a_template_is_never_stored",
    ),
    Mutant(
        "allow-always stores a template",
        "policy/promises.py",
        "stored = not (open_ended or code or any(map(looks_typed, argv[1:])))",
        "stored = not (open_ended or code)",
        "policy/test_evaluate.py::test_code_and_what_reads_like_a_template_is_never_stored",
    ),
)

MUTANTS = (*READERS, *WRAPPERS, *PROFILES, *LISTS, *DECISIONS)
