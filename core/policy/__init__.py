"""Judge what was asked: pure functions of the plan and the configuration, no I/O, no clock.

::

    judge      precedence: the effective policy (S0 precedence, then S1's stricter-of);
               evaluate: the verdict on a plan
    rules      rules, capabilities and skills, compiled for one agent
    matching   allowlist entries, templates of arguments, patterns of paths

What programs do is known to ``core.programs``, which planning asks too.

Order of evaluation; the first three may end it for the line:

0. On the host ``sandbox`` neither ``security`` nor the lists apply (S0): as if c allowed.
1. ``security: deny``: everything is denied; so is what goes beyond the agent's capabilities.
2. Environment changes: a forbidden name denies, a name off the safe list asks.
3. A line that cannot be read for certain asks (denies where asking is off, or under an ACL), also
   under ``security: full`` if a rule asks or denies, as that rule cannot see into it.
4. Each command on its own; rules that deny or ask are checked after b and make it stricter:

   a. under an ACL (S4) the ACL alone decides: an exact vector with typed templates, or denial;
   b. a program that was not found is denied, because there is nothing to ask about;
   c. ``security: full``, or the host ``sandbox``, allows;
   d. a wrapper or shell whose inner commands are known for certain is judged by them, as if they
      stood there; other shells, wrappers, multiplexers and code on the command line ask,
      whatever the lists hold;
   e. a safe bin whose profile knows all its arguments is allowed;
   f. a program that no allowlist entry, allowing rule or skill covers asks; an entry with content
      covers it only while its scripts are what they were;
   g. a covered carrier asks under strict trust unless its profile knows the arguments;
   h. an entry or an allowing rule for exactly these arguments lifts f and g;
   i. everything else is allowed.

5. The strictest verdict of all commands is the line's; no commands at all is a denial.
6. ``ask: always`` turns an allowed line into a question, ``ask: off`` a question into a denial.

What is unknown is stricter, everywhere: options, operands, programs in wildcard-listed system
directories, variables, templates (invariant 4).
"""
