"""Where NVIDIA's own apex.amp and a GPU are at hand, ours gives the same types and numbers.

Pinned: any NVIDIA/apex from before cb65b8ed (8 May 2025, pull request 1896), installed from its
repository; the `apex` on PyPI is another package. Each side runs in a process of its own, since
Apex's patches stay for good.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ampcourse.amp.porting import which_apex

SCRIPT = """
import json, sys
import torch
from torch.nn import functional as F
if sys.argv[1] == "apex":
    from apex import amp
else:
    from ampcourse.amp import opt_levels as amp
torch.backends.cudnn.deterministic = True
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(100, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3),
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model, optimizer = amp.initialize(model, optimizer, opt_level=sys.argv[2], verbosity=0)
types, losses, scales = [], [], []
for module in model:
    module.register_forward_hook(lambda module, _, output: types.append(str(output.dtype)))
x, y = torch.randn(6, 1, 12, 12).cuda(), torch.randint(0, 3, (6,)).cuda()
for _ in range(6):
    optimizer.zero_grad()
    loss = 64 * F.cross_entropy(model(x), y)
    losses.append(loss.item().hex())
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    scales.append(amp.state_dict())
types += [str(param.dtype) for param in (*model.parameters(), *amp.master_params(optimizer))]
values = [param.double().flatten().tolist() for param in model.parameters()]
print(json.dumps([types, losses, scales, values]))
"""


def require_apex_amp() -> None:
    torch = pytest.importorskip("torch")
    found = which_apex()
    if not found.has_amp:
        pytest.skip(f"needs NVIDIA's apex with amp: {found}")
    if not torch.cuda.is_available():
        pytest.skip("NVIDIA's apex.amp needs a CUDA device, and there is none")
    tried = subprocess.run(
        [sys.executable, "-c", "from apex import amp"], capture_output=True, text=True
    )
    if tried.returncode:
        pytest.skip(f"NVIDIA's apex.amp cannot be imported: {tried.stderr.splitlines()[-1]}")


@pytest.mark.gpu
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_ours_and_nvidias_train_alike_bit_for_bit(level: str) -> None:
    require_apex_amp()
    results = []
    for side in ("apex", "ours"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, side, level], capture_output=True, text=True, check=True
        )
        results.append(json.loads(done.stdout.splitlines()[-1]))
    assert results[0] == results[1]
