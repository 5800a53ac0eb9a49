"""The version of the program, which runs record."""

VERSION = "0.2.0"
