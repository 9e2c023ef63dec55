import struct


def next_state(
    scale, tracker, found_inf, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000
):
    def times(factor):
        return struct.unpack("<f", struct.pack("<f", scale * factor))[0]

    if found_inf:
        return times(backoff_factor), 0
    tracker += 1
    if tracker >= growth_interval:
        tracker = 0
        try:
            scale = times(growth_factor)
        except OverflowError:
            pass
    return scale, tracker
