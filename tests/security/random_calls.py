"""Functions as the catalogue has them, and random arguments of the types they are declared with.

By a seed, and not by Hypothesis: it takes ten milliseconds for each function before the first call, and there are three
hundred of them. What fails is a single call, which is printed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.neighbours import World

Connection = psycopg.Connection[Any]

_FUNCTIONS = """
select format('%%I.%%I', n.nspname, p.proname),
       array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as a (t, at) order by at)::text[],
       coalesce(p.proargnames, '{}'),
       array(select r from unnest(%s::text[]) as r
              where has_schema_privilege(r, n.oid, 'usage') and has_function_privilege(r, p.oid, 'execute')),
       p.prosrc || coalesce(pg_get_function_sqlbody(p.oid), '')
  from pg_proc as p
  join pg_namespace as n on n.oid = p.pronamespace
 where n.nspname = any(%s) and p.prorettype <> 'trigger'::regtype
 order by p.oid::regprocedure::text
"""
_ENUMS = "select format_type(enumtypid, null), array_agg(enumlabel)::text[] from pg_enum group by 1"
_TABLES = """
select format_type(reltype, null), oid::regclass::text
  from pg_class where relkind in ('r', 'p') and relnamespace::regnamespace::text = any(%s)
"""
_HISTORY = "select inhrelid::regclass::text from pg_inherits where inhparent = 'penstock.history'::regclass"
_WORD = re.compile(r"'([a-z][a-z_]{1,19})'")


@dataclass(frozen=True)
class Function:
    name: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    open_to: frozenset[str]
    """The roles that have a grant."""
    words: tuple[str, ...]
    """What it knows by name: keys of JSON, states, options."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.types)})"

    @property
    def call(self) -> bytes:
        """As text: not all that Postgres can say fits into Python, such as times far from ours."""
        given = ", ".join(f"%s::{type}" for type in self.types)
        return f"select answer::text from {self.name}({given}) as answer".encode()

    @property
    def call_with_nulls(self) -> str:
        return f"select {self.name}({', '.join(f'null::{type}' for type in self.types)})"


def functions(connection: Connection, schemas: Sequence[str], roles: Sequence[str]) -> list[Function]:
    rows = connection.execute(_FUNCTIONS, [list(roles), list(schemas)]).fetchall()
    return [
        Function(name, tuple(types), tuple(names), frozenset(open_to), tuple(sorted(set(_WORD.findall(source)))))
        for name, types, names, open_to, source in rows
    ]


class Arguments:
    """Mostly what might get somewhere, such as another's ids and words that the function knows, and sometimes the ends
    of each type's range."""

    def __init__(self, connection: Connection, schemas: Sequence[str], world: World, seed: object) -> None:
        self._dice = Random(str(seed))
        self._ids = [str(id) for id in world.bobs.values()]
        self._few: dict[str, Sequence[str]] = dict(connection.execute(_ENUMS).fetchall())
        tables = connection.execute(_TABLES, [list(schemas)]).fetchall()
        for type, name in tables:
            rows = connection.execute(f"select t::text from {name} as t limit 5".encode()).fetchall()
            self._few[type] = [row for (row,) in rows]
        # what functions take that make statements: names of what there is, by those who call them
        self._names: dict[str, Sequence[str]] = {
            "p_partition": [name for (name,) in connection.execute(_HISTORY)],
            "p_parent regclass": ["penstock.history"],
            "pgmq._grant p_queue": ["bobs"],
        }
        self._few["regclass"] = ["penstock.history"]
        self._makers: dict[str, Callable[[Sequence[str]], object]] = {
            "text": self._text,
            "jsonb": lambda words: Jsonb(self._document(words)),
            "uuid": lambda _: self._pick(self._ids, _FAR_IDS),
            "boolean": lambda _: self._dice.random() < 0.5,
            "integer": lambda _: self._number(31),
            "bigint": lambda _: self._number(63),
            "double precision": lambda _: self._pick([0.0, 1.0, 60.0], _FAR_FLOATS),
            "numeric": lambda _: self._pick([0, 1], ["NaN", "Infinity", "1e1000", "-1e-1000"]),
            "timestamp with time zone": lambda _: self._pick(["now", "2026-01-01", "2020-01-01"], _FAR_TIMES),
            "date": lambda _: self._pick(["today", "2020-01-01"], ["infinity", "4713-01-01 BC", "5874897-12-31"]),
            "interval": lambda _: self._pick(["1 second", "1 day"], ["-1 day", "0", "178000000 years"]),
            "bytea": lambda _: self._dice.randbytes(self._dice.randrange(40)),
            "xid8": lambda _: self._pick(["1", "1000"], ["0", "18446744073709551615"]),
        }

    def of(self, function: Function) -> list[object]:
        names = [*function.names, *[""] * len(function.types)]
        return [self._argument(function, *each) for each in zip(function.types, names, strict=False)]

    def _argument(self, function: Function, type: str, name: str) -> object:
        for key in (name, f"{name} {type}", f"{function.name} {name}"):
            if key in self._names:
                return self._dice.choice(self._names[key])
        return self._value(type, name, function.words)

    def _value(self, type: str, name: str, words: Sequence[str]) -> object:
        if self._dice.random() < 0.12:
            return None
        if type.endswith("[]"):
            return [self._value(type[:-2], name, words) for _ in range(self._dice.randrange(4))]
        if "poll" in name:
            return self._dice.randrange(2)  # how long it may wait, and how often it looks meanwhile
        if type in self._few:
            return self._dice.choice(self._few[type]) if self._few[type] else None
        assert type in self._makers, f"how to make a random {type} is to be added here"
        return self._makers[type](words)

    def _pick(self, near: Sequence[object], far: Sequence[object]) -> object:
        return self._dice.choice(far if self._dice.random() < 0.25 else near)

    def _number(self, bits: int) -> int:
        least, most = -(2**bits), 2**bits - 1
        far = [-1, least, most, self._dice.randint(least, most)]
        chosen: list[int] = far if self._dice.random() < 0.25 else [0, 1, 2, 50]
        return self._dice.choice(chosen)

    def _text(self, words: Sequence[str]) -> object:
        return self._pick(
            [*_NAMES, *words], [*_FAR_TEXTS, "".join(chr(self._dice.randrange(1, 0xD800)) for _ in "random")]
        )

    def _document(self, words: Sequence[str]) -> object:
        """An object or a list of them, as most functions take them; sometimes anything, or very deep or wide."""
        chance = self._dice.random()
        if chance < 0.05:
            return self._dice.choice([_nested(500), _nested(500, "args"), list(range(300))])
        if chance < 0.2:
            return self._json(words, 3)
        objects = [self._object(words, 2) for _ in range(self._dice.randrange(3))]
        return objects if chance < 0.4 else self._object(words, 2)

    def _object(self, words: Sequence[str], depth: int) -> object:
        keys = self._dice.choices([*_KEYS, *words], k=self._dice.randrange(5))
        return {key: self._json(words, depth) for key in keys}

    def _json(self, words: Sequence[str], depth: int) -> object:
        chance = self._dice.random() if depth else 1.0
        if chance < 0.2:
            return self._object(words, depth - 1)
        if chance < 0.35:
            return [self._json(words, depth - 1) for _ in range(self._dice.randrange(3))]
        if self._dice.random() < 0.5:
            return self._pick([*_NAMES, *self._ids[:4], *words], _FAR_TEXTS)
        return self._dice.choice([None, True, False, *_FAR_NUMBERS])


_NAMES = ["bob", "bobs", "export", "exports", "once", "internal", "of bob"]
_KEYS = ["owner", "org", "kind", "args", "ids", "parent", "queue"]
_FAR_IDS = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "01a1e5bc-536c-7624-aeec-5124e93f335e",
]
_FAR_TEXTS = ["", " ", "'", '"', "\\", "%", "_", "a" * 3000, "\ud7ff\U0010ffff", "1e999", "null", "{}", "$$", "a\nb",
              "2026-01-01", "178000000 years", "x'; select 1; --", "00000000-0000-0000-0000-000000000000"]  # fmt: skip
_FAR_TIMES = ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31", "1970-01-01", "1969-12-31", "10889-08-02"]
_FAR_FLOATS = [float("inf"), float("-inf"), float("nan"), -1.0, 1e308, 5e-324, 1e18]
_FAR_NUMBERS: list[object] = [0, 1, -1, 60, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 1e308, -1e308, 0.1, 10**400]


def _nested(depth: int, key: str | None = None) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value] if key is None else {key: value}
    return value
