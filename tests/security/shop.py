"""The application that a stranger's server serves."""

from penstock import Flow, Penstock

app = Penstock()


@app.job
async def write(chapter: int) -> None: ...


@app.flow(users=True)
def reading(chapters: int) -> Flow:
    flow = Flow()
    for chapter in range(chapters):
        flow.add(write.prepare(chapter=chapter))
    return flow


@app.job(users=True)
async def measure(values: list[float]) -> None: ...


@app.job(users=True)
async def keep(anything: object = None) -> None: ...


@app.job
async def secret_payout(amount: int = 0) -> None: ...
