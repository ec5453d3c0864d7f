"""The recipe's routes."""

from fastapi import APIRouter

from penstock.outbound import Guard
from penstock_recipes.bookmarks.enricher import Enricher
from penstock_recipes.bookmarks.routes.bookmarks import bookmark_routes
from penstock_recipes.bookmarks.routes.tasks import task_routes


def make_router(guard: Guard, enricher: Enricher, *, at_once: int, budget: float) -> APIRouter:
    router = APIRouter()
    router.include_router(bookmark_routes(guard))
    router.include_router(task_routes(enricher, at_once=at_once, budget=budget))
    return router
