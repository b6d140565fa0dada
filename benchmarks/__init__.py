"""Benchmarks: figures as ratios measured in one run. Performance is never a test."""
