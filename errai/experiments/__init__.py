"""The tables and figures of papers, one file for each, listed in `registry.py`.

CEP: Tammelin, Burch, Johanson and Bowling, "Solving Heads-up Limit Texas Hold'em" (IJCAI 2015).
THESIS: Johanson, "Robust Strategies and Counter-Strategies: From Superhuman to Optimal Play" (2016).
"""
