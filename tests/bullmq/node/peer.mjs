// BullMQ as Node has it. The environment says where (PORT, PREFIX, QUEUE); lines of JSON on stdin say what to do, and what
// came of it is printed as lines of JSON.
import { createInterface } from "node:readline";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";

const { PORT, PREFIX: prefix, QUEUE: queue } = process.env;
const connection = { host: "127.0.0.1", port: Number(PORT), maxRetriesPerRequest: null };
const options = { connection, prefix };
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

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
  hangs: async (job) => {
    say({ started: job.id });
    await new Promise(() => {});
  },
};

const commands = {
  async work({ lock = 30000, only }) {
    const run = async (job) => (only && !only.includes(job.name) ? handlers.hangs(job) : handlers[job.name](job));
    const worker = new Worker(queue, run, { ...options, lockDuration: lock, stalledInterval: lock / 2, concurrency: 5 });
    worker.on("error", (error) => say({ error: error.message }));
    await worker.waitUntilReady();
    return "working";
  },
  async add({ jobs }) {
    const target = new Queue(queue, options);
    const events = new QueueEvents(queue, options);
    const progress = {};
    events.on("progress", ({ jobId, data }) => (progress[jobId] = data));
    await events.waitUntilReady();
    const results = {};
    const added = await Promise.all(jobs.map(({ name, data, opts }) => target.add(name, data, opts)));
    await Promise.all(
      added.map(async (job) => {
        const output = await job.waitUntilFinished(events).catch((error) => ({ failed: error.message }));
        const { attemptsMade, processedOn, timestamp } = await target.getJob(job.id);
        results[job.name] = { output, attemptsMade, waited: processedOn - timestamp, progress: progress[job.id] };
      }),
    );
    return results;
  },
  async flow({ tree }) {
    const events = new QueueEvents(queue, options);
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
