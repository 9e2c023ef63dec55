"""`ampcourse lab` and `ampcourse test`, in an environment that has everything they need."""

import importlib.util
import os
import sys
from pathlib import Path

from ampcourse.bootstrap.handover import hand_over

_FIRST_LESSON = "notebooks/00_start_here.ipynb"


def lab(argv: list[str]) -> int:
    """Open JupyterLab on the first lesson; `argv` are further options of JupyterLab's own.

    Returns JupyterLab's exit code, or 1 after saying what is missing. On POSIX JupyterLab
    takes this process's place.
    """
    course = course_folder()
    if course is None:
        return _give_up(f"There is no notebooks folder in {Path.cwd()}: run this in the clone.")
    if not _is_importable("jupyterlab"):
        return _give_up(_lacks("JupyterLab", "lab"))
    opened = _FIRST_LESSON if (course / _FIRST_LESSON).is_file() else "notebooks"
    options = [f"--ServerApp.root_dir={course}", f"--LabApp.default_url=/lab/tree/{opened}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")  # a container, mostly; Jupyter would refuse to start
    print("Starting JupyterLab. To stop it, press Ctrl-C twice here.", file=sys.stderr)
    environment = _environment(course)
    # Defaults for this course, which a learner's own settings override: JupyterLab is not to
    # ask about news over the first lesson, nor to look for updates.
    _put_first(environment, "JUPYTER_CONFIG_PATH", course / "ampcourse" / "jupyter")
    return hand_over([sys.executable, "-m", "jupyterlab", *options, *argv], environment)


def test(argv: list[str]) -> int:
    """Run the whole suite, or only the paths named in `argv`, whose options go to pytest.

    Returns pytest's exit code, or 1 after saying what is missing. On POSIX pytest takes this
    process's place.
    """
    course = course_folder()
    if course is None or not (course / "tests").is_dir():
        return _give_up(f"There is no tests folder in {course or Path.cwd()}: run it in the clone.")
    for module, name in (("pytest", "pytest"), ("nbval", "nbval"), ("xdist", "pytest-xdist")):
        if not _is_importable(module):
            return _give_up(_lacks(name, "lab,test"))
    os.chdir(course)
    command = [sys.executable, "-m", "pytest", *pytest_arguments(argv)]
    environment = _environment(course)
    if not any(word.startswith("-n") for word in argv):
        # The workers share the cores; threads that wait for each other would double the time.
        environment.setdefault("OMP_NUM_THREADS", str((os.cpu_count() or 1) // _workers()))
    return hand_over(command, environment)


def pytest_arguments(argv: list[str]) -> list[str]:
    """Return pytest's arguments: the suite's own, then the learner's, whose options win."""
    # A notebook's cells belong together: without loadscope they end up on different workers.
    options = ["-n", str(_workers()), "--dist", "loadscope"]
    options += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"]
    names_paths = any(Path(word.split("::")[0]).exists() for word in argv if word[:1] != "-")
    return [*options, *argv, *([] if names_paths else ["tests", "notebooks"])]


def course_folder() -> Path | None:
    """Return the clone: the folder this package lies in, else the current one, else None."""
    for folder in (Path(__file__).resolve().parents[1], Path.cwd()):
        if (folder / "notebooks").is_dir():
            return folder
    return None


def _workers() -> int:
    # Every worker imports torch, at a cost in memory; beyond four little is gained.
    return min(os.cpu_count() or 1, 4)


def _environment(course: Path) -> dict[str, str]:
    names = dict(os.environ)
    # Kernels and workers start in other folders and must still find this clone's package.
    _put_first(names, "PYTHONPATH", course)
    # A kernel called python3 in the user's own folder must not win over this environment's.
    names.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    return names


def _put_first(environment: dict[str, str], name: str, folder: Path) -> None:
    parts = [str(folder), environment.get(name, "")]
    environment[name] = os.pathsep.join(part for part in parts if part)


def _is_importable(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _lacks(name: str, extras: str) -> str:
    return (
        f"{name} is not installed for {sys.executable}: in the clone, either run "
        f'`{sys.executable} -m pip install -e ".[{extras}]"` or start with `python3 -m ampcourse`, '
        "which installs it."
    )


def _give_up(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1
