"""make runs the recipes that it would run, in their order."""

# ruff: noqa: E501

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tool_harness import losses, model, real_losses
from tests.tools.interpreters import claim, tree

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")

FILES = {
    "default goal": "all:\n\trm CLAUDE.md\nother:\n\trm AGENTS.md\n",
    "silent": "all:\n\t@rm CLAUDE.md\n",
    "prefixes": "all:\n\t-@rm nope\n\t+rm CLAUDE.md\n",
    "failing line ends it": "all:\n\trm nope\n\trm CLAUDE.md\n",
    "needs first": "all: clean\n\trm AGENTS.md\nclean:\n\trm CLAUDE.md\n",
    "several targets": "a b:\n\trm $@.md\n",
    "variable": "D := specs\nall:\n\trm -rf $(D)\n",
    "late variable": "all:\n\trm -rf $(D)\nD = specs\n",
    "curly": "D = specs\nall:\n\trm -rf ${D}/deep\n",
    "append": "D = memory\nD += build\nall:\n\trm -rf $(D)\n",
    "default value": "D ?= memory\nall:\n\trm -rf $(D)\n",
    "letter": "D = memory\nX = $D\nS=x\nall:\n\trm -rf $(X)\n",
    "RM": "all:\n\t$(RM) CLAUDE.md\n",
    "automatic": "CLAUDE.md: AGENTS.md FORCE\n\trm $@ $<\nFORCE:\n",
    "all needs": "all: CLAUDE.md AGENTS.md\n\trm $^\n",
    "wildcard": "all:\n\trm $(wildcard specs/*.md)\n",
    "patsubst": "N = CLAUDE AGENTS\nall:\n\trm $(patsubst %,%.md,$(N))\n",
    "substitution": "N = CLAUDE.x AGENTS.x\nall:\n\trm $(N:.x=.md)\n",
    "foreach": "all:\n\trm $(foreach n,CLAUDE AGENTS,$(n).md)\n",
    "filter": "all:\n\trm $(filter %.md,CLAUDE.md junk.txt)\n",
    "addprefix": "all:\n\trm $(addprefix specs/,a.md api.json)\n",
    "if": "X = 1\nall:\n\trm $(if $(X),CLAUDE.md,AGENTS.md)\n",
    "call": "name = $(1).md\nall:\n\trm $(call name,CLAUDE)\n",
    "ifeq": "X = a\nifeq ($(X),a)\nall:\n\trm CLAUDE.md\nelse\nall:\n\trm AGENTS.md\nendif\n",
    "ifneq else": "X = a\nifneq ($(X),a)\nT = CLAUDE.md\nelse\nT = AGENTS.md\nendif\nall:\n\trm $(T)\n",
    "ifdef": "ifdef NOPE\nT = CLAUDE.md\nelse\nT = AGENTS.md\nendif\nall:\n\trm $(T)\n",
    "define": "define wipe\nrm CLAUDE.md\nrm AGENTS.md\nendef\nall:\n\t$(wipe)\n",
    "continued variable": "D = specs \\\n  memory\nall:\n\trm -rf $(D)\n",
    "recipe behind semicolon": "all: ; rm CLAUDE.md\n",
    "own variable": "all: D = specs\nall:\n\trm -rf $(D)\n",
    "phony file": ".PHONY: build\nbuild:\n\trm -rf build CLAUDE.md\n",
    "target that exists is skipped": "all: build\nbuild:\n\trm CLAUDE.md\n",
    "pattern rule": "all: x.gone\n%.gone: CLAUDE.md\n\trm $<\n",
    "static pattern": "all: a.del\na.del: %.del: specs/%.md\n\trm $<\n",
    "comment": "all: # rm AGENTS.md\n\trm CLAUDE.md\n# \trm AGENTS.md\n",
    "default goal variable": ".DEFAULT_GOAL := two\none:\n\trm CLAUDE.md\ntwo:\n\trm AGENTS.md\n",
    "export": "export D = specs\nall:\n\trm -rf $(D)\n",
    "double colon": "all::\n\trm CLAUDE.md\n",
    "harmless": "clean:\n\trm -rf build dist\nwipe:\n\trm -rf specs memory\n",
    "echo": "all:\n\techo rm -rf specs\n",
    "needs twice": "all: a b\na: c\nb: c\nc:\n\trm CLAUDE.md\n",
    "one that fails ends all": "all: a b\na:\n\tfalse\nb:\n\trm CLAUDE.md\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_makefile_loses_what_it_loses(name: str, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(FILES[name])
    if name == "one that fails ends all":
        pytest.skip("false has no model here")
    claim(tmp_path, ["make"])


COMMON = (
    "D = build\nnothing:\n\t@echo\nclean:\n\trm -rf build dist\nwipe:\n\trm -rf specs memory\nvar:\n\trm -rf $(D)\nboth: clean wipe\ninc:\n"
    "\tmake -C sub\n"
)
COMMANDS = [
    ["clean"], ["wipe"], ["both"], ["clean", "wipe"], ["-n", "wipe"], ["--dry-run", "wipe"], ["var"], ["var", "D=specs"], ["D=memory", "var"],
    ["-C", "sub"], ["--directory=sub"], ["-f", "other.mk"], ["-f", "other.mk", "-f", "Makefile", "wipe"], ["-B", "wipe"], ["-j4", "wipe"],
    ["-j", "wipe"], ["-s", "-k", "wipe"], ["--version"], ["nope"], ["inc"], ["-i", "wipe"], ["--silent", "wipe"], ["--file=other.mk"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_the_command_line(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(COMMON)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/Makefile").write_text("all:\n\trm ../CLAUDE.md\n")
    (tmp_path / "other.mk").write_text("x:\n\trm AGENTS.md\n")
    claim(tmp_path, ["make", *words])


def test_an_included_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("include *.mk\n-include nope\nall:\n\trm $(T)\n")
    (tmp_path / "vars.mk").write_text("T = CLAUDE.md\n")
    claim(tmp_path, ["make", "all"])


def test_a_variable_that_is_not_known_is_a_hole(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("D := $(shell some-tool)\nall:\n\trm -rf specs/$(D)\n")
    ran = model(tree(tmp_path), ["make"])
    assert [str(text) for text, _ in ran.shells][-1].startswith("rm -rf specs/")


def test_a_continued_line_and_a_dollar_go_to_the_shell_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n\trm CLAUDE.md \\\n\t  $$X\n")
    assert [str(text) for text, _ in model(tree(tmp_path), ["make"]).shells] == ["rm CLAUDE.md \\\n  $X"]


def test_each_line_has_its_own_shell_in_the_directory(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n\tcd specs\n\trm a.md\n")
    assert not losses(model(tree(tmp_path), ["make"]), tmp_path)
    assert [str(text) for text, _ in model(tmp_path, ["make"]).shells] == ["cd specs", "rm a.md"]


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 5000,
        "A = $(A)\nall:\n\trm $(A)\n",
        "all: all\n\trm x\n",
        "a: b\nb: a\n",
        "include Makefile\n",
        "define x\n",
        "ifeq (\n",
        "endif\nelse\n",
        "\x00:\udcff",
    ],
    ids=range(9),
)
def test_no_makefile_breaks_the_reader(text: str, tmp_path: Path) -> None:
    (tree(tmp_path) / "Makefile").write_text(text, errors="surrogateescape")
    assert not losses(model(tmp_path, ["make"]), tmp_path)


ENVIRONMENTS = [
    ("all:\n\trm -rf specs\n", ["make", "SHELL=/bin/true"], {}),
    ("SHELL=/bin/true\nall:\n\trm -rf specs\n", ["make"], {}),
    ("all:\n\trm -rf specs\n", ["make"], {"SHELL": "/bin/true"}),
    ("all:\n\trm -rf specs\n", ["make"], {"MAKEFLAGS": "-n"}),
    ("all:\n\trm -rf specs\n", ["make"], {"MAKEFLAGS": "n"}),
    ("all:\n\trm -rf specs\n", ["make"], {"MAKEFLAGS": "nk"}),
    ("D=build\nall:\n\trm -rf $(D)\n", ["make"], {"MAKEFLAGS": "D=specs"}),
    ("D=build\nall:\n\trm -rf $(D)\n", ["make", "-e"], {"D": "specs"}),
    ("D=build\nall:\n\trm -rf $(D)\n", ["make"], {"D": "specs"}),
    ("D?=build\nall:\n\trm -rf $(D)\n", ["make"], {"D": "specs"}),
    ("override D=build\nall:\n\trm -rf $(D)\n", ["make", "-e"], {"D": "specs"}),
    ("all:\n\t$(RM) CLAUDE.md\n", ["make"], {"RM": "echo"}),
    ("RM=rm -rf\nall:\n\t$(RM) specs\n", ["make", "--environment-overrides"], {"RM": "echo"}),
    ("D=x\nall:\n\t$(MAKE) -f Makefile two\ntwo:\n\trm -rf $(D)\n", ["make", "-n"], {}),
    ("all:\n\t$(MAKE) two\ntwo:\n\trm -rf specs\n", ["make", "-n"], {}),
    ("all:\n\t$(MAKE) two\ntwo:\n\trm -rf $(D)\n", ["make", "D=specs"], {}),
]


@pytest.mark.parametrize(("text", "argv", "env"), ENVIRONMENTS, ids=str)
def test_shells_flags_and_variables_from_outside(text: str, argv: list[str], env: dict[str, str], tmp_path: Path) -> None:
    (tree(tmp_path) / "Makefile").write_text(text)
    foreseen = losses(model(tmp_path, argv, None, env), tmp_path)
    assert foreseen == real_losses(tmp_path, tmp_path, argv, "", env)


def test_another_shell_gets_the_text(tmp_path: Path) -> None:
    (tree(tmp_path) / "Makefile").write_text("SHELL = /bin/bash\n.SHELLFLAGS = -ec\nall:\n\trm -rf {build,specs}\n")
    ran = model(tmp_path, "make")
    assert ran.shells == []
