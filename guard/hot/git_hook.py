"""`guard git-hook NAME`: what git, or pre-commit, runs before a commit or push and after a checkout, merge or rewrite.

    pre-commit  pre-merge-commit  commit-msg FILE  pre-push REMOTE URL          as git calls them
    prepare-commit-msg FILE SOURCE  pre-applypatch  pre-rebase UPSTREAM [BRANCH]
    post-checkout OLD NEW FLAG  post-merge FLAG  post-rewrite COMMAND
    protected-files  verify                                                      as pre-commit calls them

Those that come before end with 0 (go on), 1 (refused), 64 or 70; those that come after always with 0.
"""

from __future__ import annotations

import os

from guard.hot import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from guard.commits.changes import Change
    from guard.commits.court import Court, Finding
    from guard.commits.git import Git
    from guard.commits.trailers import Trailer

INPUT_LIMIT = 64 << 20  # bytes of standard input: a line for each ref of a push
MESSAGE = "--message"  # pre-commit's other hook decides by the message what a person may
LET_PASS = "pathguard allow {id}, then commit again, with a message that ends with"
PICKED = "git commit, and end the message with"  # what git was about to commit waits to be committed
PAST = "git commit --no-verify, with a message that ends with"  # where nothing can be recorded
NOTHING = "guard: nothing is staged and there is no range (--from-ref, --to-ref), so nothing was checked\n"


def main(arguments: list[str]) -> int:
    """Runs the hook that the first argument names; gives the exit status."""
    name, rest = (arguments[0] if arguments else ""), arguments[1:]
    hook = HOOKS.get(name)
    if hook is None:
        return answer.complaint(f"git-hook: no hook {name!r}\nusage: guard git-hook {'|'.join(HOOKS)} ...")
    try:
        status = hook(rest, os.environ)
    except KeyboardInterrupt:
        return answer.INTERRUPTED
    except BaseException as error:
        status = answer.failure(error)
    return 0 if name in AFTER else status


def _pre_commit(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Before a commit. Where a hook of guard's reads the message, a person may say there that a loss is meant."""
    return _staged("git commit", environ, _reads_messages)


def _pre_merge_commit(arguments: list[str], environ: Mapping[str, str]) -> int:
    return _staged("git merge", environ, _reads_messages)


def _protected_files(arguments: list[str], environ: Mapping[str, str]) -> int:
    """pre-commit's hook: what is staged, or a range that pre-commit was given."""
    old, new = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if old or new:
        return _range(old, new, environ)
    return _staged("git commit", environ, _message_decides if MESSAGE in arguments else _never, "PRE_COMMIT" in environ)


def _prepare_commit_msg(arguments: list[str], environ: Mapping[str, str]) -> int:
    """The only hook that git runs before the commits of cherry-pick and revert."""
    from guard.commits import picked
    from guard.errors import GuardError

    if not arguments:
        raise GuardError("prepare-commit-msg needs the file with the message", "git-hook")
    command = picked.command(_git(environ), arguments)
    return _staged(command, environ, _never, how=PICKED) if command else 0


def _pre_applypatch(arguments: list[str], environ: Mapping[str, str]) -> int:
    """The hook before the commits of git am. Those of a rebase were commits before."""
    from guard.commits import picked

    return 0 if picked.rebasing(_git(environ)) else _staged("git am", environ, _never, how="")


def _pre_rebase(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Before a rebase: what the branch would lose by what it is put upon."""
    from guard.commits import picked
    from guard.commits.git import Failed, fault

    court = _court(environ)
    try:
        change = picked.rebase(court.git, arguments) if arguments else None
    except Failed as error:
        raise fault(error, "what the rebase takes away") from error
    if change is None or not change.found:
        return 0
    finding = court.decide(change, granted=lambda: True)
    if not finding.refused:
        return _passed(finding, change)
    return _refused(court, finding, change, environ, _person(), "")


def _staged(
    command: str,
    environ: Mapping[str, str],
    deferring: Callable[[Git, Mapping[str, str]], bool],
    tell: bool = False,
    how: str = LET_PASS,
) -> int:
    from guard.commits import changes

    git = _git(environ)
    merging = _merging(git, environ)
    waiting = changes.staged(git, "git merge" if merging else command, merging)
    court = _court_of(git, environ)  # while git looks
    change = waiting()
    if change is None or not change.found:
        if tell and change is not None and not changes.anything_staged(git):
            answer.write(answer.ERROR, NOTHING)
        return 0
    finding = court.decide(change, granted=lambda: not deferring(git, environ), record=False)
    if not finding.refused:
        return _passed(court.recorded(finding), change)
    from guard.commits import told

    later, person = deferring(git, environ), _person()
    if later and court.may_be_granted(finding):
        return 0  # the message's hook uses it up
    if later and person:
        answer.write(answer.ERROR, told.announcement(finding, change, court.top, environ))
        return 0
    return _refused(court, court.recorded(finding), change, environ, person, how)


def _commit_msg(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Before a commit whose message is written: what it names in Guard-Allow may be lost, if a person says so."""
    from guard.commits import changes, trailers
    from guard.commits.git import Failed, fault
    from guard.errors import GuardError

    if len(arguments) != 1:
        raise GuardError("commit-msg needs the file with the message", "git-hook")
    git = _git(environ)
    merging = _merging(git, environ)
    waiting = changes.staged(git, "git merge" if merging else "git commit", merging)
    court = _court_of(git, environ)  # while git looks
    change = waiting()
    if change is None or not change.found:
        return 0
    given: list[Trailer] = []
    person = False
    if trailers.mentioned(text := _read(arguments[0])):
        person = _person()
        try:
            given = trailers.of_message(court.git, text) if person else []
        except Failed as error:
            raise fault(error, "what the message says") from error
    finding = court.decide(change, given, granted=lambda: True)
    if not finding.refused:
        return _passed(finding, change)
    how = f"git commit --edit -F {_shown(arguments[0])}, and end the message with"
    return _refused(court, finding, change, environ, person or _person(), how)


def _pre_push(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Before a push: for each ref what the remote repository would lose, or what its history would get."""
    from guard.commits import refs
    from guard.commits.git import Failed, fault
    from guard.errors import GuardError

    court = _court(environ)
    remote = arguments[0] if arguments else environ.get("PRE_COMMIT_REMOTE_NAME", "origin")
    updates = refs.of_environment(court.git, environ) if len(arguments) < 2 else None
    old, new = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if updates is None and len(arguments) < 2 and (old or new):
        return _range(old, new, environ)
    if updates is None and "PRE_COMMIT" in environ:
        answer.write(answer.ERROR, NOTHING)
        return 0
    try:
        updates = refs.of_lines(_standard_input()) if updates is None else updates
        found = refs.changes(court.git, updates, remote)
    except ValueError as error:
        raise GuardError("these are no lines of a push", "standard input", "LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID") from error
    except Failed as error:
        raise fault(error, "what the push takes away") from error
    status = 0
    for each in found:
        if isinstance(each, refs.Unseen):
            from guard.commits import told

            if court.protects_anything():
                answer.write(answer.ERROR, told.unseen(each.update, remote))
                status = 1
            continue
        finding = court.decide(each, granted=lambda: True)
        how = "push a commit whose message ends with" if each.allowed else ""
        status |= _refused(court, finding, each, environ, _person(), how) if finding.refused else _passed(finding, each)
    return status


def _range(old: str, new: str, environ: Mapping[str, str]) -> int:
    """What the commits of a range lose that the old end does not have already."""
    from guard.commits import changes
    from guard.commits.git import Failed, fault
    from guard.errors import GuardError

    court = _court(environ)
    ends = [court.git.commit(each) for each in (old, new)]
    for given, found in zip((old, new), ends, strict=True):
        if not found:
            raise GuardError(f"there is no commit {given!r} here", "range", "fetch it, in CI with its history (fetch-depth: 0)")
    base = court.git.line("merge-base", *ends)
    if not base:
        raise GuardError(f"{old} and {new} have no common commit here", "range", "fetch the history, in CI with fetch-depth: 0")
    try:
        change = changes.between(court.git, base, ends[1], f"git merge {new}")
    except Failed as error:
        raise fault(error, "what the range changes") from error
    finding = court.decide(change)
    if not finding.refused:
        return _passed(finding, change)
    return _refused(court, finding, change, environ, _person(), "have a commit of the range end its message with")


def _post_checkout(arguments: list[str], environ: Mapping[str, str]) -> int:
    from guard.commits import lost

    if len(arguments) == 3 and arguments[2] == "1":
        return lost.tell(_court(environ), arguments[0], arguments[1], "git checkout", environ)
    return lost.tell(_court(environ), "", "", "git checkout", environ)


def _post_merge(arguments: list[str], environ: Mapping[str, str]) -> int:
    from guard.commits import lost

    squashed = arguments[:1] == ["1"]
    return lost.tell(_court(environ), "" if squashed else "ORIG_HEAD", "HEAD", "git merge", environ)


def _post_rewrite(arguments: list[str], environ: Mapping[str, str]) -> int:
    """After an amend or a rebase, whose standard input names the commits, the old and the new id in a line."""
    from guard.commits import lost

    command = arguments[0] if arguments else "rebase"
    court = _court(environ)
    if command == "amend":
        lines = _standard_input().split(b"\n") if "PRE_COMMIT" not in environ else []
        old = os.fsdecode(lines[0].split(b" ")[0]) if lines and lines[0] else "HEAD@{1}"
        return lost.tell(court, old, "HEAD", "git commit --amend", environ)
    return lost.tell(court, court.git.rebased() or "ORIG_HEAD", "HEAD", f"git {command}", environ, over=True)


def _verify(arguments: list[str], environ: Mapping[str, str]) -> int:
    """pre-commit's hook for all that comes after; the environment tells which."""
    if "PRE_COMMIT_CHECKOUT_TYPE" in environ:
        ends = [environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")]
        return _post_checkout([*ends, environ["PRE_COMMIT_CHECKOUT_TYPE"]], environ)
    if "PRE_COMMIT_REWRITE_COMMAND" in environ:
        return _post_rewrite([environ["PRE_COMMIT_REWRITE_COMMAND"]], environ)
    if "PRE_COMMIT_IS_SQUASH_MERGE" in environ:
        return _post_merge([environ["PRE_COMMIT_IS_SQUASH_MERGE"]], environ)
    return _post_checkout([], environ)


BEFORE: dict[str, Callable[[list[str], Mapping[str, str]], int]] = {
    "pre-commit": _pre_commit,
    "pre-merge-commit": _pre_merge_commit,
    "commit-msg": _commit_msg,
    "prepare-commit-msg": _prepare_commit_msg,
    "pre-applypatch": _pre_applypatch,
    "pre-rebase": _pre_rebase,
    "pre-push": _pre_push,
    "protected-files": _protected_files,
}
AFTER: dict[str, Callable[[list[str], Mapping[str, str]], int]] = {
    "post-checkout": _post_checkout,
    "post-merge": _post_merge,
    "post-rewrite": _post_rewrite,
    "verify": _verify,
}
HOOKS = BEFORE | AFTER


def _court(environ: Mapping[str, str]) -> Court:
    return _court_of(_git(environ), environ)


def _court_of(git: Git, environ: Mapping[str, str]) -> Court:
    from guard.commits.court import Court

    return Court(git, environ)


def _git(environ: Mapping[str, str]) -> Git:
    from guard.commits.git import Git

    try:
        return Git(os.getcwd(), environ)
    except FileNotFoundError as error:
        from guard.errors import GuardError

        raise GuardError("the current directory is gone") from error


def _merging(git: Git, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The commits that are being merged: git names them in the environment, later in a file."""
    named = tuple(name.removeprefix("GITHEAD_") for name in environ if name.startswith("GITHEAD_"))
    return named or git.merge_heads()


def _refused(court: Court, finding: Finding, change: Change, environ: Mapping[str, str], person: bool, how: str) -> int:
    from guard.commits import told

    assert finding.decision is not None
    name = finding.decision.request.id
    how = how.replace("{id}", name) if name or how != LET_PASS else PAST
    meant = told.with_trailer(finding.lost, how) if how else told.bypassing(change.command, name)
    answer.write(answer.ERROR, told.refusal(finding.decision, finding.lost, change, court.top, environ, person, meant))
    return answer.DENIED


def _passed(finding: Finding, change: Change) -> int:
    if finding.honoured:
        from guard.commits import told

        answer.write(answer.ERROR, told.honoured(finding, change.command))
    return answer.ALLOWED


def _person() -> bool:
    """Is it surely a person who waits for this?"""
    from guard import actor, person

    return person.present().kind == actor.PERSON


def _never(git: Git, environ: Mapping[str, str]) -> bool:
    return False


def _reads_messages(git: Git, environ: Mapping[str, str]) -> bool:
    """Does a hook of guard's come that reads the message?"""
    return b"git-hook" in git.commit_msg_hook()


def _message_decides(git: Git, environ: Mapping[str, str]) -> bool:
    """Does pre-commit come again, with the message, and is guard's hook not left out there?"""
    return b"pre-commit" in git.commit_msg_hook() and "guard-commit-message" not in environ.get("SKIP", "").split(",")


def _standard_input() -> bytes:
    data = b""
    while len(data) <= INPUT_LIMIT and (chunk := os.read(0, 1 << 16)):
        data += chunk
    return data


def _read(path: str) -> bytes:
    from guard.errors import GuardError

    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise GuardError(f"the message cannot be read ({error.strerror})", path) from error


def _shown(path: str) -> str:
    from guard.shell.text import quote

    return quote(path)
