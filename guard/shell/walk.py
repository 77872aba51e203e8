"""Walker: interprets a syntax tree, path by path, and records what every command on it does."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import (
    CREATE,
    EDIT,
    OVERWRITE,
    TRUNCATE,
    UNJUDGED,
    Analysis,
    At,
    Below,
    Cause,
    Effect,
    Hole,
    Matching,
    Pattern,
    Step,
    Text,
    Unknown,
    join,
    unknown,
)
from guard.shell import plain, words
from guard.shell.expand import Expander, Failed
from guard.shell.nodes import (
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Literal,
    Parameter,
    Parsed,
    Pipeline,
    Sequence,
    Simple,
    Subshell,
    While,
)
from guard.shell.state import State, Stream
from guard.shell.text import command_line, encode, without_final_newlines
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.overlay import View
    from guard.shell.nodes import Command, Redirect, Word
    from guard.world import World

PATHS = 24  # states that are alive at the same time
PLAIN = 4096  # characters of a text that is tried without the parser
ROUNDS = 120  # iterations of a loop that are told apart; the rest is one iteration with unknown values
DEPTH = 40  # shells, functions and substitutions within each other
SCRIPTS = 5  # script files that run each other
STEPS = 400  # lines of the trace
EFFECTS = 60_000
SCRIPT_SHARE = 0.4  # of the time that is left, for one script file


class Limit(Exception):
    """A limit of the analysis: `code` is its reason code."""

    def __init__(self, code: str, what: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.what = what


class Walker:
    """Runs commands in states and keeps the record. Each `run` method takes a state and gives the states that may follow."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.effects: list[Effect] = []
        self.unknowns: list[Unknown] = []
        self.trace: list[Step] = []
        self.depth = 0
        self.scripts: list[tuple[str, tuple[Text, ...]]] = []
        self.substituted: int | None = 0
        self.dropped = False  # some state did not come to the end: what it did may stand all the same
        self.typing = False  # somebody may type into what reads from the terminal, unseen
        self._substitutions = 0
        self._parsed: dict[str, Parsed] = {}
        self._last: Cause | None = None

    # --- records

    def note(self, state: State, argv: tuple[Text, ...], remark: str = "") -> Cause:
        """Adds a line to the trace; gives the cause for the effects of this command."""
        cause = Cause(command_line(argv), str(state.cwd), state.unset)
        if len(self.trace) < STEPS:
            self.trace.append(Step(cause.cwd, cause.command, remark))
        return cause

    def record(self, effect: Effect, state: State, cause: Cause) -> None:
        """Keeps an effect in terms of the real tree, and shows it in the state's view."""
        view = state.view
        target = effect.target
        if effect.content is None and effect.source is not None and effect.action in (OVERWRITE, EDIT):
            effect = effect._replace(content=view.read(effect.source))
        if effect.cause is None:
            effect = effect._replace(cause=cause)
        if effect.action == UNJUDGED:  # what a branch has, whatever the tree holds by now
            self._keep(effect)
        elif isinstance(target, At) and effect.action != CREATE:
            was = view.lookup(target.path).was
            for path in view.originals(target.path):
                same = path == was
                kept = effect if same and path == target.path else effect._replace(target=At(path))
                self._keep(kept if same or kept.content is None else kept._replace(content=None))
        elif isinstance(target, Below):
            was = view.lookup(target.path).was
            for path in view.originals(target.path):
                self._keep(effect._replace(target=Below(path) if path == was else At(path)))
        elif not (state.script and isinstance(target, Matching) and target.path == "/"):
            self._keep(effect)
        view.apply(effect)

    def _keep(self, effect: Effect) -> None:
        if len(self.effects) >= EFFECTS:
            raise Limit("too-many-steps")
        self.effects.append(effect)

    def doubt(self, unknown: Unknown, state: State, cause: Cause | None = None) -> None:
        """Keeps something that could not be told. In a script file that is no news: shims and integrity see what it does."""
        if not state.script:
            self.unknowns.append(unknown._replace(cause=unknown.cause or cause))

    def finish(self, result: Analysis, state: State, cause: Cause) -> None:
        """Takes over what a tool's model says."""
        for effect in result.effects:
            self.record(effect, state, cause)
        for item in result.unknowns:
            self.doubt(item, state, cause)
        state.write(result.output)
        state.status = result.status

    # --- texts

    def parse(self, text: str) -> Parsed:
        """The tree of a text, read once."""
        found = self._parsed.get(text)
        if found is None:
            body = plain.parse(text) if len(text) < PLAIN else None
            if body is not None:
                found = Parsed(body)
            else:
                from guard.shell import syntax

                found = syntax.parse(text, self.world.budget)
            self._parsed[text] = found
        return found

    def run_text(self, state: State, text: Text) -> list[State]:
        """Runs a text in the state's own shell (eval, source, the whole of `bash -c`)."""
        with_holes = self.with_holes(state, text)
        parsed = self.parse(with_holes)
        states = self.deeper(lambda: self.sequence(parsed.body, state))
        if parsed.error is not None:
            self.doubt(Unknown(parsed.error, with_holes[:200]), state)
            for following in states:
                following.status = 2
        return states

    def with_holes(self, state: State, text: Text) -> str:
        """The text with each hole as a parameter of which nothing is known."""
        if isinstance(text, str):
            return text
        out = ""
        for at, piece in enumerate(text.pieces):
            if isinstance(piece, Hole):
                state.variables[f"_guard_hole_{at}"] = Pattern((piece,))
                out += f"${{_guard_hole_{at}}}"
            else:
                out += piece
        return out

    def run_process(self, state: State, text: Text) -> list[State]:
        """Runs a text as a shell process of its own: `exit` ends it, and its EXIT trap runs."""
        return [self.ended(following) for following in self.run_text(state, text)]

    def ended(self, state: State) -> State:
        """The state after its shell has come to its end, traps included."""
        status, traps = state.status, state.traps
        state.flow, state.traps = "", {}
        for signal in ("DEBUG", "RETURN", "EXIT"):
            if signal in traps:
                for following in self.run_text(state, traps[signal]):
                    state = following
        state.flow, state.status = "", status
        return state

    def deeper(self, run: Callable[[], list[State]]) -> list[State]:
        """Runs something one level deeper."""
        self.depth += 1
        try:
            if self.depth > DEPTH:
                raise Limit("too-deep")
            return run()
        finally:
            self.depth -= 1

    # --- structure

    def sequence(self, node: Sequence, state: State) -> list[State]:
        """Commands one after the other."""
        live, left = [state], []
        chain: list[tuple[Command, str]] = []
        for command, operator in node.items:
            chain.append((command, operator))
            if operator in ("&&", "||"):
                continue
            following: list[State] = []
            for current in live:
                following += self.background(chain, current) if operator == "&" else self.chain(chain, current)
            left += [s for s in following if s.flow]
            live = self.merged([s for s in following if not s.flow])
            chain = []
            if not live:
                break
        return self.merged(left + live)

    def background(self, chain: list[tuple[Command, str]], state: State) -> list[State]:
        """cmd &: a subshell that nobody waits for."""
        child = state.child()
        child.captured = state.captured
        results = [self.ended(s) for s in self.chain(chain, child)]
        return self.after_subshells(state, results, status=0)

    def chain(self, chain: list[tuple[Command, str]], state: State) -> list[State]:
        """cmd && cmd || cmd: each runs where the status before lets it."""
        outer = state.condition
        states = [state]
        before = ""
        for at, (command, operator) in enumerate(chain):
            last = at + 1 == len(chain)
            following: list[State] = []
            for current in states:
                if current.flow:
                    following.append(current)
                    continue
                runs, skips = (
                    self.parted(current) if before == "&&" else self.parted(current)[::-1] if before else (current, None)
                )
                if skips is not None:
                    following.append(skips)
                if runs is not None:
                    runs.condition = outer or not last
                    following += self.with_errexit(command, runs, outer or not last)
            states = self.merged(following)
            before = operator
        for current in states:
            current.condition = outer
        return states

    def with_errexit(self, command: Command, state: State, condition: bool) -> list[State]:
        """Runs a command; a failure runs the ERR trap and, with -e, ends the shell."""
        states = self.command(command, state)
        for current in states:
            failed = current.status not in (0, None)
            if not failed or condition or current.flow or _negated(command):
                continue
            if "ERR" in current.traps:
                self.dropped = True
                self.run_text(current.fork(), current.traps["ERR"])
            if "e" in current.options:
                current.flow = "exit"
        return states

    def parted(self, state: State) -> tuple[State | None, State | None]:
        """The state where the last command succeeded, and where it failed; both when that cannot be told."""
        if state.status is None:
            failed = state.fork()
            state.status, failed.status = 0, 1
            return state, failed
        return (state, None) if state.status == 0 else (None, state)

    def merged(self, states: list[State]) -> list[State]:
        """The states without twins; too many of them are a limit."""
        if len(states) < 2:
            return states
        kept: list[State] = []
        for state in states:
            self.world.budget.spend(len(kept))
            twin = next((k for k in kept if k.same(state) and (not k.captured or k.output == state.output)), None)
            if twin is None:
                kept.append(state)
            elif twin.status != state.status:
                twin.status = None
        if len(kept) > PATHS:
            raise Limit("too-many-steps")
        return kept

    def after_subshells(self, state: State, results: list[State], status: int | None = -1) -> list[State]:
        """The parent's states after a subshell that ended in any of these results."""
        following = []
        for at, result in enumerate(results):
            parent = state if at + 1 == len(results) else state.fork()
            parent.view = result.view
            parent.output += result.output
            parent.status = result.status if status == -1 else status
            following.append(parent)
        return self.merged(following)

    def command(self, node: Command, state: State) -> list[State]:
        """Any command."""
        self.world.budget.spend()
        if isinstance(node, Simple):
            from guard.shell.simple import simple

            return simple(self, node, state)
        if isinstance(node, Pipeline):
            return self.pipeline(node, state)
        if isinstance(node, Sequence):
            return self.sequence(node, state)
        if isinstance(node, Function):
            state.functions[node.name] = node.body
            state.status = 0
            return [state]
        if isinstance(node, Coprocess):
            return self.background([(node.body, ";")], state)
        return self.redirected(node.redirects, state, lambda inner: self.deeper(lambda: self.compound(node, inner)))

    def compound(self, node: Command, state: State) -> list[State]:
        """A compound command, its redirections open already."""
        if isinstance(node, Group):
            return self.sequence(node.body, state)
        if isinstance(node, Subshell):
            child = state.child()
            child.captured, child.output = state.captured, ()
            return self.after_subshells(state, [self.ended(s) for s in self.sequence(node.body, child)])
        if isinstance(node, If):
            return self.branches(node, state)
        if isinstance(node, While):
            return self.loop(node, state)
        if isinstance(node, For):
            return self.each(node, state)
        if isinstance(node, ArithmeticFor):
            return self.counted(node, state)
        if isinstance(node, Case):
            return self.case(node, state)
        if isinstance(node, Condition):
            from guard.shell.conditions import double_bracket

            state.status = self.guarded(state, lambda: double_bracket(node.words, self.expander(state)))
            return [state]
        if isinstance(node, ArithmeticCommand):
            value = self.guarded(state, lambda: self.expander(state).arithmetic(node.expression))
            state.status = None if value is None else int(value == 0)
            return [state]
        raise TypeError(f"no such command: {type(node).__name__}")

    def guarded(self, state: State, evaluate: Callable[[], int | None]) -> int | None:
        """An evaluation whose expansion errors are a status of 1."""
        try:
            return evaluate()
        except Failed:
            return 1

    def pipeline(self, node: Pipeline, state: State) -> list[State]:
        """cmd | cmd, or one command, negated or not."""
        states = self.command(node.commands[0], state) if len(node.commands) == 1 else self.stages(node.commands, state)
        if node.negated:
            for current in states:
                current.status = None if current.status is None else int(current.status == 0)
        return states

    def stages(self, commands: tuple[Command, ...], state: State) -> list[State]:
        """The stages of a pipeline, each a subshell that reads what the one before has written."""
        alternatives: list[tuple[Stream, View, list[int | None]]] = [(state.input, state.view, [])]
        results: list[State] = []
        self.truncated_first(commands[1:], state)
        for at, command in enumerate(commands):
            last = at + 1 == len(commands)
            following: list[tuple[Stream, View, list[int | None]]] = []
            for stream, view, statuses in alternatives:
                child = state.child(view.fork())
                child.input, child.captured = stream, state.captured if last else True
                for result in self.merged([self.ended(s) for s in self.command(command, child)]):
                    statuses_now = [*statuses, result.status]
                    if "pipefail" in state.options:
                        result.status = _pipefail(statuses_now)
                    if last:
                        results.append(result)
                    else:
                        following.append((Stream(join(*result.output)), result.view, statuses_now))
            alternatives = following
            if len(alternatives) > PATHS:
                raise Limit("too-many-steps")
        return self.after_subshells(state, results)

    def truncated_first(self, commands: tuple[Command, ...], state: State) -> None:
        """Stages start together: what a later one opens for writing may be empty before an earlier one reads it."""
        for command in commands:
            for redirect in getattr(command, "redirects", ()):
                parts = redirect.target.parts
                if redirect.op in (">", ">|", "&>") and all(isinstance(part, (Literal, Parameter)) for part in parts):
                    try:
                        self.truncate_first(self.expander(state.fork()).text(redirect.target), state)
                    except Failed:
                        continue
            if isinstance(command, Simple) and any(word.raw in ("tee", "dd", "gtee", "gdd") for word in command.words[:4]):
                self.emptied_first(command, state)

    def emptied_first(self, command: Simple, state: State) -> None:
        """The same for the operands of tee, and for of= of dd."""
        from guard.tools.write import emptied

        if all(isinstance(part, (Literal, Parameter)) for word in command.words for part in word.parts):
            expander = self.expander(state.fork())
            try:
                names = emptied([expander.text(word) for word in command.words])
            except Failed:
                return
            for name in names:
                self.truncate_first(name, state)

    def truncate_first(self, target: Text, state: State) -> None:
        """Shows a file empty, where it is known which one."""
        path = target if isinstance(target, str) and target.startswith("/") else join(state.cwd, "/", target)
        if isinstance(path, str) and state.view.kind(state.view.through(path)) == "file":
            state.view.apply(Effect(TRUNCATE, At(state.view.through(path))))

    # --- branches and loops

    def conditions(self, node: Sequence, state: State) -> tuple[list[State], list[State], list[State]]:
        """Runs a condition: the states where it holds, where it does not, and those that left on the way."""
        outer, state.condition = state.condition, True
        yes, no, left = [], [], []
        for current in self.sequence(node, state):
            current.condition = outer
            if current.flow:
                left.append(current)
                continue
            holds, fails = self.parted(current)
            yes += [holds] if holds is not None else []
            no += [fails] if fails is not None else []
        return yes, no, left

    def branches(self, node: If, state: State) -> list[State]:
        """if: every branch that its condition does not rule out."""
        results: list[State] = []
        pending = [state]
        for condition, body in node.clauses:
            waiting: list[State] = []
            for current in pending:
                yes, no, left = self.conditions(condition, current)
                results += left
                waiting += no
                for holds in yes:
                    results += self.sequence(body, holds)
            pending = waiting
        for current in pending:
            current.status = 0
            results += self.sequence(node.otherwise, current) if node.otherwise is not None else [current]
        return self.merged(results)

    def case(self, node: Case, state: State) -> list[State]:
        """case: every clause that the subject does not rule out."""
        from guard.shell import globs

        expander = self.expander(state)
        try:
            subject = expander.text(node.subject)
            patterns = [[expander.pattern(p) for p in choices] for choices, _, _ in node.clauses]
        except Failed:
            state.status = 1
            return [state]
        results: list[State] = []
        waiting: State | None = state
        through: list[State] = []
        for choices, (_, body, end) in zip(patterns, node.clauses, strict=True):
            told = [
                None if p is None or (isinstance(subject, Pattern) and p.strip("*")) else globs.matches(p, str(subject))
                for p in choices
            ]
            taken = list(through)
            through = []
            if waiting is not None and True in told:
                taken.append(waiting)
                waiting = None
            elif waiting is not None and None in told:
                taken.append(waiting.fork())
            for current in taken:
                current.status = 0
                following = self.sequence(body, current)
                stays = [s for s in following if s.flow] if end in (";&", ";;&") else following
                results += stays
                going = [s for s in following if not s.flow] if end in (";&", ";;&") else []
                if end == ";&":
                    through += going
                elif going:
                    waiting = going[-1]
                    results += going[:-1]
        if waiting is not None:
            waiting.status = 0
            results.append(waiting)
        return self.merged(results + through)

    def turn(self, body: Sequence, states: list[State]) -> tuple[list[State], list[State]]:
        """One iteration of a loop: the states that go on, and those that leave it."""
        going: list[State] = []
        leaving: list[State] = []
        for state in states:
            state.loops += 1
            for current in self.sequence(body, state):
                current.loops -= 1
                if current.flow in ("break", "continue"):
                    current.levels -= 1
                    if current.levels > 0:
                        leaving.append(current)
                        continue
                    stays = current.flow == "continue"
                    current.flow, current.status = "", 0
                    (going if stays else leaving).append(current)
                else:
                    (leaving if current.flow else going).append(current)
        return self.merged(going), leaving

    def loop(self, node: While, state: State) -> list[State]:
        """while and until, iteration by iteration as long as that can be told."""
        live, results = [state], []
        doubtful = 0
        for at in range(ROUNDS):
            yes: list[State] = []
            for current in live:
                holds, fails, left = self.conditions(node.condition, current)
                if node.until:
                    holds, fails = fails, holds
                doubtful += bool(holds and fails)
                for ended in fails:
                    ended.status = 0
                results += left + fails
                yes += holds
            yes = self.merged(yes)
            if not yes:
                return self.merged(results)
            start = [s.fork() for s in yes]
            last = doubtful > 2 or at + 1 == ROUNDS
            if last:
                self.dropped = True
                self.turn(node.body, [self.widened(s, node.body) for s in yes])
                break
            live, leaving = self.turn(node.body, yes)
            results += leaving
            if not live:
                return self.merged(results)
            if at and all(any(s.same(earlier) for earlier in start) for s in live):
                break
        for current in live:
            current.status = None
        return self.merged(results + live)

    def widened(self, state: State, body: Sequence) -> State:
        """The state with every variable that the body sets as a hole: it stands for all later iterations."""
        wide = state.fork()
        for name in _assigned(body):
            wide.put(name, unknown("unknown-variable", f"${name}"))
        return wide

    def each(self, node: For, state: State) -> list[State]:
        """for name in words, and select."""
        expander = self.expander(state)
        try:
            items = list(state.positional) if node.words is None else [f for w in node.words for f in expander.fields(w)]
        except Failed as failed:
            state.status = 1
            state.flow = "exit" if failed.fatal else ""
            return [state]
        live, results = [state], []
        state.status = 0
        if node.select:
            return self.chosen(node, items, state)
        if len(items) > ROUNDS:
            items = [*items[: ROUNDS - 1], _any_of(items[ROUNDS - 1 :], node.name)]
        for item in items:
            for current in live:
                current.put(node.name, item)
            live, leaving = self.turn(node.body, live)
            results += leaving
            if not live:
                break
        return self.merged(results + live)

    def chosen(self, node: For, items: list[Text], state: State) -> list[State]:
        """select: the body runs for each number that comes in, until the input ends."""
        from guard.shell.builtins import take_line

        live, results = [state], []
        for _ in range(ROUNDS):
            reading: list[State] = []
            for current in live:
                line, _ = take_line(current.input)
                if line is None:
                    current.status = 1
                    results.append(current)
                    continue
                at = int(line) if isinstance(line, str) and line.strip().isdigit() else 0
                current.put("REPLY", line)
                current.put(
                    node.name,
                    items[at - 1] if 0 < at <= len(items) else "" if isinstance(line, str) else _any_of(items, node.name),
                )
                reading.append(current)
            if not reading:
                break
            live, leaving = self.turn(node.body, reading)
            results += leaving
        return self.merged(results)

    def counted(self, node: ArithmeticFor, state: State) -> list[State]:
        """for ((a; b; c))."""
        self.guarded(state, lambda: self.expander(state).arithmetic(node.start))
        live, results = [state], []
        for at in range(ROUNDS):
            yes: list[State] = []
            for current in live:
                expander = self.expander(current)
                value: int | None = 1
                if node.condition.raw.strip():
                    value = self.guarded(current, lambda e=expander: e.arithmetic(node.condition))  # type: ignore[misc]
                if value is None:
                    results.append(current.fork())
                (results if value == 0 else yes).append(current)
            if not yes:
                return self.merged(results)
            last = at + 1 == ROUNDS
            live, leaving = self.turn(node.body, [self.widened(s, node.body) for s in yes] if last else yes)
            results += leaving
            for current in live:
                stepper = self.expander(current)
                self.guarded(current, lambda e=stepper: e.arithmetic(node.step))  # type: ignore[misc]
        return self.merged(results + live)

    # --- words

    def expander(self, state: State) -> Expander:
        """What expands words in a state."""
        return Expander(state, self.substitute, self.process)

    def substitute(self, state: State, text: str) -> Text:
        """The output of $(..), run on the state's view."""
        parsed = self.parse(text)
        child = state.child(state.view)
        child.captured, child.loops = True, state.loops
        file = _only_input(parsed)
        if file is not None:
            child = state.child(state.view)
            path = self.expander(child).target(file)
            content = child.view.read(path) if isinstance(path, str) and path.startswith("/") else self.read(child, path)
            self.substituted = 0
            return unknown("unknown-output", f"$({text})") if content is None else without_final_newlines(_decoded(content))
        results = self.deeper(lambda: [self.ended(s) for s in self.run_text(child, text)])
        outputs = [without_final_newlines(join(*r.output)) for r in results]
        statuses = {r.status for r in results}
        self.dropped |= len(results) > 1
        self.substituted = statuses.pop() if len(statuses) == 1 else None
        if not results:
            return ""
        state.view.become(results[-1].view)
        if all(output == outputs[0] for output in outputs):
            return outputs[0] if isinstance(outputs[0], str) else _renamed(outputs[0], f"$({text.strip()})")
        return unknown("unknown-output", f"$({text.strip()})")

    def process(self, state: State, direction: str, text: str) -> Text:
        """The path that stands for <(..) or >(..), with what can be read there."""
        self._substitutions += 1
        path = f"/dev/.guard-{self._substitutions}"
        child = state.child(state.view)
        child.captured = True
        child.input = state.input if direction == "<" else Stream(unknown("unknown-input", f">({text})"))
        results = self.deeper(lambda: [self.ended(s) for s in self.run_text(child, text)])
        self.dropped |= len(results) > 1
        output = join(*results[-1].output) if len(results) == 1 else unknown("unknown-output", f"<({text})")
        state.view.apply(Effect(CREATE, At(path), content=encode(output) if direction == "<" else b""))
        return path

    def read(self, state: State, path: Text) -> bytes | None:
        """The content of a file named from the state's directory."""
        whole = path if isinstance(path, str) and path.startswith("/") else join(state.cwd, "/", path)
        return state.view.read(whole) if isinstance(whole, str) else None

    # --- redirections

    def redirected(self, redirects: tuple[Redirect, ...], state: State, run: Callable[[State], list[State]]) -> list[State]:
        """Runs something with its redirections open, and records what came to stand in the files."""
        if not redirects:
            return run(state)
        from guard.shell.redirect import closed, opened

        try:
            files = opened(self, redirects, state)
        except Failed:
            state.status = 1
            return [state]
        return closed(self, files, state, run)

    # --- scripts

    def script(self, state: State, path: str, argv: tuple[Text, ...], run: Callable[[], list[State]]) -> list[State]:
        """Runs what stands for a script file of the tree. It may fail alone: then the layers that see it run must judge."""
        if (path, argv) in self.scripts:
            state.status = None
            return [state]
        if len(self.scripts) >= SCRIPTS:
            raise Limit("too-deep", path)
        self.scripts.append((path, argv))
        outer, state.script = state.script, True
        lent = self.world.budget.lend(SCRIPT_SHARE)
        try:
            states = run()
        except (OutOfBudget, Limit, words.TooMany):
            self.dropped = True
            state.status = None
            states = [state]
        finally:
            self.world.budget.take_back(lent)
            self.scripts.pop()
        for current in states:
            current.script = outer
        return states


def _negated(command: Command) -> bool:
    return isinstance(command, Pipeline) and command.negated


def _pipefail(statuses: list[int | None]) -> int | None:
    failed = [s for s in statuses if s != 0]
    return 0 if not failed else None if None in failed else failed[-1]


def _decoded(content: bytes) -> str:
    return content.replace(b"\0", b"").decode("utf-8", "surrogateescape")


def _renamed(text: Pattern, what: str) -> Text:
    """A wholly unknown output, named by the substitution that the user sees."""
    if len(text.pieces) == 1 and isinstance(text.pieces[0], Hole) and text.pieces[0].code == "unknown-output":
        return unknown("unknown-output", what)
    return text


def _only_input(parsed: Parsed) -> Word | None:
    """The file of $(< file)."""
    items = parsed.body.items
    node = items[0][0] if len(items) == 1 else None
    if isinstance(node, Pipeline) and len(node.commands) == 1 and not node.negated:
        node = node.commands[0]
    if (
        isinstance(node, Simple)
        and not node.words
        and not node.assignments
        and len(node.redirects) == 1
        and node.redirects[0].op == "<"
    ):
        return node.redirects[0].target
    return None


def _any_of(items: list[Text], name: str) -> Text:
    """One text for many: what they have in common at the start and at the end, and a hole between."""
    starts = [item if isinstance(item, str) else item.prefix for item in items]
    start = _common(starts)
    ends = [item[len(start) :] if isinstance(item, str) else item.suffix for item in items]
    end = _common([item[::-1] for item in ends])[::-1]
    return join(start, unknown("unknown-variable", f"${name}"), end)


def _common(texts: list[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    return first[: next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))]


def _assigned(node: object) -> set[str]:
    """The names of the variables that a piece of syntax may set."""
    found: set[str] = set()
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, Simple):
            found |= {a.name for a in item.assignments}
            first = item.words[0].parts[0] if item.words and item.words[0].parts else None
            if isinstance(first, Literal) and first.text in (
                "read",
                "mapfile",
                "readarray",
                "printf",
                "local",
                "declare",
                "export",
                "let",
            ):
                found |= {w.raw.partition("=")[0] for w in item.words[1:] if w.raw.partition("=")[0].isidentifier()} or {"REPLY"}
        elif isinstance(item, For):
            found.add(item.name)
            todo.append(item.body)
        elif isinstance(item, ArithmeticCommand):
            found |= set(re.findall(r"[A-Za-z_]\w*", item.expression.raw))
        elif isinstance(item, tuple):
            todo += list(item)
    return found
