"""What a solved game is, on disk and in memory, and how it is asked."""
