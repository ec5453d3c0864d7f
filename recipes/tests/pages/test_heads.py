"""Pages are files as they are, with nothing that builds them: what all of them begin with is the same in each."""

import re
from importlib.resources import files

import pytest

RECIPES = ("exports", "readings", "bookmarks", "calls")


def beginning(name: str) -> str:
    """Up to what the page itself says, with a word in place of its name; whether there is a form to skip is its own."""
    text = (files("penstock_recipes") / name / "page" / "index.html").read_text("utf-8")
    head = re.sub(r'<a class="skip".*\n', "", text.partition("<main hidden>")[0])
    return head.replace(f"{name}/", "NAME/").replace(f"<title>{name.capitalize()} ", "<title>NAME ")


@pytest.mark.parametrize("name", RECIPES[1:])
def test_every_page_begins_as_the_first_does(name: str) -> None:
    assert beginning(name) == beginning(RECIPES[0])


def test_the_page_of_all_of_them_differs_by_what_it_has_not_only() -> None:
    home = (files("penstock_recipes") / "page" / "index.html").read_text("utf-8").partition("<main hidden>")[0]
    own = ("<title>", "icon", "script")
    assert {line for line in home.splitlines() if not any(each in line for each in own)} <= set(
        beginning(RECIPES[0]).splitlines()
    )
