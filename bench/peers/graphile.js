// graphile-worker at its best: the settings its authors publish their figures with, but a longer local queue (2,000
// instead of 500 took half of Postgres's CPU a job, 17 µs instead of 33) and fewer connections (5 instead of 25)
// for the drain.
// The lines it reads and says are those of protocol.py.
const { createRequire } = require("node:module");
const readline = require("node:readline");

const [folder, mode, url, number] = process.argv.slice(2);
const from = createRequire(`${folder}/`);
const { run, runMigrations, makeWorkerUtils, Logger } = from("graphile-worker");
const { Pool } = from("pg");

const preset = {
  worker: {
    connectionString: url,
    concurrentJobs: 24,
    maxPoolSize: mode === "work" ? 5 : 25,
    localQueue: { size: mode === "work" ? 2000 : 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: new Logger(() => () => {}),
  },
};

const say = (line) => process.stdout.write(`${line}\n`);
const lines = () => readline.createInterface({ input: process.stdin }).on("close", () => process.exit(0));

async function fill() {
  const pool = new Pool({ connectionString: url });
  for (let start = 0; start < Number(number); start += 10000) {
    const jobs = [];
    for (let n = start; n < Math.min(start + 10000, Number(number)); n++) {
      jobs.push({ identifier: "noop", payload: { n } });
    }
    await pool.query(
      "select 1 from graphile_worker.add_jobs(array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))",
      [JSON.stringify(jobs)],
    );
  }
  await pool.end();
}

function work(noop) {
  say("ready");
  lines().once("line", () => run({ preset, taskList: { noop }, noHandleSignals: true }));
}

function count() {
  let counted = 0;
  let said = 0;
  setInterval(() => {
    if (counted > said) {
      said = counted;
      say(`count ${said}`);
    }
  }, 20);
  work(() => {
    counted++;
  });
}

function answer() {
  work(({ n }) => say(`started ${n} ${process.hrtime.bigint()}`));
}

async function enqueue() {
  const utils = await makeWorkerUtils({ preset });
  say("ready");
  lines().on("line", async (line) => {
    const before = process.hrtime.bigint();
    await utils.addJob("noop", { n: Number(line) });
    say(`enqueued ${line} ${before}`);
  });
}

const modes = { prepare: () => runMigrations({ preset }), fill, work: count, answer, enqueue };
modes[mode]();
