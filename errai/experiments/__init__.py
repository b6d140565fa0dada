"""The tables and figures of papers, one file for each."""
