"""The recipes' pages: each its own, and what they share."""

from importlib.resources import files

from penstock import Penstock


def add_page(app: Penstock, package: str, *, title: str, about: str) -> None:
    """The page of a recipe, at its name, and the one that leads to all of them."""
    app.add_page(
        "/recipes",
        files("penstock_recipes") / "page",
        title="Recipes",
        about="Whole applications on Penstock, each with a page.",
    )
    app.add_page(f"/{package.rpartition('.')[2]}", files(package) / "page", title=title, about=about)
