"""The command line: the same runs in the same store as the dashboard's."""

from bnmf_core.cli.main import main

__all__ = ["main"]
