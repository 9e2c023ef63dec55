"""environment.yml, for conda and Binder, asks for what pyproject.toml asks for."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ampcourse.bootstrap.requirements import requirements

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")

# conda-forge's names where they are not PyPI's.
CONDA_NAMES = {
    "torch": "pytorch",
    "matplotlib": "matplotlib-base",  # without a desktop toolkit
    "jupyter-client": "jupyter_client",
}


def dependencies() -> list[str | dict[str, list[str]]]:
    content = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert content["name"] == "ampcourse"
    return list(content["dependencies"])


def specs() -> list[str]:
    return [line for line in dependencies() if isinstance(line, str)]


def test_conda_installs_the_lab_extra_with_the_same_lower_bounds() -> None:
    expected = []
    for line in requirements(ROOT / "pyproject.toml", {"lab"}):
        name, _, bound = line.partition(">=")
        expected.append(f"{CONDA_NAMES.get(name, name)}>={bound}")
    assert sorted(specs()) == sorted([*expected, "pip", "python=3.12"])


def test_the_package_itself_comes_from_this_folder() -> None:
    assert dependencies()[-1] == {"pip": ["--editable ."]}


def test_conda_can_read_every_spec() -> None:
    rattler = pytest.importorskip("rattler", reason="py-rattler reads conda's specs")
    for spec in specs():
        assert rattler.MatchSpec(spec).name is not None
    with pytest.raises(Exception, match="unable to parse"):
        rattler.MatchSpec("numpy=>2.0")


def test_repo2docker_makes_a_dockerfile_with_a_python_that_the_course_supports(
    tmp_path: Path,
) -> None:
    pytest.importorskip("repo2docker", reason="jupyter-repo2docker makes the Dockerfile")
    for name in ("environment.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    text = result.stdout + result.stderr
    assert result.returncode == 0, text
    assert re.search(r"^FROM ", text, re.M)
    assert 'env update -p ${NB_PYTHON_PREFIX} --file "environment.yml"' in text
    minor = re.search(r"conda environment for python=3\.(\d+)", text)
    assert minor
    assert int(minor[1]) >= 11
    # The package is installed from the clone, so the clone must be there by then.
    assert text.index("COPY --chown=0:0 src/ ${REPO_DIR}") < text.index("env update -p")
