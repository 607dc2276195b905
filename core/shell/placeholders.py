"""Define the placeholders in planned words for what is known once the command runs."""

STATUS = "$?"
"""The placeholder in a vector where a command gets the status of the last pipeline."""
