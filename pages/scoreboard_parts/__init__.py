"""The parts of the page Scoreboard."""
