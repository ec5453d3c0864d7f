"""A flow that is started by its name, and its last step under the same one."""

import pytest

from penstock import Flow, InvalidInput, Penstock


@pytest.mark.parametrize("flow_first", [True, False])
def test_the_last_step_of_a_flow_may_have_its_kind(flow_first: bool) -> None:
    app = Penstock("postgresql://nowhere")

    @app.job
    def write() -> None: ...

    def bind() -> None: ...

    def book() -> Flow:
        flow = Flow(then=app.handler("book").prepare())
        flow.add(write.prepare())
        return flow

    if flow_first:
        app.flow(book)
    app.job(kind="book")(bind)
    if not flow_first:
        app.flow(book)
    maker = app.flow_maker("book")
    assert maker is not None
    assert [job.kind for job in maker.make({}).jobs()] == ["book", "write"]
    # which is the flow to whoever starts it
    assert app.startable == [maker, write]


def test_two_flows_cannot_have_one_kind() -> None:
    app = Penstock("postgresql://nowhere")

    def book() -> Flow:
        return Flow()

    app.flow(book)
    with pytest.raises(InvalidInput, match=r"^kind: 'book' is taken"):
        app.flow(book)
    with pytest.raises(InvalidInput, match=r"^kind: 'batch' is taken"):
        app.flow(kind="batch")(book)
