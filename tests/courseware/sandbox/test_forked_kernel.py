"""What a learner's code can see, reach and leave behind in the sandbox: nothing of ours."""

import os
import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import pytest

import ampcourse
from ampcourse.courseware.agent import Tree
from ampcourse.courseware.kernel import KernelLost, Limits
from ampcourse.courseware.plain import encode
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernel, ForkedKernels
from ampcourse.courseware.sandbox.isolation import HOME
from ampcourse.courseware.sheet import Sheet
from tests.courseware.conftest import QUICK, SAMPLE, SECRET

ROOT = Path(ampcourse.__file__).parents[1]
Try = Callable[[str], Tree]


@pytest.fixture
def kernel(sheet: Sheet, forked: ForkedKernels) -> Iterator[ForkedKernel]:
    """A kernel of the sample lesson."""
    started = forked.start(sheet.lesson, QUICK)
    yield started
    started.close()


@pytest.fixture
def attempt(kernel: ForkedKernel) -> Try:
    """Run a scenario in the kernel and return what it gave: a value's tree or an error's type."""

    def run(scenario: str) -> Any:
        outcome, _ = kernel.evaluate(f"pass\n{scenario}", 20)
        return outcome.get("value") or outcome.get("error", {}).get("type") or outcome

    return run


def test_nothing_of_the_course_is_there_but_the_package(attempt: Try, tmp_path: Path) -> None:
    (tmp_path / "other.ipynb").write_text("another's submission", "utf-8")
    hidden = [ROOT / "notebooks", ROOT / "tests", ROOT / ".git", ROOT / "README.md"]
    hidden += [
        SAMPLE,
        tmp_path,
        tmp_path / "other.ipynb",
        Path.home() / ".bashrc",
        Path("/proc/kcore"),
    ]
    there = [str(path) for path in hidden if path.exists()]
    assert len(there) > 4
    assert attempt(f"import os\nreturn [p for p in {there} if os.access(p, os.R_OK)]") == [
        "list",
        [],
    ]
    package = str(ROOT / "ampcourse" / "__init__.py")
    assert attempt(f"open({package!r}).close()\nreturn 1") == encode(1)


@pytest.mark.parametrize("place", ["package", "/usr/bin", "/etc", "/", "/opt", "python"])
def test_the_system_is_read_only(attempt: Try, place: str) -> None:
    names = {"package": str(ROOT / "ampcourse"), "python": os.path.dirname(os.__file__)}
    path = names.get(place, place) + "/written"
    # /opt is there only where Python comes from it.
    refused = ("OSError", "PermissionError", "FileNotFoundError")
    assert attempt(f"open({path!r}, 'w').write('x')\nreturn 1") in refused
    assert not Path(path).exists()


def test_no_variable_of_the_graders_is_there(attempt: Try) -> None:
    assert SECRET in os.environ
    names = "import os\nreturn sorted(os.environ)"
    assert SECRET not in attempt(names)[1]
    search = (
        "import glob\nfound = []\n"
        "for path in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try: found.append(open(path, errors='replace').read())\n"
        "    except OSError: pass\n"
        f"return {SECRET[:9]!r} + {SECRET[9:]!r} in ''.join(found)"
    )
    assert attempt(search) == encode(False)


def test_only_its_own_processes_are_there(attempt: Try) -> None:
    pids = attempt("import os\nreturn [int(p) for p in os.listdir('/proc') if p.isdigit()]")
    assert len(pids[1]) == 2
    assert attempt("import os\nreturn [os.getpid(), os.getuid(), os.getgid()]") == encode(
        [2, 1000, 1000]
    )


def test_no_right_is_left_and_none_can_be_won(attempt: Try) -> None:
    status = (
        "lines = open('/proc/self/status').read().splitlines()\n"
        "return [line.split()[1] for line in lines if line.startswith(('Cap', 'NoNew'))]"
    )
    assert attempt(status) == encode(["0" * 16] * 5 + ["1"])
    unshare = (
        "import ctypes\nc = ctypes.CDLL(None)\n"
        "return [c.unshare(0x10000000), c.mount(b'none', b'/tmp', b'tmpfs', 0, None),\n"
        "        c.umount2(b'/proc', 2), c.setuid(0), c.chroot(b'/tmp')]"
    )
    assert attempt(unshare) == encode([-1] * 5)


def test_the_network_is_out_of_reach(attempt: Try) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        call = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)\nreturn 1"
        assert attempt(call) in ("OSError", "ConnectionRefusedError")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0ampcourse-{os.getpid()}")
        server.listen()
        call = (
            "import socket\ns = socket.socket(socket.AF_UNIX)\n"
            f"s.connect('\\0ampcourse-{os.getpid()}')\nreturn 1"
        )
        assert attempt(call) == "ConnectionRefusedError"
    names = "import socket\nreturn [name for _, name in socket.if_nameindex()]"
    assert attempt(names) == encode(["lo"])


def test_what_one_kernel_leaves_the_next_does_not_find(sheet: Sheet, forked: ForkedKernels) -> None:
    leave = (
        "import os, sys, builtins\n"
        "for place in ('/tmp', '/dev/shm', '.', os.path.expanduser('~')):\n"
        "    with open(f'{place}/left', 'w') as file: file.write('x')\n"
        "builtins.left = sys.left = os.environ['LEFT'] = 'x'\n"
        "import ampcourse.courseware.agent as agent\nagent.left = 1\nreturn 1"
    )
    find = (
        "import os, sys, builtins\nimport ampcourse.courseware.agent as agent\n"
        "places = ('/tmp', '/dev/shm', '.', os.path.expanduser('~'))\n"
        "return [os.path.exists(f'{place}/left') for place in places] + [\n"
        "    hasattr(o, 'left') for o in (builtins, sys, agent)] + ['LEFT' in os.environ]"
    )
    for call, expected in ((leave, 1), (find, [False] * 8)):
        kernel = forked.start(sheet.lesson, QUICK)
        outcome, _ = kernel.evaluate(call, 9)
        kernel.close()
        assert outcome == {"value": encode(expected)}


def test_no_check_is_in_memory(attempt: Try) -> None:
    # The search knows the first half of each text and a digest of the whole, lest it find itself.
    texts = ("infinity plus one is infinity", "the digits as a string")
    needles = [(text[:12], len(text), sha256(text.encode()).hexdigest()) for text in texts]
    search = (
        "import re\nfrom hashlib import sha256\n"
        "found = set()\n"
        "memory = open('/proc/self/mem', 'rb', 0)\n"
        "for line in open('/proc/self/maps').readlines():\n"
        "    span, rights = line.split()[:2]\n"
        "    if not rights.startswith('rw'): continue\n"
        "    start, end = (int(x, 16) for x in span.split('-'))\n"
        "    memory.seek(start)\n"
        "    data = memory.read(min(end - start, 1 << 28))\n"
        "    for half, size, digest in needles:\n"
        "        for at in (match.start() for match in re.finditer(half.encode(), data)):\n"
        "            if sha256(data[at : at + size]).hexdigest() == digest: found.add(half)\n"
        "return sorted(found)"
    )
    control = f"here = ''.join({list(texts)})\nneedles = {needles!r}\n{search}"
    assert attempt(f"needles = {needles!r}\n{search}") == ["list", []]
    assert attempt(control) == encode(sorted(half for half, _, _ in needles))


def test_daemons_threads_and_their_children_end_with_the_kernel(
    sheet: Sheet, forked: ForkedKernels
) -> None:
    kernel = forked.start(sheet.lesson, QUICK)
    mark = f"9{os.getpid()}"
    command = f"(setsid sleep {mark} &) ; nohup sleep {mark} > /dev/null 2>&1 &"
    assert kernel.execute(f"import os\nos.system({command!r})", 5).status == "ok"
    assert sleepers(mark)
    kernel.close()
    assert not sleepers(mark)


def sleepers(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"] == ["sleep", mark]:
            found.append(process.pid)
    return found


def test_a_call_that_hangs_costs_the_kernel(kernel: ForkedKernel) -> None:
    assert kernel.evaluate("1 + 1", 5)[0] == {"value": encode(2)}
    with pytest.raises(KernelLost, match=r"^gave no result within 0\.5 s$"):
        kernel.evaluate("[x for x in iter(int, 1)]", 0.5)
    assert kernel.lost


def test_a_cell_that_is_interrupted_leaves_the_kernel_usable(kernel: ForkedKernel) -> None:
    assert kernel.execute("x = 5\nwhile True: pass", 0.5).status == "timeout"
    assert kernel.evaluate("x", 5) == ({"value": encode(5)}, [])


def test_magics_and_commands_work_as_in_a_notebook(kernel: ForkedKernel) -> None:
    cell = (
        "%config InlineBackend.figure_format = 'svg'\n"
        "words = !echo one two\n"
        "%timeit -n1 -r1 pass\n"
        "!true\n"
        "out = _exit_code\n"
        "with open('own.py', 'w') as file: file.write('y = 7')\n"
        "import own"
    )
    assert kernel.execute("%%writefile note.txt\nhello", 5).status == "ok"
    assert kernel.execute("%%time\nz = 3", 5).status == "ok"
    assert kernel.execute(cell, 9).error == ""
    assert kernel.evaluate("(list(words), out, own.y, z)", 5)[0] == {
        "value": encode((["one two"], 0, 7, 3))
    }
    assert kernel.execute("%nonsense", 5).status == "error"
    assert kernel.execute("input()", 5).error.startswith("StdinNotImplementedError: ")
    assert kernel.execute("get_ipython().user_ns is globals()", 5).status == "ok"


def test_a_plain_cell_has_what_it_has_in_a_notebook(kernel: ForkedKernel) -> None:
    cell = (
        "from inspect import getsource\n"
        "def seven():\n"
        "    return 7  # not eight\n"
        "display(seven)\n"
        "shell = get_ipython()\n"
        "seven"
    )
    assert kernel.execute(cell, 5).error == ""
    calls = ["getsource(seven)", "shell.user_ns is globals()", "__name__"]
    values = ["def seven():\n    return 7  # not eight\n", True, "__main__"]
    for call, value in zip(calls, values, strict=True):
        assert kernel.evaluate(call, 5)[0] == {"value": encode(value)}
    assert kernel.execute("raise SystemExit(3)", 5).error == "SystemExit: 3"
    assert kernel.execute("x = 1\nraise KeyboardInterrupt", 5).error == "KeyboardInterrupt: "
    assert kernel.evaluate("x", 5)[0] == {"value": encode(1)}


def test_every_kernel_starts_from_the_same_random_state(
    sheet: Sheet, forked: ForkedKernels
) -> None:
    seen = []
    for _ in range(2):
        kernel = forked.start(sheet.lesson, QUICK)
        seen.append(kernel.evaluate("list({'a', 'b', 'c', 'd'})", 5)[0])
        kernel.close()
    assert seen[0] == seen[1]


def test_memory_beyond_the_limit_is_refused_where_it_is_asked_for(
    sheet: Sheet, forked: ForkedKernels
) -> None:
    kernel = forked.start(sheet.lesson, Limits(memory=100_000_000))
    assert kernel.execute("hoard = bytearray(300_000_000)", 9).error.startswith("MemoryError")
    assert kernel.execute("hoard = bytearray(50_000_000)", 9).error == ""
    kernel.close()


def test_what_is_printed_or_raised_stays_nowhere(kernel: ForkedKernel) -> None:
    size = "int(open('/proc/self/statm').read().split()[5]) * 4096"
    before, _ = kernel.evaluate(size, 5)
    assert kernel.execute("for k in range(30): print('x' * 10_000_000)", 20).status == "ok"
    assert kernel.execute("raise ValueError('x' * 300_000_000)", 20).status == "error"
    after, _ = kernel.evaluate(size, 5)
    grown = int(after["value"][1], 16) - int(before["value"][1], 16)
    assert grown < 60_000_000


def test_scratch_space_is_limited(attempt: Try) -> None:
    fill = (
        "size = 0\ntry:\n"
        "    for k in range(99):\n"
        f"        with open(f'{HOME}/{{k}}', 'wb') as file: size += file.write(bytes(10**7))\n"
        "except OSError as error:\n    return size < 3 * 10**8, error.errno\n"
    )
    assert attempt(fill) == encode((True, 28))  # ENOSPC
    big = "with open('/tmp/big', 'wb') as file:\n    file.truncate(10**9)\nreturn 1"
    assert attempt(big) == "OSError"


def test_a_server_that_ended_is_replaced(sheet: Sheet, forked: ForkedKernels) -> None:
    kernel = forked.start(sheet.lesson, QUICK)
    forked.servers[sheet.lesson.slug].process.kill()
    forked.servers[sheet.lesson.slug].process.wait()
    with pytest.raises(KernelLost):  # bubblewrap's children end soon after it
        kernel.evaluate("__import__('time').sleep(9)", 9)
    assert kernel.lost
    kernel.close()
    again = forked.start(sheet.lesson, QUICK)
    assert again.evaluate("1", 5)[0] == {"value": encode(1)}
    again.close()
