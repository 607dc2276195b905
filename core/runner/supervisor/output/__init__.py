"""Read and keep what a run prints."""
