"""Define what stands in a planned word for what is known once the command runs."""

STATUS = "$?"
"""What stands in a vector where a command gets the status of the last pipeline."""
