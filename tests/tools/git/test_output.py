"""What git prints is told exactly, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools.git.harness import build, foresee, really

LINES = [
    "git ls-files",
    "git ls-files specs",
    "git ls-files -z specs",
    "git ls-files '*.md'",
    "git ls-files --others --exclude-standard",
    "git ls-files -o --exclude-standard memory",
    "git ls-files -o",
    "git ls-files -oi --exclude-standard",
    "git ls-files -m",
    "git ls-files -d",
    "git ls-files -mo --exclude-standard",
    "git ls-files -co --exclude-standard specs",
    "git -C specs ls-files",
    "git -C specs ls-files --full-name",
    "git -C src ls-files ../specs",
    "git ls-files --error-unmatch CLAUDE.md",
    "git ls-files --error-unmatch nope",
    "git ls-files nope",
    "git diff --name-only",
    "git diff --name-only -- src",
    "git diff --name-only HEAD",
    "git diff --name-only HEAD~1",
    "git diff --name-only HEAD~1 HEAD",
    "git diff --name-only HEAD~1..HEAD",
    "git diff --name-only --cached",
    "git diff --name-only --diff-filter=M",
    "git diff --name-only --diff-filter=D main no-specs",
    "git diff --name-only --diff-filter=d main no-specs",
    "git diff --name-only main no-specs -- specs",
    "git diff --quiet",
    "git diff --cached --quiet",
    "git diff --name-only nope",
    "git status --porcelain",
    "git status -s",
    "git status --short specs",
    "git status --porcelain -uno",
    "git status --porcelain -uall",
    "git status --porcelain -z",
    "git -C src status -s",
    "git -C src status --porcelain",
    "git rev-parse --show-toplevel",
    "git rev-parse HEAD",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --git-dir",
    "git rev-parse --verify -q nope",
    "git -C src rev-parse --show-prefix",
    "git -C src rev-parse --show-cdup",
    "git -C src rev-parse --git-dir",
    "git branch --show-current",
    "git symbolic-ref --short HEAD",
    "git symbolic-ref HEAD",
    "git config user.name",
    "git config --get alias.nuke",
    "git config --get nope.nope",
    "git merge-base main no-specs",
    "git for-each-ref --format='%(refname)'",
    "git ls-tree -r --name-only HEAD",
    "git ls-tree -r --name-only HEAD specs",
    "git show HEAD:CLAUDE.md",
    "git show HEAD~1:specs/a.md",
    "git cat-file -p HEAD:CLAUDE.md",
    "git -C specs show HEAD:./a.md",
    "git show HEAD:nope",
    "git diff",
    "git diff -R",
    "git diff HEAD",
    "git diff HEAD -- src",
    "git diff v1",
    "git diff -- specs nope",
    "git diff v1 no-specs",
    "git diff v1..no-specs -- specs/deep AGENTS.md",
    "git diff no-specs...main",
    "git diff -R v1 feature",
    "git diff --stat v1 feature",
    "git diff --no-renames --name-status v1 adds",
    "git -C src diff v1 feature -- main.py",
    "git show",
    "git show v1",
    "git show HEAD -- src",
    "git show --stat HEAD~1",
    "git show --format=%s --name-only no-specs",
    "git check-ignore -q specs",
    "git check-ignore specs .ralph build nope/ x.log",
    "git check-ignore -q build",
    "git check-ignore --no-index node_modules/pkg",
    "git cat-file -e HEAD:specs/none",
    "git cat-file -e HEAD:specs",
    "git cat-file -e HEAD:CLAUDE.md",
    "git cat-file -e nope",
    "git cat-file -e main",
    "git ls-files --error-unmatch specs/draft.md",
    "git ls-files --error-unmatch specs/a.md",
    "git diff --quiet -- README.md",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("output") / "home").parent


@pytest.mark.parametrize("line", LINES)
def test_the_output_is_told(line: str, home: Path) -> None:
    result = foresee(home, line).result  # type: ignore[attr-defined]
    status, output = really(home, line)
    assert result.output == output
    if result.status is not None:
        assert (result.status == 0) == (status == 0)


@pytest.mark.parametrize(
    "line",
    [
        "git log",
        "git diff -W",
        "git diff HEAD:CLAUDE.md HEAD:AGENTS.md --quiet",
        "git show adds~1^{tree}",
        "git status",
        "git stash list",
        "git grep x",
        "git branch -a",
    ],
)
def test_the_output_is_unknown(line: str, home: Path) -> None:
    assert not isinstance(foresee(home, line).result.output, str)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line",
    [
        "git add -A . ':!tmp' && git ls-files",
        "git rm -q --cached CLAUDE.md && git ls-files -o --exclude-standard",
        "git checkout -q -- . && git status --porcelain",
        "git switch -q -c other && git branch --show-current",
        "git switch -q -c other && git rev-parse --abbrev-ref HEAD",
        "git commit -qam x && git diff --name-only",
        "git stash -q && git status --porcelain",
        "git reset -q --soft HEAD~1 && git diff --cached --name-only",
        "git add -A . ':!tmp' && git diff --cached -- memory specs src",
        "git rm -q --cached src/main.py && git diff --cached",
        "git add -N junk.txt && git diff -- junk.txt src",
        "git switch -q -c other && git rev-parse -q --verify nope",
        "git add memory && git check-ignore memory build",
    ],
)
def test_the_output_follows_earlier_commands(line: str, home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home", symlinks=True)
    result = foresee(tmp_path / "home", line).result  # type: ignore[attr-defined]
    assert result.output == really(tmp_path / "home", line)[1]
