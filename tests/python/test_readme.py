"""README.md says what is true: its examples run, its commands and files exist."""

import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
README = (REPO / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_python_example_runs(number):
    import torch

    torch._dynamo.reset()
    exec(compile(EXAMPLES[number], f"README.md, example {number}", "exec"), {"__name__": "example"})


def test_first_screen_has_the_commands_and_a_short_example():
    first_screen = README.splitlines()[:45]
    text = "\n".join(first_screen)
    assert "make demo" in text and "make test" in text
    lines = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert EXAMPLES[0].strip() in text and len(lines) <= 16


def test_make_targets_exist():
    makefile = (REPO / "Makefile").read_text()
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)", README))
    assert {"demo", "test", "build"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (REPO / target).exists(), target
