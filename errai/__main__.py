"""`python -m errai` is the command line."""

from errai.cli.main import main

main()
