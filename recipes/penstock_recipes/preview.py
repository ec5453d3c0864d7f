"""Pages of PDFs as pictures: a telephone shows no PDF inside a page, and what a browser does with one is its own."""

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.server import Caller, Problem, Shared, problems
from penstock_recipes.answers import Refusing

WIDTH = 1000
"""Pixels: sharp where a page takes half of a screen."""
COLOURS = 128
_drawing = ThreadPoolExecutor(1, "pages of PDFs")
"""pdfium is not made for several threads, and whoever waits for it must not keep the others' waiting."""
_PNG: dict[int | str, Any] = {200: {"description": "The page.", "content": {"image/png": {}}}}


def preview_routes(path: str, tag: str, *kinds: str) -> APIRouter:
    """`path`/{artifact_id}?page=2, of PDFs that jobs of these kinds have made: nobody else's reach the decoder."""
    router = APIRouter(route_class=Refusing, tags=[tag])

    async def send_page(
        artifact_id: UUID,
        caller: Caller,
        shared: Shared,
        page: Annotated[int, Query(ge=1, le=1000, description="Counted from 1.")] = 1,
    ) -> Response:
        async with shared.acting_as(caller) as connection:
            rows = await connection.execute(
                """
                select id
                  from penstock.artifacts_view
                 where id = %s and kind = any(%s) and content_type = 'application/pdf' and state = 'stored'
                """,
                [artifact_id, [*kinds]],
            )
            if await rows.fetchone() is None:
                raise Problem(404, "there is no such PDF, or it is not yours")
        try:
            pdf = await shared.app.artifacts.aread(artifact_id)
            drawn = await asyncio.get_running_loop().run_in_executor(_drawing, draw_page, pdf, page)
        except IndexError:
            raise Problem(404, f"page: there is no page {page}") from None
        return Response(drawn, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})

    router.add_api_route(
        f"{path}/{{artifact_id}}",
        send_page,
        name=f"preview_{tag}",
        summary="A page of a PDF as a picture",
        response_class=Response,
        responses=problems(404) | _PNG,
    )
    return router


def draw_page(pdf: bytes, page: int) -> bytes:
    """As PNG; IndexError when there is no such page."""
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        if page > len(document):
            raise IndexError(page)
        sheet = document[page - 1]
        drawn = sheet.render(scale=WIDTH / sheet.get_width()).to_pil()
    finally:
        document.close()
    file = io.BytesIO()
    drawn.convert("RGB").quantize(COLOURS).save(file, "PNG")
    return file.getvalue()
