// What the runners in JavaScript do with their pipes: the lines are those of protocol.py.
//
// A peer has prepare(url); filler(url), which resolves to what enqueues many payloads; enqueuer(url), which resolves to
// what enqueues one; worker(url, handle, {waits}), which resolves to what starts a worker that calls handle(payload) for
// each job: with `waits`, one for jobs that come singly.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const readline = require("node:readline");

const MANY = 10000;
const say = (line) => process.stdout.write(`${line}\n`);
const lines = () => readline.createInterface({ input: process.stdin }).on("close", () => process.exit(0));
const now = () => Number(process.hrtime.bigint());
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function atGo(run) {
  say("ready");
  lines().once("line", run);
}

async function fill(peer, url, jobs, file) {
  const documents = file ? readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)) : [];
  const batch = file ? MANY / 10 : MANY;
  const enqueueMany = await peer.filler(url);
  const began = now();
  for (let start = 0; start < Number(jobs); start += batch) {
    const payloads = [];
    for (let n = start; n < Math.min(start + batch, Number(jobs)); n++) {
      payloads.push(file ? { n, document: documents[n % documents.length] } : { n });
    }
    await enqueueMany(payloads);
  }
  process.stdout.write(`filled ${now() - began}\n`, () => process.exit(0));
}

async function produce(peer, url, atOnce, jobs) {
  const enqueue = await peer.enqueuer(url);
  atGo(async () => {
    const began = now();
    await Promise.all(
      Array.from({ length: Number(atOnce) }, async (_, start) => {
        for (let n = start; n < Number(jobs); n += Number(atOnce)) await enqueue({ n });
      }),
    );
    say(`produced ${now() - began}`);
  });
}

async function flow(peer, url, rate, batch) {
  const enqueueMany = await peer.filler(url);
  atGo(async () => {
    let sent = 0;
    let due = now();
    while (true) {
      await enqueueMany(Array(Number(batch)).fill({ n: now() }));
      sent += Number(batch);
      say(`sent ${sent}`);
      due = Math.max(due + (batch / rate) * 1e9, now() - 1e9);
      await sleep(Math.max(0, (due - now()) / 1e6));
    }
  });
}

async function work(peer, url) {
  let counted = 0;
  let said = 0;
  setInterval(() => {
    if (counted > said) {
      said = counted;
      say(`count ${said}`);
    }
  }, 20);
  atGo(await peer.worker(url, () => void counted++, { waits: false }));
}

async function watch(peer, url) {
  let counted = 0;
  let latencies = [];
  const handle = ({ n }) => {
    if (++counted % 10 === 0) latencies.push(Math.round((now() - n) / 1000));
  };
  const run = await peer.worker(url, handle, { waits: true });
  atGo(() => {
    setInterval(() => {
      say(["ran", counted, ...latencies].join(" "));
      latencies = [];
    }, 200);
    run();
  });
}

async function answer(peer, url) {
  atGo(await peer.worker(url, ({ n }) => say(`started ${n} ${process.hrtime.bigint()}`), { waits: true }));
}

async function enqueue(peer, url) {
  const one = await peer.enqueuer(url);
  say("ready");
  lines().on("line", async (line) => {
    const before = process.hrtime.bigint();
    await one({ n: Number(line) });
    say(`enqueued ${line} ${before} ${process.hrtime.bigint()}`);
  });
}

const modes = { prepare: (peer, url) => peer.prepare(url), fill, produce, flow, work, watch, answer, enqueue };

// the packages are below a folder of .cache, not here
const [folder, mode, ...rest] = process.argv.slice(2);
const from = createRequire(`${folder}/`);
const main = (peer) => modes[mode](peer, ...rest);

module.exports = { from, main };
