"""What the roofline explorer shows: a device, a recipe, a chosen layer, an op of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ampcourse.benchmark.devices import DEVICES, Device, find_device
from ampcourse.benchmark.layers import Workload, find_recipe
from ampcourse.benchmark.roofline import LayerLimit, StepLimit, step_limit
from ampcourse.widgets.roofline import words
from ampcourse.widgets.roofline.own import Own

#: Layers of these kinds stand on their own; all others are taken together by kind.
SINGLE = ("convolution", "linear")


@dataclass(frozen=True)
class RooflineState:
    """A step's kernels by recipe of a rehearsal, and where one looks.

    `works` has "fp32" and "amp-fp16". Raises ValueError for works that lack one of them, and for
    a device, recipe or layer that is not there.
    """

    works: Mapping[str, Workload]
    device: str
    recipe: str
    layer: str = words.OWN
    own: Own = field(default_factory=Own)

    def __post_init__(self) -> None:
        if missing := {"fp32", "amp-fp16"} - set(self.works):
            raise ValueError(words.wants_works(sorted(missing)))
        if self.recipe not in words.RECIPES:
            raise ValueError(words.unknown("recipe", self.recipe, list(words.RECIPES)))
        object.__setattr__(self, "device", find_device(self.device).name)
        if self.layer not in self.names:
            raise ValueError(words.unknown("layer", self.layer, self.names[:3]))

    @property
    def hardware(self) -> Device:
        """The device with its peaks."""
        return DEVICES[self.device]

    def limit_of(self, recipe: str) -> StepLimit:
        """Return the step's limit on this device under any of the recipes."""
        work = self.works["amp-fp16" if find_recipe(recipe).half else "fp32"]
        return step_limit(replace(work, recipe=recipe), self.hardware)

    @cached_property
    def limit(self) -> StepLimit:
        """The step's limit under the chosen recipe."""
        return self.limit_of(self.recipe)

    @cached_property
    def layers(self) -> dict[str, LayerLimit]:
        """The chosen recipe's layers by the names they are chosen by; the step and the own op."""
        return self._layers(self.limit, self.recipe)

    @cached_property
    def baseline(self) -> dict[str, LayerLimit]:
        """The same in FP32."""
        return self._layers(self.limit_of("fp32"), "fp32")

    @cached_property
    def names(self) -> list[str]:
        """Everything that can be chosen, the own op first."""
        return list(self.layers)

    @property
    def chosen(self) -> LayerLimit:
        """What the read-outs tell of."""
        return self.layers[self.layer]

    def with_device(self, device: str) -> RooflineState:
        """Look at another device."""
        return replace(self, device=device)

    def with_recipe(self, recipe: str) -> RooflineState:
        """Look at another recipe; a kind of layer that it lacks gives way to the whole step."""
        changed = replace(self, recipe=recipe, layer=words.OWN)
        kept = self.layer if self.layer in changed.names else words.STEP
        return replace(changed, layer=kept)

    def with_layer(self, layer: str) -> RooflineState:
        """Choose another layer by its name."""
        return replace(self, layer=layer)

    def with_window(self, window: int) -> RooflineState:
        """Give the own convolution another window, and look at it."""
        return replace(self, own=self.own.with_window(window), layer=words.OWN)

    def with_power(self, power: int) -> RooflineState:
        """Give the own convolution another number of channels, and look at it."""
        return replace(self, own=self.own.with_power(power), layer=words.OWN)

    def _layers(self, limit: StepLimit, recipe: str) -> dict[str, LayerLimit]:
        own = Workload(recipe, 1, (self.own.kernel(recipe),))
        groups = {words.OWN: list(step_limit(own, self.hardware).layers)}
        groups[words.STEP] = list(limit.layers)
        for layer in limit.layers:
            name = layer.name if layer.kind in SINGLE else words.kind(layer.kind)
            groups.setdefault(name, []).append(layer)
        ordered = sorted(groups, key=lambda n: (n not in (words.OWN, words.STEP), n in words.ALL))
        return {name: _together(name, groups[name]) for name in ordered}


def _together(name: str, layers: list[LayerLimit]) -> LayerLimit:
    return LayerLimit(
        name,
        layers[0].kind,
        sum(layer.flops for layer in layers),
        sum(layer.bytes for layer in layers),
        sum(layer.seconds for layer in layers),
        sum(layer.arithmetic_seconds for layer in layers),
    )
