"""How fast the program is, against other programs and against what the machine can do."""
