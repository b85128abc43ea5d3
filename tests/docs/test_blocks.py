"""Every block of the README and the docs is run, page by page, in the order of the page.

`python` blocks share one namespace a page and run in an empty folder; one with a title is also a file of that name.
`console` blocks run each `$ agents-memory` line and compare what is printed, white space and ages apart; a line of
`...` stands for anything. `sh` blocks may only name make targets, files of the examples and the installation of the
package.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import run_command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([a-z_]+)\.py"')
RUN = {"python", "console", "sh"}
SHOWN = {"text", "sql", "json", "ini", "toml", ""}
AGE = re.compile(r"\b\d+ (s|min|h|d)\b")


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Each block's language, options and body, the body moved down to the lines it has on the page."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield block.group(1), block.group(2), "\n" * text.count("\n", 0, block.start(3)) + block.group(3)


def commands(body: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines it is said to print."""
    command, printed = "", list[str]()
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, printed
            command, printed = line[2:].partition(" #")[0], []
        else:
            printed.append(line)
    if command:
        yield command, printed


def plain(text: str) -> str:
    return " ".join(AGE.sub("AGE", text).split())


def prints(expected: list[str], out: str) -> bool:
    pieces = [plain(piece) for piece in re.split(r"^\.\.\.$", "\n".join(expected), flags=re.MULTILINE)]
    pattern = ".*".join(re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, plain(out), re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs_as_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__page__"}
    monkeypatch.setattr(sys, "path", list(sys.path))

    for language, options, body in blocks(page):
        assert language in RUN | SHOWN, f"a block of {language!r} is neither run nor known to be for show"
        if language == "python":
            exec(compile(body, str(page), "exec"), namespace)
            if title := TITLE.search(options):
                Path(f"{title.group(1)}.py").write_text(body, encoding="utf-8")
                sys.modules.pop(title.group(1), None)  # another page may have one of that name
        elif language == "console":
            for command, expected in commands(body):
                program, *arguments = shlex.split(command)
                assert program == "agents-memory", command
                ran = run_command(arguments)
                assert prints(expected, ran.out + ran.err), f"$ {command}\n{ran.out}{ran.err}"
        elif language == "sh":
            check_shell(body)


def check_shell(body: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in filter(None, (line.partition("#")[0].strip() for line in body.splitlines())):
        words = shlex.split(line)
        known = (
            (words[0] == "make" and set(words[1:]) <= targets)
            or words[:3] == ["pip", "install", "openai-agents-memory"]
            or (words[0] == "python" and (ROOT / words[1]).is_file())
        )
        assert known, f"{line!r} is not something the tests can vouch for"


def test_a_block_that_prints_something_else_is_noticed() -> None:
    assert prints(["a 1  b", "...", "d"], "a 1 b\nanything\nd\n")
    assert not prints(["a 1  b"], "a 2 b\n")


def test_examples_show_their_help() -> None:
    for example in sorted((ROOT / "examples").glob("*.py")):
        result = subprocess.run(
            [sys.executable, str(example), "--help"], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert result.returncode == 0, result.stderr
