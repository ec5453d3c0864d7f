"""An application with Penstock's API inside, for uvicorn as it comes: `uvicorn tests.server.mounted:outer`."""

from fastapi import FastAPI

from penstock import Penstock

app = Penstock()


@app.job(users=True)
async def work() -> None: ...


outer = FastAPI()
outer.mount("/queue", app.asgi())
