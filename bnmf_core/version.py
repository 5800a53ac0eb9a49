"""The version of the program, which runs record."""

VERSION = "1.0.0"
