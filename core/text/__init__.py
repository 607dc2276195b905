"""Prepare text for people: mask secrets, escape control characters, mark confusables.

::

    render             makes the only text that leaves
    escape             masks and escapes;  confusables: letters that deceive
    cuts               leaves out what a cut may have spoilt
    likeness           what a reader sees of a name
    stdin_preview      what is put on standard input
    secrets            finds secrets in a text, a word, a vector
    secret_patterns    their shapes;  vendor_tokens: those of more vendors
    secret_names       the names behind which a secret follows
    ordinary_values    what follows such a name and is none
    printed_values     forms in which programs print secrets;  printed_settings: of configurations
    listed_keys        private keys in listings
    readings           a text without colours and encodings
"""
