import numpy as np


def measure(places, sizes):
    where, came = np.array(sorted(places.items())).T
    which, left = np.array(sorted(sizes.items())).T
    return where[np.argmin(came)], which[np.flatnonzero(left)[-1]]
