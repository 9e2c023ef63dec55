"""The library's shape: what importing costs, which way imports go, and clean linters."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ampcourse"
HEAVY = (
    "numpy",
    "torch",
    "torchvision",
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "pandas",
    "IPython",
)

# Each part may import itself, the parts named after it and what is outside the package.
FORMATS = {"formats", "decode", "rounding", "number_text", "operand", "encode", "neighbours"}
NUMBERS = FORMATS | {"quantize", "blocks", "dynamic_range", "tensor_core"}
PARTS = {
    "formats": FORMATS,
    "quantize": FORMATS,
    "blocks": FORMATS | {"quantize"},
    "dynamic_range": FORMATS | {"quantize"},
    "tensor_core": FORMATS | {"quantize"},
    "amp": set(),
    "training": {"amp", "dynamic_range"},
    "diagnose": {"amp"},
    "memory": {"training"},
    "distributed": set(),
    "benchmark": {"amp", "distributed", "memory", "tensor_core", "training"},
    "low_precision": FORMATS | {"quantize", "blocks", "dynamic_range", "training"},
    "engines": {"amp", "benchmark", "distributed", "memory", "training"},
    "plotting": NUMBERS | {"amp", "benchmark", "low_precision", "memory", "training"},
    "widgets": NUMBERS | {"amp", "benchmark", "memory", "plotting"},
    "report": {"benchmark", "plotting"},
    "claims": FORMATS | {"benchmark", "memory", "tensor_core", "training"},
    "courseware": set(),
    "classroom": {"courseware"},
    "slides": {"courseware", "plotting"},
    "bootstrap": set(),
    "launch": {"bootstrap", "courseware"},
    "cli": {
        "benchmark",
        "bootstrap",
        "classroom",
        "launch",
        "courseware",
        "diagnose",
        "report",
        "slides",
    },
    "__main__": {"bootstrap", "cli"},
    "__init__": set(),
}


def loaded(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    )


@pytest.mark.parametrize(
    "statement",
    [
        "import ampcourse",
        "from ampcourse.formats import FP16",
        "from ampcourse.encode import encode",
        "from ampcourse.decode import decode",
        "import ampcourse.widgets",
        "import ampcourse.blocks",
        "import ampcourse.tensor_core",
        "from ampcourse.tensor_core.reference import block_terms",
        "from ampcourse.amp.loss_scale import update",
        "import ampcourse.benchmark",
        "import ampcourse.memory",
        "from ampcourse.benchmark.devices import DEVICES",
        "import ampcourse.training",
        "import ampcourse.diagnose",
        "import ampcourse.claims",
        "import ampcourse.classroom",
        "import ampcourse.low_precision",
        "import ampcourse.engines.scenes",
        "from ampcourse.courseware import check, task",
        "import ampcourse.slides",
        "import ampcourse.cli",
        "import ampcourse.bootstrap",
    ],
)
def test_importing_loads_no_heavy_library(statement: str) -> None:
    assert not loaded(statement) & set(HEAVY)


def part_of(path: Path) -> str:
    """Return the part a file belongs to: its folder, its module, or the formats."""
    name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "formats" if name in FORMATS else name


def imported(path: Path) -> set[str]:
    """Return the names of the package's parts that a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == "ampcourse":
                names = [f"ampcourse.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("ampcourse.")}
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    allowed = PARTS[part] | {part} | {"__version__"}
    assert imported(path) <= allowed


def test_no_module_is_called_utils_or_common() -> None:
    assert not [
        path for path in PACKAGE.rglob("*.py") if path.stem in ("utils", "common", "helpers")
    ]


@pytest.mark.parametrize(
    "tool", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)], ids=" ".join
)
def test_linters_are_clean(tool: tuple[str, ...]) -> None:
    pytest.importorskip(tool[0], reason=f"needs {tool[0]} (the test extra)")
    folders = ["ampcourse", "tests", "notebooks/source"]
    command = [sys.executable, "-m", *tool, *folders]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
