"""What a commit would take from the branch is judged from the index, whatever the work tree holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git_hooks.conftest import LINES, Repository, make


def remove(r: Repository) -> None:
    r.git("rm", "-q", "specs/a.md")


def remove_from_the_index_alone(r: Repository) -> None:
    r.git("rm", "-q", "--cached", "specs/a.md")


def remove_and_put_something_untracked_there(r: Repository) -> None:
    r.git("rm", "-q", "--cached", "specs/a.md")
    r.write("specs/a.md", "something else\n")


def move_out(r: Repository) -> None:
    r.git("mv", "specs/a.md", "src/a.md")


def move_a_directory_out(r: Repository) -> None:
    r.git("mv", "specs", "old")


def empty(r: Repository) -> None:
    r.write("specs/a.md", " \n")
    r.git("add", ".")


def replace(r: Repository) -> None:
    r.write("specs/a.md", "all of it is another text now, and much shorter\n")
    r.git("add", ".")


def link(r: Repository) -> None:
    (r.top / "specs/a.md").unlink()
    os.symlink("../src/main.py", r.top / "specs/a.md")
    r.git("add", ".")


def put_a_directory_there(r: Repository) -> None:
    (r.top / "CLAUDE.md").unlink()
    r.write("CLAUDE.md/inside")
    r.git("add", ".")


def put_a_file_in_the_place_of_the_directory(r: Repository) -> None:
    r.git("rm", "-rq", "specs")
    r.write("specs", "no directory any more\n")
    r.git("add", ".")


LOSSES: list[Callable[[Repository], None]] = [
    remove, remove_from_the_index_alone, remove_and_put_something_untracked_there, move_out, move_a_directory_out, empty, replace,
    link, put_a_directory_there, put_a_file_in_the_place_of_the_directory,
]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=[loss.__name__ for loss in LOSSES])
@pytest.mark.parametrize("name", ["pre-commit", "pre-merge-commit", "protected-files"])
def test_a_loss_is_refused_by_every_name(repository: Repository, loss: Callable[[Repository], None], name: str) -> None:
    loss(repository)
    status, said = repository.hook(name)
    assert status == 1, said
    assert said.startswith("guard: refused. ")
    assert "Nothing was committed." in said
    assert "CLAUDE.md" in said if "CLAUDE" in loss.__name__ or "directory_there" in loss.__name__ else "specs/" in said


def test_what_it_proposes_makes_the_commit_pass(repository: Repository) -> None:
    repository.git("rm", "-q", "specs/a.md", "specs/b.md", "src/util.py")
    _, said = repository.hook("pre-commit")
    instead = said.partition("Instead: ")[2].partition("\n")[0]
    assert instead == "git restore --staged --worktree -- specs/a.md specs/b.md"
    assert repository.run("sh", "-c", instead).returncode == 0
    assert repository.hook("pre-commit") == (0, "")
    assert (repository.top / "specs/a.md").exists()


def test_what_it_proposes_leaves_new_work_alone(repository: Repository) -> None:
    remove_and_put_something_untracked_there(repository)
    _, said = repository.hook("pre-commit")
    assert "Instead: git restore --staged -- specs/a.md\n" in said


def test_paths_are_told_as_seen_from_where_git_was_called(repository: Repository) -> None:
    repository.git("rm", "-q", "specs/a.md")
    _, said = repository.hook("pre-commit", GIT_PREFIX="src/")
    assert "Instead: git restore --staged --worktree -- ../specs/a.md\n" in said


def edit(r: Repository) -> None:
    r.write("specs/a.md", f"specs/a.md\n{LINES}and one more line\n")
    r.git("add", ".")


def rewrite_a_prompt(r: Repository) -> None:
    r.write("PROMPT.md", "quite another prompt\n")
    r.git("add", ".")


def add(r: Repository) -> None:
    r.write("specs/new.md")
    r.write("guard.toml", '[protect]\nkeep = ["/specs/"]\n')
    r.git("add", ".")


def make_executable(r: Repository) -> None:
    (r.top / "specs/a.md").chmod(0o755)
    r.git("add", ".")


def rename_among_protected_paths(r: Repository) -> None:
    r.git("mv", "specs/a.md", "specs/deep/z.md")


def rename_and_edit_among_protected_paths(r: Repository) -> None:
    r.git("mv", "specs/a.md", "specs/z.md")
    r.write("specs/z.md", f"a new title\n{LINES}")
    r.git("add", ".")


def remove_others(r: Repository) -> None:
    r.git("rm", "-rq", "src")


def nothing(r: Repository) -> None:
    pass


def change_only_the_work_tree(r: Repository) -> None:
    (r.top / "specs/a.md").unlink()


HARMLESS: list[Callable[[Repository], None]] = [
    edit, rewrite_a_prompt, add, make_executable, rename_among_protected_paths, rename_and_edit_among_protected_paths,
    remove_others, nothing, change_only_the_work_tree,
]  # fmt: skip


@pytest.mark.parametrize("change", HARMLESS, ids=[change.__name__ for change in HARMLESS])
def test_what_is_no_loss_passes_in_silence(repository: Repository, change: Callable[[Repository], None]) -> None:
    change(repository)
    assert repository.hook("pre-commit") == (0, "")


def test_two_files_moved_into_one_are_a_loss_of_one(repository: Repository) -> None:
    for name in ("specs/x.md", "specs/y.md"):
        repository.write(name, "the same\n" * 9)
    repository.commit()
    repository.git("rm", "-q", "specs/x.md", "specs/y.md")
    repository.write("specs/one.md", "the same\n" * 9)
    repository.git("add", ".")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "a protected file: specs/y.md" in said


def test_a_move_to_a_weaker_level_is_a_loss(repository: Repository) -> None:
    repository.write("guard.toml", '[protect]\nkeep = ["/specs/"]\nlock = ["/locked/"]\n')
    repository.write("locked/a.md")
    repository.commit()
    repository.git("mv", "locked/a.md", "specs/z.md")
    assert repository.hook("pre-commit")[0] == 1


def test_a_locked_file_may_not_change_at_all(repository: Repository) -> None:
    repository.write("guard.toml", '[protect]\nkeep = ["/specs/"]\n')
    repository.commit()
    repository.write("guard.toml", '[protect]\nkeep = ["/specs/"]\n# a word\n')
    repository.git("add", ".")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "would change a locked file: guard.toml" in said
    repository.git("reset", "-q", "--hard")
    (repository.top / "guard.toml").chmod(0o755)
    repository.git("add", ".")
    assert repository.hook("pre-commit")[0] == 1


def test_a_policy_that_goes_in_the_same_commit_does_not_let_the_files_go_with_it(repository: Repository) -> None:
    repository.write("guard.toml", '[protect]\nkeep = ["/notes/"]\n')
    repository.write("notes/n.md")
    repository.commit()
    repository.git("rm", "-rq", "notes", "guard.toml")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "guard.toml" in said


def test_broken_configuration_names_its_line_and_refuses_what_is_destructive(repository: Repository) -> None:
    repository.write("guard.toml", '[protect]\nkeep = ["/specs/"\n')
    repository.commit()
    edit(repository)
    assert repository.hook("pre-commit") == (0, "")
    repository.git("reset", "-q", "--hard")
    remove(repository)
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "guard.toml:" in said


def test_a_repository_without_commits_has_nothing_to_lose(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert made.hook("pre-commit") == (0, "")
    made.write("specs/a.md")
    made.git("add", ".")
    assert made.hook("pre-commit") == (0, "")
    assert made.git("commit", "-q", "-m", "first") == ""


def test_a_detached_head_is_judged_like_a_branch(repository: Repository) -> None:
    repository.git("checkout", "-q", "--detach")
    remove(repository)
    assert repository.hook("pre-commit")[0] == 1


def test_in_a_linked_worktree_its_own_index_counts(repository: Repository) -> None:
    other = repository.home / "linked"
    repository.git("worktree", "add", "-q", str(other), "-b", "other")
    repository.git("rm", "-q", "specs/a.md", cwd=other)
    assert repository.hook("pre-commit") == (0, "")
    assert repository.hook("pre-commit", cwd=other)[0] == 1


def test_in_a_subdirectory_the_whole_index_counts(repository: Repository) -> None:
    remove(repository)
    assert repository.hook("pre-commit", cwd=repository.top / "src")[0] == 1


def test_a_submodule_that_is_removed_is_a_loss_and_one_that_moves_on_is_not(repository: Repository) -> None:
    inner = make(repository.home, "inner")
    inner.write("file")
    inner.commit()
    repository.git("submodule", "--quiet", "add", str(inner.top), "specs/inner")
    repository.commit("with a submodule")
    inner.write("file", "more\n")
    inner.commit()
    repository.git("pull", "-q", cwd=repository.top / "specs/inner")
    repository.git("add", ".")
    assert repository.hook("pre-commit") == (0, "")
    repository.git("reset", "-q", "--hard")
    repository.git("rm", "-q", "-f", "specs/inner")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "specs/inner" in said


def test_a_sparse_checkout_leaves_nothing_out_of_the_commit(repository: Repository) -> None:
    repository.git("sparse-checkout", "set", "src")
    assert not (repository.top / "specs").exists()
    repository.write("src/main.py", "changed\n")
    repository.git("add", "src")
    assert repository.hook("pre-commit") == (0, "")
    repository.git("rm", "-q", "--sparse", "specs/a.md")
    assert repository.hook("pre-commit")[0] == 1


@pytest.mark.parametrize("name", [b"specs/\xff\xfe.md", b'specs/a b\n\t"c".md', "specs/é日本.md".encode(), b"specs/[x]*.md"])
def test_any_name_is_judged_and_told(repository: Repository, name: bytes) -> None:
    Path(os.fsdecode(bytes(repository.top) + b"/" + name)).write_text(LINES)
    repository.commit()
    repository.git(b"--literal-pathspecs", b"rm", b"-q", name)
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert said.count("\n") < 8
    instead = said.partition("Instead: ")[2].partition("\nIf ")[0]
    assert repository.run("sh", "-c", os.fsencode(instead)).returncode == 0
    assert repository.hook("pre-commit") == (0, "")


def test_a_thousand_losses_are_counted_and_few_are_named(repository: Repository) -> None:
    for at in range(1000):
        repository.write(f"specs/many/{at}.md", f"{at}\n")
    repository.commit()
    repository.git("rm", "-rq", "specs/many")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "1,000 protected files" in said
    assert len(said) < 2000


def test_commit_all_and_commit_only_are_judged_by_what_they_commit(repository: Repository) -> None:
    """git gives the hook an index of its own then; a hook that looked at the usual one would see nothing, or too much."""
    hooks = repository.top / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    script = hooks / "pre-commit"
    script.write_text(f'#!/bin/sh\nexec "{os.sys.executable}" -m guard git-hook pre-commit\n')  # type: ignore[attr-defined]
    script.chmod(0o755)
    (repository.top / "specs/a.md").unlink()
    refused = repository.run("git", "commit", "-qam", "all")
    assert (refused.returncode, b"specs/a.md" in refused.stderr) == (1, True)
    remove(repository) if (repository.top / "specs/a.md").exists() else repository.git("add", "-A")
    repository.write("src/main.py", "changed\n")
    assert repository.run("git", "commit", "-qm", "only", "--only", "src/main.py").returncode == 0
    assert repository.run("git", "commit", "-qm", "the rest").returncode == 1


def test_a_merge_is_judged_by_what_the_branch_loses(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "other")
    remove(repository)
    repository.commit("without a")
    repository.git("checkout", "-q", "main")
    repository.write("src/main.py", "changed\n")
    repository.commit("main goes on")
    repository.git("merge", "--no-commit", "--no-ff", "other")
    status, said = repository.hook("pre-commit")
    assert status == 1
    assert "`git merge` would delete a protected file: specs/a.md" in said


def test_a_merge_of_a_commit_that_says_so_passes(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "other")
    remove(repository)
    repository.commit("without a\n\nGuard-Allow: specs/a.md")
    repository.git("checkout", "-q", "main")
    repository.write("src/main.py", "changed\n")
    repository.commit("main goes on")
    repository.git("merge", "--no-commit", "--no-ff", "other")
    status, said = repository.hook("pre-commit")
    assert (status, "Guard-Allow" in said) == (0, True)


def test_a_broken_index_is_no_allowance(repository: Repository) -> None:
    (repository.top / ".git/index").write_bytes(b"no index at all")
    status, said = repository.hook("pre-commit")
    assert status == 70
    assert "git cannot tell what is staged" in said
    assert "index" in said


def test_a_broken_head_is_no_unborn_branch(repository: Repository) -> None:
    remove(repository)
    (repository.top / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    assert repository.hook("pre-commit")[0] == 70


def test_outside_of_any_repository_it_says_so(tmp_path: Path) -> None:
    nowhere = Repository(tmp_path, tmp_path)
    status, said = nowhere.hook("pre-commit")
    assert status != 0
    assert "git" in said


def test_without_git_it_says_so(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from guard.hot import git_hook

    monkeypatch.setattr("guard.commits.git.real_git", lambda world, directory: None)
    monkeypatch.chdir(repository.top)
    assert git_hook.main(["pre-commit"]) == 69
    assert "git is missing" in capfd.readouterr().err


@pytest.mark.parametrize("words", [(), ("no-such-hook",), ("--help",)])
def test_a_hook_that_is_none_is_wrong_usage_or_help(repository: Repository, words: tuple[str, ...]) -> None:
    done = repository.run(os.sys.executable, "-m", "guard", "git-hook", *words)  # type: ignore[attr-defined]
    assert done.returncode == (0 if words == ("--help",) else 64)


def test_pre_commit_without_anything_to_look_at_says_so(repository: Repository) -> None:
    status, said = repository.hook("protected-files", PRE_COMMIT="1")
    assert (status, "nothing was checked" in said) == (0, True)
    edit(repository)
    assert repository.hook("protected-files", PRE_COMMIT="1") == (0, "")


def test_a_repository_may_not_configure_what_the_hook_runs(repository: Repository) -> None:
    mark = repository.home / "mark"
    trap = repository.home / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "filter.x.smudge", "filter.x.clean", "diff.x.textconv"):
        repository.git("config", key, str(trap))
    remove(repository)
    repository.write(".gitattributes", "* filter=x diff=x\n")
    mark.unlink(missing_ok=True)
    assert repository.hook("pre-commit")[0] == 1
    assert not mark.exists()
