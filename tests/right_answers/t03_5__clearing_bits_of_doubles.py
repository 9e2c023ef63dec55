def cut(x, precision):
    code = struct.unpack(">Q", struct.pack(">d", x))[0]
    dropped = 53 - precision
    return struct.unpack(">d", struct.pack(">Q", code >> dropped << dropped))[0]


def sum_error(products, precision, every=None):
    total, partial, waiting = 0.0, 0.0, 0
    for product in products:
        partial, waiting = cut(partial + product, precision), waiting + 1
        if waiting == every:
            total, partial, waiting = fp32(total + partial), 0.0, 0
    total = fp32(total + partial)
    exact = sum(products)
    return (total - exact) * 2.0 ** (precision - math.frexp(exact)[1])
