/** A job until it has ended: by a stream of events, or by asking again where streams are not to be had. */

import { FINAL, PenstockError, ask, jobPath } from "./api.js";
import { takeSeat } from "./seats.js";

const SILENCE = 45_000; // the server says something every 15 s
const FIRST_BYTE = 10_000; // it says `retry:` at once; who holds that back holds back everything
const BACKOFF = { least: 500, most: 30_000 };
const POLL = { least: 1_000, most: 5_000 };
const STREAM_AGAIN = 60_000; // how long it is asked before a stream is tried again
const SEAT_AGAIN = 5_000; // and where only a connection was lacking
const STREAMS_FAIL = 2; // in a row, without a word, before it is asked instead

/**
 * The job now and whenever it changes, until it has ended.
 *
 *     for await (const job of watch(id)) …            each state as it comes; the last one is final
 *     const job = await watch(id, (job) => …);        the same by a callback; the final state in the end
 *
 * Comes back by itself after a lost connection and misses no end. Throws PenstockError for what will not get better:
 * 401, 403, 404. `signal` stops it quietly.
 *
 * @param {string} id
 * @param {((job: import("../penstock.js").Job) => void) | import("../penstock.js").WatchOptions} [second]
 * @param {import("../penstock.js").WatchOptions} [third]
 * @returns {any}
 */
export function watch(id, second, third) {
  if (typeof second !== "function") return states(id, second ?? {});
  return (async () => {
    let last = null;
    for await (const job of states(id, third ?? {})) second((last = job));
    return last;
  })();
}

/**
 * @param {string} id
 * @param {import("../penstock.js").WatchOptions} options
 */
async function* states(id, { signal, token, stream = true } = {}) {
  const watched = new Watched(id, token, signal);
  let silent = 0; // streams in a row that told nothing
  let failures = 0;
  while (!signal?.aborted) {
    const unheard = silent >= STREAMS_FAIL;
    const leave = stream && !unheard ? await takeSeat() : null;
    const lasting = !stream ? Infinity : unheard ? STREAM_AGAIN : SEAT_AGAIN;
    try {
      for await (const job of leave ? watched.stream() : watched.poll(lasting)) {
        failures = 0;
        if (leave) silent = 0;
        if (job === ALIVE) continue;
        yield job;
        if (FINAL.has(job.state)) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFinal(error)) throw error;
      failures += 1;
      if (leave) silent += error instanceof NoStreams ? STREAMS_FAIL : 1;
      await pause(backoff(failures, error), signal);
      continue;
    } finally {
      leave?.();
    }
    if (!leave) silent = Math.min(silent, STREAMS_FAIL - 1); // one chance
    // a stream that ended well: the server is restarted, or it has been open for long enough
    else await pause(Math.random() * BACKOFF.least, signal);
  }
}

class NoStreams extends Error {}

const ALIVE = Symbol("something was heard");

class Watched {
  /** @param {string} id @param {string | undefined} token @param {AbortSignal | undefined} signal */
  constructor(id, token, signal) {
    this.path = jobPath(id);
    this.query = token ? `?watch=${encodeURIComponent(token)}` : "";
    this.authorized = !token;
    this.signal = signal;
    this.seen = ""; // the id of the last event
    this.etag = "";
    this.version = "";
  }

  /** Each state that is another than the last one told, whichever way it came. */
  isNews(/** @type {string} */ text) {
    const { artifacts: _, args: __, result_url: ___, ...job } = JSON.parse(text);
    const version = JSON.stringify(job);
    const news = version !== this.version;
    this.version = version;
    return news;
  }

  async *stream() {
    const abort = new AbortController();
    const stop = () => abort.abort();
    this.signal?.addEventListener("abort", stop);
    if (this.signal?.aborted) stop(); // while it waited for a seat
    const watchdog = new Watchdog(stop);
    try {
      watchdog.expect(FIRST_BYTE);
      const headers = { Accept: "text/event-stream", ...(this.seen && { "Last-Event-ID": this.seen }) };
      const options = { headers, signal: abort.signal, authorized: this.authorized };
      const answer = await ask(`${this.path}/stream${this.query}`, options);
      if (answer.status === 204) {
        // it has ended, and its end was told before; whoever watches has not heard it, or would not be here
        yield* this.look();
        return;
      }
      if (!answer.body || !(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
        throw new NoStreams("something on the way does not pass streams on");
      }
      for await (const event of events(answer.body, () => watchdog.expect(SILENCE))) {
        if (event.id) this.seen = event.id;
        if (event.name === "timeout") return;
        if (event.data && this.isNews(event.data)) yield JSON.parse(event.data);
        else yield ALIVE;
      }
    } catch (error) {
      throw watchdog.bit ? new Error("the stream fell silent") : error;
    } finally {
      watchdog.rest();
      this.signal?.removeEventListener("abort", stop);
      stop();
    }
  }

  /** Asks again and again for so long, the longer nothing changes the more seldom. */
  async *poll(/** @type {number} */ lasting) {
    const until = performance.now() + lasting;
    let wait = POLL.least;
    while (performance.now() < until && !this.signal?.aborted) {
      let news = false;
      for await (const job of this.look()) {
        news = job !== ALIVE;
        yield job;
      }
      wait = news ? POLL.least : Math.min(POLL.most, wait * 1.5);
      await pause(wait * (0.75 + Math.random() / 2), this.signal);
    }
  }

  async *look() {
    const headers = this.etag ? { "If-None-Match": this.etag } : {};
    const options = { headers, signal: this.signal, authorized: this.authorized };
    const answer = await ask(`${this.path}${this.query}`, options);
    this.etag = answer.headers.get("etag") ?? "";
    const text = answer.status === 304 ? "" : await answer.text();
    if (!text) {
      yield ALIVE;
      return;
    }
    const job = JSON.parse(text);
    yield this.isNews(text) || FINAL.has(job.state) ? job : ALIVE;
  }
}

/** Calls back when what was expected has not come. */
class Watchdog {
  /** @param {() => void} bite */
  constructor(bite) {
    this.bit = false;
    this.bite = bite;
    this.timer = undefined;
  }

  /** @param {number} milliseconds */
  expect(milliseconds) {
    this.rest();
    this.timer = setTimeout(() => {
      this.bit = true;
      this.bite();
    }, milliseconds);
  }

  rest() {
    clearTimeout(this.timer);
  }
}

/**
 * Server-sent events as they arrive; comments are none, but `heard` is called for every piece.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} heard
 */
export async function* events(body, heard = () => {}) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      // a carriage return at the end may be half of a line break
      const text = rest + value;
      const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
      const blocks = whole.replace(/\r\n?/g, "\n").split("\n\n");
      rest = blocks.pop() + (text.endsWith("\r") ? "\r" : "");
      for (const block of blocks) yield read(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} block */
function read(block) {
  const event = { id: "", name: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "id") event.id = value;
    else if (field === "event") event.name = value;
    else if (field === "data") event.data += (event.data && "\n") + value;
  }
  return event;
}

/** What another try would not change. */
function isFinal(/** @type {unknown} */ error) {
  return error instanceof PenstockError && error.status < 500 && ![408, 425, 429].includes(error.status);
}

/** Each failure twice as long as the one before, and never all clients at once. */
function backoff(/** @type {number} */ failures, /** @type {any} */ error) {
  const wait = Math.min(BACKOFF.most, BACKOFF.least * 2 ** failures);
  return Math.max((error?.retryAfter ?? 0) * 1000, wait * (0.5 + Math.random() / 2));
}

/** @param {number} milliseconds @param {AbortSignal} [signal] */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve(undefined);
    }
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
