"""Scripts of packages, and the task runners."""

# ruff: noqa: E501

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tool_harness import losses, model
from tests.tools.interpreters import tree

SCRIPTS = {
    "clean": "rm -rf dist build",
    "wipe": "rm -rf specs",
    "prewiden": "rm CLAUDE.md",
    "widen": "rm AGENTS.md",
    "postwiden": "rm PLAN.md",
    "test": "rm CLAUDE.md",
    "start": "rm AGENTS.md",
    "rm": "rm -rf",
    "prepare": "rm -rf memory",
    "rimraf-it": "rimraf specs",
    "nested": "npm run wipe",
    "a:x": "rm CLAUDE.md",
    "a:y": "rm AGENTS.md",
}
SPECS = {"specs/a.md", "specs/deep/b.md", "specs/api.json"}
MEMORY = {"memory/lessons.md"}
BUILT = {"build/o.o", "dist/app.js"}
WIDE = {"CLAUDE.md", "AGENTS.md", "PLAN.md"}

COMMANDS: dict[str, set[str]] = {
    "npm run clean": BUILT,
    "npm run wipe": SPECS,
    "npm run-script wipe": SPECS,
    "npm run wipe --silent": SPECS,
    "npm -s run wipe": SPECS,
    "npm run widen": WIDE,
    "npm run widen --ignore-scripts": {"AGENTS.md"},
    "npm run rm -- memory": MEMORY,
    "npm run rm -- 'memory' build": MEMORY | {"build/o.o"},
    "npm run rm memory": MEMORY,
    "npm run nope": set(),
    "npm run": set(),
    "npm test": {"CLAUDE.md"},
    "npm t": {"CLAUDE.md"},
    "npm start": {"AGENTS.md"},
    "npm run nested": SPECS,
    "npm --prefix . run wipe": SPECS,
    "npm install": MEMORY,
    "npm ci": MEMORY,
    "npm install left-pad": set(),
    "npm i --ignore-scripts": set(),
    "npm --version": set(),
    "npm ls": set(),
    "npm exec rimraf specs": SPECS,
    "npm exec -- rimraf specs": SPECS,
    "npm exec -c 'rm -rf memory'": MEMORY,
    "npm x -y rimraf specs": SPECS,
    "npx rimraf specs": SPECS,
    "npx --yes rimraf@5 specs": SPECS,
    "npx -p rimraf rimraf specs": SPECS,
    "npx del-cli 'specs/*.md'": {"specs/a.md"},
    "npx del-cli '*.md' '!CLAUDE.md'": {"AGENTS.md", "PLAN.md"},
    "npx shx rm -rf specs": SPECS,
    "npx cross-env A=1 rm CLAUDE.md": {"CLAUDE.md"},
    "npx eslint .": set(),
    "npx -c 'rm CLAUDE.md'": {"CLAUDE.md"},
    "bunx rimraf memory": MEMORY,
    "pnpm dlx rimraf memory": MEMORY,
    "pnpm exec rimraf memory": MEMORY,
    "yarn wipe": SPECS,
    "yarn run wipe": SPECS,
    "yarn rm memory": MEMORY,
    "yarn rimraf memory": MEMORY,
    "yarn": MEMORY,
    "yarn add x": set(),
    "yarn remove x": set(),
    "pnpm wipe": SPECS,
    "pnpm run clean": BUILT,
    "pnpm -C . run wipe": SPECS,
    "bun run wipe": SPECS,
    'bun -e \'require("fs").unlinkSync("CLAUDE.md")\'': {"CLAUDE.md"},
    "rimraf specs memory": SPECS | MEMORY,
    "rimraf nope": set(),
    "rimraf --dry-run specs": set(),
    "rimraf 'specs/**/*.md'": {"specs/a.md", "specs/deep/b.md"},
    "run-s clean wipe": BUILT | SPECS,
    "npm-run-all a:*": {"CLAUDE.md", "AGENTS.md"},
    "composer run wipe": SPECS,
    "composer both": SPECS | {"build/o.o"},
    "composer install": set(),
    "just wipe": SPECS,
    "just": {"build/o.o"},
    "just both": SPECS | {"build/o.o"},
    "just take memory": MEMORY,
    "just --list": set(),
    "just -n wipe": set(),
    "task wipe": SPECS,
    "task both": SPECS | {"build/o.o"},
    "task --list": set(),
    "rake wipe": SPECS,
    "rake both": SPECS | {"build/o.o"},
    "rake -T": set(),
    "cargo build": set(),
    "cargo clean": set(),
    "cargo clean --target-dir build": {"build/o.o"},
    "mvn clean install": set(),
    "gradle clean": {"build/o.o"},
    "gradle test": set(),
}


def packages(top: Path) -> Path:
    tree(top)
    (top / "package.json").write_text(json.dumps({"scripts": SCRIPTS}))
    (top / "composer.json").write_text(
        json.dumps({"scripts": {"wipe": "rm -rf specs", "clean": ["rm -rf build"], "both": ["@clean", "@wipe"]}})
    )
    (top / "justfile").write_text(
        "d := 'specs'\n\nclean:\n    rm -rf build\n\nwipe:\n    @rm -rf {{d}}\n\nboth: clean wipe\n\ntake what:\n    rm -rf {{ what }}\n"
    )
    (top / "Taskfile.yml").write_text(
        "version: '3'\ntasks:\n  clean:\n    desc: tidy\n    cmds:\n      - rm -rf build\n  wipe:\n    cmds:\n      - rm -rf specs\n  both:\n    cmds:\n"
        "      - task: clean\n      - task: wipe\n"
    )
    (top / "Rakefile").write_text(
        'task :clean do\n  rm_rf "build"\nend\n\ntask :wipe do\n  sh "rm -rf specs"\nend\n\ntask both: [:clean, :wipe]\n'
    )
    return top


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loses_what_its_script_loses(command: str, tmp_path: Path) -> None:
    assert losses(model(packages(tmp_path), command), tmp_path) == COMMANDS[command]


def test_the_nearest_package_upwards_counts(tmp_path: Path) -> None:
    packages(tmp_path)
    assert losses(model(tmp_path / "specs", "npm run wipe"), tmp_path) == SPECS


def test_a_package_below_is_another_one(tmp_path: Path) -> None:
    packages(tmp_path)
    (tmp_path / "build/package.json").write_text(json.dumps({"scripts": {"wipe": "rm -rf o.o"}}))
    assert losses(model(tmp_path, "npm --prefix build run wipe"), tmp_path) == {"build/o.o"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"scripts": 1}', '{"scripts": {"wipe": 1}}', "[" * 100_000, "\x00"], ids=range(7)
)
def test_no_package_breaks_the_reader(text: str, tmp_path: Path) -> None:
    packages(tmp_path)
    for name in ("package.json", "composer.json", "justfile", "Taskfile.yml", "Rakefile"):
        (tmp_path / name).write_text(text)
    for command in ("npm run wipe", "yarn wipe", "composer wipe", "just wipe", "task wipe", "rake wipe"):
        assert not losses(model(tmp_path, command), tmp_path)


def test_scripts_see_what_the_package_says(tmp_path: Path) -> None:
    text = {"name": "x-y", "config": {"d": "specs", "deep": [1]}, "scripts": {"c": "rm -rf specs"}}
    (tree(tmp_path) / "package.json").write_text(json.dumps(text))
    from guard.overlay import View
    from guard.tools.call import Call
    from guard.tools.packages import Package
    from guard.world import World

    view = View(World({}))
    call = Call(("npm",), str(tmp_path), {}, None, view, None, None)  # type: ignore[arg-type]
    variables = Package(call, ".").variables
    assert variables["npm_package_config_d"] == "specs"
    assert variables["npm_package_config_deep_0"] == "1"
    assert variables["npm_package_name"] == "x-y"
