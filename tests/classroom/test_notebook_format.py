"""Workers start without a grammar that no notebook needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.classroom.notebook_format import without

ROOT = Path(__file__).parents[2]


def test_a_worker_imports_nbformat_without_the_grammar() -> None:
    code = (
        "import sys, ampcourse.classroom.workers\n"
        "print('nbformat' in sys.modules, 'rfc3987_syntax' in sys.modules)\n"
        "import nbformat; nbformat.validate(nbformat.v4.new_notebook())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False"]


def test_a_module_is_only_out_of_reach_inside_the_block() -> None:
    sys.modules.pop("colorsys", None)
    with without("colorsys"), pytest.raises(ImportError):
        __import__("colorsys")
    import colorsys

    with without("colorsys"):
        assert sys.modules["colorsys"] is colorsys
    assert sys.modules["colorsys"] is colorsys
