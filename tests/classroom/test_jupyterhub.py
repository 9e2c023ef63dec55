"""Two learners on a real JupyterHub fetch, solve and submit; the teacher collects and grades.

Needs root, which makes two Unix users and removes them again, JupyterHub with its node proxy,
and a Python that these users may run; skipped with the reason otherwise.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from ampcourse.classroom.store import Store
from ampcourse.courseware.build import build
from ampcourse.courseware.course import Course
from tests.classroom.conftest import LESSON, WRONG
from tests.courseware.conftest import RIGHT, SAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
ROOT = Path(__file__).parents[2]
TOKEN = uuid.uuid4().hex
CONFIG = """\
c = get_config()
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "localprocess"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.environment = {environment!r}
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [
    {{"name": "test", "services": ["test"],
     "scopes": ["admin:users", "admin:servers", "access:servers"]}}
]
"""
NBGRADER = """\
c = get_config()
c.CourseDirectory.course_id = "amp"
c.Exchange.root = {exchange!r}
"""
WORK = """\
import json, subprocess, sys
from pathlib import Path
def nbgrader(*words):
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
nbgrader("fetch_assignment", {lesson!r})
path = Path({lesson!r}, {lesson!r} + ".ipynb")
nb = json.loads(path.read_text())
for cell in nb["cells"]:
    cell["source"] = {solutions!r}.get(cell["id"], cell["source"])
path.write_text(json.dumps(nb))
nbgrader("submit", {lesson!r})
print("handed in")
"""


def shared_python() -> str:
    """Return a Python that other users can run with the packages of this one."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import jupyterhub, nbgrader, ipykernel"]
        try:
            done = subprocess.run(
                command, user="nobody", env=environment(), cwd="/", capture_output=True, timeout=60
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return python
    pytest.skip("no Python here that another Unix user can run with these packages")


def environment() -> dict[str, str]:
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    places = [place for place in sys.path if place in named or "site-packages" in place]
    programs = str(Path(sys.executable).parent)  # nbgrader calls alembic by name
    path = os.pathsep.join([os.environ["PATH"], programs])
    return {"PYTHONPATH": os.pathsep.join([*places, str(ROOT)]), "PATH": path}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Hub:
    """A running hub with its teacher's course."""

    port: int
    folder: Path
    users: list[str]

    def ask(self, path: str, method: str = "GET", content: object = None) -> Any:
        """Send a request to the hub or, through its proxy, to a user's server."""
        data = None if content is None and method == "GET" else json.dumps(content or {}).encode()
        request = Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        request.add_header("Authorization", f"token {TOKEN}")
        with urlopen(request, timeout=60) as reply:
            body = reply.read()
        return json.loads(body) if body else None

    def run(self, user: str, code: str) -> str:
        """Run code in a kernel on a user's own server and return what it prints."""
        kernel = self.ask(f"/user/{user}/api/kernels", "POST", {"name": "python3"})["id"]
        address = f"ws://127.0.0.1:{self.port}/user/{user}/api/kernels/{kernel}/channels"
        return asyncio.run(execute(address, code))


async def execute(address: str, code: str) -> str:
    """Send an execute request and gather its output until the kernel is idle again."""
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    request = HTTPRequest(address, headers={"Authorization": f"token {TOKEN}"})
    channel = await websocket_connect(request)
    name = uuid.uuid4().hex
    header = {"msg_id": name, "msg_type": "execute_request", "session": name, "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await channel.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))
    told = ""
    while True:
        reply = json.loads(await asyncio.wait_for(channel.read_message(), 200))  # type: ignore[arg-type]
        if reply["parent_header"].get("msg_id") != name:
            continue
        told += reply["content"].get("text", "") + str(reply["content"].get("evalue", ""))
        if reply["content"].get("execution_state") == "idle":
            return told


def wait_for(what: str, ready: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until `ready` returns something true."""
    end = time.monotonic() + 150
    while time.monotonic() < end:
        try:
            if ready():
                return
        except (URLError, OSError):
            pass
        assert process.poll() is None, log.read_text()
        time.sleep(0.3)
    pytest.fail(f"{what} did not come\n{log.read_text()[-4000:]}")


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Start a hub with two users, an exchange and an assignment released there."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root, to make Unix users")
    for module in ("jupyterhub", "nbgrader"):
        pytest.importorskip(module)
    for program in ("node", "configurable-http-proxy", "useradd", "userdel"):
        if not shutil.which(program):
            pytest.skip(f"needs {program}")
    python = shared_python()
    with ExitStack() as tidy:
        folder = Path(tempfile.mkdtemp(prefix="amphub"))
        tidy.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        users = [f"amp{os.getpid()}{letter}" for letter in "ab"]
        for user in users:
            home = str(folder / user)
            subprocess.run(["useradd", "--create-home", "--home-dir", home, user], check=True)
            tidy.callback(subprocess.run, ["userdel", user], check=False)
        own = {**environment(), "JUPYTER_CONFIG_PATH": str(folder / "config")}
        release(folder, own)
        port, hub_port, proxy_port = free_port(), free_port(), free_port()
        config = CONFIG.format(
            python=python, environment=own, port=port, hub_port=hub_port,
            proxy_port=proxy_port, token=TOKEN,
        )  # fmt: skip
        (folder / "hub").mkdir(mode=0o700)
        (folder / "hub" / "jupyterhub_config.py").write_text(config)
        log = folder / "hub" / "log"
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub"], cwd=folder / "hub", env={**os.environ, **own},
            stdout=log.open("wb"), stderr=subprocess.STDOUT,
        )  # fmt: skip
        tidy.callback(process.wait, 60)
        tidy.callback(process.terminate)
        made = Hub(port, folder, users)
        wait_for("the hub", lambda: made.ask("/hub/api/"), process, log)
        for user in users:
            made.ask(f"/hub/api/users/{user}", "POST")
            made.ask(f"/hub/api/users/{user}/server", "POST")
        for user in users:
            ready = f"/hub/api/users/{user}"
            wait_for(user, lambda at=ready: made.ask(at)["servers"][""]["ready"], process, log)
        yield made
        for user in users:
            made.ask(f"/hub/api/users/{user}/server", "DELETE")


def release(folder: Path, own: dict[str, str]) -> None:
    """Release the sample lesson to an exchange, as the teacher."""
    (folder / "config").mkdir()
    (folder / "exchange").mkdir()
    (folder / "exchange").chmod(0o777)
    text = NBGRADER.format(exchange=str(folder / "exchange"))
    (folder / "config" / "nbgrader_config.py").write_text(text)
    teacher = folder / "teacher"
    shutil.copytree(SAMPLE, teacher)
    teacher.chmod(0o700)
    build(Course(teacher), LESSON)
    (teacher / "source" / LESSON).mkdir(parents=True)
    shutil.copy(
        teacher / "notebooks" / "instructor" / f"{LESSON}.ipynb", teacher / "source" / LESSON
    )
    run_nbgrader(teacher, own, "generate_assignment", LESSON, "--create", "--force")
    run_nbgrader(teacher, own, "release_assignment", LESSON)


def run_nbgrader(folder: Path, own: dict[str, str], *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words], cwd=folder, env={**os.environ, **own},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_learners_submit_on_a_hub_and_the_teacher_grades(hub: Hub) -> None:
    for user, solutions in zip(hub.users, (RIGHT, WRONG), strict=True):
        told = hub.run(user, WORK.format(lesson=LESSON, solutions=solutions))
        assert "handed in" in told, told
    own = {**environment(), "JUPYTER_CONFIG_PATH": str(hub.folder / "config")}
    teacher = hub.folder / "teacher"
    run_nbgrader(teacher, own, "collect", LESSON)
    done = subprocess.run(
        [sys.executable, "-m", "ampcourse", "grade", "submitted"], cwd=teacher,
        env={**os.environ, **own}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    scores = {record.student: record.score for record in Store(teacher / "grades").records()}
    assert scores == dict(zip(hub.users, (5, 4), strict=True))
    assert all(record.submitted for record in Store(teacher / "grades").records())
