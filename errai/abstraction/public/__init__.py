"""Public clusters of boards, and the private buckets inside each."""
