"""Programs of the user's that git runs: what they do is foreseen, by what git lets them do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from guard.effects import At
from guard.shell.analyse import analyse
from guard.world import Budget, World
from tests.tools.git.harness import build, environment, files

HOOK = "printf '#!/bin/sh\\nrm -rf {what}\\n' > .git/hooks/{name}; chmod +x .git/hooks/{name}; "


def _hook(name: str, what: str = "docs") -> str:
    return HOOK.format(name=name, what=what)


LINES = [
    _hook("pre-commit") + "git commit -q --allow-empty -m x",
    _hook("pre-commit") + "git commit -q --allow-empty -n -m x",
    _hook("prepare-commit-msg") + "git commit -q --allow-empty -m x",
    _hook("commit-msg") + "git commit -q --allow-empty -m x",
    _hook("commit-msg") + "git commit -q --allow-empty --no-verify -m x",
    _hook("post-commit") + "git commit -q --allow-empty -m x",
    _hook("post-rewrite") + "git commit -q --allow-empty --amend --no-edit",
    _hook("post-rewrite") + "git commit -q --allow-empty -m x",
    _hook("post-checkout") + "git checkout -q -b other",
    _hook("post-checkout") + "git switch -q -c other",
    _hook("post-checkout") + "git reset -q",
    _hook("post-index-change") + "git add src",
    _hook("reference-transaction") + "git branch other",
    _hook("pre-rebase") + "git stash -q; git rebase -q feature",
    _hook("pre-rebase") + "git stash -q; git rebase -q --no-verify feature",
    _hook("post-merge") + "git stash -q; git merge -q -m x feature",
    _hook("nothing") + "git commit -q --allow-empty -m x",
    "mkdir h; printf '#!/bin/sh\\nrm -rf docs\\n' > h/post-commit; chmod +x h/post-commit; "
    "git -c core.hooksPath=h commit -q --allow-empty -m x",
    "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -qam x && rm -rf docs",
    "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-rebase; chmod +x .git/hooks/pre-rebase; git stash -q; "
    "git rebase -q feature && rm -rf docs",
    "GIT_EDITOR='rm -rf docs;:' git commit -q --allow-empty",
    "GIT_EDITOR='rm -rf docs;:' git commit -q --allow-empty -m x",
    "GIT_EDITOR='rm -rf docs;:' git commit -q --allow-empty -m x -e",
    "GIT_EDITOR='rm -rf docs;:' git commit -q --amend",
    "GIT_EDITOR='rm -rf docs;:' git commit -q --amend --no-edit",
    "GIT_EDITOR='rm -rf docs;:' git tag -a x",
    "GIT_EDITOR='rm -rf docs;:' git tag -a x -m y",
    "GIT_EDITOR='rm -rf docs;:' git branch --edit-description",
    "GIT_EDITOR='rm -rf docs;:' git notes add",
    "GIT_EDITOR='rm -rf docs;:' git config -e",
    "git -c core.editor='rm -rf docs;:' commit -q --allow-empty",
    "EDITOR='rm -rf docs;:' git commit -q --allow-empty",
    "VISUAL='rm -rf docs;:' git commit -q --allow-empty",
    "TERM=xterm VISUAL='rm -rf docs;:' git commit -q --allow-empty",
    "git stash -q; GIT_SEQUENCE_EDITOR='rm -rf docs;:' git rebase -q -i HEAD~1",
    "git stash -q; git -c sequence.editor='rm -rf docs;:' rebase -q -i HEAD~1",
    "git stash -q; git rm -q docs/guide.md; git commit -qm x; GIT_SEQUENCE_EDITOR='sed -i 1d' git rebase -q -i HEAD~2",
    "git stash -q; echo n > docs/new; git add docs; git commit -qm x; "
    "GIT_SEQUENCE_EDITOR='sed -i s/pick/drop/' git rebase -q -i HEAD~1",
    "git -c core.fsmonitor='rm -rf docs;:' status",
    "git -c core.fsmonitor=false status",
    "git config core.fsmonitor 'rm -rf docs;:'; git add src",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='rm -rf docs;:' git status",
    "X='rm -rf docs;:' git --config-env=core.fsmonitor=X status",
    "git -c core.sshCommand='rm -rf docs;:' fetch ssh://x/y",
    "git -c core.sshCommand='rm -rf docs;:' fetch .",
    "GIT_SSH_COMMAND='rm -rf docs;:' git ls-remote me@host:path",
    "GIT_SSH_COMMAND='rm -rf docs;:' git clone -q me@host:path ../cloned",
    "git clone -q -c core.sshCommand='rm -rf docs;:' me@host:path ../cloned",
    "git fetch --upload-pack='rm -rf docs; git-upload-pack' .",
    "git -c protocol.ext.allow=always fetch 'ext::rm -rf docs'",
    "git -c diff.external='rm -rf docs;:' diff",
    "git -c diff.external='rm -rf docs;:' diff --no-ext-diff",
    "git -c diff.external='rm -rf docs;:' diff --name-only",
    "GIT_EXTERNAL_DIFF='rm -rf docs;:' git diff",
    "export GIT_EXTERNAL_DIFF='rm -rf docs;:'; git diff",
    "git -c filter.x.clean='rm -rf docs;cat' add src",
    "echo '*.py filter=x' > .gitattributes; git -c filter.x.clean='rm -rf docs;cat' add src",
    "echo '*.py filter=x' > .gitattributes; git -c filter.x.smudge='rm -rf docs;cat' checkout -q -- src",
    "echo '/lib/*.py filter=x' > src/.gitattributes; git config filter.x.clean 'rm -rf docs/%f docs;cat'; git add src",
    "echo '*.c filter=x' > .gitattributes; git -c filter.x.clean='rm -rf docs;cat' add src",
    "git grep -O'rm -rf docs;:' print",
    "git -c core.pager='rm -rf docs;cat' -p log -1",
    "GIT_PAGER='rm -rf docs;cat' git -p log -1",
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("programs") / "home").parent


@pytest.mark.parametrize("line", LINES)
def test_what_git_runs_is_foreseen(line: str, template: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(template, home, symlinks=True)
    env = {name: value for name, value in environment(home).items() if name != "GIT_EDITOR"}
    app = (home / "app").resolve()
    found = analyse(line, str(app), World({**env, "PWD": str(app)}, Budget(60, 10**7)))
    foreseen = any(
        effect.action == "delete" and isinstance(effect.target, At) and str(app / "docs/guide.md").startswith(effect.target.path)
        for effect in found.effects
    )
    before = files(home)
    subprocess.run(["bash", "-c", line], cwd=app, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert foreseen == ("app/docs/guide.md" in before.keys() - files(home).keys())
