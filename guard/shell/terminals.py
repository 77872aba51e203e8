"""The terminals of the grammar: which words and operators are which, and what may stand behind them."""

from __future__ import annotations

RESERVED = {
    "if": "IF",
    "then": "THEN",
    "else": "ELSE",
    "elif": "ELIF",
    "fi": "FI",
    "case": "CASE",
    "esac": "ESAC",
    "for": "FOR",
    "select": "FOR",  # the grammar's select takes less than bash's does, and is a for in all else
    "while": "WHILE",
    "until": "UNTIL",
    "do": "DO",
    "done": "DONE",
    "in": "IN",
    "function": "FUNCTION",
    "time": "TIME",
    "{": "LEFT_CURLY",
    "}": "RIGHT_CURLY",
    "!": "BANG",
    "[[": "COND_START",
    "]]": "COND_END",
    "coproc": "COPROC",
}

OPERATORS = {
    "\n": "NEWLINE",
    "&&": "AND_AND",
    "||": "OR_OR",
    "|&": "BAR_AND",
    "|": "BAR",
    "&": "AMPERSAND",
    ";": "SEMICOLON",
    ";;": "SEMI_SEMI",
    ";&": "SEMI_AND",
    ";;&": "SEMI_SEMI_AND",
    "(": "LEFT_PAREN",
    ")": "RIGHT_PAREN",
    "<": "LESS",
    ">": "GREATER",
    ">>": "GREATER_GREATER",
    "<<": "LESS_LESS",
    "<<-": "LESS_LESS_MINUS",
    "<<<": "LESS_LESS_LESS",
    "<&": "LESS_AND",
    ">&": "GREATER_AND",
    "<>": "LESS_GREATER",
    ">|": "GREATER_BAR",
    "&>": "AND_GREATER",
    "&>>": "AND_GREATER_GREATER",
}

# Behind these a command begins, so that a reserved word counts as one.
COMMAND_FOLLOWS = frozenset(
    "NEWLINE SEMICOLON LEFT_PAREN RIGHT_PAREN BAR AMPERSAND LEFT_CURLY RIGHT_CURLY AND_AND ARITH_CMD BANG BAR_AND COND_END DO "
    "DONE ELIF ELSE ESAC FI IF OR_OR SEMI_SEMI SEMI_AND SEMI_SEMI_AND THEN TIME COPROC UNTIL WHILE".split()
) | {""}
PATTERN_FOLLOWS = frozenset(("SEMI_SEMI", "SEMI_AND", "SEMI_SEMI_AND"))
REDIRECTIONS = frozenset(
    "LESS GREATER GREATER_GREATER LESS_LESS LESS_LESS_MINUS LESS_LESS_LESS LESS_AND GREATER_AND LESS_GREATER GREATER_BAR "
    "AND_GREATER AND_GREATER_GREATER".split()
)
OPENING = frozenset(("IF", "WHILE", "UNTIL", "FOR", "CASE", "LEFT_CURLY"))
CLOSED_BY = {"FI": ("IF",), "DONE": ("DO", "FOR", "WHILE", "UNTIL"), "ESAC": ("CASE",), "RIGHT_CURLY": ("LEFT_CURLY",)}
