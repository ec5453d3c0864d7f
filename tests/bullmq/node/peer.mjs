// BullMQ as Node has it. The environment says where (PORT, PREFIX, QUEUE; CLUSTER, if there is one); lines of JSON on stdin say what to do, and what
// came of it is printed as lines of JSON.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { Cluster } from "ioredis";

const { PORT, PREFIX: prefix, QUEUE: queue } = process.env;
const at = { host: "127.0.0.1", port: Number(PORT) };
const waits = { maxRetriesPerRequest: null };
const connection = process.env.CLUSTER ? new Cluster([at], { redisOptions: waits }) : { ...at, ...waits };
const options = { connection, prefix };
// else what is said before it has begun to read is missed
const fromTheBeginning = { ...options, lastEventId: "0" };
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const target = new Queue(queue, options);
const ran = [];

const handlers = {
  double: (job) => job.data.n * 2,
  shaky: (job) => {
    if (job.attemptsMade < 1) throw new Error("not yet");
    return job.attemptsMade;
  },
  reports: async (job) => {
    await job.updateProgress({ percent: 50, message: "half" });
    return "reported";
  },
  sums: async (job) => Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, 0),
  note: (job) => {
    ran.push(job.data.name);
  },
  hangs: async (job) => {
    say({ started: job.id });
    await new Promise(() => {});
  },
};

const commands = {
  async work({ lock = 30000, only, concurrency = 5 }) {
    const run = async (job) => (only && !only.includes(job.name) ? handlers.hangs(job) : handlers[job.name](job));
    const locks = { lockDuration: lock, stalledInterval: lock / 2 };
    const worker = new Worker(queue, run, { ...options, ...locks, concurrency, autorun: false });
    worker.on("error", (error) => say({ error: error.message }));
    await worker.waitUntilReady();
    worker.run(); // what its jobs say comes after the answer
    return "working";
  },
  async add({ jobs }) {
    const events = new QueueEvents(queue, fromTheBeginning);
    const progress = {};
    events.on("progress", ({ jobId, data }) => (progress[jobId] = data));
    await events.waitUntilReady();
    const results = {};
    const added = await Promise.all(jobs.map(({ name, data, opts }) => target.add(name, data, opts)));
    await Promise.all(
      added.map(async (job) => {
        const output = await job.waitUntilFinished(events).catch((error) => ({ failed: error.message }));
        const { attemptsMade, processedOn, timestamp, progress: last } = await target.getJob(job.id);
        // of a job that had ended before anybody waited for it, events may be still to come
        while (last && !(job.id in progress)) await once(events, "progress");
        results[job.name] = { output, attemptsMade, waited: processedOn - timestamp, progress: progress[job.id] };
      }),
    );
    return results;
  },
  // what is not waited for; `unique` is a kind, an owner, an organisation and a key
  async put({ jobs }) {
    const ids = [];
    for (const { name, data, opts, unique } of jobs) {
      const deduplication = unique && { id: JSON.stringify(unique) };
      ids.push((await target.add(name, data, { ...(deduplication && { deduplication }), ...opts })).id);
    }
    return ids;
  },
  async waiting() {
    const jobs = [...(await target.getWaiting()), ...(await target.getPrioritized())];
    return jobs.map((job) => job.data.name);
  },
  ran: () => ran,
  async schedule({ name, repeat, template }) {
    return (await target.upsertJobScheduler(name, repeat, template)).id;
  },
  // when the next of each is, and how many jobs wait for that
  async schedules() {
    const waiting = await target.getDelayed();
    const of = (key) => waiting.filter((job) => job.repeatJobKey === key).length;
    return Object.fromEntries((await target.getJobSchedulers()).map(({ key, next }) => [key, [next, of(key)]]));
  },
  async promote({ name }) {
    const [job] = (await target.getDelayed()).filter((job) => job.repeatJobKey === name);
    await job.promote();
    return job.id;
  },
  async flow({ tree }) {
    const events = new QueueEvents(queue, fromTheBeginning);
    await events.waitUntilReady();
    const place = (node) => ({ queueName: queue, ...node, children: node.children?.map(place) });
    const { job } = await new FlowProducer(options).add(place(tree));
    return job.waitUntilFinished(events);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line);
  say({ [command]: await commands[command](given) });
}
