"""Ways of making buckets of rows: k-means, nearest centres, percentiles, potential-aware clustering."""
