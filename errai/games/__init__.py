"""Games as data: poker rules, ACPC game files and match states, Bluff; hands played step by step."""
