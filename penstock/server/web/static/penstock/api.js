/** Requests to the API: who asks, where, and what its errors become. */

/** The states after which nothing comes. */
export const FINAL = new Set(["succeeded", "failed", "cancelled"]);

const settings = {
  // beside this very module, wherever the server is mounted
  base: new URL("../", import.meta.url).href,
  token: /** @type {import("../penstock.js").Token} */ (null),
};

/**
 * Once for a page, before anything is asked.
 *
 * `base` is the server's address, unless it is where this module came from. `token` is a user's token, or a function
 * that gets one: it is asked for every request, and again, with `{refresh: true}`, when the server refuses what it gave.
 *
 * @param {import("../penstock.js").Configuration} given
 */
export function configure(given) {
  for (const name of Object.keys(given)) {
    if (!(name in settings)) throw new TypeError(`configure: there is no ${name}; there are base and token`);
  }
  if (given.base !== undefined) settings.base = new URL(given.base.replace(/\/*$/, "/"), globalThis.location?.href).href;
  if (given.token !== undefined) settings.token = given.token;
}

/** What the server answered instead, as RFC 9457 has it. `fields` has what is wrong with each field, by its name. */
export class PenstockError extends Error {
  /**
   * @param {number} status
   * @param {Record<string, unknown>} problem
   * @param {number | null} retryAfter
   */
  constructor(status, problem = {}, retryAfter = null) {
    super(String(problem.detail ?? problem.title ?? `the server answered ${status}`));
    this.name = "PenstockError";
    this.status = status;
    this.problem = problem;
    /** @type {{field: string, problem: string}[]} */
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.fields = Object.fromEntries(this.errors.map((each) => [each.field, each.problem]));
    this.retryAfter = retryAfter;
  }
}

/**
 * A request to the API, or to a route of your own beside it; what it answers, as JSON.
 *
 * @param {string} path such as "api/jobs"
 * @param {import("../penstock.js").RequestOptions} [options]
 */
export async function request(path, options = {}) {
  const answer = await ask(path, options);
  if (answer.status === 204) return null;
  const type = answer.headers.get("content-type") ?? "";
  return type.includes("json") ? answer.json() : answer;
}

/**
 * The answer itself, once it is a good one: below 400, or 304.
 *
 * @param {string} path
 * @param {import("../penstock.js").RequestOptions} options
 * @returns {Promise<Response>}
 */
export async function ask(path, { method = "GET", body, headers = {}, signal, authorized = true } = {}) {
  const isJson = body !== undefined && !(body instanceof Blob) && !(body instanceof ArrayBuffer);
  const send = async (/** @type {boolean} */ refresh) => {
    const token = authorized ? await currentToken(refresh) : null;
    /** @type {Record<string, string>} */
    const sent = { Accept: "application/json", ...(isJson && { "Content-Type": "application/json" }), ...headers };
    if (token) sent.Authorization = `Bearer ${token}`;
    return fetch(new URL(path.replace(/^\/+/, ""), settings.base), {
      method,
      headers: sent,
      body: isJson ? JSON.stringify(body) : /** @type {Blob | ArrayBuffer | undefined} */ (body),
      signal,
      // what is sent is in a header; a cookie would be somebody else's business
      credentials: "same-origin",
      cache: "no-store",
    });
  };
  let answer = await send(false);
  if (answer.status === 401 && authorized && typeof settings.token === "function") answer = await send(true);
  if (answer.ok || answer.status === 304) return answer;
  throw await errorOf(answer);
}

/** @param {Response} answer */
async function errorOf(answer) {
  const after = Number(answer.headers.get("retry-after"));
  let problem = {};
  try {
    problem = await answer.json();
  } catch {
    // a proxy's own page
  }
  return new PenstockError(answer.status, problem, after > 0 ? after : null);
}

/** @param {boolean} refresh */
async function currentToken(refresh) {
  return typeof settings.token === "function" ? settings.token({ refresh }) : settings.token;
}

/**
 * Starts a job or a flow.
 *
 * @param {string} kind
 * @param {Record<string, unknown>} [args]
 * @param {import("../penstock.js").StartOptions} [options]
 */
export async function start(kind, args = {}, { idempotencyKey, signal, ...more } = {}) {
  const headers = idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {};
  return request("api/jobs", { method: "POST", body: { kind, args, ...more }, headers, signal });
}

/** A job as it is at this moment. @param {string} id @param {{signal?: AbortSignal}} [options] */
export async function get(id, { signal } = {}) {
  return request(jobPath(id), { signal });
}

/** Stops a job or a flow. One that is running is asked to, and may still succeed: watch it. @param {string} id */
export async function cancel(id) {
  return request(jobPath(id), { method: "DELETE" });
}

/** Brings back what failed or was cancelled. @param {string} id */
export async function retry(id) {
  return request(`${jobPath(id)}/retry`, { method: "POST" });
}

/** @param {string} id */
export const jobPath = (id) => `api/jobs/${encodeURIComponent(id)}`;
