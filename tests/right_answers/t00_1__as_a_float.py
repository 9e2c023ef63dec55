def size(count, bits):
    bytes_each = bits / 8
    return count * bytes_each
