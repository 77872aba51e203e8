"""Secrets are written nowhere: in no form, however the stream is cut, and from wherever they are known."""

from __future__ import annotations

import base64
import json
import os
import random
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop import credentials, withheld
from guard.loop.events import CallReserved
from guard.loop.output import File, Filter
from guard.redact import HIDDEN, LONGEST_KEY, clean, named, redactor
from tests.loop.bench import EDIT, IP, Bench, step

OWN = 'kf83-jWq"02\\very/secret=ü'
SHAPED = (
    "sk-ant-api03-AbCdEfGhIjKl0123456789",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0" * 60 + ".c2lnbmF0dXJl",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "hf_" + "aB3" * 12,
    "xoxb-123456789012-abcdefghij",
    "glpat-abcdefghijklmnopqrst",
)
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq\n" * 20 + "-----END RSA PRIVATE KEY-----"


def streamed(data: bytes, sizes: list[int], known: tuple[str, ...] = ()) -> bytes:
    """What a filter gives of data that come in pieces of these sizes."""
    filtered, at, made = Filter(known), 0, b""
    for size in sizes:
        made += filtered.feed(data[at : at + size])
        at += size
    return made + filtered.feed(data[at:]) + filtered.end()


@pytest.mark.parametrize("secret", SHAPED)
@pytest.mark.parametrize("around", ["{}", '"key": "{}"', "Error: {} is wrong", 'say "x\\n{}\\n" now', "a={};", '\\u001b{}"'])
def test_known_shapes_go_wherever_they_stand(secret: str, around: str) -> None:
    text = around.replace("{}", secret)
    assert secret[8:] not in redactor()(text)
    assert redactor()(redactor()(text)) == redactor()(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('{"api_key": "two words"}', f'{{"api_key": "{HIDDEN}"}}'),
        ('{\\"password\\": \\"two words\\"}', f'{{\\"password\\": \\"{HIDDEN}\\"}}'),
        ('{"password": "with \\" quote"}', f'{{"password": "{HIDDEN}"}}'),
        ('password="', 'password="'),
        ("DB_PASSWORD='never ends", f"DB_PASSWORD='{HIDDEN} ends"),
        ("--token abcdefgh --x", f"--token {HIDDEN} --x"),
        ('"Authorization": "Basic dXNlcjpwYXNz"', f'"Authorization": "Basic {HIDDEN}"'),
        ("postgres://me:hunter2@host/db", f"postgres://me:{HIDDEN}@host/db"),
        ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXX", f"https://hooks.slack.com/services/{HIDDEN}"),
        ("PRIVATE_KEY = abcdef", f"PRIVATE_KEY = {HIDDEN}"),
        (f"a {KEY} b", f"a {HIDDEN} b"),
    ],
)
def test_what_stands_behind_a_name_goes_and_the_rest_stays(text: str, cleaned: str) -> None:
    assert redactor()(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        '{"usage":{"input_tokens":123,"output_tokens": 45}}',
        '{"stats":{"tokens":{"total":100,"input":5},"token":[1]}}',
        "max_tokens = 4096",
        '{"token": null, "secret": false}',
        "sk-learn-is-not-the-name-of-a-key",
        "the token parser, a secret garden, api keys",
        'password=""',
        "https://example.org:8080/a@b",
        "asia and akia, a bearer of news",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redactor()(text) == text


FORMS = (
    OWN,
    json.dumps(OWN),
    json.dumps(OWN, ensure_ascii=False),
    json.dumps(json.dumps(OWN)),
    quote(OWN, safe=""),
    *(base64.b64encode(b"x" * shift + OWN.encode() + b"yz").decode() for shift in range(3)),
    *(base64.urlsafe_b64encode(b"x" * shift + OWN.encode()).decode() for shift in range(3)),
)


@pytest.mark.parametrize("form", FORMS)
def test_known_ones_go_in_every_form(form: str) -> None:
    made = credentials.cleaned(f"before {form} after", (OWN,))
    assert HIDDEN in made
    assert "very" not in made
    assert len(made) < len("before  after") + len(HIDDEN) + 12  # at most what depends on the neighbours is left


def test_each_line_of_one_with_several_goes() -> None:
    secret = "first line of it 0123\nsecond line of it 4567"
    assert "4567" not in streamed(secret.encode(), [25], (secret,)).decode()


@given(st.data())
def test_no_cut_of_a_stream_lets_one_through(data: st.DataObject) -> None:
    parts = data.draw(
        st.lists(st.sampled_from((*SHAPED, OWN, KEY, "\n", " ", "word", '"', "{", "password=hunter22")), max_size=12)
    )
    text = "".join(f" {part}" for part in parts).encode()
    sizes = data.draw(st.lists(st.integers(0, 60), max_size=30))
    made = streamed(text, sizes, (OWN,))
    assert made == clean(text, credentials.forms((OWN,)))
    for secret in (*SHAPED, OWN, "MIIEow", "hunter22"):
        assert secret.encode()[:12] not in made


@pytest.mark.parametrize("secret", [*SHAPED, OWN])
def test_a_line_without_an_end_is_cut_beside_secrets(secret: str) -> None:
    chance = random.Random(7)
    for filler in (b"word ", b"x" * 64):
        line = b""
        while len(line) < 300_000:
            line += filler * chance.randrange(1, 900) + b" " + secret.encode() + b" "
        made = streamed(line, [1 << 16] * 5, (OWN,))
        assert secret.encode()[:12] not in made
        assert made.count(HIDDEN.encode()) == line.count(secret.encode())


def test_memory_is_bounded_by_a_secret_that_never_ends() -> None:
    filtered = Filter()
    made = b"".join(filtered.feed(b"sk-0" + b"a" * 65_000 if n == 0 else b"a" * 65_536) for n in range(60))
    assert len(filtered._rest) < 3 << 20
    made += filtered.feed(b" and on\n") + filtered.end()
    assert b"aaaa" not in made
    assert made.endswith(b" and on\n")


def test_the_beginning_of_a_key_hides_no_more_than_a_key() -> None:
    made = streamed(b"-----BEGIN PRIVATE KEY-----\n" + b"x" * 79 + b"\n" + b"later\n" * 20_000, [1000] * 200)
    assert made.startswith(HIDDEN.encode())
    assert made.count(b"later\n") > 20_000 - LONGEST_KEY // 6 - 2


def test_names_of_variables_say_what_is_secret() -> None:
    secret = {"A_TOKEN": "t0k3n-t0k3n", "apiKey": "0a1b2c3d4e", "MY_KEY": "k" * 9, "DB_PASS": "12345678", "X": "plain value"}
    other = {"KEYBOARD": "colemak-dh", "MONKEY": "capuchin-1", "MAX_TOKENS": "1000000000", "SSH_KEY": os.__file__, "KEY": "short"}
    assert set(named(secret | other)) == {"t0k3n-t0k3n", "0a1b2c3d4e", "k" * 9, "12345678"}


def test_env_files_of_the_tree_tell_secrets_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# A_TOKEN=commented-out\nexport STRIPE_SECRET='two words here' # mine\nNODE_ENV=development\nAPP=my-project-name\n"
        "DATABASE_URL=postgres://app:pg-hunter22@db/app\nSALT=9f86d081884c7d659a2feaa0c55ad015\nRANDOM=q7RkT2xVb9LmN4pWs8Zc\n"
    )
    found = credentials.known({"HTTPS_PROXY": "http://me:proxy-pass@host"}, str(tmp_path))
    assert set(found) == {
        *("two words here", "pg-hunter22", "9f86d081884c7d659a2feaa0c55ad015", "q7RkT2xVb9LmN4pWs8Zc", "proxy-pass")
    }
    (tmp_path / "elsewhere").write_text("B_TOKEN=of-somebody-else\n")
    (tmp_path / ".env").unlink()
    (tmp_path / ".env").symlink_to("elsewhere")
    os.mkfifo(tmp_path / ".env.local")
    assert credentials.known({}, str(tmp_path)) == ()


def test_values_of_options_go_from_a_command_line() -> None:
    words = ("agent", "--api-key", "abcdefgh1", "--max-tokens", "40000000", "-v", f"--x={OWN}", "--model", "m")
    body = withheld.redacted(CallReserved(1, 0, 100, command=words), (OWN,))
    assert body == CallReserved(
        1, 0, 100, command=("agent", "--api-key", HIDDEN, "--max-tokens", "40000000", "-v", f"--x={HIDDEN}", "--model", "m")
    )
    assert withheld.redacted(body, (OWN,)) == body


def test_the_file_of_a_call_holds_none(tmp_path: Path) -> None:
    file = File(str(tmp_path / "o/1-1.log"), (OWN,))
    for at in range(0, len(OWN.encode()), 3):
        file.write(OWN.encode()[at : at + 3], at % 2)
    file.write(OWN.encode() + b"\n", 0)
    file.close()
    assert OWN.encode() not in (tmp_path / "o/1-1.log").read_bytes()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_x84_no_form_of_a_key_is_below_the_state_or_beside_the_prompt(bench: Bench) -> None:
    key, other, from_file = "kf83-jWq02-very-Secret-value", "sk-ant-api03-0123456789abcdefghij", "q7RkT2xVb9LmN4pWs8Zc"
    bench.environ = {"SOME_API_KEY": key}
    bench.write(".env", f"SERVICE_TOKEN={from_file}\n")
    bench.write("prompt.md", f"Work on it. The key is {key}.\n")
    says = f'{EDIT}; echo "$SOME_API_KEY" > src/key; echo "Error: $SOME_API_KEY {other}"; printf %s "$SOME_API_KEY" | base64 >&2'
    told = f'{{"token": "{from_file}"}}\nError: no access with {other}\n{IP}'
    refused = "rm -rf specs # $SOME_API_KEY"
    seen = bench.loop(
        [step(f"{says}; {refused}", out=told, exit=1), step(says, out=told)],
        *("-n", "2", "--prompt", "prompt.md", "--verify", f"echo {other}; echo $SOME_API_KEY; exit 1", "--live"),
    )
    assert seen.code in (1, 2, 4), seen.err
    assert bench.calls == 2
    written = [path for top in (bench.state, bench.top / ".ralph") for path in top.rglob("*") if path.is_file()]
    assert any(path.name.endswith(".log") and "outputs" in path.parts for path in written)
    forms = credentials.forms((key, other, from_file))
    for path in written:
        content = path.read_bytes()
        assert not [form for form in forms if form in content], path
    assert key not in seen.err + seen.out
