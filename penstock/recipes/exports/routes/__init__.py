"""The recipe's routes."""

from fastapi import APIRouter

from penstock.recipes.exports.routes import batches, documents, downloads, jobs
from penstock.recipes.exports.routes.answers import Refusing

router = APIRouter(prefix="/api/v1")
for routes in (documents, jobs, batches, downloads):
    router.include_router(routes.router)

__all__ = ["Refusing", "router"]
