"""The recipe's routes."""

from fastapi import APIRouter

from penstock_recipes.exports.routes import batches, documents, downloads, jobs

router = APIRouter(prefix="/api/v1")
for routes in (documents, jobs, batches, downloads):
    router.include_router(routes.router)
