// graphile-worker at its best: the settings its authors publish their figures with, but a longer local queue (2,000
// instead of 500 took half of Postgres's CPU a job, 17 µs instead of 33) and fewer connections (5 instead of 25)
// for the drain.
// The lines it reads and says are those of protocol.py.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const readline = require("node:readline");

const [folder, mode, url, ...rest] = process.argv.slice(2);
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

const many =
  "select 1 from graphile_worker.add_jobs(array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))";
const enqueueMany = (pool, payloads) =>
  pool.query(many, [JSON.stringify(payloads.map((payload) => ({ identifier: "noop", payload })))]);

async function fill() {
  const [jobs, file] = [Number(rest[0]), rest[1]];
  const documents = file ? readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)) : [];
  const batch = file ? 1000 : 10000;
  const pool = new Pool({ connectionString: url });
  for (let start = 0; start < jobs; start += batch) {
    const payloads = [];
    for (let n = start; n < Math.min(start + batch, jobs); n++) {
      payloads.push(file ? { n, document: documents[n % documents.length] } : { n });
    }
    await enqueueMany(pool, payloads);
  }
  await pool.end();
}

const now = () => Number(process.hrtime.bigint());
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function send() {
  const [rate, batch] = rest.map(Number);
  const pool = new Pool({ connectionString: url });
  let sent = 0;
  let due = now();
  while (true) {
    await enqueueMany(pool, Array(batch).fill({ n: now() }));
    sent += batch;
    say(`sent ${sent}`);
    due = Math.max(due + (batch / rate) * 1e9, now() - 1e9);
    await sleep(Math.max(0, (due - now()) / 1e6));
  }
}

function flow() {
  say("ready");
  lines().once("line", send);
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

function watch() {
  let counted = 0;
  let latencies = [];
  setInterval(() => {
    say(["ran", counted, ...latencies].join(" "));
    latencies = [];
  }, 200);
  work(({ n }) => {
    if (++counted % 10 === 0) latencies.push(Math.round((now() - n) / 1000));
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
    say(`enqueued ${line} ${before} ${process.hrtime.bigint()}`);
  });
}

const modes = { prepare: () => runMigrations({ preset }), fill, flow, work: count, watch, answer, enqueue };
modes[mode]();
