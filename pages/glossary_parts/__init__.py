"""The terms of the glossary."""
