// graphile-worker with its batched local queue and the settings its authors publish their figures with, but a longer
// local queue (2,000 instead of 500 took half of Postgres's CPU a job, 17 µs instead of 33) and fewer connections (5
// instead of 25) for drains. Bulk is `add_jobs`. A job that succeeded is deleted.
const { from, main } = require("./protocol.js");
const { run, runMigrations, makeWorkerUtils, Logger } = from("graphile-worker");
const { Pool } = from("pg");

const presetOf = (url, { waits }) => ({
  worker: {
    connectionString: url,
    concurrentJobs: 24,
    maxPoolSize: waits ? 25 : 5,
    localQueue: { size: waits ? 500 : 2000 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: new Logger(() => () => {}),
  },
});

const many =
  "select 1 from graphile_worker.add_jobs(array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))";

main({
  prepare: (url) => runMigrations({ preset: presetOf(url, { waits: true }) }),
  filler: async (url) => {
    const pool = new Pool({ connectionString: url });
    return (payloads) =>
      pool.query(many, [JSON.stringify(payloads.map((payload) => ({ identifier: "noop", payload })))]);
  },
  enqueuer: async (url) => {
    const utils = await makeWorkerUtils({ preset: presetOf(url, { waits: true }) });
    return (payload) => utils.addJob("noop", payload);
  },
  worker: async (url, handle, how) => () =>
    run({ preset: presetOf(url, how), taskList: { noop: handle }, noHandleSignals: true }),
});
