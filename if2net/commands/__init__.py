"""The commands, a file for each group. Nothing heavy is imported before a command is called."""

from if2net.commands.bench import merge, reproduce, run, tune
from if2net.commands.images import features, pretrain
from if2net.commands.lists import datasets, methods
from if2net.commands.model import info, learn, predict
from if2net.commands.report import compare, report

COMMANDS = (learn, predict, info, run, reproduce, report, compare, merge, tune, features, pretrain, methods, datasets)

__all__ = ["COMMANDS"]
