"""tools/venv.py, the first thing that runs on a fresh machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "venv.py"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("venv_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / ".venv"
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(folder))
    monkeypatch.setattr(module, "PYTHON", str(folder / "bin" / "python"))
    monkeypatch.setattr(module, "STAMP", str(folder / "installed.json"))
    (tmp_path / "empty.lock").write_text("")
    return module


def test_an_environment_is_made_once(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool.main(["empty.lock"])
    assert "installing empty.lock" in capsys.readouterr().out
    assert (tmp_path / ".venv" / "bin" / "python").exists()
    tool.main(["empty.lock"])
    assert capsys.readouterr().out == ""


def test_a_python_without_pip_is_told_which_package_to_install(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "works", lambda *command: False)
    monkeypatch.setattr(tool, "system_pip", lambda: (0, 0))
    with pytest.raises(SystemExit, match=r"python3-pip or python3\.\d+-venv"):
        tool.pip()


def test_a_python_that_is_too_old_is_reported(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool.sys, "version_info", (3, 9, 2, "final", 0))
    with pytest.raises(SystemExit, match=r"3\.11 or newer is needed.*3\.9\.2"):
        tool.main(["empty.lock"])
