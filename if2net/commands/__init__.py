"""The commands of the product, one file each. Heavy modules are imported only when a command runs."""
