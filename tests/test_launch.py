"""What `ampcourse lab` and `ampcourse test` start."""

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ampcourse import launch

ROOT = Path(__file__).parents[1]
Started = list[tuple[list[str], dict[str, str]]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The commands that this process would have been handed over to."""
    calls: Started = []

    def hand_over(command: Sequence[str], environment: Mapping[str, str]) -> int:
        calls.append((list(command), dict(environment)))
        return 5

    monkeypatch.setattr(launch, "hand_over", hand_over)
    monkeypatch.chdir(ROOT)
    return calls


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with an empty notebooks folder."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(launch, "__file__", str(tmp_path / "ampcourse" / "launch.py"))
    return tmp_path


def test_lab_opens_the_first_lesson_and_passes_options_on(started: Started, course: Path) -> None:
    pytest.importorskip("jupyterlab")
    (course / "notebooks" / "00_start_here.ipynb").touch()
    assert launch.lab(["--no-browser", "--port", "8899"]) == 5
    ((command, _),) = started
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={course}" in command
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in command
    assert command[-3:] == ["--no-browser", "--port", "8899"]


def test_lab_opens_the_folder_while_there_is_no_first_lesson(
    started: Started, course: Path
) -> None:
    pytest.importorskip("jupyterlab")
    launch.lab([])
    assert "--LabApp.default_url=/lab/tree/notebooks" in started[0][0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no root here")
@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_lab_starts_as_root_as_containers_do(
    started: Started, course: Path, monkeypatch: pytest.MonkeyPatch, user: int, allowed: bool
) -> None:
    pytest.importorskip("jupyterlab")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    launch.lab([])
    assert ("--allow-root" in started[0][0]) is allowed


def test_kernels_find_this_clone_and_this_environment_first(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/another")
    launch.test([])
    ((_, environment),) = started
    assert environment["PYTHONPATH"] == os.pathsep.join([str(ROOT), "/another"])
    assert environment["JUPYTER_PREFER_ENV_PATH"] == "1"


def test_jupyterlab_does_not_ask_about_news_unless_the_learner_wants_them(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = pytest.importorskip("jupyter_server.services.config.manager")
    launch.lab([])
    ((_, environment),) = started
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", environment["JUPYTER_CONFIG_PATH"])
    # JupyterLab reads the defaults of its settings this way.
    overrides = manager.ConfigManager(config_dir_name="labconfig").get("default_setting_overrides")
    notification = overrides["@jupyterlab/apputils-extension:notification"]
    assert notification == {"fetchNews": "false", "checkForUpdates": False}


def test_test_runs_the_suite_and_the_notebooks_whole(started: Started) -> None:
    assert launch.test([]) == 5
    ((command, _),) = started
    assert command[:3] == [sys.executable, "-m", "pytest"]
    assert command[-2:] == ["tests", "notebooks"]
    assert command[command.index("--dist") + 1] == "loadscope"
    assert {"--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"} <= set(command)


@pytest.mark.parametrize(("cores", "workers"), [(None, "1"), (1, "1"), (2, "2"), (64, "4")])
def test_the_workers_are_as_many_as_the_cores_but_few(
    started: Started, monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: str
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    launch.test([])
    command = started[0][0]
    assert command[command.index("-n") + 1] == workers


@pytest.mark.parametrize(
    ("cores", "argv", "own", "threads"),
    [
        (2, [], None, "1"),
        (64, ["-m", "slow"], None, "16"),
        (2, [], "2", "2"),
        (2, ["-m", "benchmark", "-n", "0"], None, None),
    ],
)
def test_workers_share_the_cores_threads_unless_told_otherwise(
    started: Started,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    argv: list[str],
    own: str | None,
    threads: str | None,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if own:
        monkeypatch.setenv("OMP_NUM_THREADS", own)
    launch.test(argv)
    assert started[0][1].get("OMP_NUM_THREADS") == threads


@pytest.mark.parametrize(
    ("argv", "whole"),
    [
        (["-x", "-k", "decode"], True),
        (["-m", "slow"], True),
        (["tests/test_launch.py"], False),
        (["-q", "tests/test_launch.py::test_x"], False),
    ],
)
def test_named_paths_replace_the_suite_and_options_do_not(
    started: Started, argv: list[str], whole: bool
) -> None:
    launch.test(argv)
    command = started[0][0]
    rest = ["tests", "notebooks"] if whole else []
    assert command[-len(argv + rest) :] == argv + rest


@pytest.mark.parametrize(("run", "package"), [(launch.lab, "jupyterlab"), (launch.test, "nbval")])
def test_what_is_not_installed_is_named_with_the_way_to_get_it(
    started: Started,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run: Callable[[list[str]], int],
    package: str,
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    assert run([]) == 1
    assert started == []
    said = capsys.readouterr().err
    assert package in said.lower()
    assert "pip install -e" in said


def test_outside_a_clone_one_is_told_to_go_there(
    started: Started,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(launch, "__file__", str(tmp_path / "ampcourse" / "launch.py"))
    monkeypatch.chdir(tmp_path)
    assert launch.lab([]) == 1
    assert launch.test([]) == 1
    assert started == []
    assert "run this in the clone" in capsys.readouterr().err
