"""Hands put into clusters: percentiles, k-means on rows and on distributions, one loop for both."""
