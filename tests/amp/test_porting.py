"""The porting table names what exists, and a learner is told whose apex is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp import opt_levels as amp
from ampcourse.amp.porting import PORTING, which_apex


@pytest.fixture(autouse=True)
def no_level_is_left() -> Iterator[None]:
    """Take the patches off again."""
    yield
    amp.deactivate()


def test_every_call_of_apex_in_the_table_is_one_of_ours() -> None:
    names = {name for port in PORTING for name in re.findall(r"amp\.(\w+)", port.apex)}
    assert names <= set(amp.__all__)
    calls = {name for name in amp.__all__ if name[0].islower()}
    ours = {"deactivate"}
    # No script calls these, or they go as another row of the table does.
    alike = {"disable_casts", "register_half_function", "register_promote_function"}
    assert calls - names == ours | alike


@pytest.mark.parametrize("port", PORTING, ids=lambda port: port.apex[:40])
def test_every_row_says_what_to_do_or_that_there_is_nothing(port: object) -> None:
    apex, torch_amp, note = astuple(port)  # type: ignore[call-overload]
    assert apex
    assert note.endswith(".")
    for name in re.findall(r"torch\.amp\.(\w+)", torch_amp):
        assert hasattr(torch.amp, name)
    for name in re.findall(r"scaler\.(\w+)\(", torch_amp):
        assert hasattr(torch.amp.GradScaler, name)


def test_o2_and_o3_have_no_equivalent() -> None:
    missing = [port.apex for port in PORTING if not port.torch_amp]
    assert [apex for apex in missing if "O2" in apex or "O3" in apex] == [
        f'amp.initialize(model, optimizer, opt_level="{level}")' for level in ("O2", "O3")
    ]


def test_a_script_ported_by_the_table_trains_as_o1_does_where_the_lists_agree() -> None:
    def parts() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return model, optimizer, torch.randn(6, 4), torch.randint(0, 3, (6,))

    model, optimizer, x, y = parts()
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1", verbosity=0)
    for _ in range(5):
        optimizer.zero_grad()
        loss = 64 * F.cross_entropy(model(x).float(), y)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        optimizer.step()
    by_apex = [param.detach() for param in model.parameters()]
    scale = amp.state_dict()["loss_scaler0"]["loss_scale"]
    amp.deactivate()

    model, optimizer, x, y = parts()
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(5):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            output = model(x)
        loss = 64 * F.cross_entropy(output.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == scale < 65536.0
    assert all(map(torch.equal, by_apex, model.parameters()))


# Whose apex ---------------------------------------------------------------------------------


def install(
    folder: Path, source: str, parts: tuple[str, ...] = (), metadata: str | None = None
) -> list[str]:
    """Put a package called apex into a folder, with what a distribution says of it."""
    package = folder / "apex"
    package.mkdir()
    (package / "__init__.py").write_text(source, "utf-8")
    for part in parts:
        target = package / part
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("raise ImportError('nobody should import this')\n", "utf-8")
    if metadata is not None:
        info = folder / "apex-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: apex\n{metadata}", "utf-8")
    return [str(folder)]


NVIDIA = ("multi_tensor_apply/__init__.py", "normalization/__init__.py", "optimizers/__init__.py")
NVIDIA_METADATA = "Version: 0.1\nSummary: PyTorch Extensions written by NVIDIA\n"
PYRAMID = "from pyramid.session import SomeSessionFactory\n"


def test_no_apex_is_no_loss(tmp_path: Path) -> None:
    found = which_apex([str(tmp_path)])
    assert (found.owner, found.has_amp, found.version, found.location) == (
        "none",
        False,
        None,
        None,
    )
    assert "none is needed" in str(found)


def test_the_one_of_pip_install_apex_is_recognised_without_importing_it(tmp_path: Path) -> None:
    metadata = "Version: 0.9.10.dev0\nSummary: Toolkit for Pyramid\n"
    found = which_apex(install(tmp_path, PYRAMID, metadata=metadata))
    assert (found.owner, found.has_amp, found.version) == ("pyramid", False, "0.9.10.dev0")
    assert "is not NVIDIA's" in str(found)
    assert "pip uninstall apex" in str(found)
    assert "from ampcourse.amp import opt_levels as amp" in str(found)
    assert str(tmp_path) in str(found)
    assert "apex" not in sys.modules


def test_it_is_recognised_by_its_source_or_by_its_metadata_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert which_apex(install(tmp_path / "a", PYRAMID)).owner == "pyramid"
    (tmp_path / "b").mkdir()
    metadata = "Version: 1\nSummary: Toolkit for Pyramid\n"
    assert which_apex(install(tmp_path / "b", "", metadata=metadata)).owner == "pyramid"


def test_nvidias_with_amp_may_stay(tmp_path: Path) -> None:
    path = install(tmp_path, "import torch\n", (*NVIDIA, "amp/frontend.py"), NVIDIA_METADATA)
    found = which_apex(path)
    assert (found.owner, found.has_amp, found.version) == ("nvidia", True, "0.1")
    assert "still has amp" in str(found)


def test_nvidias_of_today_has_no_amp(tmp_path: Path) -> None:
    for name, metadata in (("with", NVIDIA_METADATA), ("without", None)):
        (tmp_path / name).mkdir()
        found = which_apex(install(tmp_path / name, "import torch\n", NVIDIA, metadata))
        assert (found.owner, found.has_amp) == ("nvidia", False)
        assert "without amp" in str(found)


def test_a_script_of_ones_own_called_apex_is_neither(tmp_path: Path) -> None:
    (tmp_path / "apex.py").write_text("from apex import amp\n", "utf-8")
    found = which_apex([str(tmp_path)])
    assert (found.owner, found.version) == ("unknown", None)
    assert found.location == str(tmp_path / "apex.py")
    assert "rename it" in str(found)


def test_an_empty_folder_called_apex_is_neither(tmp_path: Path) -> None:
    (tmp_path / "apex").mkdir()
    assert which_apex([str(tmp_path)]).owner == "unknown"


def test_the_first_on_the_path_is_the_one_that_counts(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    second = install(tmp_path / "second", "", (*NVIDIA, "amp/frontend.py"), NVIDIA_METADATA)
    first = install(tmp_path / "first", PYRAMID)
    assert which_apex([*first, *second]).owner == "pyramid"


def test_without_a_path_sys_path_is_looked_along(tmp_path: Path) -> None:
    install(tmp_path, PYRAMID)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ampcourse.amp.porting import which_apex; print(which_apex().owner)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pyramid\n"
