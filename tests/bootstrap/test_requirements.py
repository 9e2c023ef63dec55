"""Which requirements an environment meets; packaging's own reading of them is the oracle."""

from pathlib import Path

import pytest

from ampcourse.bootstrap.requirements import fingerprint, missing, requirements

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch>=2.9", "2.9.0+cpu"),
        ("torch>=2.9", "2.14.1"),
        ("torch>=2.9", "2.8.1"),
        ("torch>=2.9", "2.10.0"),
        ("torch>=2.9.1", "2.9"),
        ("torch>=3", "2.14.1"),
        ("torch", "0.1"),
        ("torch >= 2.0", "2"),
        ("torch[extra]>=2", "2.1"),
    ],
)
def test_a_bound_is_read_as_packaging_reads_it(tmp_path: Path, line: str, version: str) -> None:
    requirement = pytest.importorskip("packaging.requirements").Requirement(line)
    distribution(tmp_path, "torch", version)
    met = requirement.specifier.contains(version)
    assert missing([line], [str(tmp_path)]) == ([] if met else [line])


def test_a_name_is_found_however_it_is_spelt(tmp_path: Path) -> None:
    distribution(tmp_path, "jupyter-client", "8.6")
    assert missing(["jupyter_client>=8.6", "Jupyter.Client"], [str(tmp_path)]) == []


def test_an_absent_or_half_written_package_is_missing(tmp_path: Path) -> None:
    (tmp_path / "numpy-2.0.dist-info").mkdir()
    assert missing(["numpy", "torch>=2"], [str(tmp_path)]) == ["numpy", "torch>=2"]


def test_what_only_pip_can_judge_counts_as_missing(tmp_path: Path) -> None:
    distribution(tmp_path, "numpy", "2.0")
    lines = ["numpy<3", "numpy @ file:///numpy.whl", "numpy>=2; sys_platform == 'win32'"]
    assert missing(lines, [str(tmp_path)]) == lines


@pytest.mark.parametrize("extra", ["lab", "test"])
def test_every_requirement_of_the_course_has_a_form_that_is_understood(
    tmp_path: Path, extra: str
) -> None:
    lines = requirements(PYPROJECT, {extra})
    assert lines
    for line in lines:
        name, _, bound = line.partition(">=")
        distribution(tmp_path, name, bound or "1")
    assert missing(lines, [str(tmp_path)]) == []


def test_the_fingerprint_changes_with_what_is_installed_only(tmp_path: Path) -> None:
    def of(text: str) -> str:
        file = tmp_path / "pyproject.toml"
        file.write_text(text)
        return fingerprint(file)

    plain = of('[project]\nname = "a"\n')
    assert of('[project]\nname = "a"\n[tool.pytest.ini_options]\ntimeout = 1\n') == plain
    assert of('[project]\nname = "a"\ndependencies = ["numpy"]\n') != plain
    assert of('[build-system]\nrequires = ["x"]\n[project]\nname = "a"\n') != plain
