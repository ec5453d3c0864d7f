"""`make bench-recipes`: how long exports and readings take, end to end. Writes bench/results/recipes.json."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import machine, recipes_exports, recipes_readings

RESULTS = Path("bench/results/recipes.json")
BUDGET = recipes_exports.BUDGET | recipes_readings.BUDGET


def main() -> None:
    results = recipes_exports.measure() | recipes_readings.measure()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine.here(), **results}, indent=2) + "\n")
    table = Table("", "measured", "at most", box=None)
    for name, value in results.items():
        table.add_row(name, str(value), str(BUDGET.get(name, "")))
    Console().print(table)
    if over := [name for name, most in BUDGET.items() if results[name] > most]:
        raise SystemExit(f"over the budget: {', '.join(over)}")


if __name__ == "__main__":
    main()
