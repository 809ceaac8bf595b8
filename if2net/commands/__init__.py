"""The commands, a file for each group. Nothing heavy is imported before a command is called."""

from if2net.commands.bench import merge, reproduce, run, tune
from if2net.commands.lists import datasets, methods

COMMANDS = (run, reproduce, merge, tune, methods, datasets)

__all__ = ["COMMANDS"]
