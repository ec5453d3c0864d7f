"""The whole path with files in a real S3 store."""

import io
import zipfile
from uuid import uuid4

import httpx

from exports.asking import serving
from penstock import Penstock
from penstock_recipes.exports import install
from tests.storage.conftest import seaweed  # noqa: F401
from tests.storage.seaweed import Seaweed


async def test_the_whole_path_works_on_s3(url: str, seaweed: Seaweed) -> None:  # noqa: F811
    async with Penstock(url, artifacts=seaweed.address(uuid4().hex)) as app:
        install(app)
        async with serving(app) as exports, exports.worker(), httpx.AsyncClient() as anybody:
            ada = exports.user()
            batch = await ada.batch(await ada.document("Łódź"), await ada.document("東京"))
            for each in batch["jobs"]:
                job = await ada.completed(each["jobId"])
                assert job["resultUrl"].startswith(seaweed.endpoint), "the store's own link"
                fetched = await anybody.get(job["resultUrl"])
                assert (fetched.status_code, fetched.content[:5]) == (200, b"%PDF-")
            answer = await ada.get(f"/export/batch/{batch['batchId']}/download")
            with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
                assert archive.namelist() == ["Łódź.pdf", "東京.pdf"]
                assert archive.testzip() is None
            sent = await ada.get(f"/export/download/{job['historyId']}")
            fetched = await anybody.get(sent.headers["location"])
            assert fetched.headers["content-type"] == "application/pdf"
            assert "%E6%9D%B1%E4%BA%AC.pdf" in fetched.headers["content-disposition"]
            await ada.delete(f"/export/history/{job['historyId']}")
            assert (await anybody.get(sent.headers["location"])).status_code == 404
