"""Card abstraction: features of every hand, buckets made of them, public clusters."""
