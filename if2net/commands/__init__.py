"""The commands for a model. Nothing heavy is imported before a command is called."""

from if2net.commands.model import info, learn, predict

COMMANDS = (learn, predict, info)

__all__ = ["COMMANDS"]
