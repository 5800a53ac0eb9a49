"""What the program promises to hold under: hostile files, killed processes, damaged disks, time."""
