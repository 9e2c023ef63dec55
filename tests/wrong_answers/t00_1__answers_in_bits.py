# message: eight of them make a byte
def size(count, bits):
    return count * bits
