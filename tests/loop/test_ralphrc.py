""".ralphrc is data: three forms are read, everything else is told with its line, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from guard.errors import USAGE, GuardError
from guard.loop import configuration, ralphrc
from guard.loop.settings import Config
from guard.world import World


def settled(top: Path, given: dict[str, object] | None = None, unsafe: bool = False, **environ: str) -> configuration.Settings:
    """The settings of a tree, without the machine's own."""
    environ = {"HOME": str(top / "home"), "XDG_CONFIG_HOME": str(top / "none"), **environ}
    return configuration.settings(str(top), given or {}, environ, World(environ), unsafe)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("MAX_CALLS_PER_HOUR=50", "50"),
        ("  MAX_CALLS_PER_HOUR=50   # why", "50"),
        ('MAX_CALLS_PER_HOUR="50" # why', "50"),
        ("MAX_CALLS_PER_HOUR='50'", "50"),
        ('MAX_CALLS_PER_HOUR="${MAX_CALLS_PER_HOUR:-50}"', "50"),
        ('ALLOWED_TOOLS="Read,Bash(git status *)"', "Read,Bash(git status *)"),
        ("ALLOWED_TOOLS='$HOME'", "$HOME"),
        ("ALLOWED_TOOLS=", ""),
        ("ALLOWED_TOOLS=a#b", "a#b"),
        ("\ufeffALLOWED_TOOLS=Read", "Read"),
    ],
)
def test_three_forms_are_read(line: str, value: str) -> None:
    found = ralphrc.read(line.encode())
    assert [text for text, _ in found.values.values()] == [value]
    assert found.notes == ()


@pytest.mark.parametrize(
    "line",
    [
        "ALLOWED_TOOLS=$(touch pwned)",
        "ALLOWED_TOOLS=`touch pwned`",
        'ALLOWED_TOOLS="$(touch pwned)"',
        'ALLOWED_TOOLS="`touch pwned`"',
        'ALLOWED_TOOLS="$HOME"',
        'ALLOWED_TOOLS="${OTHER:-x}"',
        'ALLOWED_TOOLS="${ALLOWED_TOOLS:-$(touch pwned)}"',
        "ALLOWED_TOOLS=${ALLOWED_TOOLS:-x}",
        "ALLOWED_TOOLS=(a b)",
        "ALLOWED_TOOLS=a b",
        "ALLOWED_TOOLS=a; touch pwned",
        "ALLOWED_TOOLS=a && touch pwned",
        "ALLOWED_TOOLS='a'$(touch pwned)'b'",
        'ALLOWED_TOOLS="a"b"',
        'ALLOWED_TOOLS="a',
        "ALLOWED_TOOLS=a\\",
        "ALLOWED_TOOLS=$'a'",
        'ALLOWED_TOOLS="a\x1b[2J"',
        "export ALLOWED_TOOLS=a",
        "ALLOWED_TOOLS+=a",
        "ALLOWED_TOOLS =a",
        "source other",
        ". other",
        "if true; then",
        "touch pwned",
        "ALLOWED_TOOLS=\x00",
    ],
)
def test_every_other_line_is_told_and_passed_over(line: str) -> None:
    found = ralphrc.read(f"# first\n\n{line}\nMAX_CALLS_PER_HOUR=7\n".encode())
    assert found.values == {"MAX_CALLS_PER_HOUR": ("7", ".ralphrc:4")}
    assert found.notes == (".ralphrc:3: passed over, it is no plain NAME=value",)


def test_lines_end_as_they_like_and_bytes_may_be_anything() -> None:
    found = ralphrc.read(b"MAX_CALLS_PER_HOUR=7\r\nALLOWED_TOOLS=\xff\xfe\rMAX_TOKENS_PER_HOUR=9\n" + bytes(range(256)))
    assert found.values["MAX_CALLS_PER_HOUR"] == ("7", ".ralphrc:1")
    assert found.values["MAX_TOKENS_PER_HOUR"] == ("9", ".ralphrc:3")


def test_names_that_are_no_settings_are_told_with_what_stands_for_them() -> None:
    found = ralphrc.read(b"PROJECT_NAME=x\nCLAUDE_MODEL=opus\nSOMETHING=1\n")
    assert found.values == {}
    assert found.notes == (
        ".ralphrc:2: passed over, CLAUDE_MODEL is no setting here (after --agent claude: -- --model NAME)",
        ".ralphrc:3: passed over, SOMETHING is no setting here",
    )


def test_every_name_is_a_setting() -> None:
    for key, _ in ralphrc.NUMBERS.values():
        assert hasattr(Config(), key), key
    assert not set(ralphrc.ELSEWHERE) & {*ralphrc.NUMBERS, *ralphrc.TEXTS, *ralphrc.SILENT}


NAMES = {
    "MAX_CALLS_PER_HOUR": ("7", "calls_per_hour", 7),
    "MAX_TOKENS_PER_HOUR": ("5000", "tokens_per_hour", 5000),
    "CLAUDE_TIMEOUT_MINUTES": ("20", "timeout_s", 1200),
    "CB_NO_PROGRESS_THRESHOLD": ("2", "no_progress", 2),
    "CB_SAME_ERROR_THRESHOLD": ("4", "same_error", 4),
    "CB_OUTPUT_DECLINE_THRESHOLD": ("60", "output_decline", 60),
    "CB_PERMISSION_DENIAL_THRESHOLD": ("1", "permission", 1),
    "CB_COOLDOWN_MINUTES": ("45", "cooldown_s", 2700),
    "MAX_CONSECUTIVE_TEST_LOOPS": ("2", "test_loops", 2),
    "MAX_CONSECUTIVE_DONE_SIGNALS": ("4", "done", 4),
    "TEST_PERCENTAGE_THRESHOLD": ("20", "test_share", 20),
}


def test_every_name_works_in_the_file_and_in_the_environment(tmp_path: Path) -> None:
    found = settled(tmp_path, **{name: value for name, (value, _, _) in NAMES.items()}).config
    for name, (_, setting, meant) in NAMES.items():
        assert getattr(found, setting) == meant
        assert found.sources[setting] == f"the variable {name}"
    (tmp_path / ".ralphrc").write_text("".join(f"{name}={value}\n" for name, (value, _, _) in NAMES.items()))
    found = settled(tmp_path).config
    for number, (_, setting, meant) in enumerate(NAMES.values(), 1):
        assert getattr(found, setting) == meant
        assert found.sources[setting] == f".ralphrc:{number}"


def test_texts_work_too(tmp_path: Path) -> None:
    (tmp_path / ".ralphrc").write_text('ALLOWED_TOOLS="Read, Bash(ls -l)"\nOPTIONAL_SECTIONS="Later, Some day"\n')
    found = settled(tmp_path)
    assert (found.allowed_tools, found.optional_sections) == (("Read", "Bash(ls -l)"), ("Later", "Some day"))
    assert settled(tmp_path, ALLOWED_TOOLS="Edit").allowed_tools == ("Edit",)


def test_the_command_line_goes_before_the_environment_before_guard_toml_before_ralphrc(tmp_path: Path) -> None:
    layers = {"iterations": 100}
    assert settled(tmp_path).config.calls_per_hour == 100
    (tmp_path / ".ralphrc").write_text("MAX_CALLS_PER_HOUR=11\n")
    assert settled(tmp_path).config.calls_per_hour == 11
    (tmp_path / "guard.toml").write_text("[loop.limits]\ncalls_per_hour = 22\n")
    found = settled(tmp_path).config
    assert (found.calls_per_hour, found.sources["calls_per_hour"]) == (22, f"{tmp_path}/guard.toml")
    assert settled(tmp_path, MAX_CALLS_PER_HOUR="33").config.calls_per_hour == 33
    found = settled(tmp_path, {**layers, "calls_per_hour": 44}, MAX_CALLS_PER_HOUR="33").config
    assert (found.calls_per_hour, found.sources["calls_per_hour"]) == (44, "the command line")


def test_looser_thresholds_are_set_to_the_limit_unless_it_is_unsafe(tmp_path: Path) -> None:
    (tmp_path / ".ralphrc").write_text("CB_SAME_ERROR_THRESHOLD=9\nCB_COOLDOWN_MINUTES=0\n")
    found = settled(tmp_path)
    assert (found.config.same_error, found.config.cooldown_s) == (5, 1800)
    assert any(".ralphrc:1" in text and "looser" in text for text in found.warnings)
    assert any(".ralphrc:2" in text for text in found.warnings)
    found = settled(tmp_path, unsafe=True)
    assert (found.config.same_error, found.config.cooldown_s, found.loosened) == (9, 1800, ("same_error=9",))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# a\nCB_AUTO_RESET=true\n", 2),
        ('CB_AUTO_RESET="${CB_AUTO_RESET:-TRUE}"\n', 1),
        ("MAX_CALLS_PER_HOUR=many\n", 1),
        ("\nMAX_CALLS_PER_HOUR=0\n", 2),
        ("CLAUDE_TIMEOUT_MINUTES=999\n", 1),
        ("CB_NO_PROGRESS_THRESHOLD=-1\n", 1),
    ],
)
def test_what_makes_no_sense_starts_nothing_and_names_the_line(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / ".ralphrc").write_text(text)
    with pytest.raises(GuardError) as told:
        settled(tmp_path)
    assert told.value.code == USAGE
    assert f".ralphrc:{line}" in str(told.value)


def test_an_automatic_reset_is_refused_from_the_environment_too(tmp_path: Path) -> None:
    with pytest.raises(GuardError, match="CB_AUTO_RESET"):
        settled(tmp_path, CB_AUTO_RESET="1")
    assert settled(tmp_path, CB_AUTO_RESET="false").config == settled(tmp_path).config
    assert settled(tmp_path, unsafe=True, CB_AUTO_RESET="1").config.cooldown_s == 1800


def test_a_file_that_is_too_large_or_no_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".ralphrc").write_bytes(b"#" * (ralphrc.LARGEST + 1))
    with pytest.raises(GuardError, match="larger than 1 MiB"):
        settled(tmp_path)
    (tmp_path / ".ralphrc").unlink()
    (tmp_path / ".ralphrc").mkdir()
    with pytest.raises(GuardError, match="cannot be read"):
        settled(tmp_path)
