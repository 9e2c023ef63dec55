"""The roofline explorer: the layers of a network and an op of one's own under a device's roof."""
