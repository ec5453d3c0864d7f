// BullMQ: 100 jobs at once (its guide: as many as pays), finished ones removed; bulk is `addBulk`. It blocks on Redis for
// jobs that come singly, and fetches the next job as it reports the last.
const { from, main } = require("./protocol.js");
const { Queue, Worker } = from("bullmq");

const connectionOf = (url) => ({ host: "127.0.0.1", port: Number(new URL(url).port), maxRetriesPerRequest: null });
const queueOf = (url) =>
  new Queue("bench", { connection: connectionOf(url), defaultJobOptions: { removeOnComplete: true } });
// a call of ten thousand would be one transaction
const BULK = 1000;

main({
  prepare: async () => {},
  filler: async (url) => {
    const queue = queueOf(url);
    return async (payloads) => {
      for (let start = 0; start < payloads.length; start += BULK) {
        await queue.addBulk(payloads.slice(start, start + BULK).map((data) => ({ name: "noop", data })));
      }
    };
  },
  enqueuer: async (url) => {
    const queue = queueOf(url);
    return (payload) => queue.add("noop", payload);
  },
  worker: async (url, handle) => {
    const worker = new Worker("bench", async (job) => handle(job.data), {
      connection: connectionOf(url),
      concurrency: 100,
      autorun: false,
    });
    await worker.waitUntilReady();
    return () => worker.run();
  },
});
