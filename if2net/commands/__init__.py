"""The commands for a model, one file each. Heavy modules are imported only when a command runs."""
