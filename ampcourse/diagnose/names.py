"""What to call a module or a parameter: its path in the model it belongs to."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from ampcourse.diagnose.numbers_seen import storage_key

_MOST_CASTS = 10_000  # so many are remembered before those that are gone are dropped


class Names:
    """Paths of modules and parameters, of the models met so far; the first name found stays."""

    def __init__(self) -> None:
        self._modules: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._born: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        # Tensors compare element by element, so they are keyed by id, with the tensor itself
        # kept to make sure that no other one has taken the id over.
        self._parameters: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}

        self._in_models: set[int] = set()  # a path in a model outdoes a place in an optimizer
        # The same for what a parameter was cast to, found by the memory that it shares with views.
        self._casts: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}

    def add_cast(self, cast: torch.Tensor, name: str) -> None:
        """Learn that a tensor is a parameter in another type."""
        if len(self._casts) > _MOST_CASTS:
            alive = {key: known for key, known in self._casts.items() if known[0]() is not None}
            self._casts = alive
        self._casts[storage_key(cast)] = (weakref.ref(cast), name)

    def of_tensor(self, tensor: torch.Tensor) -> str:
        """Return the path of the parameter that a tensor is, or is cast from, or ""."""
        cast = self._casts.get(storage_key(tensor))
        known = cast[1] if cast is not None and cast[0]() is not None else ""
        return self.of_parameter(tensor) or known

    def add_model(self, model: nn.Module) -> None:
        """Learn the paths in a model; its own is the name of its class."""
        inner = getattr(model, "_orig_mod", None) or getattr(model, "module", None)
        if isinstance(inner, nn.Module):  # compiled, or wrapped for several devices
            self.add_model(inner)
        for path, module in model.named_modules():
            self._modules.setdefault(module, path or type(model).__name__)
        for path, parameter in model.named_parameters():
            if id(parameter) not in self._in_models:
                self._in_models.add(id(parameter))
                self._parameters[id(parameter)] = (weakref.ref(parameter), path)

    def born(self, module: nn.Module) -> None:
        """Note a new module, so that those it will belong to can be found."""
        self._born.add(module)

    def add_model_of(self, module: nn.Module) -> nn.Module:
        """Learn the model that a module belongs to, which may itself never be called; return it."""
        owners = [
            owner
            for owner in self._born
            if owner._modules and any(part is module for part in owner.modules())
        ]
        model = max(owners, key=lambda owner: sum(1 for _ in owner.modules()), default=module)
        self.add_model(model)
        return model

    def add_optimizer(self, optimizer: Any) -> None:
        """Learn the parameters of an optimizer, by their place in it unless they have a path."""
        for g, group in enumerate(optimizer.param_groups):
            for i, parameter in enumerate(group["params"]):
                name = f"{type(optimizer).__name__} group {g}, parameter {i}"
                if isinstance(parameter, torch.Tensor) and not self.of_parameter(parameter):
                    self._parameters[id(parameter)] = (weakref.ref(parameter), name)
                    self._in_models.discard(id(parameter))

    def knows(self, module: nn.Module) -> bool:
        """Return whether the module has a path already."""
        return module in self._modules

    def of_module(self, module: nn.Module) -> str:
        """Return a module's path, or its class if it is in no model that was met."""
        return self._modules.get(module) or type(module).__name__

    def of_parameter(self, tensor: torch.Tensor) -> str:
        """Return a parameter's path, or "" for any other tensor."""
        known = self._parameters.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else ""

    def parameters(self) -> Iterator[torch.Tensor]:
        """Yield the parameters that are still alive."""
        for key, (reference, _) in list(self._parameters.items()):
            parameter = reference()
            if parameter is None:
                del self._parameters[key]
            else:
                yield parameter
