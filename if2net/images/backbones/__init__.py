"""Frozen networks that turn images into maps; each has a name or a file."""
