"""Expected value, best response and exploitability, exact, by the one traversal."""
