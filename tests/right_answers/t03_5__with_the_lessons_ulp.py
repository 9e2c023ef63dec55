def sum_error(products, precision, every=None):
    every = every or len(products)
    total, rest = 0.0, list(products)
    while rest:
        group, rest = rest[:every], rest[every:]
        running = 0.0
        for product in group:
            running += product
            running -= math.fmod(running, ulp(running, precision))
        total = fp32(total + running)
    exact = math.fsum(products)
    return (total - exact) / ulp(exact, precision)
