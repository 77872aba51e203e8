"""tar: what it unpacks over, which archive it writes, which sources it removes, which programs it runs."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import DELETE, EDIT, OVERWRITE, Analysis, At, Pattern, Text, unknown
from guard.overlay import DIRECTORY
from guard.paths import child
from guard.tools.call import analysis
from guard.tools.changes import Changes
from guard.tools.extraction import Extraction, Member, archive_bytes, members, safe_name
from guard.tools.options import Options, parse
from guard.tools.patterns import glob
from guard.tools.reading import decoded
from guard.tools.tar_options import TABLE, VALUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from guard.tools.call import Call

# The options under which the archive that -c writes is worked out, and what the compressors among them add to a name.
_PACKED = {
    "c", "f", "C", "z", "gzip", "j", "bzip2", "J", "xz", "a", "auto-compress", "v", "verbose", "p", "h", "dereference", "exclude",
    "X", "T", "null", "no-recursion", "P", "remove-files", "totals", "numeric-owner", "owner", "group", "format", "posix", "sort",
    "checkpoint", "to-command", "W", "warning", "preserve-permissions", "zstd", "Z", "S", "sparse",
}  # fmt: skip
_SUFFIXES = ((("z", "gzip"), ".gz"), (("j", "bzip2"), ".bz2"), (("J", "xz"), ".xz"))
_MODES = ("x", "c", "t", "r", "u", "A", "d", "delete")


def tar(call: Call) -> Analysis:
    """What tar would do."""
    options = parse(_with_dashes(call), TABLE)
    mode = options.last(*_MODES)
    if mode is None or (options.strange and str(call.argv[0]).rpartition("/")[2] != "bsdtar"):
        return analysis(output=unknown("unknown-output", "tar") if options.has("help", "version") else "", status=None)
    run = _Run(call, options)
    run.programs()
    if mode == "x":
        run.extract()
    elif mode == "t":
        return run.changes.result(run.listing())._replace(status=None)
    elif mode != "d":
        run.archive_sources(mode)
    loud = options.has("verbose", "v", "O") and run.output == ""
    return run.changes.result(unknown("unknown-output", "tar") if loud else run.output)._replace(status=None)


def _with_dashes(call: Call) -> list[Text]:
    """The arguments with TAR_OPTIONS in front, and the old form of the first (xzf a.tar) in the new one."""
    words = list(call.argv[1:])
    first = words[0] if words else ""
    if isinstance(first, str) and first and not first.startswith("-"):
        values = words[1:]
        words = []
        for letter in first:
            words.append("-" + letter)
            if letter in VALUED and values:
                words.append(values.pop(0))
        words += values
    given = call.env.get("TAR_OPTIONS", "")
    if isinstance(given, Pattern):
        return [given, *words]
    return [*(re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:[^\s\\]|\\.)+", given)), *words]


class _Run:
    """One call of tar while it is worked out."""

    def __init__(self, call: Call, options: Options) -> None:
        self.changes = Changes(call)
        self.call = self.changes.call
        self.options = options
        self.mode = options.last(*_MODES)
        self.output: Text = ""
        archive = options.value("f")
        self.archive: Text = call.env.get("TAPE", "-") if archive is None else archive
        self.remote = isinstance(self.archive, str) and ":" in self.archive.partition("/")[0] and not options.has("force-local")

    def programs(self) -> None:
        """The programs that tar starts."""
        for option in ("I", "to-command", "F", "rsh-command", "set-mtime-command"):
            program = self.options.value(option)
            if option == "to-command" and self.mode != "x":
                continue
            if program and (option != "rsh-command" or self.remote):
                self.call.shell(program, stdin=None)
        for action in self.options.values("checkpoint-action"):
            start = action if isinstance(action, str) else action.prefix
            if start.startswith(("exec=", "wait=")) or "=" not in start:
                self.call.shell(start.partition("=")[2] if isinstance(action, str) else action, stdin=None)
        for option in ("index-file", "g", "volno-file"):
            file = self.options.value(option)
            if file:
                self.changes.write(self.changes.opened(file), action=OVERWRITE if option == "index-file" else EDIT)

    def directory(self) -> Text:
        """Where the members go: each -C starts from the one before."""
        here: Text = self.call.cwd
        for step in self.options.values("C"):
            here = self.call._replace(cwd=here).path(step)
        top = self.options.value("one-top-level")
        if top is None:
            return here
        if top == "":
            base = str(self.archive).rpartition("/")[2]
            top = re.sub(r"\.(tar(\.\w+)?|t[gbx]z2?|taz|tlz)$", "", base)
        return self.call._replace(cwd=here).path(top)

    def members(self) -> list[Member] | None:
        """What is in the archive."""
        if self.archive != "-" and isinstance(self.archive, str) and not self.remote and not self.call.exists(self.archive):
            return []
        if self.archive == "-" and self.call.stdin is None:
            return []
        return members(archive_bytes(self.call, self.archive))

    def listing(self) -> Text:
        """-t: the names."""
        found = self.members()
        if found is None or self.options.has("v", "verbose"):
            return unknown("unknown-output", "tar")
        wanted = self.wanted()
        names = [member.name + "/" * (member.kind == "directory") for member in found if wanted is None or wanted(member.name)]
        return "".join(each + "\n" for each in names)

    def extract(self) -> None:
        """-x: members take the places of what stands there."""
        if self.options.has("O", "to-command") or (self.options.has("w") and self.call.stdin is None):
            return
        extraction = Extraction(self.changes, self.directory(), self.options.has("overwrite"))
        if self.options.has("G", "g"):
            self.changes.add(DELETE, self.call.somewhere(extraction.directory), certain=False)
        found = self.members()
        wanted = self.wanted()
        if found is None or wanted is None or self.options.has("transform") or isinstance(extraction.directory, Pattern):
            extraction.unknown()
            return
        if not self.call.is_dir(extraction.directory) and not self.options.has("one-top-level"):
            return
        extraction.certain = not self.options.has(
            "w", "newer", "newer-mtime", "after-date", "N", "occurrence", "K", "starting-file"
        )
        for member in found:
            if wanted(member.name):
                self.one(extraction, member)

    def one(self, extraction: Extraction, member: Member) -> None:
        """One member, unless an existing file is to be kept."""
        target = self.stripped(member.name)
        if not target:
            return
        exists = extraction.existing(target)
        if exists and member.kind != "directory":
            if self.options.has("k", "skip-old-files"):
                return
            place = extraction.place(target)
            if self.options.has("keep-newer-files") and place is not None:
                found = self.changes.view.lstat(place.path)
                if found is not None and found.st_mtime >= member.time:
                    return
            if self.options.has("recursive-unlink") and place is not None and self.changes.view.kind(place.path) == DIRECTORY:
                self.changes.add(DELETE, place, extraction.certain)
        if exists and member.kind == "directory" and self.options.has("k", "skip-old-files"):
            return
        if exists and member.kind == "directory" and self.options.has("recursive-unlink"):
            place = extraction.place(target)
            if place is not None and self.changes.view.kind(place.path) == DIRECTORY:
                self.changes.add(DELETE, place, extraction.certain)
        extraction.put(member, target, self.options.has("keep-directory-symlink"))

    def stripped(self, name: str) -> str | None:
        """A member's name without the leading directories that --strip-components takes off."""
        found = safe_name(name, self.options.has("P"))
        count = self.options.value("strip-components")
        if found is None or count is None:
            return found
        parts = found.split("/")
        return "/".join(parts[int(count) :]) if isinstance(count, str) and count.isdecimal() else found

    def wanted(self) -> Wanted | None:
        """The choice of members by operands and patterns; None where it is not known."""
        operands = self.names()
        excluded = self.excluded()
        if excluded is None or any(isinstance(each, Pattern) for each in operands):
            return None
        return Wanted([str(each) for each in operands], excluded, self.options.has("wildcards"), self.options.has("no-anchored"))

    def names(self) -> tuple[Text, ...]:
        """The operands, and the names in the files of -T."""
        names = list(self.options.operands)
        for file in self.options.values("T"):
            data = self.call.read(file) if file != "-" else None
            text: Text | None = (
                data.decode("utf-8", "surrogateescape") if data is not None else self.call.stdin if file == "-" else None
            )
            if not isinstance(text, str):
                names.append(unknown("unknown-output", "tar -T"))
            else:
                names += [each for each in text.split("\0" if self.options.has("null") else "\n") if each]
        return tuple(names)

    def excluded(self) -> list[str] | None:
        patterns: list[str] = []
        for value in self.options.values("exclude"):
            if isinstance(value, Pattern):
                return None
            patterns.append(value)
        for file in self.options.values("X"):
            data = self.call.read(file)
            if data is None:
                return None
            patterns += data.decode("utf-8", "surrogateescape").splitlines()
        return patterns

    def archive_sources(self, mode: str) -> None:
        """-c, -r, -u and their kin: the archive is written, and the sources go with --remove-files."""
        sources = self.names()
        if mode in ("c", "r", "u") and not sources:
            return
        packed = self.packed(sources) if mode == "c" and not self.remote else None
        if self.archive == "-" and mode == "c":
            self.output = unknown("unknown-output", "tar") if packed is None else decoded(packed)
        if self.archive != "-" and not self.remote:
            target = self.changes.opened(self.archive)
            if mode == "c":
                self.changes.write(target, packed)
            elif not isinstance(target, At) or self.changes.kind(target) is not None or mode != "delete":
                self.changes.write(target, action=EDIT)
        if self.options.has("remove-files") and mode in ("c", "r", "u"):
            self.remove(sources)

    def packed(self, sources: tuple[Text, ...]) -> bytes | None:
        """The archive itself, where it is small and all that goes in is known."""
        from guard.tools.compression import packed
        from guard.tools.packing import Packer, TooMuchError, tar_bytes

        here, excluded = self.source_directory(), self.excluded()
        given = {name for name, _ in self.options.given}
        if here is None or excluded is None or any(isinstance(source, Pattern) for source in sources) or given - _PACKED:
            return None
        if any(pattern.endswith("/") for pattern in excluded):
            return None  # versions differ in whether it takes the directory out
        if self.options.has("T") and any(str(source).startswith("-") for source in sources):
            return None
        target = self.changes.opened(self.archive) if self.archive != "-" else None
        wanted = Wanted([], excluded, False, False)
        own = target.path if isinstance(target, At) else None
        packer = Packer(self.changes.view, wanted, not self.options.has("h", "dereference"), own)
        call = self.call._replace(cwd=here)
        try:
            for source in map(str, sources):
                place = call.at(source)
                if isinstance(place, At) and place != target:
                    shown = source if self.options.has("P") else re.sub(r"^(.*(^|/)\.\.(/|$)|/+)", "", source) or "."
                    packer.add(place.path, shown, not self.options.has("no-recursion"))
        except (TooMuchError, RecursionError):
            return None
        data = tar_bytes(packer.entries)
        suffix = next((end for names, end in _SUFFIXES if self.options.has(*names)), "")
        if self.options.has("a", "auto-compress") and isinstance(self.archive, str):
            suffix = self.archive[self.archive.rfind(".") :]
        return packed(data, suffix) or data

    def source_directory(self) -> Text | None:
        """Where the sources are; None where several -C, or one behind a source, make it many."""
        steps = self.options.values("C")
        if not steps:
            return self.call.cwd
        words = list(self.call.argv[1:])
        at = next((i for i, word in enumerate(words) if isinstance(word, str) and word.startswith(("-C", "--directory"))), -1)
        old = isinstance(words[0], str) and not words[0].startswith("-")
        if len(steps) > 1 or (at < 0 and not old) or set(words[: max(at, 0)]) & (set(self.options.operands) - {self.archive}):
            return None
        return self.call.path(steps[0])

    def remove(self, sources: tuple[Text, ...]) -> None:
        """--remove-files: what was archived goes."""
        here: Text = self.call.cwd
        for step in self.options.values("C"):
            here = self.call._replace(cwd=here).path(step)
        excluded = self.excluded()
        for source in sources:
            call = self.call._replace(cwd=here)
            target = call.at(source)
            if not isinstance(target, At) or excluded is None:
                self.changes.add(DELETE, target, certain=False)
            elif not excluded and not self.options.has("no-recursion"):
                if self.changes.view.kind(target.path) is not None:
                    self.changes.add(DELETE, target)
            elif not self.options.has("no-recursion") or self.changes.view.kind(target.path) != DIRECTORY:
                for path in list(self.kept(target.path, str(source), Wanted([], excluded or [], False, False))):
                    self.changes.add(DELETE, At(path))

    def kept(self, path: str, shown: str, wanted: Wanted) -> Iterator[str]:
        """The files below a path that no pattern takes out."""
        if not wanted(shown):
            return
        if self.changes.view.kind(path) != DIRECTORY:
            yield path
            return
        for entry, _ in self.changes.view.scan(path) or ():
            yield from self.kept(child(path, entry), f"{shown}/{entry}", wanted)


class Wanted:
    """Which members are chosen: all without operands, else those named, and what is below them; none that a pattern excludes."""

    def __init__(self, operands: list[str], excluded: list[str], wildcards: bool, anywhere: bool) -> None:
        self.operands = [operand.rstrip("/") for operand in operands]
        self.globs = [glob(operand) for operand in self.operands] if wildcards else []
        self.excluded = [glob(pattern.rstrip("/")) for pattern in excluded]
        self.anywhere = anywhere

    def __call__(self, path: str) -> bool:
        """True when the member is chosen."""
        path = path.rstrip("/")
        parts = path.split("/")
        above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        tails = ["/".join(parts[begin:end]) for begin in range(len(parts)) for end in range(begin + 1, len(parts) + 1)]
        if any(pattern.fullmatch(part) for pattern in self.excluded for part in tails):
            return False
        if not self.operands:
            return True
        candidates = tails if self.anywhere else above
        return any(part in self.operands for part in candidates) or any(
            g.fullmatch(part) for g in self.globs for part in candidates
        )
