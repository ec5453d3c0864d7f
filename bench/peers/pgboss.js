// pg-boss with batches of 1,000, fetched again at once while they come full (`burstWhenBatchFull`), two workers in the
// process, so that one fetches while the other reports; woken by notifications (`notify`, `useListenNotify`), else it
// would look every half second at best. Bulk is `insert`. Supervision and schedules are off; completed jobs stay for a week.
const { from, main } = require("./protocol.js");
const { PgBoss } = from("pg-boss");

const started = async (url) => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, useListenNotify: true });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
};
const options = { batchSize: 1000, burstWhenBatchFull: true, localConcurrency: 2, pollingIntervalSeconds: 0.5 };

main({
  prepare: async (url) => {
    const boss = await started(url);
    await boss.createQueue("bench", { notify: true });
    await boss.stop({ graceful: false });
  },
  filler: async (url) => {
    const boss = await started(url);
    return (payloads) => boss.insert("bench", payloads.map((data) => ({ data })));
  },
  enqueuer: async (url) => {
    const boss = await started(url);
    return (payload) => boss.send("bench", payload);
  },
  worker: async (url, handle) => {
    const boss = await started(url);
    return () =>
      boss.work("bench", options, async (jobs) => {
        for (const job of jobs) handle(job.data);
      });
  },
});
