"""The commands of the study. Nothing heavy is imported before a command is called."""

from if2net.study.commands.bench import merge, reproduce, run, tune
from if2net.study.commands.images import features, pretrain
from if2net.study.commands.lists import datasets, methods
from if2net.study.commands.report import compare, report

COMMANDS = (run, reproduce, report, compare, merge, tune, features, pretrain, methods, datasets)

__all__ = ["COMMANDS"]
