"""What the distribution promises: what it ships, what it is called, and what it costs to import."""

import subprocess
import sys
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from zipfile import ZipFile

import pytest

import agents_memory

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with ZipFile(next(folder.glob("*.whl"))) as archive:
        return archive.namelist()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def sql_files(folder: Traversable, path: str = "agents_memory") -> list[str]:
    """Every SQL file below a folder of the package, by its path in a wheel."""
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += sql_files(entry, f"{path}/{entry.name}")
        elif entry.name.endswith(".sql"):
            found.append(f"{path}/{entry.name}")
    return found


def test_importing_the_package_does_not_import_the_sdk() -> None:
    result = run_python("import agents_memory, sys; assert 'agents' not in sys.modules")

    assert result.returncode == 0, result.stderr


def test_loading_the_command_does_not_import_the_sdk() -> None:
    result = run_python(
        "import sys; from importlib.metadata import entry_points\n"
        "(command,) = entry_points(group='console_scripts', name='agents-memory')\n"
        "assert callable(command.load()) and 'agents' not in sys.modules"
    )

    assert result.returncode == 0, result.stderr


def test_the_installed_version_is_the_one_the_package_states() -> None:
    assert metadata.version("openai-agents-memory") == agents_memory.__version__


def test_every_sql_file_ships(wheel: list[str]) -> None:
    shipped = sql_files(resources.files("agents_memory"))

    assert any("/sql/migrations/" in name for name in shipped)
    assert set(shipped) <= set(wheel)


def test_the_type_marker_ships(wheel: list[str]) -> None:
    assert "agents_memory/py.typed" in wheel


def test_nothing_but_the_package_ships(wheel: list[str]) -> None:
    tops = {name.split("/", 1)[0] for name in wheel}

    assert tops == {
        "agents_memory",
        f"openai_agents_memory-{agents_memory.__version__}.dist-info",
    }
