"""Runs: configuration, running, folders, locks, resuming; spots and stages of Bluff."""
