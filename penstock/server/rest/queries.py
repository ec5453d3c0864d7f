"""Reading and writing views: the part of PostgREST's query language that is understood here, as statements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.engine.postgres.statement import Statement
from penstock.server.rest.answers import Answer, as_list, read_answer
from penstock.server.rest.catalog import MAX_ROWS, VIEWS, View
from penstock.server.rest.errors import Refused
from penstock.server.rest.values import refuse_nul, refuse_unfit, refuse_unfit_text

_OPERATORS = {"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_ASKED = ("select", "order", "limit", "offset", "columns", "on_conflict")
MAX_FILTERS = 50


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a view, checked: names are the catalogue's, values are parameters."""

    schema: str
    name: str
    view: View
    columns: tuple[str, ...]
    """None of them: how many rows there are is asked for."""
    where: str
    params: tuple[object, ...]
    order: str
    limit: int
    offset: int

    def statement(self, *, counted: bool = False) -> Statement[Answer]:
        source = f'from "{self.schema}"."{self.name}" {self.where}'
        if not self.columns:
            return Statement(f"select json_build_array(json_build_object('count', count(*)))::text, 1 {source}",
                             self.params, read_answer)  # fmt: skip
        names = ", ".join(f'"{each}"' for each in self.columns)
        rows = f"select {names} {source} {self.order} limit %s offset %s"
        text = as_list(f"select row_to_json(chosen)::text from ({rows}) as chosen")  # noqa: S608 - of our own words
        if counted:
            text = f"select listed.*, (select count(*) {source}) from ({text}) as listed"  # noqa: S608 - of our own words
            return Statement(text, [*self.params, *self.params, self.limit, self.offset], read_answer)
        return Statement(text, [*self.params, self.limit, self.offset], read_answer)


def view_of(schema: str, name: str) -> View:
    view = VIEWS[schema].get(name)
    if view is None:
        there = ", ".join(VIEWS[schema])
        message = f"Could not find the table '{schema}.{name[:63]}' in the schema cache"
        raise Refused(404, "PGRST205", message, None, f"Here are {there}" if there else None)
    return view


def read_query(schema: str, name: str, asked: Sequence[tuple[str, str]]) -> Query:
    """From the pairs of a query string."""
    view = view_of(schema, name)
    given = {key: value for key, value in asked if key in _ASKED}
    for key in ("columns", "on_conflict"):
        if key in given:
            raise _unread(key, given[key])
    filters = [(key, value) for key, value in asked if key not in _ASKED]
    if len(filters) > MAX_FILTERS:
        raise Refused(400, "PGRST100", f"more than {MAX_FILTERS} filters")
    read = [_filter(view, name, key, value) for key, value in filters]
    return Query(
        schema, name, view,
        columns=_columns(view, name, given.get("select", "*")),
        where="where " + " and ".join(text for text, _ in read) if read else "",
        params=tuple(value for _, values in read for value in values),
        order=_order(view, name, given["order"]) if "order" in given else "",
        limit=min(MAX_ROWS, _number("limit", given.get("limit", str(MAX_ROWS)))),
        offset=_number("offset", given.get("offset", "0")),
    )  # fmt: skip


def _columns(view: View, name: str, select: str) -> tuple[str, ...]:
    if select in ("count", "count()"):
        return ()
    if select in ("*", ""):
        return tuple(view.columns)
    return tuple(dict.fromkeys(_column(view, name, each.strip()) for each in select.split(",")))


def _column(view: View, name: str, column: str) -> str:
    if column in view.columns:
        return column
    if not re.fullmatch(r"\w+", column):
        raise _unread("select", column)
    raise Refused(400, "42703", f"column {name}.{column[:63]} does not exist")


def _filter(view: View, name: str, column: str, value: str) -> tuple[str, Sequence[object]]:
    if column in ("and", "or", "not"):
        raise _unread(column, value)
    _column(view, name, column)
    operator, dot, operand = value.partition(".")
    type = view.columns[column]
    if operator in _OPERATORS and dot:
        refuse_unfit_text(type, operand)
        return f'"{column}" {_OPERATORS[operator]} %s::{type}', [operand]
    if operator == "is" and operand in ("null", "not_null"):
        return f'"{column}" is {operand.replace("_", " ")}', []
    if operator == "in" and operand.startswith("(") and operand.endswith(")"):
        items = _listed(operand[1:-1])
        for item in items:
            refuse_unfit_text(type, item)
        return f'"{column}" = any(%s::{type}[])', [items]
    raise _unread(column, value)


_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"(?:,|$)|([^",]*)(?:,|$)')


def _listed(text: str) -> list[str]:
    """The values of in.(a,"b,c"), quoted where they hold a comma."""
    items, at = [], 0
    while at < len(text):
        found = _ITEM.match(text, at)
        if found is None:
            raise _unread("in", text)
        quoted, plain = found.groups()
        items.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain)
        at = found.end()
    return items


def _order(view: View, name: str, text: str) -> str:
    return "order by " + ", ".join(_direction(view, name, each) for each in text.split(","))


_DIRECTIONS = {"asc": "asc", "desc": "desc", "nullsfirst": "nulls first", "nullslast": "nulls last"}


def _direction(view: View, name: str, text: str) -> str:
    column, *how = text.split(".")
    if any(each not in _DIRECTIONS for each in how) or len(how) > 2:
        raise _unread("order", text)
    return " ".join([f'"{_column(view, name, column)}"', *(_DIRECTIONS[each] for each in how)])


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise _unread(name, text)
    return int(text)


def _unread(where: str, what: str) -> Refused:
    hint = "Penstock reads select, order, limit, offset, eq, neq, gt, gte, lt, lte, in and is of its own views"
    return Refused(400, "PGRST100", f"{where[:63]}: {what[:100]!r} is not understood here", None, hint)


@dataclass(frozen=True, slots=True)
class Rows:
    """What is to be inserted: the names of all fields, and a JSON array in the sender's own words."""

    names: tuple[str, ...]
    read: Sequence[dict[str, Any]]
    text: str


def read_rows(body: bytes) -> Rows:
    """Of one object, or a list of them."""
    try:
        rows = msgspec.json.decode(body, type=list[dict[str, Any]] | dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise Refused(400, "PGRST102", "the body must be a JSON object, or a list of them") from None
    text = body.decode()
    if isinstance(rows, dict):
        rows, text = [rows], f"[{text}]"
    if len(rows) > MAX_ROWS:
        raise Refused(400, "22023", f"at most {MAX_ROWS} rows at once, not {len(rows)}")
    return Rows(tuple(dict.fromkeys(key for row in rows for key in row)), rows, text)


def insert(query: Query, rows: Rows, *, returning: bool) -> Statement[Answer]:
    """Of what the query selects the new rows are shown, if at all."""
    view, name = query.view, query.name
    if query.where:
        raise Refused(400, "PGRST100", "an insert has no filters")
    for key in rows.names:
        if key not in view.insertable:
            message = f"Could not find the '{key[:63]}' column of '{name}' in the schema cache"
            raise Refused(400, "PGRST204", message, None, f"What can be inserted: {', '.join(sorted(view.insertable))}")
    if not rows.names:
        raise Refused(400, "PGRST102", "there is nothing in these rows")
    refuse_nul(rows.text, rows.read)
    for row in rows.read:
        for key, value in row.items():
            refuse_unfit(view.columns[key], value)
    names = ", ".join(f'"{each}"' for each in rows.names)
    types = ", ".join(f'"{each}" {view.columns[each]}' for each in rows.names)
    target = (
        f'insert into "{query.schema}"."{name}" ({names}) '  # noqa: S608 - of our own words
        f"select {names} from json_to_recordset(%s::json) as given({types}) returning *"
    )
    shown = ", ".join(f'"{each}"' for each in query.columns or view.columns)
    made = f"select json_agg(row_to_json(shown))::text from (select {shown} from added) as shown" if returning else "''"  # noqa: S608 - of our own words
    text = f"with added as ({target}) select ({made}), (select count(*) from added)"  # noqa: S608 - of our own words
    return Statement(text, [rows.text], read_answer)
