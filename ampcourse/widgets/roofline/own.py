"""A convolution of one's own: as many channels out as in, its images as in ResNet50's stage one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ampcourse.benchmark.kernels import Kernel
from ampcourse.benchmark.layers import find_recipe
from ampcourse.widgets.roofline import words

#: Images and their rows and columns, as where ResNet50's first stage works.
IMAGES, SIDE = 256, 56
WINDOWS = (1, 3, 7)
#: Powers of two: from 8 to 2048 channels.
LEAST, MOST = 3, 11


@dataclass(frozen=True)
class Own:
    """Its window and the power of two of its channels; ValueError for others than those above."""

    window: int = 3
    power: int = 6

    def __post_init__(self) -> None:
        if self.window not in WINDOWS or not LEAST <= self.power <= MOST:
            raise ValueError(words.wants_own(self.window, self.power))

    @property
    def channels(self) -> int:
        """Channels in and out."""
        return int(2**self.power)

    def with_window(self, window: int) -> Own:
        """Slide another window over the image."""
        return replace(self, window=window)

    def with_power(self, power: int) -> Own:
        """Take another number of channels, brought into what the slider has."""
        return replace(self, power=min(max(power, LEAST), MOST))

    def kernel(self, recipe: str) -> Kernel:
        """Return its forward pass under a recipe of ampcourse.benchmark.layers."""
        half = bool(find_recipe(recipe).half)
        image = IMAGES * self.channels * SIDE**2
        weight = self.channels**2 * self.window**2
        width = 2 if half else 4
        return Kernel(
            words.OWN,
            "forward",
            "convolution",
            "convolution",
            2 * IMAGES * SIDE**2 * weight,  # every weight once per image and position
            width * (2 * image + weight),
            "half" if half else "fp32",
            width * 2 * image,
        )
