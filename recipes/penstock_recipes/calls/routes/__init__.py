"""The recipe's routes."""

from fastapi import APIRouter

from penstock_recipes.calls.jobs import Pipeline
from penstock_recipes.calls.routes import calls, uploads

__all__ = ["make_router"]


def make_router(pipeline: Pipeline, max_bytes: int, max_org_bytes: int | None) -> APIRouter:
    router = APIRouter(prefix="/api/v1")
    router.include_router(uploads.make_router(pipeline, max_bytes, max_org_bytes))
    router.include_router(calls.make_router(pipeline))
    return router
