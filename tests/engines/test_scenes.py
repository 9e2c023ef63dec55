"""Scenes: the recorded ones hold what is claimed of them, and stand in where none is played."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ampcourse.distributed import LaunchError
from ampcourse.engines import scenes
from ampcourse.engines.scenes import SCENES, recorded, show_scene
from tests.engines.claims import CLAIMS


@pytest.mark.parametrize("name", SCENES)
def test_what_is_recorded_holds_what_is_claimed_of_the_scene(name: str) -> None:
    found = recorded(name)
    CLAIMS[name](found["result"])
    assert found["command"] == f"python -m ampcourse.engines.scenes {name}"
    assert found["machine"]["torch"]
    assert found["machine"]["cpu"]
    assert json.loads(json.dumps(found)) == found


def refuse(message: str) -> Callable[..., Any]:
    def launch(*arguments: Any, **options: Any) -> Any:
        raise LaunchError(message)

    return launch


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("x on 2 processes had not ended after 60 s and was stopped; ...", "not done in time"),
        ("DistNetworkError: ... code: -98, name: EADDRINUSE, ...", "a port was taken"),
        ("RuntimeError: Distributed package doesn't have gloo built in", "without the backend"),
        ("Gloo connectFullMesh failed with ...", "gloo could not connect"),
        ("Traceback\nValueError: something else", "processes failed: ValueError: something else"),
    ],
)
def test_a_launch_that_fails_gives_the_recorded_scene_and_the_reason(
    message: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenes, "launch", refuse(message))
    result, how = show_scene("ddp")
    assert result == recorded("ddp")["result"]
    assert how.startswith("recorded earlier, since ")
    assert reason in how
    assert recorded("ddp")["command"] in how


def test_a_scene_that_was_not_asked_for_live_is_shown_without_launching(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scenes, "launch", refuse("was launched all the same"))
    result, how = show_scene("ddp", live=False)
    assert result == recorded("ddp")["result"]
    assert how.startswith("recorded earlier, and shown without launching (")
    assert recorded("ddp")["command"] in how
    assert recorded("ddp")["date"] in how


def test_a_scene_that_was_played_says_on_how_many_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scenes, "scene", lambda name, timeout: {"played": name})
    result, how = show_scene("ddp")
    assert result == {"played": "ddp"}
    assert how == "live, on 2 processes of this machine"


def test_a_machine_that_cannot_start_processes_gives_the_recorded_scene(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def launch(*arguments: Any, **options: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(scenes, "launch", launch)
    result, how = show_scene("ddp")
    assert result == recorded("ddp")["result"]
    assert "too little memory" in how


def test_a_scene_that_prints_no_result_gives_the_recorded_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scenes, "launch", lambda *arguments, **options: ["a warning\n", ""])
    result, how = show_scene("ddp")
    assert result == recorded("ddp")["result"]
    assert "no result in what the scene printed: 'a warning" in how


def test_deepspeed_that_is_missing_gives_the_recorded_scene(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ampcourse.engines.zero.importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(scenes, "launch", refuse("was launched all the same"))
    result, how = show_scene("deepspeed")
    assert result == recorded("deepspeed")["result"]
    assert "DeepSpeed is not installed here" in how


@pytest.mark.parametrize("obstacle", ["Windows", "no gloo"])
def test_where_nothing_can_be_launched_nothing_is(
    obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenes, "launch", refuse("was launched all the same"))
    if obstacle == "Windows":
        monkeypatch.setattr("platform.system", lambda: "Windows")
    else:
        monkeypatch.setattr("torch.distributed.is_gloo_available", lambda: False)
    result, how = show_scene("fsdp2")
    assert result == recorded("fsdp2")["result"]
    assert obstacle.removeprefix("no ") in how


def test_an_unknown_scene_is_refused_by_all() -> None:
    for call in (scenes.scene, recorded, show_scene):
        with pytest.raises(ValueError, match="scene 'zero9' is unknown; choose from ddp, local"):
            call("zero9")


def test_importing_the_scenes_does_not_import_torch() -> None:
    code = "import sys, ampcourse.engines.scenes, ampcourse.engines.command\n"
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
