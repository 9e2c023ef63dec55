"""The messages listed in the README are met: ours are in the source, PyTorch's are provoked."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the lab extra")

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SECTION = README.partition("## When something goes wrong")[2].partition("\n## ")[0]
CELL = re.compile(r"^\| (?:`` (?P<ticks>.+?) ``|`` ?(?P<more>.+?) ?``|`(?P<one>[^`]+)`) \|", re.M)


def messages(part: str) -> list[str]:
    """Return the messages of a part of the section, in order."""
    text = SECTION.partition(f"### {part}\n")[2].partition("\n### ")[0]
    return [next(filter(None, found.groups())).strip() for found in CELL.finditer(text)]


def rows(part: str) -> list[str]:
    """Return the lines of a part's table below its head."""
    text = SECTION.partition(f"### {part}\n")[2].partition("\n### ")[0]
    return [line for line in text.splitlines() if line.startswith("| `")]


# What our own code says. ---------------------------------------------------------------------

SAID_BY_OTHERS = {
    "Starting": {"No module named ampcourse", "externally-managed-environment"},
    "In JupyterLab": {
        "NameError: name",
        "No module named 'ampcourse'",
        "Error displaying widget",
        "appears to have died",
        "A connection to the Jupyter server could not be established",
    },
}
PLACES = {
    "Starting": ("__main__.py", "launch.py", "bootstrap/*.py"),
    "In JupyterLab": ("courseware/cards.py", "widgets/front_end.py"),
}


def spoken(pattern: str) -> Iterator[str]:
    """Yield the texts in the package's modules that match; # for a field, and no docstrings."""
    for path in (ROOT / "ampcourse").glob(pattern):
        tree = ast.parse(path.read_text("utf-8"))
        unsaid = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) not in unsaid:
                    yield re.sub(r"\{[^}]*\}", "#", node.value)
            elif isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(piece.value) if isinstance(piece, ast.Constant) else "#"
                    for piece in node.values
                )


@pytest.mark.parametrize("part", list(PLACES))
def test_each_of_our_messages_is_said_somewhere(part: str) -> None:
    listed = [text.removesuffix(" torch") for text in messages(part)]
    said = [text for place in PLACES[part] for text in spoken(place)]
    assert len(listed) == len(rows(part)) >= 9
    assert set(SAID_BY_OTHERS[part]) <= set(listed)
    ours = [text for text in listed if text not in SAID_BY_OTHERS[part]]
    assert [text for text in ours if not any(text in sentence for sentence in said)] == []


def test_python_says_that_there_is_no_ampcourse_in_another_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-m", "ampcourse", "lab"]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "No module named ampcourse" in done.stderr


def test_pip_calls_the_systems_environment_externally_managed() -> None:
    exceptions = pytest.importorskip("pip._internal.exceptions", reason="this Python has no pip")
    assert exceptions.ExternallyManagedEnvironment.reference == "externally-managed-environment"


def test_python_says_which_name_or_module_is_missing() -> None:
    with pytest.raises(NameError) as missing:
        eval("decode_it", {})
    assert f"{missing.type.__name__}: {missing.value}".startswith("NameError: name")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'ampcourse[.]nowhere'"):
        __import__("ampcourse.nowhere")


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("appears to have died", "lab/static/jlab_core.*.js"),
        ("A connection to the Jupyter server could not be established", "lab/static/*.js"),
        ("Error displaying widget", "labextensions/@jupyter-widgets/**/*.js"),
    ],
)
def test_jupyterlab_has_the_sentence(message: str, place: str) -> None:
    assert message in messages("In JupyterLab")
    files = list((Path(sysconfig.get_path("data")) / "share/jupyter").glob(place))
    if not files:
        pytest.skip("JupyterLab's files are not in this environment")
    assert any(message in path.read_text("utf-8", "replace") for path in files)


# What PyTorch says. --------------------------------------------------------------------------


def half(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float16)


def scaled(
    dtype: torch.dtype = torch.float32, factor: float = 1.0, other: bool = False
) -> tuple[torch.optim.Optimizer, torch.amp.GradScaler]:
    """Return optimizer and scaler after a scaled backward pass, of another net with `other`."""
    net, used = nn.Linear(2, 1).to(dtype), nn.Linear(2, 1)
    loss = (used if other else net)(torch.ones(1, 2, dtype=torch.float32 if other else dtype))
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=1.0), torch.amp.GradScaler("cpu")
    scaler.scale(loss.sum() * factor).backward()
    return optimizer, scaler


def schedule_after_a_skip() -> None:
    optimizer, scaler = scaled(factor=float("inf"))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()


def step_without_gradients() -> None:
    optimizer, scaler = scaled(other=True)
    scaler.step(optimizer)


def step_of_half_weights() -> None:
    optimizer, scaler = scaled(torch.float16)
    scaler.step(optimizer)


def unscale_twice() -> None:
    optimizer, scaler = scaled()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def unscale_after_the_step() -> None:
    optimizer, scaler = scaled()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def bce_under_cudas_autocast() -> None:
    # Tensors without numbers ask CUDA's autocast on any machine.
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        torch.set_autocast_enabled("cuda", True)
        try:
            guess, target = (torch.full((2,), number, device="cuda") for number in (0.5, 1.0))
            nn.functional.binary_cross_entropy(guess, target)
        finally:
            torch.set_autocast_enabled("cuda", False)


def autocast_to(device: str, dtype: torch.dtype) -> None:
    with torch.autocast(device, dtype=dtype):
        pass


def nan_on_the_way_back() -> None:
    with torch.autograd.detect_anomaly():
        x = torch.zeros(1, requires_grad=True)
        (x.sqrt() * 0).sum().backward()


def backward_twice() -> None:
    loss = nn.Linear(2, 1)(torch.ones(1, 2)).exp().sum()
    loss.backward()
    loss.backward()


def load_objects(folder: Path) -> None:
    torch.save({"when": Path}, folder / "checkpoint.pt")
    torch.load(folder / "checkpoint.pt")


class Ends(Dataset):
    """Images whose worker ends without a word."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        os._exit(1)


def worker_that_ends() -> None:
    list(DataLoader(Ends(), num_workers=1))


def spawn_from_main() -> None:
    code = (
        "import torch.multiprocessing as mp\n"
        "def work(rank): pass\n"
        "if __name__ == '__main__': mp.spawn(work)"
    )
    command = [sys.executable, "-c", code]
    raise RuntimeError(subprocess.run(command, capture_output=True, text=True).stderr)


def ask_for_a_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    if not torch.version.cuda:
        pytest.skip("this PyTorch was built without CUDA and says so in other words")
    torch.ones(1).cuda()


def autocast_without_cuda() -> None:
    if torch.cuda.is_available():
        pytest.skip("CUDA is available")
    autocast_to("cuda", torch.float16)


def scaler_without_cuda() -> None:
    if torch.cuda.is_available():
        pytest.skip("CUDA is available")
    torch.amp.GradScaler()


def more_memory_than_there_is() -> None:
    if not torch.cuda.is_available():
        pytest.skip("only a GPU runs out of its memory")
    torch.empty(2**50, device="cuda")


#: Message → (what makes PyTorch say it, words of the lesson that explains it).
PROVOKED: dict[str, tuple[Callable[..., object], str]] = {
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`": (
        schedule_after_a_skip,
        "lr_scheduler",
    ),
    "No inf checks were recorded for this optimizer": (step_without_gradients, '"No inf checks"'),
    "Attempting to unscale FP16 gradients": (
        step_of_half_weights,
        "weights made FP16 with .half()",
    ),
    "unscale_() has already been called on this optimizer": (
        unscale_twice,
        "Unscale in each micro-step",
    ),
    "unscale_() is being called after step()": (unscale_after_the_step, "clipping after the step"),
    "mat1 and mat2 must have the same dtype": (
        lambda: nn.Linear(2, 1)(half(1, 2)),
        "have the same dtype",
    ),
    "Input type (c10::Half) and bias type (float) should be the same": (
        lambda: nn.Conv2d(1, 1, 1)(half(1, 1, 2, 2)),
        'complain("Conv1d"',
    ),
    "expected scalar type Half but found Float": (
        lambda: torch.bmm(half(1, 2, 2), torch.ones(1, 2, 2)),
        "expected scalar type Half but found Float",
    ),
    "not implemented for 'Half'": (lambda: torch.linalg.cholesky(half(1, 1)), ""),
    "binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast": (
        bce_under_cudas_autocast,
        "The op that refuses is `binary_cross_entropy`",
    ),
    "target dtype is not supported. Disabling autocast": (
        lambda: autocast_to("cpu", torch.float32),
        "",
    ),
    "CUDA is not available or torch_xla is imported. Disabling autocast": (
        autocast_without_cuda,
        "",
    ),
    "GradScaler is enabled, but CUDA is not available": (scaler_without_cuda, ""),
    "Found no NVIDIA driver on your system": (ask_for_a_gpu, ""),
    "torch.cuda.amp.GradScaler(args...)": (lambda: torch.cuda.amp.GradScaler(enabled=False), ""),
    "CUDA out of memory": (more_memory_than_there_is, "CUDA out of memory"),
    "returned nan values in its 0th output": (nan_on_the_way_back, "detect_anomaly"),
    "Trying to backward through the graph a second time": (backward_twice, "retain_graph=True"),
    "Weights only load failed": (load_objects, "weights_only=True"),
    "DataLoader worker (pid(s) 1234) exited unexpectedly": (worker_that_ends, ""),
    "Can't get attribute 'work' on <module '__main__'": (spawn_from_main, "a function defined in"),
}
PART = "In a training loop"


def test_every_message_of_pytorchs_is_provoked_here() -> None:
    assert messages(PART) == list(PROVOKED)
    assert len(rows(PART)) == len(PROVOKED)


@pytest.mark.parametrize("message", list(PROVOKED))
def test_pytorch_says_it(message: str, tmp_path: Path) -> None:
    provoke = PROVOKED[message][0]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            provoke(*[tmp_path] * (provoke is load_objects))
            said = ""
        except (RuntimeError, ValueError, AssertionError, OSError) as error:
            said = str(error)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    said += "".join(str(warning.message) for warning in heard)
    assert message in re.sub(r"\(pid\(s\) \d+\)", "(pid(s) 1234)", said)


@pytest.mark.parametrize("message", list(PROVOKED))
def test_the_lesson_named_speaks_of_it(message: str) -> None:
    words = PROVOKED[message][1]
    row = next(line for line in rows(PART) if message in line)
    named = re.search(r"\| (\d\d) \|$", row)
    assert bool(named) is bool(words)
    if named:
        (path,) = (ROOT / "notebooks" / "source").glob(f"{named[1]}_*.py")
        assert words in path.read_text("utf-8")
