"""Protocols, runner, accuracy matrix R and metrics."""
