"""Agents, what they are seated at (dealers, matches), and the logs of what they played."""
