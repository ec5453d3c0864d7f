/**
 * Penstock in a web page: start jobs, watch them, and an element that shows one.
 *
 *     import { start, watch } from "https://jobs.example.com/penstock.js";
 *
 *     const { id } = await start("export", { document_id: "d1" });
 *     for await (const job of watch(id)) console.log(job.state, job.progress.percent);
 *
 * No dependency, no build step, nothing that a strict Content-Security-Policy would refuse. docs/guides/web.md has the guide,
 * penstock.d.ts the types.
 */
export { PenstockError, cancel, configure, get, request, retry, start } from "./penstock/api.js";
export { watch } from "./penstock/watch.js";
export { PenstockProgress } from "./penstock/progress.js";
