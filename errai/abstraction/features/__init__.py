"""Classes of hands, their features, and the rows of numbers that clustering works on."""
