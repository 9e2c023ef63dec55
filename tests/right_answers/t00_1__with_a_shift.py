def size(count, bits):
    return (count * bits) >> 3
