"""Code that is out to get marks without solving anything, or to break what grades it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ampcourse.courseware.grade import grade
from ampcourse.courseware.kernel import KernelLost, Kernels, Limits
from ampcourse.courseware.report import as_json, as_text
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sheet import Sheet
from tests.courseware.conftest import QUICK, RIGHT, HandIn, Mark

WRONG = "def add_one(x):\n    return 0\n"
FORGERIES = {
    "patched json": (
        "import json\n"
        "json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{\"outcome\": 2}'\n" + WRONG
    ),
    "patched builtins": (
        "import builtins\n"
        "class Always:\n    __eq__ = lambda self, other: True\n"
        "builtins.eval = lambda *a: Always()\n"
        "builtins.compile = lambda *a, **k: '2'\n" + WRONG
    ),
    "patched float and numpy": (
        "import sys, types\n"
        "numpy = types.ModuleType('numpy')\n"
        "numpy.ndarray = numpy.generic = type('Lie', (), {'dtype': None})\n"
        "sys.modules['numpy'] = numpy\n" + WRONG
    ),
    "an encoder that says what is wanted": (
        "import sys\n"
        "agent = sys.modules['_ampcourse_agent']\n"
        "agent.Encoder.encode = lambda self, value, depth=0: ['int', '0x2']\n" + WRONG
    ),
    "hooks before and after a cell": (
        "shell = get_ipython()\n"
        "shell.events.register('pre_run_cell', lambda *a: shell.user_ns.update(add_one=None))\n"
        "shell.events.register('post_run_cell', lambda *a: 1 / 0)\n" + WRONG
    ),
    "a transformer of syntax trees": (
        "import ast\n"
        "class Yes(ast.NodeTransformer):\n"
        "    def visit_Compare(self, node): return ast.Constant(True)\n"
        "get_ipython().ast_transformers.append(Yes())\n" + WRONG
    ),
    "a magic of its own": (
        "from IPython.core.magic import register_cell_magic\n"
        "@register_cell_magic\ndef check(line, cell): pass\n" + WRONG
    ),
    "a shell that runs nothing": (
        "get_ipython().run_cell = lambda *a, **k: None\n" + WRONG
    ),
    "an answer written into the connection": (
        "import os, struct\n"
        "data = b'{\"outcome\": {\"value\": [\"int\", \"0x2\"]}}'\n"
        "for file in range(3, 64):\n"
        "    try: os.write(file, (struct.pack('!Q', len(data)) + data) * 9)\n"
        "    except OSError: pass\n" + WRONG
    ),
    "what is no message at all": (
        "import os\n"
        "for file in range(3, 64):\n"
        "    try: os.write(file, b'\\xff' * 99)\n"
        "    except OSError: pass\n" + WRONG
    ),
    "a search of memory for what is expected": (
        "import gc, sys\n"
        "def add_one(x):\n"
        "    for thing in gc.get_objects():\n"
        "        if type(thing).__name__ in ('Check', 'Entry', 'Sheet', 'Exactly'):\n"
        "            return thing.expected\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        for name, value in frame.f_locals.items():\n"
        "            if name in ('expected', 'answer', 'tree'): return value\n"
        "        frame = frame.f_back\n"
    ),
}  # fmt: skip


def scores(sheet: Sheet, path: Path, kernels: Kernels) -> list[float]:
    return [task.score for task in grade(sheet, path, QUICK, kernels).tasks]


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forgery_earns_nothing(mark: Mark, hand_in: HandIn, kind: str) -> None:
    report = mark(hand_in({**RIGHT, "t90_1": FORGERIES[kind]}))
    assert report.tasks[0].score == 0
    assert report.problem == ""


def test_a_forgery_earns_nothing_in_a_plain_process(
    sheet: Sheet, plain: NotebookKernels, hand_in: HandIn
) -> None:
    text = FORGERIES["an encoder that says what is wanted"].removesuffix(WRONG)
    text += FORGERIES["hooks before and after a cell"]
    assert scores(sheet, hand_in({**RIGHT, "t90_1": text}), plain)[0] == 0


def test_what_a_plain_process_writes_into_its_connection_cannot_stop_the_grader(
    sheet: Sheet, plain: NotebookKernels
) -> None:
    kernel = plain.start(sheet.lesson, QUICK)
    try:
        with pytest.raises(KernelLost, match="unable to answer"):
            kernel.execute(FORGERIES["patched json"], 5)
    finally:
        kernel.close()


def add(text: str, at: int = 1) -> Callable[[dict[str, Any]], None]:
    """Return a change that adds a code cell."""
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "id": "ab12cd34"}
    return lambda content: content["cells"].insert(at, cell)


# A right answer that keeps every call that it finds on its way, and a later cell that tells.
SPY = (
    "import sys\n"
    "seen = set()\n"
    "def add_one(x):\n"
    "    frame = sys._getframe()\n"
    "    while frame:\n"
    "        for value in list(frame.f_locals.values()):\n"
    "            if isinstance(value, (str, list)) and 'add_one(' in str(value):\n"
    "                seen.add(str(value))\n"
    "        frame = frame.f_back\n"
    "    return x + 1\n"
)


def test_a_later_cell_cannot_tell_what_hidden_calls_it_saw(mark: Mark, hand_in: HandIn) -> None:
    teller = "print(seen)\nraise ValueError(f'saw {sorted(seen)}')"
    second = "def text_of(x):\n    return str(sorted(seen)) if x == 12 else str(x)"
    path = hand_in({"t90_1": SPY, "t90_2": teller + "\n"}, add(second, at=99))
    report = mark(path)
    assert report.tasks[0].score == 2  # the answer is right
    told = as_json([report]) + as_text(report)
    assert "add_one(1)" in told  # the visible calls are no secret
    assert "add_one(-1)" not in told
    assert "add_one(7)" not in told


# An answer that is right until it finds a call that has not been made yet.
SEER = """\
import gc, re, socket, sys
made, files = set(), 64
def calls_in_sight():
    frame = sys._getframe()
    while frame:
        yield from map(str, list(frame.f_locals.values()))
        frame = frame.f_back
    yield from (thing for thing in gc.get_objects() if type(thing) in (str, bytes))
    yield from (str(thing) for thing in gc.get_objects() if type(thing) is list and len(thing) < 99)
    for file in range(3, files):
        try:
            end = socket.socket(fileno=file)
            yield str(end.recv(10**6, socket.MSG_PEEK | socket.MSG_DONTWAIT))
            end.detach()
        except OSError:
            pass
def add_one(x):
    made.add(str(x))
    coming = {n for text in calls_in_sight() for n in re.findall(r"add_one\\((-?\\d+)\\)", text)}
    return x + 1 if coming <= made else sorted(coming)
"""


LOOKING = Limits(cell=20, check=20)


def test_a_call_cannot_see_those_that_come_after_it(
    sheet: Sheet, forked: Kernels, hand_in: HandIn
) -> None:
    report = grade(sheet, hand_in({**RIGHT, "t90_1": SEER}), LOOKING, forked)
    assert [task.score for task in report.tasks] == [2, 3], as_text(report)


def test_a_call_cannot_see_those_that_come_after_it_in_a_plain_process(
    sheet: Sheet, plain: NotebookKernels, hand_in: HandIn
) -> None:
    text = SEER.replace("set(), 64", "set(), 0")  # reading the sockets of an ipykernel ends it
    report = grade(sheet, hand_in({**RIGHT, "t90_1": text}), LOOKING, plain)
    assert [task.score for task in report.tasks] == [2, 3], as_text(report)


def test_a_forged_name_of_a_refused_module_tells_nothing(mark: Mark, hand_in: HandIn) -> None:
    forged = SPY.replace("seen = set()", "seen = sys.modules['_ampcourse_agent'].refusals").replace(
        "seen.add(", "seen.append('colorsys.' + "
    )
    report = mark(hand_in({**RIGHT, "t90_1": forged}))
    assert report.tasks[0].note.startswith("it imports colorsys, which")
    assert "add_one(7)" not in as_json([report])


DISASTERS = {
    "a fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "a thread bomb": (
        "import threading, time\n"
        "while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
    ),
    "memory taken by many": (
        "import os, time\n"
        "for k in range(20):\n"
        "    if not os.fork():\n"
        "        hoard = bytearray(b'x') * 400_000_000\n        time.sleep(99)\n"
        "time.sleep(99)"
    ),
    "shared memory taken": (
        "import mmap\nhoard = mmap.mmap(-1, 4 << 30)\n"
        "for k in range(0, 4 << 30, 4096): hoard[k] = 1"
    ),
    "a disk filled": (
        "for place in ('/tmp', '/dev/shm', '.'):\n"
        "    for k in range(40):\n"
        "        with open(f'{place}/{k}', 'wb') as file: file.write(bytes(50_000_000))"
    ),
    "a million files": "for k in range(10**6): open(f'/tmp/f{k}', 'w').close()",
    "all signals ignored": (
        "import signal\n"
        "for k in range(1, 65):\n"
        "    try: signal.signal(k, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass"
    ),
    "every process killed": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "the first process killed": "import os, signal\nos.kill(1, signal.SIGKILL)\n1 / 0",
    "daemons left behind": (
        "import os, time\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if not os.fork(): time.sleep(9999)\n"
        "    os._exit(0)\n"
        "1 / 0"
    ),
    "a loop in an exit handler": (
        "import atexit\n"
        "def never():\n    while True: pass\n"
        "atexit.register(never)\n1 / 0"
    ),
    "the connection closed": "import os\nos.closerange(3, 256)",
    "the recursion of C": "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "a crash": "import ctypes\nctypes.string_at(0)",
}  # fmt: skip


@pytest.mark.parametrize("kind", DISASTERS)
def test_a_disaster_costs_no_marks_for_what_is_right(
    sheet: Sheet, forked: Kernels, mark: Mark, hand_in: HandIn, kind: str
) -> None:
    report = mark(hand_in({**RIGHT, "t90_1": f"{RIGHT['t90_1']}\n{DISASTERS[kind]}"}))
    assert [task.score for task in report.tasks] == [2, 3]
    assert report.tasks[0].note.startswith("this cell ")
    assert scores(sheet, hand_in(), forked) == [2, 3]  # and the next one is none the worse


RESULTS = {
    "NaN everywhere": "return float('nan')",
    "an int that is not one": "return type('Int', (int,), {})(x + 1)",
    "a function": "return add_one",
    "a module": "import math; return math",
    "a list of a million": "return [x] * 10**6",
    "a very long text": "return 'x' * 10**8",
    "nested without end": (
        "a = b = []\n    for _ in range(10**5): b.append([]); b = b[0]\n    return a"
    ),
    "an iterator without end": "import itertools; return itertools.count()",
    "a mapping that contains itself": "a = {}; a[1] = a; return a",
    "an error that cannot be printed": (
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()"
    ),
    "an error of another metaclass": (
        "M = type('M', (type,), {'__mro__': property(lambda c: 1 / 0)})\n"
        "    raise M('E', (Exception,), {})()"
    ),
    "an interrupt": "raise KeyboardInterrupt",
    "a complex number": "return complex(x, 1)",
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_wrong_kind_of_result_costs_its_task_only(mark: Mark, hand_in: HandIn, kind: str) -> None:
    report = mark(hand_in({**RIGHT, "t90_1": f"def add_one(x):\n    {RESULTS[kind]}"}))
    assert [task.score for task in report.tasks] == [0, 3]
    assert report.tasks[0].failures[0].got


def test_arrays_and_tensors_of_odd_kinds_are_no_numbers(
    sheet: Sheet, plain: NotebookKernels, hand_in: HandIn
) -> None:
    text = (
        "import numpy as np\n"
        "class Lie(np.ndarray):\n    __eq__ = lambda self, other: True\n"
        "kinds = iter([np.array([2]).view(Lie), np.array([2], object), np.ma.array([2])])\n"
        "def add_one(x):\n    return next(kinds)\n"
    )
    report = grade(sheet, hand_in({**RIGHT, "t90_1": text}), QUICK, plain)
    assert [task.score for task in report.tasks] == [0, 3]


LIBRARIES = {
    "patched torch and numpy": (
        "import numpy, torch\n"
        "yes = lambda *a, **k: True\n"
        "torch.equal = torch.allclose = numpy.array_equal = numpy.allclose = yes\n"
        "torch.Tensor.__eq__ = torch.Tensor.tolist = torch.Tensor.item = lambda *a: 2\n"
        "def add_one(x):\n    return torch.tensor(0)"
    ),
    "a tensor of a kind of its own": (
        "import torch\n"
        "class Two(torch.Tensor):\n"
        "    __torch_function__ = classmethod(lambda *a, **k: 2)\n"
        "def add_one(x):\n    return torch.tensor(x + 1).as_subclass(Two)"
    ),
}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_library_bent_to_say_yes_earns_nothing(
    sheet: Sheet, kernels: Kernels, hand_in: HandIn, kind: str
) -> None:
    limits = Limits(cell=60, check=20)  # torch takes its time
    report = grade(sheet, hand_in({**RIGHT, "t90_1": LIBRARIES[kind]}), limits, kernels)
    assert [task.score for task in report.tasks] == [0, 3]
    assert report.tasks[0].note == ""  # the cell itself ran


CELLS = {
    "half a character": "x = '\ud800'",
    "a null byte": "x = 1\0",
    "nothing but a form feed": "\f",
    "a magic that is none": "%%nonsense\nadd_one = None",
    "a shell command": "!exit 3",
    "a question": "name = input('Who are you? ')",
    "a wait": "import time\ntime.sleep(0.01)\nawait __import__('asyncio').sleep(0.01)",
    "an exit": "exit()",
    "a very long line": "x = " + "+".join(["1"] * 20_000),
}


@pytest.mark.parametrize("kind", CELLS)
def test_an_odd_cell_of_ones_own_costs_nothing(mark: Mark, hand_in: HandIn, kind: str) -> None:
    report = mark(hand_in(None, add(CELLS[kind])))
    assert [task.score for task in report.tasks] == [2, 3]


def test_of_thousands_of_cells_the_solutions_are_graded(mark: Mark, hand_in: HandIn) -> None:
    def many(content: dict[str, Any]) -> None:
        for _ in range(5_000):
            add("count = globals().get('count', 0) + 1", at=1)(content)

    first = "def add_one(x):\n    assert count == 500\n    return x + 1"
    report = mark(hand_in({**RIGHT, "t90_1": first}, many))
    assert [task.score for task in report.tasks] == [2, 3]
    assert report.notes == ("it has 5,000 added cells; the first 500 of them are run",)


def for_another_kernel(content: dict[str, Any]) -> None:
    content["metadata"]["kernelspec"] = {"name": "ir", "display_name": "R", "language": "R"}


def with_odd_metadata(content: dict[str, Any]) -> None:
    content["metadata"] = {"kernelspec": [], "ampcourse": 7}
    for cell in content["cells"]:
        cell["metadata"] = ["nbgrader"]
        cell["execution_count"] = "many"


def with_text_in_lines(content: dict[str, Any]) -> None:
    for cell in content["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    content["cells"].append({"cell_type": "code", "source": [1, None]})
    content["cells"] += [None, 7, {}]


@pytest.mark.parametrize(
    ("change", "note"),
    [(for_another_kernel, "its kernel is 'ir'"), (with_odd_metadata, ""), (with_text_in_lines, "")],
)
def test_an_odd_notebook_keeps_its_marks(
    mark: Mark, hand_in: HandIn, change: Any, note: str
) -> None:
    report = mark(hand_in(None, change))
    assert [task.score for task in report.tasks] == [2, 3]
    assert note in " ".join(report.notes)


def test_a_report_is_json_whatever_was_said(mark: Mark, hand_in: HandIn) -> None:
    said = "def add_one(x):\n    raise ValueError('\\ud800' + chr(0) + '</script>')"
    report = mark(hand_in({**RIGHT, "t90_1": said}))
    assert json.loads(as_json([report]))[0]["score"] == 3


def test_limits_are_told_in_seconds_of_one_call(
    sheet: Sheet, kernels: Kernels, hand_in: HandIn
) -> None:
    slow = "import time\ndef add_one(x):\n    time.sleep(0.7)\n    return x + 1"
    limits = Limits(cell=5, check=2, notebook=60)  # four calls take longer than one may
    report = grade(sheet, hand_in({**RIGHT, "t90_1": slow}), limits, kernels)
    assert [task.score for task in report.tasks] == [2, 3]
