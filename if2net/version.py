"""The version of if2net."""

__version__ = "0.2.0"
