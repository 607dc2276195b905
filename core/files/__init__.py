"""Read and replace small files that only their owner may touch, and identify files."""
