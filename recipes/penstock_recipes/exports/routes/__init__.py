"""The recipe's routes."""

from fastapi import APIRouter

from penstock_recipes.exports.routes import batches, documents, downloads, jobs
from penstock_recipes.preview import preview_routes

router = APIRouter(prefix="/api/v1")
for routes in (documents, jobs, batches, downloads):
    router.include_router(routes.router)
router.include_router(preview_routes("/export/preview", "exports", jobs.KIND))
