"""One outlier in a tensor under scales that are shared by all of it, by 32 and by 16 values."""
