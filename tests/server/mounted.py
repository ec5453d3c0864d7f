"""An application with Penstock's API inside, for uvicorn as it comes: `uvicorn tests.server.mounted:outer`."""

from fastapi import APIRouter, FastAPI

from penstock import Penstock

app = Penstock()


@app.job(users=True)
async def work() -> None: ...


own = APIRouter()


@own.get("/raising")
async def raising() -> None:
    raise RuntimeError("an application's own fault")


app.add_routes(own)
outer = FastAPI()
outer.mount("/queue", app.asgi())
