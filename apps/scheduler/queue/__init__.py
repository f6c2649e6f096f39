"""The scheduling queue: which pod is next, and what the others are waiting for."""
