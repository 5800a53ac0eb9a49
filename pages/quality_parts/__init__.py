"""What only the page How sure? uses."""
