"""Load the shipped tables and profiles of programs, and read the scripts of awk and sed.

::

    load_profiles    builds the profiles from their tables
    tables           reads the tables in core/programs/data once
    profile          judges arguments by a positive profile
    carrier_profile  judges those of one carrier
    value_kinds      the kinds of values that profiles know
    awk_script       whether an awk program only computes and prints;  sed_script: the same of sed
    script_effects   whether such a script may start programs
"""
