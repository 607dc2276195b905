"""Define what a sandboxed run sees and changes, and check a workspace after it."""
