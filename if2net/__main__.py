"""`python -m if2net`."""

from if2net.cli import main

main()
