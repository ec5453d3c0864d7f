/** Types of /penstock.js, for editors and TypeScript. docs/guides/web.md has the guide. */

export type State = "blocked" | "scheduled" | "ready" | "running" | "succeeded" | "failed" | "cancelled";

export interface Progress {
  /** 0 to 100. */
  percent: number;
  phase: string | null;
  done: number | null;
  total: number | null;
  /** How many of them failed. */
  failed: number | null;
  message: string | null;
  /** Why it is tried again, until it has ended. */
  reason: string | null;
}

export interface Artifact {
  id: string;
  type: string;
  name: string;
  /** Works for a while; `get(id)` has a fresh one. */
  url: string;
  size: number | null;
  /** Seconds, of sound and film. */
  duration: number | null;
  content_type: string;
}

export interface Job<Output = unknown> {
  id: string;
  kind: string;
  queue: string;
  state: State;
  /** Not told by a stream: whoever started the job knows them. */
  args?: Record<string, unknown>;
  output: Output | null;
  error: string | null;
  attempt: number;
  max_attempts: number;
  progress: Progress;
  artifacts: Artifact[];
  owner: string | null;
  org: string | null;
  parent: string | null;
  cancel_requested: boolean;
  created_at: string;
  run_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface Started {
  id: string;
  state: State;
  /** False when an earlier job stands for this one. */
  created: boolean;
}

/** Asked before each request; with `refresh` when the token that it gave was refused. */
export type TokenSource = (why: { refresh: boolean }) => string | null | Promise<string | null>;
export type Token = string | null | TokenSource;

export interface Configuration {
  /** The server's address; by itself, where the module came from. */
  base?: string;
  /** A user's token, or what gets one. Never the service key. */
  token?: Token;
}

export interface RequestOptions {
  method?: string;
  /** A Blob or ArrayBuffer is sent as it is, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** False sends no token. */
  authorized?: boolean;
}

export interface StartOptions {
  /** The same key within a day starts nothing twice. */
  idempotencyKey?: string;
  /** One of the user's organisations, which then shares the job. */
  org?: string;
  signal?: AbortSignal;
}

export interface WatchOptions {
  signal?: AbortSignal;
  /** From `app.watch_token(id)`: opens this one job, for users whom only your own session knows. */
  token?: string;
  /** False polls instead of holding a connection open. */
  stream?: boolean;
}

/** What the server answered instead (application/problem+json). */
export class PenstockError extends Error {
  readonly status: number;
  readonly problem: Record<string, unknown>;
  readonly errors: { field: string; problem: string }[];
  /** What is wrong with each field, by its name. */
  readonly fields: Record<string, string>;
  /** Seconds. */
  readonly retryAfter: number | null;
}

export function configure(given: Configuration): void;
export function request<Answer = unknown>(path: string, options?: RequestOptions): Promise<Answer>;
export function start(kind: string, args?: Record<string, unknown>, options?: StartOptions): Promise<Started>;
export function get<Output = unknown>(id: string, options?: { signal?: AbortSignal }): Promise<Job<Output>>;
export function cancel(id: string): Promise<{ id: string; state: State; cancel_requested: boolean }>;
export function retry(id: string): Promise<{ id: string; state: State }>;

/** Each state as it comes; the last one is final. */
export function watch<Output = unknown>(id: string, options?: WatchOptions): AsyncIterable<Job<Output>>;
/** The final state, in the end; null when it was stopped before. */
export function watch<Output = unknown>(
  id: string,
  callback: (job: Job<Output>) => void,
  options?: WatchOptions,
): Promise<Job<Output> | null>;

/** `<penstock-progress job="…" label="…" cancel retry>` */
export class PenstockProgress extends HTMLElement {
  /** The id of the job that is shown. */
  job: string;
  label: string;
  /** The job as it was last told; null before that. */
  readonly current: Job | null;
}

declare global {
  interface HTMLElementTagNameMap {
    "penstock-progress": PenstockProgress;
  }
}
