"""The commands of the study. Heavy modules are imported only when a command runs."""
