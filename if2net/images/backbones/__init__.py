"""Frozen networks that turn images into maps, by name or by file."""
