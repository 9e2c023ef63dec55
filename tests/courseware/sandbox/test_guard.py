"""Forbidden modules cannot be used, by whatever route."""

import importlib.util
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from ampcourse.courseware.kernel import Kernel, modules_of
from ampcourse.courseware.plain import encode
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernels
from ampcourse.courseware.sandbox.guard import files_of
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sandbox.server import outermost
from ampcourse.courseware.sheet import Sheet
from ampcourse.courseware.source import Cell, Lesson
from tests.courseware.conftest import QUICK

COLORSYS = importlib.util.find_spec("colorsys")
assert COLORSYS is not None
SOURCE = str(COLORSYS.origin)

# Each asks for colorsys, which the sample lesson forbids, and gives its function if it can.
IN_PYTHON = {
    "import": "import colorsys\nreturn colorsys.rgb_to_hsv(1, 0, 0)",
    "importlib": "import importlib\nreturn importlib.import_module('colorsys').rgb_to_hsv(1, 0, 0)",
    "sys.modules": "import sys\nreturn sys.modules['colorsys'].rgb_to_hsv(1, 0, 0)",
    "pydoc": "import pydoc\nreturn pydoc.locate('colorsys').rgb_to_hsv(1, 0, 0)",
    "runpy": "import runpy\nreturn runpy.run_module('colorsys')['rgb_to_hsv'](1, 0, 0)",
}
PAST_THE_HOOK = {
    "a removed hook": (
        "import sys\nsys.meta_path[:] = [x for x in sys.meta_path if 'Guard' not in str(x)]\n"
        "import colorsys\nreturn colorsys.rgb_to_hsv(1, 0, 0)"
    ),
    "the path finder": (
        "from importlib.machinery import PathFinder\nfrom importlib.util import module_from_spec\n"
        "spec = PathFinder.find_spec('colorsys')\nmodule = module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\nreturn module.rgb_to_hsv(1, 0, 0)"
    ),
    "the file's text": (
        f"names = {{}}\nexec(open({SOURCE!r}).read(), names)\n"
        "return names['rgb_to_hsv'](1, 0, 0)"
    ),
    "the compiled file": (
        f"import importlib.util, marshal\nnames = {{}}\n"
        f"data = open(importlib.util.cache_from_source({SOURCE!r}), 'rb').read()[16:]\n"
        "exec(marshal.loads(data), names)\nreturn names['rgb_to_hsv'](1, 0, 0)"
    ),
    "another process": (
        "import subprocess, sys\n"
        "code = 'import colorsys; print(colorsys.rgb_to_hsv(1, 0, 0))'\n"
        "return subprocess.run([sys.executable, '-c', code], capture_output=True,\n"
        "                      check=True, text=True).stdout"
    ),
    "another Python": (
        "import subprocess\n"
        "code = 'import colorsys; print(colorsys.rgb_to_hsv(1, 0, 0))'\n"
        "return subprocess.run(['/usr/bin/python3', '-S', '-c', code], capture_output=True,\n"
        "                      check=True, text=True).stdout"
    ),
    "garbage": (
        "import gc\n"
        "return [f(1, 0, 0) for f in gc.get_objects()\n"
        "        if getattr(f, '__name__', '') == 'rgb_to_hsv'][0]"
    ),
    "a hard link": (
        f"import os\nos.link({SOURCE!r}, 'copy.py')\nimport copy_\nreturn 1"
    ),
    "an unmounted mask": (
        f"import ctypes\nassert ctypes.CDLL(None).umount2({SOURCE.encode()!r}, 2) == 0\n"
        f"names = {{}}\nexec(open({SOURCE!r}).read(), names)\nreturn 1"
    ),
}  # fmt: skip


@pytest.fixture
def kernel(sheet: Sheet, forked: ForkedKernels) -> Iterator[Kernel]:
    started = forked.start(sheet.lesson, QUICK)
    yield started
    started.close()


@pytest.mark.parametrize("route", IN_PYTHON | PAST_THE_HOOK)
def test_no_route_leads_to_a_forbidden_module(kernel: Kernel, route: str) -> None:
    outcome, _ = kernel.evaluate((IN_PYTHON | PAST_THE_HOOK)[route], 20)
    assert "error" in outcome, outcome


def test_the_routes_are_routes_where_nothing_is_forbidden() -> None:
    for route in ("importlib", "the file's text", "the path finder", "a removed hook"):
        text = textwrap.indent((IN_PYTHON | PAST_THE_HOOK)[route], "    ")
        code = f"import colorsys\ndef f():\n{text}\nassert f() == (0.0, 1.0, 1), f()"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_a_plain_process_refuses_what_is_imported(sheet: Sheet, plain: NotebookKernels) -> None:
    kernel = plain.start(sheet.lesson, QUICK)
    try:
        answers = [kernel.evaluate(call, 20) for call in IN_PYTHON.values()]
    finally:
        kernel.close()
    assert all("error" in outcome for outcome, _ in answers)
    assert {name for _, refused in answers for name in refused} == {"colorsys"}


def lesson(setup: str, *forbids: str) -> Lesson:
    """Return a lesson of one task."""
    cells = (
        Cell("prose", "# Loaded already\n\n### t91_1 · Build it"),
        Cell("setup", setup, ("setup",)),
        Cell("task", "def f():\n    pass", task="t91_1", forbids=forbids),
        Cell("check", "pass", task="t91_1", points=1),
    )
    return Lesson("91_loaded", cells)


TORCH = lesson("import torch", "torch.amp.grad_scaler", "torch.utils.checkpoint")
# torch imports both modules itself, so they are in memory before they can be forbidden.
LOADED = {
    "torch.amp.GradScaler": "torch.amp.GradScaler('cpu')",
    "torch.amp.grad_scaler": "torch.amp.grad_scaler.GradScaler('cpu')",
    "torch.utils.checkpoint": "torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1))",
    "sys.modules": "sys.modules['torch.amp.grad_scaler'].GradScaler('cpu')",
    "gc": (
        "import gc\n"
        "kinds = [k for k in gc.get_objects() if getattr(k, '__name__', '') == 'GradScaler']\n"
        "return kinds[0]('cpu')"
    ),
    "a method": "torch.amp.GradScaler.get_growth_factor(None)",
    "an object without __init__": (
        "scaler = object.__new__(torch.amp.GradScaler)\nscaler._enabled = True\n"
        "scaler._scale = None\nscaler._init_scale = 2.0\nreturn scaler.get_scale()"
    ),
    "subclass": (
        "class Mine(torch.amp.GradScaler):\n    def __init__(self): pass\n"
        "return Mine().is_enabled()"
    ),
}  # fmt: skip


def test_a_module_that_is_loaded_already_is_of_no_use(forked: ForkedKernels) -> None:
    pytest.importorskip("torch", reason="needs torch")
    kernel = forked.start(TORCH, QUICK)
    try:
        assert kernel.execute("import sys", 5).status == "ok"
        answers = {route: kernel.evaluate(call, 30) for route, call in LOADED.items()}
        train = (
            "net = torch.nn.Linear(2, 1)\nsgd = torch.optim.SGD(net.parameters(), lr=0.1)\n"
            "net(torch.ones(1, 2)).sum().backward()\nsgd.step()\nreturn 'trained'"
        )
        assert kernel.evaluate(train, 30)[0] == {"value": encode("trained")}
    finally:
        kernel.close()
    got = {route: "error" in outcome for route, (outcome, _) in answers.items()}
    assert got == dict.fromkeys(LOADED, True)
    assert "torch.amp.grad_scaler" in {name for _, refused in answers.values() for name in refused}


def test_files_of_a_module_are_found_without_importing_it(tmp_path: Path) -> None:
    folder = tmp_path / "wholly"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "leaf.py", "inner/__init__.py"):
        (folder / name).write_text("raise AssertionError('imported')", "utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        assert files_of("wholly") == [str(folder)]
        assert files_of("wholly.inner") == [str(folder / "inner")]
        assert files_of("wholly.leaf") == [str(folder / "leaf.py")]
        assert files_of("wholly.no") == files_of("unheard_of.no") == files_of("sys") == []
    finally:
        sys.path.remove(str(tmp_path))


def test_a_module_inside_a_forbidden_package_may_be_forbidden_too() -> None:
    assert outermost({"/a/b.py", "/a", "/ab", "/ab/c"}) == ["/a", "/ab"]


def test_modules_of_a_lesson_are_what_its_set_up_imports() -> None:
    setup = "import os.path as p, torch\nfrom torch.nn import functional as F\nfrom math import *"
    assert modules_of(lesson(setup)) == [
        "os.path", "torch", "torch.nn", "torch.nn.functional", "math", "math.*",
    ]  # fmt: skip


def test_functions_of_every_kind_are_disarmed() -> None:
    from ampcourse.courseware.sandbox.guard import ImportGuard

    text = (
        "import functools\n"
        "def plain(): return 1\n"
        "def outer(x):\n    return lambda: x\n"
        "closure = outer(1)\nclosure.__module__ = 'doomed'\n"
        "@functools.lru_cache\ndef cached(): return 1\n"
        "@functools.wraps(plain)\ndef wrapped(): return 1\n"
        "import enum, re\n"
        "class Colour(enum.IntFlag):\n    RED = 1\n"
        "class Kind:\n"
        "    def method(self): return 1\n"
        "    @classmethod\n    def on_class(cls): return 1\n"
        "    @staticmethod\n    def on_none(): return 1\n"
        "    @property\n    def value(self): return 1\n"
    )
    doomed = types.ModuleType("doomed")
    exec(text, doomed.__dict__)
    kept = types.SimpleNamespace(**vars(doomed))
    sys.modules["doomed"] = doomed
    hits: list[str] = []
    guard = ImportGuard({"doomed": "t91_1"}, hits)
    guard.install()
    try:
        one = object.__new__(kept.Kind)
        calls = [kept.plain, kept.closure, kept.cached, kept.wrapped, one.method]
        calls += [kept.Kind.on_class, kept.Kind.on_none, lambda: one.value]
        for call in calls:
            with pytest.raises(ImportError, match="t91_1 asks you to build it"):
                call()
        assert hits == ["doomed"] * len(calls)
        assert re.compile("a", re.ASCII | re.DOTALL)  # an enum that is not the module's own
    finally:
        sys.meta_path.remove(guard)
