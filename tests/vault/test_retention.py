"""Old snapshots go, what a kept one needs stays, and many processes share one vault."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.errors import GuardError
from guard.vault import retention
from guard.vault.names import ASIDE
from guard.vault.retention import ASIDES, DAY, HOUR, NEWEST, check, clear, kept, mend
from guard.vault.store import Vault
from tests.vault.child import forked
from tests.vault.project_tree import FILES, Project, build

NOW = 1_000_000_000.0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return build(tmp_path, git=False)


def edit(project: Project, number: int) -> None:
    (project.top / "specs/a.md").write_text(FILES["specs/a.md"] + f"edit {number}\n")


@given(st.lists(st.floats(0, 100 * DAY), max_size=300))
def test_the_number_of_snapshots_is_bounded(ages: list[float]) -> None:
    rows = [(f"{at}", NOW - age, "snapshot") for at, age in enumerate(ages)]
    stay = kept(rows, NOW)
    assert len(stay) <= NEWEST + 25 + 31
    assert {name for name, _, _ in sorted(rows, key=lambda row: -row[1])[:NEWEST]} <= stay


def test_one_an_hour_and_one_a_day_stay() -> None:
    rows = [(f"{minute}", NOW - minute * 60, "snapshot") for minute in range(60 * 24 * 40)]
    stay = kept(rows, NOW)
    ages = sorted(NOW - when for name, when, _ in rows if name in stay)
    assert max(later - earlier for earlier, later in itertools.pairwise(ages)) <= DAY + HOUR
    assert max(ages) > 28 * DAY


def test_what_stood_in_the_way_stays_for_a_month() -> None:
    assert kept([("a", NOW - ASIDES + 1, ASIDE), ("b", NOW - ASIDES - 1, ASIDE)], NOW) == {"a"}


def test_clearing_removes_what_nobody_names(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "NEWEST", 2)
    monkeypatch.setattr(retention, "HOURLY", 0)
    monkeypatch.setattr(retention, "DAILY", 0)
    for number in range(6):
        edit(project, number)
        taken = project.snapshot()
        taken.pin.release()
    done = clear(project.vault)
    assert (done.snapshots, len(project.vault.names())) == (4, 2)
    assert check(project.vault).good
    assert len(project.vault.contents()) == len(set().union(*(each.digests() for each in project.vault.manifests())))
    assert len(project.vault.packs()) == 1


def test_a_snapshot_in_use_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "NEWEST", 1)
    monkeypatch.setattr(retention, "HOURLY", 0)
    monkeypatch.setattr(retention, "DAILY", 0)
    edit(project, 1)
    first = project.snapshot()
    edit(project, 2)
    second = project.snapshot()
    clear(project.vault)
    assert project.vault.names() == [first.name, second.name]
    first.pin.release()
    clear(project.vault)
    assert project.vault.names() == [second.name]


def test_a_vault_that_is_too_large_loses_its_oldest(project: Project) -> None:
    for _ in range(4):
        (project.top / "specs/big.bin").write_bytes(os.urandom(100_000))
        project.snapshot().pin.release()
    clear(project.vault, size=250_000)
    assert len(project.vault.names()) == 2
    clear(project.vault, size=10)
    assert len(project.vault.names()) == 1
    assert check(project.vault).good


def test_a_vault_in_use_is_not_cleared(project: Project) -> None:
    project.snapshot()
    with project.vault.lock(), pytest.raises(GuardError) as error:
        clear(Vault(str(Path(project.vault.directory).parent), str(project.top)), wait=False)
    assert error.value.code == 75


def test_a_later_version_is_left_alone(project: Project) -> None:
    taken = project.snapshot()
    Path(project.vault.directory, "manifests", "99990101-000000-000aaaa.manifest").write_bytes(b"guard manifest 2\nx")
    with pytest.raises(GuardError):
        clear(project.vault)
    newest = project.vault.newest()
    assert newest is not None
    assert newest.head.name == taken.name
    assert "later version" in str(project.vault.damaged)


def test_damage_is_found_put_aside_and_copied_again(project: Project) -> None:
    project.snapshot()
    pack = next(Path(project.vault.directory, "packs").iterdir())
    data = bytearray(pack.read_bytes())
    data[70] ^= 255
    pack.write_bytes(data)
    health = check(project.vault)
    assert not health.good
    assert len(health.contents) == 1
    assert mend(project.vault) == 1
    assert not check(project.vault).good
    taken = project.snapshot()
    assert taken.copied == 1
    assert check(project.vault).good


@pytest.mark.parametrize("keep", [0, 30, 200])
def test_a_torn_pack_is_told_and_copied_again(project: Project, keep: int) -> None:
    project.snapshot()
    pack = next(Path(project.vault.directory, "packs").iterdir())
    pack.write_bytes(pack.read_bytes()[:keep])
    other = Project(project.top, Path(project.vault.directory).parent)
    assert pack.name in check(other.vault).files
    assert other.snapshot().copied > 0
    assert check(other.vault).contents == []


def test_an_unchanged_tree_adds_nothing(project: Project) -> None:
    time.sleep(0.1)
    first = project.snapshot()
    second = project.snapshot()
    assert (second.fresh, second.name, second.copied) == (False, first.name, 0)


def test_files_that_did_not_change_are_not_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from guard.vault import content

    time.sleep(0.1)
    project.snapshot()
    edit(project, 1)
    opened: list[str] = []
    original = content.opened
    monkeypatch.setattr(content, "opened", lambda path: opened.append(path) or original(path))
    assert project.snapshot().copied == 1
    assert opened == [str(project.top / "specs/a.md")]


def test_many_processes_at_once(project: Project) -> None:
    import threading

    statuses: list[int] = []

    def work(number: int) -> None:
        own = Project(project.top, Path(project.vault.directory).parent)
        for turn in range(3):
            (project.top / f"specs/p{number}.md").write_text(f"{number} {turn}\n" * 20)
            taken = own.snapshot()
            entry = taken.manifest.find(str(project.top / f"specs/p{number}.md"))
            assert entry is not None
            assert b"".join(own.vault.read(entry.digest)) == f"{number} {turn}\n".encode() * 20
            if number % 4 == 0:
                with suppress(GuardError):  # others are using it
                    clear(own.vault, wait=False)

    threads = [threading.Thread(target=lambda n=n: statuses.append(forked(lambda: work(n)))) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert statuses == [0] * 12
    assert check(project.vault).good
