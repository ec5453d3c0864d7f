-- What the migrations make, as pg_dump tells it; functions without their bodies. To refresh it: python -m tests.sql.dump_schema

-- Name: penstock; Type: SCHEMA; Schema: -; Owner: -
CREATE SCHEMA penstock;

-- Name: SCHEMA penstock; Type: COMMENT; Schema: -; Owner: -
COMMENT ON SCHEMA penstock IS 'Penstock, contract 2, serves programs from contract 1';

-- Name: job_state; Type: TYPE; Schema: penstock; Owner: -
CREATE TYPE penstock.job_state AS ENUM (
    'blocked',
    'scheduled',
    'ready',
    'running',
    'succeeded',
    'failed',
    'cancelled'
);

-- Name: laggard; Type: TYPE; Schema: penstock; Owner: -
CREATE TYPE penstock.laggard AS (
	quota text,
	member text,
	priority integer,
	turn bigint,
	id uuid
);

-- Name: abandon_artifact(bigint, integer, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.abandon_artifact(p_lease bigint, p_claims integer, p_path text) RETURNS uuid
    LANGUAGE sql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_audit(text, text, text, jsonb, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_audit(p_who text, p_action text, p_target text, p_details jsonb DEFAULT '{}'::jsonb, p_jobs integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_buckets(bigint[], bigint[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_buckets(p_one bigint[], p_other bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE;

-- Name: turn_numbers; Type: SEQUENCE; Schema: penstock; Owner: -
CREATE SEQUENCE penstock.turn_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: jobs; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.jobs (
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    run_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    parked_since timestamp with time zone,
    turn bigint DEFAULT nextval('penstock.turn_numbers'::regclass) NOT NULL,
    lease bigint,
    state penstock.job_state NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 5 NOT NULL,
    claims integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    max_snoozes integer,
    error_count integer,
    waiting_on integer DEFAULT 0 NOT NULL,
    weight real,
    awaited boolean DEFAULT false NOT NULL,
    watched boolean DEFAULT false NOT NULL,
    counted boolean DEFAULT false NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL,
    kind text NOT NULL,
    parent uuid,
    owner text,
    org text,
    unique_key text,
    limit_key text,
    quota text,
    phase text,
    parked_reason text,
    args jsonb DEFAULT '{}'::jsonb,
    progress jsonb,
    rollup jsonb,
    options jsonb
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0', autovacuum_vacuum_insert_scale_factor='0.2');

-- Name: COLUMN jobs.parked_since; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.parked_since IS 'Since when workers have met this job without knowing its kind or arguments; null again as soon as one ran it.';

-- Name: COLUMN jobs.turn; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.turn IS 'Place in line at its priority, given when the job becomes ready: below zero at the front. A fair queue has turns of its own.';

-- Name: COLUMN jobs.priority; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.priority IS 'Higher goes first.';

-- Name: COLUMN jobs.attempt; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.attempt IS 'Attempts that count towards max_attempts; a snooze or a release gives its attempt back.';

-- Name: COLUMN jobs.claims; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.claims IS 'How often the job was claimed. With the lease it fences every write about a run; unlike attempt it never goes back.';

-- Name: COLUMN jobs.error_count; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.error_count IS 'How many errors it was given, which are in errors; null for none.';

-- Name: COLUMN jobs.awaited; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.awaited IS 'Another job waits for this one (a row in edges).';

-- Name: COLUMN jobs.counted; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.counted IS 'Claimed from a queue with limits, or under a quota: whoever waits for them is woken when it ends.';

-- Name: COLUMN jobs.quota; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.quota IS 'The quota of its owner that it counts against while it runs; null without an owner, and where its starter chose so.';

-- Name: COLUMN jobs.args; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.jobs.args IS 'Null when they are large: then they are in payloads.';

-- Name: add_calls(penstock.jobs, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_calls(p_caller penstock.jobs, p_jobs jsonb) RETURNS penstock.jobs
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_edges(uuid, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_edges(p_job uuid, p_after jsonb) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_error(uuid, integer, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_error(p_id uuid, p_number integer, p_error jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_locks(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_locks() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: add_partitions(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.add_partitions() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '200ms';

-- Name: adopt_orphan(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.adopt_orphan(p_path text) RETURNS uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: advance_turn(text, bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.advance_turn(p_queue text, p_turn bigint) RETURNS void
    LANGUAGE plpgsql;

-- Name: announce_artifact(bigint, uuid, integer, text, text, text, uuid, text, text, text, text, double precision, jsonb, double precision, boolean, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.announce_artifact(p_lease bigint, p_job uuid, p_claims integer, p_owner text, p_org text, p_kind text, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean, p_quota text DEFAULT NULL::text) RETURNS TABLE(id uuid, fresh boolean, room bigint, storage bigint)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: approvals(text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.approvals(p_after text DEFAULT NULL::text, p_limit integer DEFAULT 50) RETURNS TABLE(job uuid, kind text, queue text, owner text, org text, step text, question text, details jsonb, by text, since timestamp with time zone, until timestamp with time zone, cursor text)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: approve(uuid, boolean, text, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.approve(p_job uuid, p_approved boolean, p_who text, p_comment text DEFAULT NULL::text, p_step text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: approve_mine(uuid, boolean, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.approve_mine(p_job uuid, p_approved boolean, p_comment text DEFAULT NULL::text, p_step text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: artifacts_due(double precision); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.artifacts_due(p_grace double precision) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: artifacts; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.artifacts (
    id uuid NOT NULL,
    job uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    stored_at timestamp with time zone,
    expires_at timestamp with time zone,
    lease bigint,
    size bigint,
    duration double precision,
    claims integer,
    downloads integer DEFAULT 0 NOT NULL,
    state text NOT NULL,
    owner text,
    org text,
    kind text NOT NULL,
    name text NOT NULL,
    type text,
    path text NOT NULL,
    content_type text NOT NULL,
    digest text,
    quota text,
    metadata jsonb,
    CONSTRAINT a_stored_one_has_a_size CHECK (((state <> 'stored'::text) OR ((size IS NOT NULL) AND (digest IS NOT NULL)))),
    CONSTRAINT state_is_known CHECK ((state = ANY (ARRAY['writing'::text, 'stored'::text, 'removing'::text])))
);

-- Name: COLUMN artifacts.lease; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.artifacts.lease IS 'Who writes or wrote it: with claims, the run of the job. A run that lost its job cannot confirm it.';

-- Name: COLUMN artifacts.digest; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.artifacts.digest IS 'SHA-256 of the bytes, in hexadecimal.';

-- Name: COLUMN artifacts.quota; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.artifacts.quota IS 'The quota that its bytes were announced under.';

-- Name: artifacts_of_job(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.artifacts_of_job(p_job uuid) RETURNS SETOF penstock.artifacts
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: artifacts_shown(uuid, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.artifacts_shown(p_job uuid, p_flow boolean) RETURNS json
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: as_array(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.as_array(p_value jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE;

-- Name: asked_of_job(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.asked_of_job(p_job uuid) RETURNS TABLE(job uuid, kind text, queue text, owner text, org text, step text, question text, details jsonb, by text, since timestamp with time zone, until timestamp with time zone, cursor text)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: asked_of_mine(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.asked_of_mine(p_job uuid) RETURNS TABLE(job uuid, kind text, queue text, owner text, org text, step text, question text, details jsonb, by text, since timestamp with time zone, until timestamp with time zone, cursor text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: backlog(text[], integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.backlog(p_queues text[], p_most integer DEFAULT 10000) RETURNS TABLE(queue text, ready bigint, running bigint, oldest_ready_seconds double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: backoff_delay(jsonb, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.backoff_delay(p_policy jsonb, p_attempt integer) RETURNS interval
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: batch_of(uuid, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.batch_of(p_id uuid, p_jobs jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: begin_artifact(bigint, uuid, integer, uuid, text, text, text, text, double precision, jsonb, double precision, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.begin_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean) RETURNS TABLE(id uuid, fresh boolean, room bigint, storage bigint)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: best_of(uuid[], integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.best_of(p_ids uuid[], p_limit integer) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: bubble(uuid, text, numeric, text, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.bubble(p_parent uuid, p_phase text, p_amount numeric, p_message text DEFAULT NULL::text, p_speaker uuid DEFAULT NULL::uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: bubble_ended(penstock.jobs, jsonb, jsonb, uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb, p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: caller(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.caller() RETURNS text
    LANGUAGE sql STABLE;

-- Name: caller_or_refuse(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.caller_or_refuse(p_org text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: caller_orgs(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.caller_orgs() RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: cancel(uuid[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.cancel(p_ids uuid[], p_reason text DEFAULT 'cancelled'::text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: cancel_mine(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.cancel_mine(p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: cancel_operation(uuid, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.cancel_operation(p_id uuid, p_who text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: cancel_tree(uuid[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.cancel_tree(p_ids uuid[], p_reason text DEFAULT 'cancelled'::text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: claim(bigint, text, integer, integer[], bigint[], uuid[], text[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.claim(p_lease bigint, p_queue text, p_limit integer DEFAULT 1, p_priorities integer[] DEFAULT NULL::integer[], p_turns bigint[] DEFAULT NULL::bigint[], p_ids uuid[] DEFAULT NULL::uuid[], p_kinds text[] DEFAULT NULL::text[], p_owner text DEFAULT NULL::text) RETURNS TABLE(id uuid, kind text, priority integer, turn bigint, attempt integer, max_attempts integer, claims integer, snoozes integer, owner text, org text, parent uuid, created_at timestamp with time zone, args text, options text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET work_mem TO '32MB'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: clock(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.clock() RETURNS timestamp with time zone
    LANGUAGE sql;

-- Name: close_lease(bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.close_lease(p_lease bigint) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: complete(bigint, uuid[], integer[], jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.complete(p_lease bigint, p_ids uuid[], p_claims integer[], p_outputs jsonb DEFAULT NULL::jsonb) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: confirm_artifact(bigint, uuid, integer, uuid, bigint, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.confirm_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) RETURNS SETOF penstock.artifacts
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: continue_operation(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.continue_operation(p_chunk integer DEFAULT 1000) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: count_children(penstock.jobs, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.count_children(p_flow penstock.jobs, p_going_on boolean) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: count_downloads(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.count_downloads(p_ids uuid[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: queues; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.queues (
    name text NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    max_running integer,
    max_running_per_key integer,
    rate integer,
    rate_per_key integer,
    rate_period interval DEFAULT '00:00:01'::interval NOT NULL,
    fair_by text,
    backoff jsonb,
    lease_length interval,
    parked_timeout interval,
    keep text DEFAULT 'all'::text NOT NULL,
    limited boolean GENERATED ALWAYS AS (((max_running IS NOT NULL) OR (max_running_per_key IS NOT NULL) OR (rate IS NOT NULL) OR (rate_per_key IS NOT NULL))) STORED NOT NULL,
    CONSTRAINT fair_by_is_a_column CHECK ((fair_by = ANY (ARRAY['owner'::text, 'org'::text, 'limit_key'::text]))),
    CONSTRAINT keep_is_all_or_failed CHECK ((keep = ANY (ARRAY['all'::text, 'failed'::text]))),
    CONSTRAINT lease_length_is_positive CHECK ((lease_length > '00:00:00'::interval)),
    CONSTRAINT max_running_is_positive CHECK ((max_running > 0)),
    CONSTRAINT max_running_per_key_is_positive CHECK ((max_running_per_key > 0)),
    CONSTRAINT name_is_not_empty CHECK ((name <> ''::text)),
    CONSTRAINT parked_timeout_is_positive CHECK ((parked_timeout > '00:00:00'::interval)),
    CONSTRAINT rate_is_positive CHECK ((rate > 0)),
    CONSTRAINT rate_per_key_is_positive CHECK ((rate_per_key > 0)),
    CONSTRAINT rate_period_is_positive CHECK ((rate_period > '00:00:00'::interval))
);

-- Name: count_starts(penstock.queues, uuid[], timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.count_starts(p_queue penstock.queues, p_ids uuid[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: count_usage(text, text, bigint, double precision, bigint, bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.count_usage(p_org text, p_kind text, p_runs bigint DEFAULT 0, p_seconds double precision DEFAULT 0, p_failures bigint DEFAULT 0, p_bytes bigint DEFAULT 0) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: dead_jobs(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.dead_jobs(p_most integer DEFAULT 1000) RETURNS TABLE(queue text, jobs bigint, exact boolean)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: declare_kinds(jsonb, text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.declare_kinds(p_kinds jsonb, p_known text[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: declare_queues(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.declare_queues(p_queues jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: dedupe_key(text, text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.dedupe_key(p_kind text, p_org text, p_args jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: deliver(text, text, jsonb, interval, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.deliver(p_event text, p_key text, p_payload jsonb, p_keep interval DEFAULT '7 days'::interval, p_hand boolean DEFAULT false) RETURNS uuid
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: depth_series(timestamp with time zone, integer, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.depth_series(p_since timestamp with time zone, p_step integer, p_queue text DEFAULT NULL::text) RETURNS TABLE(at timestamp with time zone, ready bigint, running bigint, oldest_ready_seconds double precision)
    LANGUAGE sql STABLE
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: disown_artifact(uuid, uuid, text, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.disown_artifact(p_id uuid, p_job uuid, p_kind text, p_name text, p_path text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: drop_beside(regclass, regclass, uuid, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.drop_beside(p_parent regclass, p_partition regclass, p_lowest uuid, p_past uuid) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: drop_old_history(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.drop_old_history() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: drop_partition(regclass, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.drop_partition(p_partition regclass, p_cutoff timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '200ms'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: emit(text, text, jsonb, interval, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.emit(p_event text, p_key text DEFAULT ''::text, p_payload jsonb DEFAULT NULL::jsonb, p_keep interval DEFAULT '7 days'::interval, p_hand boolean DEFAULT false) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: ended_jobs(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.ended_jobs() RETURNS TABLE(queue text, succeeded bigint, failed bigint, retried bigint, cancelled bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: enqueue(text, jsonb, text, timestamp with time zone, integer, integer, text, text, text, text, text, uuid[], jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.enqueue(kind text, args jsonb DEFAULT '{}'::jsonb, queue text DEFAULT 'default'::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, max_attempts integer DEFAULT 5, owner text DEFAULT NULL::text, org text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, idempotency_key text DEFAULT NULL::text, after uuid[] DEFAULT NULL::uuid[], options jsonb DEFAULT NULL::jsonb) RETURNS uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: enqueue_jobs(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.enqueue_jobs(p_jobs jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: enqueue_one(penstock.jobs, jsonb, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.enqueue_one(p_row penstock.jobs, p_job jsonb, p_jobs jsonb) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql;

-- Name: enqueue_plain(uuid, text, jsonb, text, integer, integer, timestamp with time zone, double precision, integer, text, text, text, jsonb, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.enqueue_plain(p_id uuid, p_kind text, p_args jsonb DEFAULT '{}'::jsonb, p_queue text DEFAULT 'default'::text, p_priority integer DEFAULT 0, p_max_attempts integer DEFAULT 5, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_delay double precision DEFAULT 0, p_max_snoozes integer DEFAULT NULL::integer, p_owner text DEFAULT NULL::text, p_org text DEFAULT NULL::text, p_limit_key text DEFAULT NULL::text, p_options jsonb DEFAULT NULL::jsonb, p_hand boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql;

-- Name: schedules; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.schedules (
    name text NOT NULL,
    cron text NOT NULL,
    tz text NOT NULL,
    kind text NOT NULL,
    args jsonb NOT NULL,
    catch_up text NOT NULL,
    options jsonb NOT NULL,
    source text NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    last_tick timestamp with time zone,
    next_tick timestamp with time zone,
    last_job uuid,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT catch_up_is_known CHECK ((catch_up = ANY (ARRAY['none'::text, 'one'::text, 'all'::text]))),
    CONSTRAINT name_is_not_empty CHECK ((name <> ''::text)),
    CONSTRAINT source_is_known CHECK ((source = ANY (ARRAY['code'::text, 'database'::text])))
);

-- Name: COLUMN schedules.options; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.schedules.options IS 'How its jobs are enqueued: the fields of a job, its kind and arguments aside.';

-- Name: COLUMN schedules.next_tick; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.schedules.next_tick IS 'The first tick that nobody has dealt with. Null while paused, and until a worker has worked it out.';

-- Name: enqueue_scheduled(penstock.schedules, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.enqueue_scheduled(p_schedule penstock.schedules, p_tick timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: error_groups(timestamp with time zone, text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.error_groups(p_since timestamp with time zone, p_kind text DEFAULT NULL::text, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, kind text, queue text, type text, message text, attempts bigint, jobs bigint, first_at timestamp with time zone, last_at timestamp with time zone, example uuid, trend jsonb)
    LANGUAGE sql STABLE
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: error_says(uuid, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.error_says(p_id uuid, p_text text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: errors_of(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.errors_of(p_id uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: events_overview(integer, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.events_overview(p_limit integer DEFAULT 100, p_keys integer DEFAULT 20) RETURNS TABLE(event text, key text, waiting integer, kept integer, since timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: expire_lease(bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.expire_lease(p_lease bigint) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: extend_lease(bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.extend_lease(p_lease bigint) RETURNS TABLE(alive boolean, cancelling uuid[], leads boolean, seconds double precision)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fail(bigint, uuid[], integer[], jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fail(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors jsonb) RETURNS TABLE(id uuid, state penstock.job_state, run_at timestamp with time zone)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fill_key(text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fill_key(p_template text, p_args jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: filter_text(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.filter_text(p_filter jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fingerprint(jsonb, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fingerprint(p_job jsonb, p_jobs jsonb) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: finish(uuid[], penstock.job_state, jsonb, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.finish(p_ids uuid[], p_state penstock.job_state, p_errors jsonb DEFAULT '{}'::jsonb, p_output jsonb DEFAULT NULL::jsonb, OUT finished uuid[], OUT settling uuid[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off';

-- Name: fire_schedule(text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fire_schedule(p_name text, p_tick timestamp with time zone, p_next timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: floors; Type: TABLE; Schema: penstock; Owner: -
CREATE UNLOGGED TABLE penstock.floors (
    queue text NOT NULL,
    line integer NOT NULL,
    number bigint NOT NULL,
    raised_at timestamp with time zone NOT NULL,
    settled bigint,
    noted bigint NOT NULL,
    noted_turn bigint,
    fair boolean NOT NULL,
    priorities integer[] NOT NULL,
    turns bigint[] NOT NULL,
    ids uuid[] NOT NULL,
    lagging penstock.laggard[] NOT NULL,
    crowded boolean NOT NULL
);

-- Name: COLUMN floors.noted; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.floors.noted IS 'When the horizon has settled this number, turns are of the kind that `fair` says; in a fair queue those up to noted_turn are settled.';

-- Name: COLUMN floors.lagging; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.floors.lagging IS 'Who has ready jobs below the marks all the same, and from where on.';

-- Name: COLUMN floors.crowded; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.floors.crowded IS 'A claim found the window past the marks full of jobs that may not start.';

-- Name: floor_of(text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.floor_of(p_queue text, p_line integer DEFAULT 0) RETURNS penstock.floors
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: flow_jobs(uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.flow_jobs(p_job uuid, p_limit integer DEFAULT 1000) RETURNS TABLE(id uuid, parent uuid, kind text, phase text, name text, state penstock.job_state, percent double precision, calls boolean, waits_for uuid[])
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fold_errors(bigint[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fold_errors(p_numbers bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fold_statistics(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fold_statistics() RETURNS integer
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: fold_usage(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.fold_usage() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: forget(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.forget(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: forget_artifact(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.forget_artifact(p_id uuid) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: forget_events(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.forget_events(p_limit integer DEFAULT 10000) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: forget_old(timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.forget_old(p_cutoff timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: front_turn(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.front_turn() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: payload_of(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.payload_of(p_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: history; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.history (
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    run_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    turn bigint NOT NULL,
    lease bigint,
    state penstock.job_state NOT NULL,
    priority integer NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    claims integer NOT NULL,
    snoozes integer NOT NULL,
    max_snoozes integer,
    error_count integer,
    weight real,
    awaited boolean NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    parent uuid,
    owner text,
    org text,
    unique_key text,
    limit_key text,
    quota text,
    phase text,
    args jsonb,
    progress jsonb,
    rollup jsonb,
    options jsonb,
    output jsonb
)
PARTITION BY RANGE (id);

-- Name: all_jobs; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.all_jobs WITH (security_invoker='true') AS
 SELECT id,
    queue,
    kind,
    state,
    priority,
    attempt,
    max_attempts,
    snoozes,
    max_snoozes,
    waiting_on,
    parent,
    owner,
    org,
    unique_key,
    limit_key,
    phase,
    weight,
    cancel_requested,
    COALESCE(args, penstock.payload_of(id)) AS args,
    progress,
    rollup,
        CASE
            WHEN (error_count IS NOT NULL) THEN penstock.errors_of(id)
            ELSE NULL::jsonb
        END AS errors,
    options,
    output,
    lease,
    claims,
    created_at,
    run_at,
    started_at,
    finished_at,
    parked_since,
    parked_reason,
    error_count
   FROM ( SELECT jobs.id,
            jobs.queue,
            jobs.kind,
            jobs.state,
            jobs.priority,
            jobs.attempt,
            jobs.max_attempts,
            jobs.snoozes,
            jobs.max_snoozes,
            jobs.waiting_on,
            jobs.parent,
            jobs.owner,
            jobs.org,
            jobs.unique_key,
            jobs.limit_key,
            jobs.phase,
            jobs.weight,
            jobs.cancel_requested,
            jobs.args,
            jobs.progress,
            jobs.rollup,
            jobs.error_count,
            jobs.options,
            NULL::jsonb AS output,
            jobs.lease,
            jobs.claims,
            jobs.created_at,
            jobs.run_at,
            jobs.started_at,
            NULL::timestamp with time zone AS finished_at,
                CASE
                    WHEN (jobs.state <> 'running'::penstock.job_state) THEN jobs.parked_since
                    ELSE NULL::timestamp with time zone
                END AS parked_since,
                CASE
                    WHEN (jobs.state <> 'running'::penstock.job_state) THEN jobs.parked_reason
                    ELSE NULL::text
                END AS parked_reason
           FROM penstock.jobs
        UNION ALL
         SELECT history.id,
            history.queue,
            history.kind,
            history.state,
            history.priority,
            history.attempt,
            history.max_attempts,
            history.snoozes,
            history.max_snoozes,
            0,
            history.parent,
            history.owner,
            history.org,
            history.unique_key,
            history.limit_key,
            history.phase,
            history.weight,
            false,
            history.args,
            history.progress,
            history.rollup,
            history.error_count,
            history.options,
            history.output,
            history.lease,
            history.claims,
            history.created_at,
            history.run_at,
            history.started_at,
            history.finished_at,
            NULL::timestamp with time zone,
            NULL::text
           FROM penstock.history) found;

-- Name: get_job(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.get_job(p_id uuid) RETURNS SETOF penstock.all_jobs
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: shown_error(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.shown_error(p_id uuid) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off';

-- Name: my_jobs; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.my_jobs WITH (security_invoker='true') AS
 SELECT id,
    queue,
    kind,
    state,
    priority,
    attempt,
    max_attempts,
    snoozes,
    waiting_on,
    parent,
    owner,
    org,
    phase,
    weight,
    cancel_requested,
    COALESCE(args, penstock.payload_of(id)) AS args,
    progress,
    rollup,
    output,
        CASE
            WHEN (state = ANY (ARRAY['failed'::penstock.job_state, 'cancelled'::penstock.job_state])) THEN penstock.shown_error(id)
            ELSE NULL::text
        END AS error,
    created_at,
    run_at,
    started_at,
    finished_at
   FROM ( SELECT jobs.id,
            jobs.queue,
            jobs.kind,
            jobs.state,
            jobs.priority,
            jobs.attempt,
            jobs.max_attempts,
            jobs.snoozes,
            jobs.waiting_on,
            jobs.parent,
            jobs.owner,
            jobs.org,
            jobs.phase,
            jobs.weight,
            jobs.cancel_requested,
            jobs.args,
            jobs.progress,
            jobs.rollup,
            NULL::jsonb AS output,
            jobs.created_at,
            jobs.run_at,
            jobs.started_at,
            NULL::timestamp with time zone AS finished_at
           FROM penstock.jobs
        UNION ALL
         SELECT history.id,
            history.queue,
            history.kind,
            history.state,
            history.priority,
            history.attempt,
            history.max_attempts,
            history.snoozes,
            0,
            history.parent,
            history.owner,
            history.org,
            history.phase,
            history.weight,
            false,
            history.args,
            history.progress,
            history.rollup,
            history.output,
            history.created_at,
            history.run_at,
            history.started_at,
            history.finished_at
           FROM penstock.history) found;

-- Name: get_my_job(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.get_my_job(p_id uuid) RETURNS SETOF penstock.my_jobs
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: give_back(uuid[], boolean, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.give_back(p_ids uuid[], p_costs_attempt boolean, p_error text DEFAULT NULL::text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: hand_over(penstock.jobs); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.hand_over(p_job penstock.jobs) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: hand_to(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.hand_to(p_queue text) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: has_ended(xid8, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.has_ended(p_horizon xid8, p_noted_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: heartbeat(bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.heartbeat(p_lease bigint) RETURNS TABLE(alive boolean, cancelling uuid[], seconds double precision)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: hold_removed(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.hold_removed(p_id uuid) RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: holds(bigint, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.holds(p_lease bigint, p_id uuid, p_claims integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: is_being_written(penstock.artifacts); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.is_being_written(p_artifact penstock.artifacts) RETURNS boolean
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: is_callers(text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.is_callers(p_owner text, p_org text) RETURNS boolean
    LANGUAGE sql STABLE;

-- Name: is_large(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.is_large(p_args jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE;

-- Name: is_uploading(bigint, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.is_uploading(p_upload bigint, p_id uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: is_writing(bigint, uuid, integer, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.is_writing(p_lease bigint, p_job uuid, p_claims integer, p_id uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: job_of_user(text, jsonb, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.job_of_user(p_kind text, p_args jsonb, p_owner text, p_org text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: job_tree(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.job_tree(p_job uuid) RETURNS TABLE(id uuid, kind text, state penstock.job_state)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: key_allowance(penstock.queues, text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.key_allowance(p_queue penstock.queues, p_key text, p_running jsonb, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: known_paths(text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.known_paths(p_paths text[]) RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: last_progress(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.last_progress(p_progress jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: lead(bigint, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lead(p_lease bigint, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: list_artifacts(text, text, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.list_artifacts(p_owner text, p_org text, p_before uuid, p_limit integer) RETURNS SETOF penstock.artifacts
    LANGUAGE sql STABLE;

-- Name: list_jobs(jsonb, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.list_jobs(p_filter jsonb DEFAULT '{}'::jsonb, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS SETOF penstock.all_jobs
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: list_my_jobs(jsonb, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.list_my_jobs(p_filter jsonb DEFAULT '{}'::jsonb, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS SETOF penstock.my_jobs
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    SET enable_bitmapscan TO 'on'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: lock(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lock(p_name text) RETURNS void
    LANGUAGE plpgsql;

-- Name: lock_flows(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lock_flows(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

-- Name: lock_limits(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lock_limits(p_queue text) RETURNS void
    LANGUAGE plpgsql;

-- Name: lock_mailbox(text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lock_mailbox(p_event text, p_key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: lock_quotas(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lock_quotas() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: lose_sight(bigint, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lose_sight(p_lease bigint, p_backend integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: lower_floors(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.lower_floors() RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: maintain(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.maintain() RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: move_jobs(uuid[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.move_jobs(p_ids uuid[], p_queue text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: new_job(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.new_job(p_job jsonb) RETURNS penstock.jobs
    LANGUAGE plpgsql;

-- Name: next_run_at(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.next_run_at() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: next_turn(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.next_turn() RETURNS bigint
    LANGUAGE sql;

-- Name: note_depths(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.note_depths() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: note_ended(uuid[], penstock.job_state, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.note_ended(p_ids uuid[], p_state penstock.job_state, p_message text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: numbered_clock(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.numbered_clock() RETURNS timestamp with time zone
    LANGUAGE sql;

-- Name: open_lease(text, double precision, text[], text, integer, text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.open_lease(p_worker text, p_seconds double precision DEFAULT NULL::double precision, p_queues text[] DEFAULT '{}'::text[], p_host text DEFAULT NULL::text, p_pid integer DEFAULT NULL::integer, p_kinds text[] DEFAULT NULL::text[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: operate(text, jsonb, uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.operate(p_action text, p_options jsonb, p_ids uuid[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: operation_filter(text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.operation_filter(p_action text, p_filter jsonb, p_now timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: outputs(bigint, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.outputs(p_lease bigint, p_id uuid, p_claims integer) RETURNS TABLE(id uuid, name text, kind text, phase text, state penstock.job_state, args jsonb, output jsonb)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: own_name(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.own_name(p_name text) RETURNS text
    LANGUAGE sql IMMUTABLE;

-- Name: park(bigint, uuid[], integer[], text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.park(p_lease bigint, p_ids uuid[], p_claims integer[], p_reasons text[]) RETURNS TABLE(id uuid, state penstock.job_state, run_at timestamp with time zone)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: parked_jobs(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.parked_jobs() RETURNS TABLE(queue text, kind text, jobs bigint, since timestamp with time zone, reason text)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: partitions_of(regclass); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.partitions_of(p_table regclass) RETURNS TABLE(name regclass, lowest uuid, past uuid)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: pause_schedule(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.pause_schedule(p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: payload_text(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.payload_text(p_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: pick_by_member(text, integer, integer, penstock.floors, text[], text, penstock.queues, jsonb, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.pick_by_member(p_queue text, p_line integer, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_settings penstock.queues, p_running jsonb, p_now timestamp with time zone) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: pick_limited(penstock.queues, integer, penstock.floors, text[], text, timestamp with time zone, boolean, penstock.floors); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.pick_limited(p_queue penstock.queues, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_now timestamp with time zone, p_under_quota boolean, p_quota_floor penstock.floors) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off';

-- Name: pick_ready(text, integer, integer[], bigint[], uuid[], text[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.pick_ready(p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan';

-- Name: plan_schedule(text, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.plan_schedule(p_name text, p_next timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: preview_operation(text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.preview_operation(p_action text, p_filter jsonb) RETURNS TABLE(jobs integer, exact boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: progress_again(jsonb, jsonb, text, integer, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.progress_again(p_progress jsonb, p_rollup jsonb, p_reason text, p_attempt integer DEFAULT NULL::integer, p_attempts integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: promote(integer, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.promote(p_limit integer DEFAULT 1000, p_everywhere boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: purge_where(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.purge_where(p_filter jsonb DEFAULT '{}'::jsonb) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: queue_names(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.queue_names() RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: queue_overview(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.queue_overview(p_most integer DEFAULT 10000) RETURNS TABLE(name text, paused boolean, settings jsonb, blocked bigint, scheduled bigint, ready bigint, running bigint, oldest_ready_seconds double precision, exact boolean)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: queue_stats(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.queue_stats() RETURNS TABLE(name text, paused boolean, settings jsonb, blocked bigint, scheduled bigint, ready bigint, running bigint, oldest_ready_seconds double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: time_floors; Type: TABLE; Schema: penstock; Owner: -
CREATE UNLOGGED TABLE penstock.time_floors (
    number bigint NOT NULL,
    raised_at timestamp with time zone NOT NULL,
    due_since timestamp with time zone NOT NULL,
    started_since timestamp with time zone NOT NULL,
    waiting_since bigint NOT NULL,
    started_before uuid[] NOT NULL,
    started_by text[] NOT NULL
);

-- Name: COLUMN time_floors.started_by; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.time_floors.started_by IS 'Whose they are, of those under a quota.';

-- Name: quota_allowance(text, text, penstock.time_floors); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.quota_allowance(p_quota text, p_owner text, p_floor penstock.time_floors) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: raise_floor(text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.raise_floor(p_queue text, p_line integer DEFAULT 0) RETURNS penstock.floors
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: raise_floors(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.raise_floors(p_most integer DEFAULT 20) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: horizons; Type: TABLE; Schema: penstock; Owner: -
CREATE UNLOGGED TABLE penstock.horizons (
    number bigint NOT NULL,
    raised_at timestamp with time zone NOT NULL,
    settled bigint,
    settled_turn bigint,
    settled_at timestamp with time zone,
    settled_waiting bigint,
    noted bigint,
    noted_turn bigint,
    noted_at timestamp with time zone,
    noted_waiting bigint,
    horizon xid8
);

-- Name: COLUMN horizons.horizon; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.horizons.horizon IS 'When all transactions below this number have ended, what was noted is settled.';

-- Name: raise_horizon(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.raise_horizon() RETURNS penstock.horizons
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: raise_time_floor(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.raise_time_floor() RETURNS penstock.time_floors
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: ready_jobs(text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.ready_jobs(p_queue text, p_most integer, OUT jobs integer, OUT oldest timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: ready_past(text, integer, integer[], bigint[], uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.ready_past(p_queue text, p_line integer, p_priorities integer[], p_turns bigint[], p_ids uuid[]) RETURNS TABLE(id uuid, run_at timestamp with time zone, priority integer, turn bigint, kind text, owner text, quota text, limit_key text)
    LANGUAGE sql STABLE;

-- Name: recall_steps(bigint, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.recall_steps(p_lease bigint, p_id uuid, p_claims integer) RETURNS TABLE(name text, output jsonb, kind text, number integer, version integer, waits boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: reclaim(boolean, bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.reclaim(p_everywhere boolean DEFAULT false, p_lease bigint DEFAULT NULL::bigint) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: recount(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.recount(p_flow uuid) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: recount_edges(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.recount_edges(p_id uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: refuse_blobs(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.refuse_blobs(p_args jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: refuse_others(bigint, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.refuse_others(p_lease bigint, p_id uuid, p_claims integer) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: refuse_storage(bigint, bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.refuse_storage(p_used bigint, p_storage bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: release(bigint, uuid[], integer[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.release(p_lease bigint, p_ids uuid[], p_claims integer[] DEFAULT NULL::integer[]) RETURNS SETOF uuid
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: release_unknown(bigint, uuid[], double precision); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.release_unknown(p_lease bigint, p_known uuid[], p_seconds double precision DEFAULT 0) RETURNS SETOF uuid
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: remember_step(bigint, uuid, integer, text, jsonb, text, integer, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.remember_step(p_lease bigint, p_id uuid, p_claims integer, p_name text, p_output jsonb, p_kind text DEFAULT 'step'::text, p_number integer DEFAULT NULL::integer, p_version integer DEFAULT NULL::integer) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: remove_artifacts(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.remove_artifacts(p_ids uuid[]) RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: remove_schedule(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.remove_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: renew_waiting(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.renew_waiting() RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: report_progress(bigint, uuid[], integer[], jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.report_progress(p_lease bigint, p_ids uuid[], p_claims integer[], p_progress jsonb) RETURNS TABLE(id uuid, cancel_requested boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: report_statistics(bigint, jsonb, jsonb, bigint, double precision, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.report_statistics(p_lease bigint, p_runs jsonb DEFAULT '[]'::jsonb, p_errors jsonb DEFAULT '[]'::jsonb, p_memory bigint DEFAULT NULL::bigint, p_load double precision DEFAULT NULL::double precision, p_slots integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: reported_before(bigint, uuid[], integer[], text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.reported_before(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors text[]) RETURNS TABLE(id uuid, state penstock.job_state, run_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: reported_runs(bigint[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.reported_runs(p_numbers bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(at timestamp with time zone, queue text, kind text, succeeded bigint, failed bigint, retried bigint, cancelled bigint, waited bigint[], ran bigint[], waited_seconds double precision, ran_seconds double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: requeue(uuid[], text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.requeue(p_ids uuid[], p_queue text, p_priority integer) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: resume_schedule(text, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.resume_schedule(p_name text, p_next timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: retake_turns(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.retake_turns(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: retry(uuid[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.retry(p_ids uuid[], p_queue text DEFAULT NULL::text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: retry_mine(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.retry_mine(p_id uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: retry_where(jsonb, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.retry_where(p_filter jsonb DEFAULT '{}'::jsonb, p_queue text DEFAULT NULL::text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: rollup_add(jsonb, jsonb, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.rollup_add(p_rollup jsonb, p_amounts jsonb, p_ended jsonb DEFAULT '{}'::jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: rollup_progress(jsonb, jsonb, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.rollup_progress(p_rollup jsonb, p_before jsonb DEFAULT NULL::jsonb, p_message text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: run_schedule(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.run_schedule(p_name text) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: running_jobs(text, bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.running_jobs(p_queue text DEFAULT NULL::text, p_lease bigint DEFAULT NULL::bigint) RETURNS SETOF penstock.jobs
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: scale_of(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.scale_of(p_queue text) RETURNS TABLE(paused boolean, ready bigint, running bigint, oldest_ready_seconds double precision, workers bigint)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: search_jobs(jsonb, uuid, integer, integer, integer, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.search_jobs(p_filter jsonb DEFAULT '{}'::jsonb, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50, p_most integer DEFAULT 20000, p_ms integer DEFAULT 50, p_after uuid DEFAULT NULL::uuid) RETURNS TABLE(ids uuid[], next uuid, back_to timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashagg TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: set_expiry(bigint, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.set_expiry(p_lease bigint, p_expires_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: set_priority(uuid[], integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.set_priority(p_ids uuid[], p_priority integer) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: set_queue(text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.set_queue(p_name text, p_settings jsonb DEFAULT '{}'::jsonb) RETURNS penstock.queues
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: set_quota(text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.set_quota(p_name text, p_limits jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: set_schedule(text, text, text, jsonb, text, text, jsonb, text, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.set_schedule(p_name text, p_cron text, p_kind text, p_args jsonb DEFAULT '{}'::jsonb, p_tz text DEFAULT 'UTC'::text, p_catch_up text DEFAULT 'one'::text, p_options jsonb DEFAULT '{}'::jsonb, p_source text DEFAULT 'database'::text, p_next timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS penstock.schedules
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: settle(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.settle(p_finished uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off';

-- Name: shown(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.shown(p_errors jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE;

-- Name: snooze(bigint, uuid[], integer[], double precision[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.snooze(p_lease bigint, p_ids uuid[], p_claims integer[], p_seconds double precision[]) RETURNS TABLE(id uuid, state penstock.job_state, run_at timestamp with time zone)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: sorted_json(jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.sorted_json(p_value jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: stale_artifacts(double precision, uuid, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.stale_artifacts(p_grace double precision, p_after uuid, p_limit integer) RETURNS SETOF uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: start(text, jsonb, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.start(p_kind text, p_args jsonb DEFAULT '{}'::jsonb, p_org text DEFAULT NULL::text, p_idempotency_key text DEFAULT NULL::text) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: start_batch(jsonb, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.start_batch(p_jobs jsonb, p_org text DEFAULT NULL::text, p_idempotency_key text DEFAULT NULL::text) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: start_for(text, text, jsonb, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.start_for(p_owner text, p_quota text, p_jobs jsonb, p_by_user boolean DEFAULT false) RETURNS TABLE(id uuid, created boolean)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: operations; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.operations (
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    cursor uuid,
    total integer NOT NULL,
    total_is_exact boolean NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    action text NOT NULL,
    who text NOT NULL,
    filter jsonb NOT NULL,
    options jsonb NOT NULL,
    error text,
    CONSTRAINT action_is_known CHECK ((action = ANY (ARRAY['retry'::text, 'cancel'::text, 'purge'::text, 'move'::text, 'set_priority'::text]))),
    CONSTRAINT state_is_known CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text, 'failed'::text])))
)
WITH (fillfactor='50');

-- Name: COLUMN operations.total; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.operations.total IS 'How many jobs fitted when it began, counted no further than ten thousand.';

-- Name: COLUMN operations.done; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.operations.done IS 'How many jobs it has changed.';

-- Name: start_operation(uuid, text, jsonb, jsonb, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.start_operation(p_id uuid, p_action text, p_filter jsonb, p_options jsonb, p_who text) RETURNS SETOF penstock.operations
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: starts_left(text, text, integer, interval, timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.starts_left(p_queue text, p_key text, p_rate integer, p_period interval, p_now timestamp with time zone) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: statistics_series(timestamp with time zone, integer, text, text, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.statistics_series(p_since timestamp with time zone, p_step integer, p_queue text DEFAULT NULL::text, p_kind text DEFAULT NULL::text, p_each boolean DEFAULT false) RETURNS TABLE(at timestamp with time zone, queue text, succeeded bigint, failed bigint, retried bigint, cancelled bigint, waited bigint[], ran bigint[], waited_seconds double precision, ran_seconds double precision)
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: steps_of(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.steps_of(p_job uuid) RETURNS TABLE(name text, output jsonb, done_at timestamp with time zone, kind text, waits boolean, until timestamp with time zone, jobs jsonb)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: stop_cancelled(bigint, uuid[], integer[], text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.stop_cancelled(p_lease bigint, p_ids uuid[], p_claims integer[], p_reason text DEFAULT 'cancelled'::text) RETURNS SETOF uuid
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: stop_waiting(bigint, text[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.stop_waiting(p_lease bigint, p_queues text[] DEFAULT NULL::text[]) RETURNS void
    LANGUAGE sql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: store_artifact(bigint, uuid, integer, uuid, bigint, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.store_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) RETURNS SETOF penstock.artifacts
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: stored_bytes(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.stored_bytes(p_owner text) RETURNS bigint
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: sum_of_buckets(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.sum_of_buckets(p_column text) RETURNS text
    LANGUAGE sql IMMUTABLE;

-- Name: sum_usage(date, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.sum_usage(p_since date, p_org text DEFAULT NULL::text) RETURNS TABLE(by text, name text, runs bigint, seconds double precision, failures bigint, bytes bigint)
    LANGUAGE sql STABLE
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: suspend(bigint, uuid, integer, jsonb, jsonb, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.suspend(p_lease bigint, p_id uuid, p_claims integer, p_step jsonb, p_calls jsonb DEFAULT NULL::jsonb, p_progress jsonb DEFAULT NULL::jsonb) RETURNS TABLE(state penstock.job_state, run_at timestamp with time zone, output jsonb)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_approval(uuid, text, boolean, text, text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_approval(p_job uuid, p_step text, p_approved boolean, p_who text, p_comment text, p_owner text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_back(penstock.jobs); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_back(p_flow penstock.jobs) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_callback(uuid, text, text, jsonb); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_callback(p_job uuid, p_step text, p_event text, p_payload jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_event(text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_event(p_event text, p_key text) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_idempotency_key(text, boolean, text, uuid, bytea, double precision); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_idempotency_key(p_owner text, p_of_user boolean, p_key text, p_job uuid, p_fingerprint bytea, p_ttl double precision) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_lost(integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_lost(p_limit integer DEFAULT 100) RETURNS TABLE(job jsonb, queue text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_quota(text, text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_quota(p_owner text, p_quota text, p_started integer) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: take_turns(text, text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.take_turns(p_queue text, p_key text, p_jobs integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: tell_it_runs(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.tell_it_runs(p_id uuid) RETURNS integer
    LANGUAGE plpgsql;

-- Name: tell_watchers(uuid[]); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.tell_watchers(p_ids uuid[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: tend(bigint); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.tend(p_lease bigint) RETURNS TABLE(leads boolean, due_in double precision, operating boolean, lost boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: time_floor(); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.time_floor() RETURNS penstock.time_floors
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: time_of_uuid7(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.time_of_uuid7(p_id uuid) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE;

-- Name: try_lock(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.try_lock(p_name text) RETURNS boolean
    LANGUAGE plpgsql;

-- Name: turn_served(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.turn_served(p_queue text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: unblock(penstock.jobs); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.unblock(p_job penstock.jobs) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: under_quota(text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.under_quota(p_queue text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: unpark(text[], text[], integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.unpark(p_kinds text[], p_queues text[] DEFAULT '{}'::text[], p_limit integer DEFAULT 10000) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: uuid7(timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.uuid7(p_at timestamp with time zone DEFAULT clock_timestamp()) RETURNS uuid
    LANGUAGE sql;

-- Name: uuid7_floor(timestamp with time zone); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.uuid7_floor(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE;

-- Name: uuid_of_prefix(text, text); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.uuid_of_prefix(p_prefix text, p_digit text) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: wait_for_work(bigint, text[], integer, boolean); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.wait_for_work(p_lease bigint, p_queues text[], p_backend integer DEFAULT pg_backend_pid(), p_direct boolean DEFAULT false) RETURNS double precision
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: wake(text, integer); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.wake(p_queue text, p_jobs integer DEFAULT 1) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: watch(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.watch(p_id uuid) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: withdraw_artifact(bigint, integer, uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.withdraw_artifact(p_lease bigint, p_claims integer, p_id uuid) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: workers(uuid); Type: FUNCTION; Schema: penstock; Owner: -
CREATE FUNCTION penstock.workers(p_job uuid DEFAULT NULL::uuid) RETURNS TABLE(lease bigint, worker text, host text, pid integer, queues text[], started_at timestamp with time zone, heard_at timestamp with time zone, running jsonb, memory bigint, load real, slots integer)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'pg_temp';

-- Name: application_migrations; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.application_migrations (
    application text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

-- Name: artifacts_view; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.artifacts_view WITH (security_invoker='true') AS
 SELECT id,
    job,
    kind,
    owner,
    org,
    name,
    type,
    path,
    content_type,
    size,
    duration,
    digest,
    metadata,
    state,
    downloads,
    created_at,
    stored_at,
    expires_at
   FROM penstock.artifacts;

-- Name: VIEW artifacts_view; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON VIEW penstock.artifacts_view IS 'Every file of jobs and uploads. Stable: columns are only ever added.';

-- Name: audit; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.audit (
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    jobs integer,
    who text NOT NULL,
    action text NOT NULL,
    target text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

-- Name: COLUMN audit.jobs; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.audit.jobs IS 'How many it changed; null where that is not known yet: a line of the same operation follows when it ends.';

-- Name: audit_number_seq; Type: SEQUENCE; Schema: penstock; Owner: -
ALTER TABLE penstock.audit ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.audit_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: channels; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.channels (
    only_row boolean DEFAULT true NOT NULL,
    secret uuid DEFAULT gen_random_uuid() NOT NULL,
    wake text GENERATED ALWAYS AS ((('penstock.'::text || (secret)::text) || '.wake'::text)) STORED NOT NULL,
    hand text GENERATED ALWAYS AS ((('penstock.'::text || (secret)::text) || '.hand'::text)) STORED NOT NULL,
    cancel text GENERATED ALWAYS AS ((('penstock.'::text || (secret)::text) || '.cancel'::text)) STORED NOT NULL,
    job text GENERATED ALWAYS AS ((('penstock.'::text || (secret)::text) || '.job'::text)) STORED NOT NULL,
    CONSTRAINT there_is_one_secret CHECK (only_row)
);

-- Name: declared_queues; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.declared_queues (
    queue text NOT NULL,
    settings jsonb NOT NULL
);

-- Name: depths; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.depths (
    at timestamp with time zone NOT NULL,
    queue text NOT NULL,
    ready integer NOT NULL,
    running integer NOT NULL,
    oldest_ready_seconds double precision
);

-- Name: COLUMN depths.ready; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.depths.ready IS 'Counted no further than a hundred thousand.';

-- Name: edges; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.edges (
    job uuid NOT NULL,
    waits_for uuid NOT NULL
);

-- Name: errors; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.errors (
    id uuid NOT NULL,
    number integer NOT NULL,
    error jsonb NOT NULL
)
PARTITION BY RANGE (id);

-- Name: COLUMN errors.id; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.errors.id IS 'The job''s.';

-- Name: errors_strays; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.errors_strays (
    id uuid CONSTRAINT errors_id_not_null NOT NULL,
    number integer CONSTRAINT errors_number_not_null NOT NULL,
    error jsonb CONSTRAINT errors_error_not_null NOT NULL
);

-- Name: events; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.events (
    id uuid NOT NULL,
    event text NOT NULL,
    key text NOT NULL,
    payload jsonb,
    emitted_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

-- Name: failures; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.failures (
    hour timestamp with time zone NOT NULL,
    id uuid NOT NULL,
    last_at timestamp with time zone NOT NULL,
    example uuid,
    attempts bigint NOT NULL,
    jobs bigint NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    type text,
    message text NOT NULL
)
WITH (fillfactor='50');

-- Name: COLUMN failures.id; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.failures.id IS 'Made of kind and message.';

-- Name: COLUMN failures.jobs; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.failures.jobs IS 'Those that were given up; `attempts` counts every attempt that failed.';

-- Name: floor_numbers; Type: SEQUENCE; Schema: penstock; Owner: -
CREATE SEQUENCE penstock.floor_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: heartbeats; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.heartbeats (
    lease bigint NOT NULL,
    number bigint DEFAULT 1 NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

-- Name: history_strays; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.history_strays (
    id uuid CONSTRAINT history_id_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT history_created_at_not_null NOT NULL,
    run_at timestamp with time zone CONSTRAINT history_run_at_not_null NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT history_finished_at_not_null NOT NULL,
    turn bigint CONSTRAINT history_turn_not_null NOT NULL,
    lease bigint,
    state penstock.job_state CONSTRAINT history_state_not_null NOT NULL,
    priority integer CONSTRAINT history_priority_not_null NOT NULL,
    attempt integer CONSTRAINT history_attempt_not_null NOT NULL,
    max_attempts integer CONSTRAINT history_max_attempts_not_null NOT NULL,
    claims integer CONSTRAINT history_claims_not_null NOT NULL,
    snoozes integer CONSTRAINT history_snoozes_not_null NOT NULL,
    max_snoozes integer,
    error_count integer,
    weight real,
    awaited boolean CONSTRAINT history_awaited_not_null NOT NULL,
    queue text CONSTRAINT history_queue_not_null NOT NULL,
    kind text CONSTRAINT history_kind_not_null NOT NULL,
    parent uuid,
    owner text,
    org text,
    unique_key text,
    limit_key text,
    quota text,
    phase text,
    args jsonb,
    progress jsonb,
    rollup jsonb,
    options jsonb,
    output jsonb
);

-- Name: idempotency_keys; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.idempotency_keys (
    owner text NOT NULL,
    key text NOT NULL,
    of_user boolean DEFAULT false NOT NULL,
    job uuid NOT NULL,
    fingerprint bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

-- Name: COLUMN idempotency_keys.of_user; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.idempotency_keys.of_user IS 'A user''s own keys, and those of whoever starts jobs on their behalf, have nothing to do with each other.';

-- Name: leases; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.leases (
    id bigint NOT NULL,
    worker text NOT NULL,
    host text,
    pid integer,
    queues text[] DEFAULT '{}'::text[] NOT NULL,
    kinds text[],
    length interval NOT NULL,
    started_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone
);

-- Name: COLUMN leases.kinds; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.leases.kinds IS 'What its worker has handlers of; null: it does not say.';

-- Name: leases_now; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.leases_now WITH (security_invoker='true') AS
 SELECT id,
    worker,
    host,
    pid,
    queues,
    kinds,
    length,
    started_at,
    COALESCE(( SELECT h.expires_at
           FROM penstock.heartbeats h
          WHERE (h.lease = l.id)
          ORDER BY h.number DESC
         LIMIT 1), '-infinity'::timestamp with time zone) AS expires_at
   FROM penstock.leases l;

-- Name: jobs_view; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.jobs_view WITH (security_invoker='true') AS
 SELECT j.id,
    j.queue,
    j.kind,
    j.state,
    j.priority,
    j.attempt,
    j.max_attempts,
    j.snoozes,
    j.claims,
    j.parent,
    j.owner,
    j.org,
    j.args,
    j.progress,
    j.output,
    j.errors,
    j.cancel_requested,
    l.worker,
        CASE
            WHEN (j.finished_at IS NULL) THEN l.expires_at
            ELSE NULL::timestamp with time zone
        END AS leased_until,
    j.created_at,
    j.run_at,
    j.started_at,
    j.finished_at
   FROM (penstock.all_jobs j
     LEFT JOIN penstock.leases_now l ON ((l.id = j.lease)));

-- Name: VIEW jobs_view; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON VIEW penstock.jobs_view IS 'Every job, live or ended. Stable: columns are only ever added.';

-- Name: kinds; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.kinds (
    kind text NOT NULL,
    template jsonb NOT NULL,
    is_unique boolean DEFAULT false NOT NULL,
    quota text,
    declared_with text[] DEFAULT '{}'::text[] NOT NULL
);

-- Name: COLUMN kinds.template; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.kinds.template IS 'The fields of a job that its starter does not choose: queue, priority, max_attempts, options...';

-- Name: COLUMN kinds.is_unique; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.kinds.is_unique IS 'While a job of the same owner with the same arguments is unfinished, it stands for further ones.';

-- Name: COLUMN kinds.declared_with; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.kinds.declared_with IS 'What else the application had handlers of that opened the kind: by that it is known again when it has dropped this one.';

-- Name: leader; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.leader (
    lease bigint NOT NULL,
    until timestamp with time zone NOT NULL,
    number bigint NOT NULL
);

-- Name: leases_id_seq; Type: SEQUENCE; Schema: penstock; Owner: -
ALTER TABLE penstock.leases ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.leases_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: live_jobs_view; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.live_jobs_view WITH (security_invoker='true') AS
 SELECT j.id,
    j.queue,
    j.kind,
    j.state,
    j.priority,
    j.attempt,
    j.max_attempts,
    j.snoozes,
    j.claims,
    j.parent,
    j.owner,
    j.org,
    COALESCE(j.args, penstock.payload_of(j.id)) AS args,
    j.progress,
    NULL::jsonb AS output,
        CASE
            WHEN (j.error_count IS NOT NULL) THEN penstock.errors_of(j.id)
            ELSE NULL::jsonb
        END AS errors,
    j.cancel_requested,
    l.worker,
    l.expires_at AS leased_until,
    j.created_at,
    j.run_at,
    j.started_at,
    NULL::timestamp with time zone AS finished_at
   FROM (penstock.jobs j
     LEFT JOIN penstock.leases_now l ON ((l.id = j.lease)));

-- Name: VIEW live_jobs_view; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON VIEW penstock.live_jobs_view IS 'The jobs that have not ended. Stable: columns are only ever added.';

-- Name: locks; Type: TABLE; Schema: penstock; Owner: -
CREATE UNLOGGED TABLE penstock.locks (
    name text NOT NULL
);

-- Name: lost_jobs; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.lost_jobs (
    number bigint NOT NULL,
    job uuid NOT NULL,
    at timestamp with time zone NOT NULL
);

-- Name: lost_jobs_number_seq; Type: SEQUENCE; Schema: penstock; Owner: -
ALTER TABLE penstock.lost_jobs ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.lost_jobs_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: mailboxes; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.mailboxes (
    event text NOT NULL,
    key text NOT NULL,
    used_at timestamp with time zone NOT NULL
);

-- Name: payloads; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.payloads (
    id uuid NOT NULL,
    owner text,
    org text,
    args json NOT NULL
)
PARTITION BY RANGE (id);

-- Name: COLUMN payloads.id; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.payloads.id IS 'The job''s.';

-- Name: payloads_strays; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.payloads_strays (
    id uuid CONSTRAINT payloads_id_not_null NOT NULL,
    owner text,
    org text,
    args json CONSTRAINT payloads_args_not_null NOT NULL
);

-- Name: quota_use; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.quota_use (
    owner text CONSTRAINT operations_owner_not_null NOT NULL,
    quota text CONSTRAINT operations_quota_not_null NOT NULL,
    day date CONSTRAINT operations_day_not_null NOT NULL,
    used integer CONSTRAINT operations_used_not_null NOT NULL
)
WITH (fillfactor='50');

-- Name: quotas; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.quotas (
    name text NOT NULL,
    per_day integer,
    running integer,
    unfinished integer,
    storage bigint,
    CONSTRAINT per_day_is_not_negative CHECK ((per_day >= 0)),
    CONSTRAINT running_is_positive CHECK ((running > 0)),
    CONSTRAINT storage_is_not_negative CHECK ((storage >= 0)),
    CONSTRAINT unfinished_is_positive CHECK ((unfinished > 0))
);

-- Name: reports; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.reports (
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    runs jsonb NOT NULL,
    errors jsonb NOT NULL
);

-- Name: reports_number_seq; Type: SEQUENCE; Schema: penstock; Owner: -
ALTER TABLE penstock.reports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.reports_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: schema_migrations; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    functions text,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

-- Name: settings; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.settings (
    only_row boolean DEFAULT true NOT NULL,
    history_kept interval DEFAULT '30 days'::interval NOT NULL,
    partition_length interval DEFAULT '1 day'::interval NOT NULL,
    partitions_ahead integer DEFAULT 3 NOT NULL,
    audit_kept interval DEFAULT '1 year'::interval NOT NULL,
    statistics_kept interval DEFAULT '14 days'::interval NOT NULL,
    CONSTRAINT audit_kept_is_positive CHECK ((audit_kept > '00:00:00'::interval)),
    CONSTRAINT history_kept_is_positive CHECK ((history_kept > '00:00:00'::interval)),
    CONSTRAINT partition_length_is_whole_days CHECK (((partition_length >= '1 day'::interval) AND (((EXTRACT(epoch FROM partition_length))::bigint % (86400)::bigint) = 0))),
    CONSTRAINT statistics_kept_is_positive CHECK ((statistics_kept > '00:00:00'::interval)),
    CONSTRAINT there_is_one_row CHECK (only_row)
);

-- Name: starts; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.starts (
    queue text NOT NULL,
    key text NOT NULL,
    bucket timestamp with time zone NOT NULL,
    jobs integer NOT NULL
)
WITH (fillfactor='50');

-- Name: statistics; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.statistics (
    seconds integer NOT NULL,
    at timestamp with time zone NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    retried bigint NOT NULL,
    cancelled bigint NOT NULL,
    waited bigint[] NOT NULL,
    ran bigint[] NOT NULL,
    waited_seconds double precision NOT NULL,
    ran_seconds double precision NOT NULL
)
WITH (fillfactor='50');

-- Name: COLUMN statistics.seconds; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.statistics.seconds IS 'The length of the step; 0 in the row of all that was counted ever, whose time is -infinity.';

-- Name: COLUMN statistics.failed; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.statistics.failed IS 'Given up; `retried` are the attempts that failed and are tried again.';

-- Name: COLUMN statistics.waited; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.statistics.waited IS 'How many first runs began so long after they were enqueued: below 1 ms, 2 ms, 4 ms and so on, by powers of two.';

-- Name: steps; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.steps (
    job uuid NOT NULL,
    name text NOT NULL,
    output jsonb,
    done_at timestamp with time zone NOT NULL,
    kind text DEFAULT 'step'::text NOT NULL,
    number integer,
    version integer
);

-- Name: COLUMN steps.kind; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.steps.kind IS 'step, sleep, call, event, approval or callback.';

-- Name: COLUMN steps.number; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.steps.number IS 'Which of the handler''s steps it was; null for one that ran beside others, whose order is nobody''s choice.';

-- Name: COLUMN steps.version; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.steps.version IS 'Of the handler that took it.';

-- Name: turns; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.turns (
    queue text NOT NULL,
    key text NOT NULL,
    turn bigint NOT NULL
);

-- Name: usage; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.usage (
    day date NOT NULL,
    org text NOT NULL,
    kind text NOT NULL,
    runs bigint NOT NULL,
    seconds double precision NOT NULL,
    failures bigint NOT NULL,
    bytes bigint NOT NULL
);

-- Name: usage_log; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.usage_log (
    day date CONSTRAINT usage_day_not_null NOT NULL,
    org text CONSTRAINT usage_org_not_null NOT NULL,
    kind text CONSTRAINT usage_kind_not_null NOT NULL,
    runs bigint CONSTRAINT usage_runs_not_null NOT NULL,
    seconds double precision CONSTRAINT usage_seconds_not_null NOT NULL,
    failures bigint CONSTRAINT usage_failures_not_null NOT NULL,
    bytes bigint CONSTRAINT usage_bytes_not_null NOT NULL
);

-- Name: usage_so_far; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.usage_so_far WITH (security_invoker='true') AS
 SELECT day,
    org,
    kind,
    (sum(runs))::bigint AS runs,
    sum(seconds) AS seconds,
    (sum(failures))::bigint AS failures,
    (sum(bytes))::bigint AS bytes
   FROM ( SELECT usage.day,
            usage.org,
            usage.kind,
            usage.runs,
            usage.seconds,
            usage.failures,
            usage.bytes
           FROM penstock.usage
        UNION ALL
         SELECT usage_log.day,
            usage_log.org,
            usage_log.kind,
            usage_log.runs,
            usage_log.seconds,
            usage_log.failures,
            usage_log.bytes
           FROM penstock.usage_log) counted
  GROUP BY day, org, kind;

-- Name: usage_sums; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.usage_sums (
    day date NOT NULL,
    by text NOT NULL,
    name text NOT NULL,
    runs bigint NOT NULL,
    seconds double precision NOT NULL,
    failures bigint NOT NULL,
    bytes bigint NOT NULL
);

-- Name: COLUMN usage_sums.by; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.usage_sums.by IS 'org or kind, of that day; ever is the row of all days of a kind, whose day is -infinity.';

-- Name: vitals; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.vitals (
    lease bigint NOT NULL,
    number bigint NOT NULL,
    memory bigint NOT NULL,
    load real,
    slots integer
);

-- Name: COLUMN vitals.load; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.vitals.load IS 'Of one processor, how much it used of late.';

-- Name: waiting_numbers; Type: SEQUENCE; Schema: penstock; Owner: -
CREATE SEQUENCE penstock.waiting_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: waiting; Type: TABLE; Schema: penstock; Owner: -
CREATE UNLOGGED TABLE penstock.waiting (
    number bigint DEFAULT nextval('penstock.waiting_numbers'::regclass) NOT NULL,
    queue text NOT NULL,
    lease bigint NOT NULL,
    backend integer NOT NULL,
    direct boolean DEFAULT false NOT NULL
);

-- Name: COLUMN waiting.direct; Type: COMMENT; Schema: penstock; Owner: -
COMMENT ON COLUMN penstock.waiting.direct IS 'Whether an enqueue may hand a job straight to the worker, which then need not claim it.';

-- Name: waiting_now; Type: VIEW; Schema: penstock; Owner: -
CREATE VIEW penstock.waiting_now WITH (security_invoker='true') AS
 SELECT number,
    queue,
    lease,
    backend,
    direct
   FROM penstock.waiting
  WHERE (number >= COALESCE(( SELECT t.waiting_since
           FROM penstock.time_floors t
          ORDER BY t.number DESC
         LIMIT 1), (0)::bigint));

-- Name: waits; Type: TABLE; Schema: penstock; Owner: -
CREATE TABLE penstock.waits (
    job uuid NOT NULL,
    step text NOT NULL,
    event text NOT NULL,
    key text NOT NULL,
    since timestamp with time zone NOT NULL
);

-- Name: errors_strays; Type: TABLE ATTACH; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.errors ATTACH PARTITION penstock.errors_strays DEFAULT;

-- Name: history_strays; Type: TABLE ATTACH; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.history ATTACH PARTITION penstock.history_strays DEFAULT;

-- Name: payloads_strays; Type: TABLE ATTACH; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.payloads ATTACH PARTITION penstock.payloads_strays DEFAULT;

-- Name: application_migrations application_migrations_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.application_migrations
    ADD CONSTRAINT application_migrations_pkey PRIMARY KEY (application, number);

-- Name: artifacts artifacts_path; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.artifacts
    ADD CONSTRAINT artifacts_path UNIQUE (path);

-- Name: artifacts artifacts_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (id);

-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);

-- Name: channels channels_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (only_row);

-- Name: declared_queues declared_queues_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.declared_queues
    ADD CONSTRAINT declared_queues_pkey PRIMARY KEY (queue);

-- Name: depths depths_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.depths
    ADD CONSTRAINT depths_pkey PRIMARY KEY (at, queue);

-- Name: edges edges_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.edges
    ADD CONSTRAINT edges_pkey PRIMARY KEY (job, waits_for);

-- Name: errors errors_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.errors
    ADD CONSTRAINT errors_pkey PRIMARY KEY (id, number);

-- Name: errors_strays errors_strays_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.errors_strays
    ADD CONSTRAINT errors_strays_pkey PRIMARY KEY (id, number);

-- Name: events events_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

-- Name: failures failures_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.failures
    ADD CONSTRAINT failures_pkey PRIMARY KEY (hour, id);

-- Name: heartbeats heartbeats_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (lease, number);

-- Name: history history_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (id);

-- Name: history_strays history_strays_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.history_strays
    ADD CONSTRAINT history_strays_pkey PRIMARY KEY (id);

-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (owner, of_user, key);

-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

-- Name: kinds kinds_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.kinds
    ADD CONSTRAINT kinds_pkey PRIMARY KEY (kind);

-- Name: leader leader_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.leader
    ADD CONSTRAINT leader_pkey PRIMARY KEY (number);

-- Name: leases leases_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (id);

-- Name: locks locks_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (name);

-- Name: lost_jobs lost_jobs_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.lost_jobs
    ADD CONSTRAINT lost_jobs_pkey PRIMARY KEY (number);

-- Name: mailboxes mailboxes_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.mailboxes
    ADD CONSTRAINT mailboxes_pkey PRIMARY KEY (event, key);

-- Name: operations operations_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (id);

-- Name: payloads payloads_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.payloads
    ADD CONSTRAINT payloads_pkey PRIMARY KEY (id);

-- Name: payloads_strays payloads_strays_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.payloads_strays
    ADD CONSTRAINT payloads_strays_pkey PRIMARY KEY (id);

-- Name: queues queues_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

-- Name: quota_use quota_use_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.quota_use
    ADD CONSTRAINT quota_use_pkey PRIMARY KEY (owner, quota, day);

-- Name: quotas quotas_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (name);

-- Name: reports reports_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (number);

-- Name: schedules schedules_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (name);

-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

-- Name: settings settings_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (only_row);

-- Name: starts starts_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.starts
    ADD CONSTRAINT starts_pkey PRIMARY KEY (queue, key, bucket);

-- Name: statistics statistics_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.statistics
    ADD CONSTRAINT statistics_pkey PRIMARY KEY (seconds, queue, kind, at);

-- Name: steps steps_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (job, name);

-- Name: turns turns_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (queue, key, turn);

-- Name: usage usage_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (day, org, kind);

-- Name: usage_sums usage_sums_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.usage_sums
    ADD CONSTRAINT usage_sums_pkey PRIMARY KEY (day, by, name);

-- Name: vitals vitals_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.vitals
    ADD CONSTRAINT vitals_pkey PRIMARY KEY (lease, number);

-- Name: waiting waiting_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.waiting
    ADD CONSTRAINT waiting_pkey PRIMARY KEY (number);

-- Name: waits waits_pkey; Type: CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.waits
    ADD CONSTRAINT waits_pkey PRIMARY KEY (job, step);

-- Name: artifacts_expires_at; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX artifacts_expires_at ON penstock.artifacts USING btree (expires_at) WHERE (expires_at IS NOT NULL);

-- Name: artifacts_job; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX artifacts_job ON penstock.artifacts USING btree (job, id);

-- Name: artifacts_org; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX artifacts_org ON penstock.artifacts USING btree (org, id) WHERE (org IS NOT NULL);

-- Name: artifacts_owner; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX artifacts_owner ON penstock.artifacts USING btree (owner, id) WHERE (owner IS NOT NULL);

-- Name: artifacts_unsettled; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX artifacts_unsettled ON penstock.artifacts USING btree (created_at) WHERE (state <> 'stored'::text);

-- Name: audit_at; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX audit_at ON penstock.audit USING btree (at);

-- Name: edges_waits_for; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX edges_waits_for ON penstock.edges USING btree (waits_for);

-- Name: events_expired; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX events_expired ON penstock.events USING btree (expires_at);

-- Name: events_mailbox; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX events_mailbox ON penstock.events USING btree (event, key, id);

-- Name: floors_newest; Type: INDEX; Schema: penstock; Owner: -
CREATE UNIQUE INDEX floors_newest ON penstock.floors USING btree (queue, line, number DESC);

-- Name: history_given_up; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_given_up ON ONLY penstock.history USING btree (queue, id) WHERE (state = 'failed'::penstock.job_state);

-- Name: history_org; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_org ON ONLY penstock.history USING btree (org, id) WHERE (org IS NOT NULL);

-- Name: history_owner; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_owner ON ONLY penstock.history USING btree (owner, id) WHERE (owner IS NOT NULL);

-- Name: history_parent; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_parent ON ONLY penstock.history USING btree (parent) WHERE (parent IS NOT NULL);

-- Name: history_strays_org_id_idx; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_strays_org_id_idx ON penstock.history_strays USING btree (org, id) WHERE (org IS NOT NULL);

-- Name: history_strays_owner_id_idx; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_strays_owner_id_idx ON penstock.history_strays USING btree (owner, id) WHERE (owner IS NOT NULL);

-- Name: history_strays_parent_idx; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_strays_parent_idx ON penstock.history_strays USING btree (parent) WHERE (parent IS NOT NULL);

-- Name: history_strays_queue_id_idx; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX history_strays_queue_id_idx ON penstock.history_strays USING btree (queue, id) WHERE (state = 'failed'::penstock.job_state);

-- Name: horizons_newest; Type: INDEX; Schema: penstock; Owner: -
CREATE UNIQUE INDEX horizons_newest ON penstock.horizons USING btree (number DESC);

-- Name: idempotency_keys_expires_at; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX idempotency_keys_expires_at ON penstock.idempotency_keys USING btree (expires_at);

-- Name: jobs_blocked; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_blocked ON penstock.jobs USING btree (queue) WHERE (waiting_on > 0);

-- Name: jobs_org; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_org ON penstock.jobs USING btree (org, id) WHERE (org IS NOT NULL);

-- Name: jobs_owner; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_owner ON penstock.jobs USING btree (owner, id) WHERE (owner IS NOT NULL);

-- Name: jobs_parent; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_parent ON penstock.jobs USING btree (parent) WHERE (parent IS NOT NULL);

-- Name: jobs_parked; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_parked ON penstock.jobs USING btree (kind, queue) WHERE (parked_since IS NOT NULL);

-- Name: jobs_ready; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_ready ON penstock.jobs USING btree (queue, (((quota IS NOT NULL))::integer), priority DESC, turn, id) WHERE (state = 'ready'::penstock.job_state);

-- Name: jobs_ready_by_member; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_ready_by_member ON penstock.jobs USING btree (queue, COALESCE(quota, ''::text), (
CASE
    WHEN (quota IS NULL) THEN limit_key
    ELSE owner
END), priority DESC, turn, id) WHERE ((state = 'ready'::penstock.job_state) AND (
CASE
    WHEN (quota IS NULL) THEN limit_key
    ELSE owner
END IS NOT NULL));

-- Name: jobs_running; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_running ON penstock.jobs USING btree (lease, started_at) WHERE (state = 'running'::penstock.job_state);

-- Name: jobs_running_quota; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_running_quota ON penstock.jobs USING btree (quota, owner, started_at) WHERE ((state = 'running'::penstock.job_state) AND (quota IS NOT NULL));

-- Name: jobs_scheduled; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_scheduled ON penstock.jobs USING btree (run_at) WHERE (state = 'scheduled'::penstock.job_state);

-- Name: jobs_to_stop; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX jobs_to_stop ON penstock.jobs USING btree (lease) WHERE ((state = 'running'::penstock.job_state) AND cancel_requested);

-- Name: jobs_unique; Type: INDEX; Schema: penstock; Owner: -
CREATE UNIQUE INDEX jobs_unique ON penstock.jobs USING btree (kind, unique_key, COALESCE(owner, ''::text), COALESCE(org, ''::text)) WHERE (unique_key IS NOT NULL);

-- Name: operations_running; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX operations_running ON penstock.operations USING btree (id) WHERE (state = 'running'::text);

-- Name: statistics_at; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX statistics_at ON penstock.statistics USING btree (seconds, at);

-- Name: time_floors_newest; Type: INDEX; Schema: penstock; Owner: -
CREATE UNIQUE INDEX time_floors_newest ON penstock.time_floors USING btree (number DESC);

-- Name: waiting_queue; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX waiting_queue ON penstock.waiting USING btree (queue, number);

-- Name: waits_mailbox; Type: INDEX; Schema: penstock; Owner: -
CREATE INDEX waits_mailbox ON penstock.waits USING btree (event, key, since);

-- Name: errors_strays_pkey; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.errors_pkey ATTACH PARTITION penstock.errors_strays_pkey;

-- Name: history_strays_org_id_idx; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.history_org ATTACH PARTITION penstock.history_strays_org_id_idx;

-- Name: history_strays_owner_id_idx; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.history_owner ATTACH PARTITION penstock.history_strays_owner_id_idx;

-- Name: history_strays_parent_idx; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.history_parent ATTACH PARTITION penstock.history_strays_parent_idx;

-- Name: history_strays_pkey; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.history_pkey ATTACH PARTITION penstock.history_strays_pkey;

-- Name: history_strays_queue_id_idx; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.history_given_up ATTACH PARTITION penstock.history_strays_queue_id_idx;

-- Name: payloads_strays_pkey; Type: INDEX ATTACH; Schema: penstock; Owner: -
ALTER INDEX penstock.payloads_pkey ATTACH PARTITION penstock.payloads_strays_pkey;

-- Name: heartbeats heartbeats_of_a_lease; Type: FK CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.heartbeats
    ADD CONSTRAINT heartbeats_of_a_lease FOREIGN KEY (lease) REFERENCES penstock.leases(id) ON DELETE CASCADE;

-- Name: vitals vitals_of_a_lease; Type: FK CONSTRAINT; Schema: penstock; Owner: -
ALTER TABLE ONLY penstock.vitals
    ADD CONSTRAINT vitals_of_a_lease FOREIGN KEY (lease) REFERENCES penstock.leases(id) ON DELETE CASCADE;

-- Name: application_migrations; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.application_migrations ENABLE ROW LEVEL SECURITY;

-- Name: artifacts; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.artifacts ENABLE ROW LEVEL SECURITY;

-- Name: audit; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.audit ENABLE ROW LEVEL SECURITY;

-- Name: channels; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.channels ENABLE ROW LEVEL SECURITY;

-- Name: declared_queues; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.declared_queues ENABLE ROW LEVEL SECURITY;

-- Name: depths; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.depths ENABLE ROW LEVEL SECURITY;

-- Name: edges; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.edges ENABLE ROW LEVEL SECURITY;

-- Name: errors; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.errors ENABLE ROW LEVEL SECURITY;

-- Name: errors_strays; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.errors_strays ENABLE ROW LEVEL SECURITY;

-- Name: events; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.events ENABLE ROW LEVEL SECURITY;

-- Name: failures; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.failures ENABLE ROW LEVEL SECURITY;

-- Name: floors; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.floors ENABLE ROW LEVEL SECURITY;

-- Name: heartbeats; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.heartbeats ENABLE ROW LEVEL SECURITY;

-- Name: history; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.history ENABLE ROW LEVEL SECURITY;

-- Name: history_strays; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.history_strays ENABLE ROW LEVEL SECURITY;

-- Name: horizons; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.horizons ENABLE ROW LEVEL SECURITY;

-- Name: idempotency_keys; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.idempotency_keys ENABLE ROW LEVEL SECURITY;

-- Name: jobs; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.jobs ENABLE ROW LEVEL SECURITY;

-- Name: kinds; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.kinds ENABLE ROW LEVEL SECURITY;

-- Name: leader; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.leader ENABLE ROW LEVEL SECURITY;

-- Name: leases; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.leases ENABLE ROW LEVEL SECURITY;

-- Name: locks; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.locks ENABLE ROW LEVEL SECURITY;

-- Name: lost_jobs; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.lost_jobs ENABLE ROW LEVEL SECURITY;

-- Name: mailboxes; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.mailboxes ENABLE ROW LEVEL SECURITY;

-- Name: operations; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.operations ENABLE ROW LEVEL SECURITY;

-- Name: payloads; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.payloads ENABLE ROW LEVEL SECURITY;

-- Name: payloads_strays; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.payloads_strays ENABLE ROW LEVEL SECURITY;

-- Name: queues; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.queues ENABLE ROW LEVEL SECURITY;

-- Name: quota_use; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.quota_use ENABLE ROW LEVEL SECURITY;

-- Name: quotas; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.quotas ENABLE ROW LEVEL SECURITY;

-- Name: reports; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.reports ENABLE ROW LEVEL SECURITY;

-- Name: schedules; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.schedules ENABLE ROW LEVEL SECURITY;

-- Name: schema_migrations; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.schema_migrations ENABLE ROW LEVEL SECURITY;

-- Name: settings; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.settings ENABLE ROW LEVEL SECURITY;

-- Name: starts; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.starts ENABLE ROW LEVEL SECURITY;

-- Name: statistics; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.statistics ENABLE ROW LEVEL SECURITY;

-- Name: steps; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.steps ENABLE ROW LEVEL SECURITY;

-- Name: application_migrations the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.application_migrations TO service_role USING (true) WITH CHECK (true);

-- Name: artifacts the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.artifacts TO service_role USING (true) WITH CHECK (true);

-- Name: audit the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.audit TO service_role USING (true) WITH CHECK (true);

-- Name: channels the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.channels TO service_role USING (true) WITH CHECK (true);

-- Name: declared_queues the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.declared_queues TO service_role USING (true) WITH CHECK (true);

-- Name: depths the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.depths TO service_role USING (true) WITH CHECK (true);

-- Name: edges the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.edges TO service_role USING (true) WITH CHECK (true);

-- Name: errors the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.errors TO service_role USING (true) WITH CHECK (true);

-- Name: events the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.events TO service_role USING (true) WITH CHECK (true);

-- Name: failures the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.failures TO service_role USING (true) WITH CHECK (true);

-- Name: floors the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.floors TO service_role USING (true) WITH CHECK (true);

-- Name: heartbeats the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.heartbeats TO service_role USING (true) WITH CHECK (true);

-- Name: history the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.history TO service_role USING (true) WITH CHECK (true);

-- Name: horizons the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.horizons TO service_role USING (true) WITH CHECK (true);

-- Name: idempotency_keys the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.idempotency_keys TO service_role USING (true) WITH CHECK (true);

-- Name: jobs the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.jobs TO service_role USING (true) WITH CHECK (true);

-- Name: kinds the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.kinds TO service_role USING (true) WITH CHECK (true);

-- Name: leader the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.leader TO service_role USING (true) WITH CHECK (true);

-- Name: leases the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.leases TO service_role USING (true) WITH CHECK (true);

-- Name: locks the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.locks TO service_role USING (true) WITH CHECK (true);

-- Name: lost_jobs the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.lost_jobs TO service_role USING (true) WITH CHECK (true);

-- Name: mailboxes the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.mailboxes TO service_role USING (true) WITH CHECK (true);

-- Name: operations the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.operations TO service_role USING (true) WITH CHECK (true);

-- Name: payloads the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.payloads TO service_role USING (true) WITH CHECK (true);

-- Name: queues the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.queues TO service_role USING (true) WITH CHECK (true);

-- Name: quota_use the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.quota_use TO service_role USING (true) WITH CHECK (true);

-- Name: quotas the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.quotas TO service_role USING (true) WITH CHECK (true);

-- Name: reports the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.reports TO service_role USING (true) WITH CHECK (true);

-- Name: schedules the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.schedules TO service_role USING (true) WITH CHECK (true);

-- Name: schema_migrations the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.schema_migrations TO service_role USING (true) WITH CHECK (true);

-- Name: settings the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.settings TO service_role USING (true) WITH CHECK (true);

-- Name: starts the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.starts TO service_role USING (true) WITH CHECK (true);

-- Name: statistics the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.statistics TO service_role USING (true) WITH CHECK (true);

-- Name: steps the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.steps TO service_role USING (true) WITH CHECK (true);

-- Name: time_floors the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.time_floors TO service_role USING (true) WITH CHECK (true);

-- Name: turns the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.turns TO service_role USING (true) WITH CHECK (true);

-- Name: usage the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.usage TO service_role USING (true) WITH CHECK (true);

-- Name: usage_log the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.usage_log TO service_role USING (true) WITH CHECK (true);

-- Name: usage_sums the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.usage_sums TO service_role USING (true) WITH CHECK (true);

-- Name: vitals the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.vitals TO service_role USING (true) WITH CHECK (true);

-- Name: waiting the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.waiting TO service_role USING (true) WITH CHECK (true);

-- Name: waits the_service_does_everything; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY the_service_does_everything ON penstock.waits TO service_role USING (true) WITH CHECK (true);

-- Name: time_floors; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.time_floors ENABLE ROW LEVEL SECURITY;

-- Name: turns; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.turns ENABLE ROW LEVEL SECURITY;

-- Name: usage; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.usage ENABLE ROW LEVEL SECURITY;

-- Name: usage_log; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.usage_log ENABLE ROW LEVEL SECURITY;

-- Name: usage_sums; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.usage_sums ENABLE ROW LEVEL SECURITY;

-- Name: usage users_see_their_organisations; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_organisations ON penstock.usage FOR SELECT USING ((org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[])));

-- Name: usage_log users_see_their_organisations; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_organisations ON penstock.usage_log FOR SELECT USING ((org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[])));

-- Name: artifacts users_see_their_own; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_own ON penstock.artifacts FOR SELECT USING (((state = 'stored'::text) AND ((owner = ( SELECT penstock.caller() AS caller)) OR (org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[])))));

-- Name: history users_see_their_own; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_own ON penstock.history FOR SELECT USING (((owner = ( SELECT penstock.caller() AS caller)) OR (org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[]))));

-- Name: jobs users_see_their_own; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_own ON penstock.jobs FOR SELECT USING (((owner = ( SELECT penstock.caller() AS caller)) OR (org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[]))));

-- Name: payloads users_see_their_own; Type: POLICY; Schema: penstock; Owner: -
CREATE POLICY users_see_their_own ON penstock.payloads FOR SELECT USING (((owner = ( SELECT penstock.caller() AS caller)) OR (org = ANY (( SELECT penstock.caller_orgs() AS caller_orgs)::text[]))));

-- Name: vitals; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.vitals ENABLE ROW LEVEL SECURITY;

-- Name: waiting; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.waiting ENABLE ROW LEVEL SECURITY;

-- Name: waits; Type: ROW SECURITY; Schema: penstock; Owner: -
ALTER TABLE penstock.waits ENABLE ROW LEVEL SECURITY;

-- Name: SCHEMA penstock; Type: ACL; Schema: -; Owner: -
GRANT USAGE ON SCHEMA penstock TO service_role;
GRANT USAGE ON SCHEMA penstock TO authenticated;

-- Name: FUNCTION abandon_artifact(p_lease bigint, p_claims integer, p_path text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.abandon_artifact(p_lease bigint, p_claims integer, p_path text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.abandon_artifact(p_lease bigint, p_claims integer, p_path text) TO service_role;

-- Name: FUNCTION add_audit(p_who text, p_action text, p_target text, p_details jsonb, p_jobs integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_audit(p_who text, p_action text, p_target text, p_details jsonb, p_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_audit(p_who text, p_action text, p_target text, p_details jsonb, p_jobs integer) TO service_role;

-- Name: FUNCTION add_buckets(p_one bigint[], p_other bigint[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_buckets(p_one bigint[], p_other bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_buckets(p_one bigint[], p_other bigint[]) TO service_role;

-- Name: SEQUENCE turn_numbers; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.turn_numbers TO service_role;

-- Name: TABLE jobs; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.jobs TO service_role;

-- Name: COLUMN jobs.id; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(id) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.created_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(created_at) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.run_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(run_at) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.started_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(started_at) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.state; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(state) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.priority; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(priority) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.attempt; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(attempt) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.max_attempts; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(max_attempts) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.snoozes; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(snoozes) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.waiting_on; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(waiting_on) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.weight; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(weight) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.cancel_requested; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(cancel_requested) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.queue; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(queue) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.kind; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(kind) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.parent; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(parent) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.owner; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(owner) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.org; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(org) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.phase; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(phase) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.args; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(args) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.progress; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(progress) ON TABLE penstock.jobs TO authenticated;

-- Name: COLUMN jobs.rollup; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(rollup) ON TABLE penstock.jobs TO authenticated;

-- Name: FUNCTION add_calls(p_caller penstock.jobs, p_jobs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_calls(p_caller penstock.jobs, p_jobs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_calls(p_caller penstock.jobs, p_jobs jsonb) TO service_role;

-- Name: FUNCTION add_edges(p_job uuid, p_after jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_edges(p_job uuid, p_after jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_edges(p_job uuid, p_after jsonb) TO service_role;

-- Name: FUNCTION add_error(p_id uuid, p_number integer, p_error jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_error(p_id uuid, p_number integer, p_error jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_error(p_id uuid, p_number integer, p_error jsonb) TO service_role;

-- Name: FUNCTION add_locks(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_locks() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_locks() TO service_role;

-- Name: FUNCTION add_partitions(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.add_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.add_partitions() TO service_role;

-- Name: FUNCTION adopt_orphan(p_path text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.adopt_orphan(p_path text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.adopt_orphan(p_path text) TO service_role;

-- Name: FUNCTION advance_turn(p_queue text, p_turn bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.advance_turn(p_queue text, p_turn bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.advance_turn(p_queue text, p_turn bigint) TO service_role;

-- Name: FUNCTION announce_artifact(p_lease bigint, p_job uuid, p_claims integer, p_owner text, p_org text, p_kind text, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean, p_quota text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.announce_artifact(p_lease bigint, p_job uuid, p_claims integer, p_owner text, p_org text, p_kind text, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean, p_quota text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.announce_artifact(p_lease bigint, p_job uuid, p_claims integer, p_owner text, p_org text, p_kind text, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean, p_quota text) TO service_role;

-- Name: FUNCTION approvals(p_after text, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.approvals(p_after text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.approvals(p_after text, p_limit integer) TO service_role;

-- Name: FUNCTION approve(p_job uuid, p_approved boolean, p_who text, p_comment text, p_step text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.approve(p_job uuid, p_approved boolean, p_who text, p_comment text, p_step text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.approve(p_job uuid, p_approved boolean, p_who text, p_comment text, p_step text) TO service_role;

-- Name: FUNCTION approve_mine(p_job uuid, p_approved boolean, p_comment text, p_step text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.approve_mine(p_job uuid, p_approved boolean, p_comment text, p_step text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.approve_mine(p_job uuid, p_approved boolean, p_comment text, p_step text) TO service_role;
GRANT ALL ON FUNCTION penstock.approve_mine(p_job uuid, p_approved boolean, p_comment text, p_step text) TO authenticated;

-- Name: FUNCTION artifacts_due(p_grace double precision); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.artifacts_due(p_grace double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.artifacts_due(p_grace double precision) TO service_role;

-- Name: TABLE artifacts; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.artifacts TO service_role;
GRANT SELECT ON TABLE penstock.artifacts TO authenticated;

-- Name: FUNCTION artifacts_of_job(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.artifacts_of_job(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.artifacts_of_job(p_job uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.artifacts_of_job(p_job uuid) TO authenticated;

-- Name: FUNCTION artifacts_shown(p_job uuid, p_flow boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.artifacts_shown(p_job uuid, p_flow boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.artifacts_shown(p_job uuid, p_flow boolean) TO service_role;
GRANT ALL ON FUNCTION penstock.artifacts_shown(p_job uuid, p_flow boolean) TO authenticated;

-- Name: FUNCTION as_array(p_value jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.as_array(p_value jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.as_array(p_value jsonb) TO service_role;
GRANT ALL ON FUNCTION penstock.as_array(p_value jsonb) TO authenticated;

-- Name: FUNCTION asked_of_job(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.asked_of_job(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.asked_of_job(p_job uuid) TO service_role;

-- Name: FUNCTION asked_of_mine(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.asked_of_mine(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.asked_of_mine(p_job uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.asked_of_mine(p_job uuid) TO authenticated;

-- Name: FUNCTION backlog(p_queues text[], p_most integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.backlog(p_queues text[], p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.backlog(p_queues text[], p_most integer) TO service_role;

-- Name: FUNCTION backoff_delay(p_policy jsonb, p_attempt integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.backoff_delay(p_policy jsonb, p_attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.backoff_delay(p_policy jsonb, p_attempt integer) TO service_role;

-- Name: FUNCTION batch_of(p_id uuid, p_jobs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.batch_of(p_id uuid, p_jobs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.batch_of(p_id uuid, p_jobs jsonb) TO service_role;

-- Name: FUNCTION begin_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.begin_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.begin_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_name text, p_path text, p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean) TO service_role;

-- Name: FUNCTION best_of(p_ids uuid[], p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.best_of(p_ids uuid[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.best_of(p_ids uuid[], p_limit integer) TO service_role;

-- Name: FUNCTION bubble(p_parent uuid, p_phase text, p_amount numeric, p_message text, p_speaker uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.bubble(p_parent uuid, p_phase text, p_amount numeric, p_message text, p_speaker uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.bubble(p_parent uuid, p_phase text, p_amount numeric, p_message text, p_speaker uuid) TO service_role;

-- Name: FUNCTION bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb, p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb, p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb, p_ids uuid[]) TO service_role;

-- Name: FUNCTION caller(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.caller() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.caller() TO service_role;
GRANT ALL ON FUNCTION penstock.caller() TO authenticated;

-- Name: FUNCTION caller_or_refuse(p_org text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.caller_or_refuse(p_org text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.caller_or_refuse(p_org text) TO service_role;

-- Name: FUNCTION caller_orgs(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.caller_orgs() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.caller_orgs() TO service_role;
GRANT ALL ON FUNCTION penstock.caller_orgs() TO authenticated;

-- Name: FUNCTION cancel(p_ids uuid[], p_reason text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.cancel(p_ids uuid[], p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.cancel(p_ids uuid[], p_reason text) TO service_role;

-- Name: FUNCTION cancel_mine(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.cancel_mine(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.cancel_mine(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.cancel_mine(p_id uuid) TO authenticated;

-- Name: FUNCTION cancel_operation(p_id uuid, p_who text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.cancel_operation(p_id uuid, p_who text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.cancel_operation(p_id uuid, p_who text) TO service_role;

-- Name: FUNCTION cancel_tree(p_ids uuid[], p_reason text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.cancel_tree(p_ids uuid[], p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.cancel_tree(p_ids uuid[], p_reason text) TO service_role;

-- Name: FUNCTION claim(p_lease bigint, p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.claim(p_lease bigint, p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.claim(p_lease bigint, p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text) TO service_role;

-- Name: FUNCTION clock(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.clock() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.clock() TO service_role;

-- Name: FUNCTION close_lease(p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.close_lease(p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.close_lease(p_lease bigint) TO service_role;

-- Name: FUNCTION complete(p_lease bigint, p_ids uuid[], p_claims integer[], p_outputs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.complete(p_lease bigint, p_ids uuid[], p_claims integer[], p_outputs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.complete(p_lease bigint, p_ids uuid[], p_claims integer[], p_outputs jsonb) TO service_role;

-- Name: FUNCTION confirm_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.confirm_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.confirm_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) TO service_role;

-- Name: FUNCTION continue_operation(p_chunk integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.continue_operation(p_chunk integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.continue_operation(p_chunk integer) TO service_role;

-- Name: FUNCTION count_children(p_flow penstock.jobs, p_going_on boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.count_children(p_flow penstock.jobs, p_going_on boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.count_children(p_flow penstock.jobs, p_going_on boolean) TO service_role;

-- Name: FUNCTION count_downloads(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.count_downloads(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.count_downloads(p_ids uuid[]) TO service_role;

-- Name: TABLE queues; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.queues TO service_role;

-- Name: FUNCTION count_starts(p_queue penstock.queues, p_ids uuid[], p_now timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.count_starts(p_queue penstock.queues, p_ids uuid[], p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.count_starts(p_queue penstock.queues, p_ids uuid[], p_now timestamp with time zone) TO service_role;

-- Name: FUNCTION count_usage(p_org text, p_kind text, p_runs bigint, p_seconds double precision, p_failures bigint, p_bytes bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.count_usage(p_org text, p_kind text, p_runs bigint, p_seconds double precision, p_failures bigint, p_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.count_usage(p_org text, p_kind text, p_runs bigint, p_seconds double precision, p_failures bigint, p_bytes bigint) TO service_role;

-- Name: FUNCTION dead_jobs(p_most integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.dead_jobs(p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.dead_jobs(p_most integer) TO service_role;

-- Name: FUNCTION declare_kinds(p_kinds jsonb, p_known text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.declare_kinds(p_kinds jsonb, p_known text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.declare_kinds(p_kinds jsonb, p_known text[]) TO service_role;

-- Name: FUNCTION declare_queues(p_queues jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.declare_queues(p_queues jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.declare_queues(p_queues jsonb) TO service_role;

-- Name: FUNCTION dedupe_key(p_kind text, p_org text, p_args jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.dedupe_key(p_kind text, p_org text, p_args jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.dedupe_key(p_kind text, p_org text, p_args jsonb) TO service_role;

-- Name: FUNCTION deliver(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.deliver(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.deliver(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean) TO service_role;

-- Name: FUNCTION depth_series(p_since timestamp with time zone, p_step integer, p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.depth_series(p_since timestamp with time zone, p_step integer, p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.depth_series(p_since timestamp with time zone, p_step integer, p_queue text) TO service_role;

-- Name: FUNCTION disown_artifact(p_id uuid, p_job uuid, p_kind text, p_name text, p_path text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.disown_artifact(p_id uuid, p_job uuid, p_kind text, p_name text, p_path text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.disown_artifact(p_id uuid, p_job uuid, p_kind text, p_name text, p_path text) TO service_role;

-- Name: FUNCTION drop_beside(p_parent regclass, p_partition regclass, p_lowest uuid, p_past uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.drop_beside(p_parent regclass, p_partition regclass, p_lowest uuid, p_past uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.drop_beside(p_parent regclass, p_partition regclass, p_lowest uuid, p_past uuid) TO service_role;

-- Name: FUNCTION drop_old_history(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.drop_old_history() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.drop_old_history() TO service_role;

-- Name: FUNCTION drop_partition(p_partition regclass, p_cutoff timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.drop_partition(p_partition regclass, p_cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.drop_partition(p_partition regclass, p_cutoff timestamp with time zone) TO service_role;

-- Name: FUNCTION emit(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.emit(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.emit(p_event text, p_key text, p_payload jsonb, p_keep interval, p_hand boolean) TO service_role;

-- Name: FUNCTION ended_jobs(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.ended_jobs() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.ended_jobs() TO service_role;

-- Name: FUNCTION enqueue(kind text, args jsonb, queue text, run_at timestamp with time zone, priority integer, max_attempts integer, owner text, org text, unique_key text, limit_key text, idempotency_key text, after uuid[], options jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.enqueue(kind text, args jsonb, queue text, run_at timestamp with time zone, priority integer, max_attempts integer, owner text, org text, unique_key text, limit_key text, idempotency_key text, after uuid[], options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.enqueue(kind text, args jsonb, queue text, run_at timestamp with time zone, priority integer, max_attempts integer, owner text, org text, unique_key text, limit_key text, idempotency_key text, after uuid[], options jsonb) TO service_role;

-- Name: FUNCTION enqueue_jobs(p_jobs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.enqueue_jobs(p_jobs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.enqueue_jobs(p_jobs jsonb) TO service_role;

-- Name: FUNCTION enqueue_one(p_row penstock.jobs, p_job jsonb, p_jobs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.enqueue_one(p_row penstock.jobs, p_job jsonb, p_jobs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.enqueue_one(p_row penstock.jobs, p_job jsonb, p_jobs jsonb) TO service_role;

-- Name: FUNCTION enqueue_plain(p_id uuid, p_kind text, p_args jsonb, p_queue text, p_priority integer, p_max_attempts integer, p_run_at timestamp with time zone, p_delay double precision, p_max_snoozes integer, p_owner text, p_org text, p_limit_key text, p_options jsonb, p_hand boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.enqueue_plain(p_id uuid, p_kind text, p_args jsonb, p_queue text, p_priority integer, p_max_attempts integer, p_run_at timestamp with time zone, p_delay double precision, p_max_snoozes integer, p_owner text, p_org text, p_limit_key text, p_options jsonb, p_hand boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.enqueue_plain(p_id uuid, p_kind text, p_args jsonb, p_queue text, p_priority integer, p_max_attempts integer, p_run_at timestamp with time zone, p_delay double precision, p_max_snoozes integer, p_owner text, p_org text, p_limit_key text, p_options jsonb, p_hand boolean) TO service_role;

-- Name: TABLE schedules; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.schedules TO service_role;

-- Name: FUNCTION enqueue_scheduled(p_schedule penstock.schedules, p_tick timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.enqueue_scheduled(p_schedule penstock.schedules, p_tick timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.enqueue_scheduled(p_schedule penstock.schedules, p_tick timestamp with time zone) TO service_role;

-- Name: FUNCTION error_groups(p_since timestamp with time zone, p_kind text, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.error_groups(p_since timestamp with time zone, p_kind text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.error_groups(p_since timestamp with time zone, p_kind text, p_limit integer) TO service_role;

-- Name: FUNCTION error_says(p_id uuid, p_text text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.error_says(p_id uuid, p_text text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.error_says(p_id uuid, p_text text) TO service_role;

-- Name: FUNCTION errors_of(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.errors_of(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.errors_of(p_id uuid) TO service_role;

-- Name: FUNCTION events_overview(p_limit integer, p_keys integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.events_overview(p_limit integer, p_keys integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.events_overview(p_limit integer, p_keys integer) TO service_role;

-- Name: FUNCTION expire_lease(p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.expire_lease(p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.expire_lease(p_lease bigint) TO service_role;

-- Name: FUNCTION extend_lease(p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.extend_lease(p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.extend_lease(p_lease bigint) TO service_role;

-- Name: FUNCTION fail(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fail(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fail(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors jsonb) TO service_role;

-- Name: FUNCTION fill_key(p_template text, p_args jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fill_key(p_template text, p_args jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fill_key(p_template text, p_args jsonb) TO service_role;

-- Name: FUNCTION filter_text(p_filter jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.filter_text(p_filter jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.filter_text(p_filter jsonb) TO service_role;
GRANT ALL ON FUNCTION penstock.filter_text(p_filter jsonb) TO authenticated;

-- Name: FUNCTION fingerprint(p_job jsonb, p_jobs jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fingerprint(p_job jsonb, p_jobs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fingerprint(p_job jsonb, p_jobs jsonb) TO service_role;

-- Name: FUNCTION finish(p_ids uuid[], p_state penstock.job_state, p_errors jsonb, p_output jsonb, OUT finished uuid[], OUT settling uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.finish(p_ids uuid[], p_state penstock.job_state, p_errors jsonb, p_output jsonb, OUT finished uuid[], OUT settling uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.finish(p_ids uuid[], p_state penstock.job_state, p_errors jsonb, p_output jsonb, OUT finished uuid[], OUT settling uuid[]) TO service_role;

-- Name: FUNCTION fire_schedule(p_name text, p_tick timestamp with time zone, p_next timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fire_schedule(p_name text, p_tick timestamp with time zone, p_next timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fire_schedule(p_name text, p_tick timestamp with time zone, p_next timestamp with time zone) TO service_role;

-- Name: TABLE floors; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.floors TO service_role;

-- Name: FUNCTION floor_of(p_queue text, p_line integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.floor_of(p_queue text, p_line integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.floor_of(p_queue text, p_line integer) TO service_role;

-- Name: FUNCTION flow_jobs(p_job uuid, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.flow_jobs(p_job uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.flow_jobs(p_job uuid, p_limit integer) TO service_role;

-- Name: FUNCTION fold_errors(p_numbers bigint[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fold_errors(p_numbers bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fold_errors(p_numbers bigint[]) TO service_role;

-- Name: FUNCTION fold_statistics(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fold_statistics() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fold_statistics() TO service_role;

-- Name: FUNCTION fold_usage(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.fold_usage() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.fold_usage() TO service_role;

-- Name: FUNCTION forget(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.forget(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.forget(p_ids uuid[]) TO service_role;

-- Name: FUNCTION forget_artifact(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.forget_artifact(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.forget_artifact(p_id uuid) TO service_role;

-- Name: FUNCTION forget_events(p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.forget_events(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.forget_events(p_limit integer) TO service_role;

-- Name: FUNCTION forget_old(p_cutoff timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.forget_old(p_cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.forget_old(p_cutoff timestamp with time zone) TO service_role;

-- Name: FUNCTION front_turn(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.front_turn() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.front_turn() TO service_role;

-- Name: FUNCTION payload_of(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.payload_of(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.payload_of(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.payload_of(p_id uuid) TO authenticated;

-- Name: TABLE history; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.history TO service_role;

-- Name: COLUMN history.id; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(id) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.created_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(created_at) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.run_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(run_at) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.started_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(started_at) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.finished_at; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(finished_at) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.state; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(state) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.priority; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(priority) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.attempt; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(attempt) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.max_attempts; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(max_attempts) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.snoozes; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(snoozes) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.weight; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(weight) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.queue; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(queue) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.kind; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(kind) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.parent; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(parent) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.owner; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(owner) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.org; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(org) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.phase; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(phase) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.args; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(args) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.progress; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(progress) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.rollup; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(rollup) ON TABLE penstock.history TO authenticated;

-- Name: COLUMN history.output; Type: ACL; Schema: penstock; Owner: -
GRANT SELECT(output) ON TABLE penstock.history TO authenticated;

-- Name: TABLE all_jobs; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.all_jobs TO service_role;

-- Name: FUNCTION get_job(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.get_job(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.get_job(p_id uuid) TO service_role;

-- Name: FUNCTION shown_error(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.shown_error(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.shown_error(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.shown_error(p_id uuid) TO authenticated;

-- Name: TABLE my_jobs; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.my_jobs TO service_role;
GRANT SELECT ON TABLE penstock.my_jobs TO authenticated;

-- Name: FUNCTION get_my_job(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.get_my_job(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.get_my_job(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.get_my_job(p_id uuid) TO authenticated;

-- Name: FUNCTION give_back(p_ids uuid[], p_costs_attempt boolean, p_error text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.give_back(p_ids uuid[], p_costs_attempt boolean, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.give_back(p_ids uuid[], p_costs_attempt boolean, p_error text) TO service_role;

-- Name: FUNCTION hand_over(p_job penstock.jobs); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.hand_over(p_job penstock.jobs) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.hand_over(p_job penstock.jobs) TO service_role;

-- Name: FUNCTION hand_to(p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.hand_to(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.hand_to(p_queue text) TO service_role;

-- Name: FUNCTION has_ended(p_horizon xid8, p_noted_at timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.has_ended(p_horizon xid8, p_noted_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.has_ended(p_horizon xid8, p_noted_at timestamp with time zone) TO service_role;

-- Name: FUNCTION heartbeat(p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.heartbeat(p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.heartbeat(p_lease bigint) TO service_role;

-- Name: FUNCTION hold_removed(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.hold_removed(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.hold_removed(p_id uuid) TO service_role;

-- Name: FUNCTION holds(p_lease bigint, p_id uuid, p_claims integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.holds(p_lease bigint, p_id uuid, p_claims integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.holds(p_lease bigint, p_id uuid, p_claims integer) TO service_role;

-- Name: FUNCTION is_being_written(p_artifact penstock.artifacts); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.is_being_written(p_artifact penstock.artifacts) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.is_being_written(p_artifact penstock.artifacts) TO service_role;

-- Name: FUNCTION is_callers(p_owner text, p_org text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.is_callers(p_owner text, p_org text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.is_callers(p_owner text, p_org text) TO service_role;
GRANT ALL ON FUNCTION penstock.is_callers(p_owner text, p_org text) TO authenticated;

-- Name: FUNCTION is_large(p_args jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.is_large(p_args jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.is_large(p_args jsonb) TO service_role;

-- Name: FUNCTION is_uploading(p_upload bigint, p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.is_uploading(p_upload bigint, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.is_uploading(p_upload bigint, p_id uuid) TO service_role;

-- Name: FUNCTION is_writing(p_lease bigint, p_job uuid, p_claims integer, p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.is_writing(p_lease bigint, p_job uuid, p_claims integer, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.is_writing(p_lease bigint, p_job uuid, p_claims integer, p_id uuid) TO service_role;

-- Name: FUNCTION job_of_user(p_kind text, p_args jsonb, p_owner text, p_org text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.job_of_user(p_kind text, p_args jsonb, p_owner text, p_org text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.job_of_user(p_kind text, p_args jsonb, p_owner text, p_org text) TO service_role;

-- Name: FUNCTION job_tree(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.job_tree(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.job_tree(p_job uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.job_tree(p_job uuid) TO authenticated;

-- Name: FUNCTION key_allowance(p_queue penstock.queues, p_key text, p_running jsonb, p_now timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.key_allowance(p_queue penstock.queues, p_key text, p_running jsonb, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.key_allowance(p_queue penstock.queues, p_key text, p_running jsonb, p_now timestamp with time zone) TO service_role;

-- Name: FUNCTION known_paths(p_paths text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.known_paths(p_paths text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.known_paths(p_paths text[]) TO service_role;

-- Name: FUNCTION last_progress(p_progress jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.last_progress(p_progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.last_progress(p_progress jsonb) TO service_role;

-- Name: FUNCTION lead(p_lease bigint, p_until timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lead(p_lease bigint, p_until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lead(p_lease bigint, p_until timestamp with time zone) TO service_role;

-- Name: FUNCTION list_artifacts(p_owner text, p_org text, p_before uuid, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.list_artifacts(p_owner text, p_org text, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.list_artifacts(p_owner text, p_org text, p_before uuid, p_limit integer) TO service_role;

-- Name: FUNCTION list_jobs(p_filter jsonb, p_before uuid, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.list_jobs(p_filter jsonb, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.list_jobs(p_filter jsonb, p_before uuid, p_limit integer) TO service_role;

-- Name: FUNCTION list_my_jobs(p_filter jsonb, p_before uuid, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.list_my_jobs(p_filter jsonb, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.list_my_jobs(p_filter jsonb, p_before uuid, p_limit integer) TO service_role;
GRANT ALL ON FUNCTION penstock.list_my_jobs(p_filter jsonb, p_before uuid, p_limit integer) TO authenticated;

-- Name: FUNCTION lock(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lock(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lock(p_name text) TO service_role;

-- Name: FUNCTION lock_flows(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lock_flows(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lock_flows(p_ids uuid[]) TO service_role;

-- Name: FUNCTION lock_limits(p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lock_limits(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lock_limits(p_queue text) TO service_role;

-- Name: FUNCTION lock_mailbox(p_event text, p_key text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lock_mailbox(p_event text, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lock_mailbox(p_event text, p_key text) TO service_role;

-- Name: FUNCTION lock_quotas(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lock_quotas() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lock_quotas() TO service_role;

-- Name: FUNCTION lose_sight(p_lease bigint, p_backend integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lose_sight(p_lease bigint, p_backend integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lose_sight(p_lease bigint, p_backend integer) TO service_role;

-- Name: FUNCTION lower_floors(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.lower_floors() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.lower_floors() TO service_role;

-- Name: FUNCTION maintain(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.maintain() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.maintain() TO service_role;

-- Name: FUNCTION move_jobs(p_ids uuid[], p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.move_jobs(p_ids uuid[], p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.move_jobs(p_ids uuid[], p_queue text) TO service_role;

-- Name: FUNCTION new_job(p_job jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.new_job(p_job jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.new_job(p_job jsonb) TO service_role;

-- Name: FUNCTION next_run_at(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.next_run_at() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.next_run_at() TO service_role;

-- Name: FUNCTION next_turn(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.next_turn() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.next_turn() TO service_role;

-- Name: FUNCTION note_depths(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.note_depths() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.note_depths() TO service_role;

-- Name: FUNCTION note_ended(p_ids uuid[], p_state penstock.job_state, p_message text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.note_ended(p_ids uuid[], p_state penstock.job_state, p_message text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.note_ended(p_ids uuid[], p_state penstock.job_state, p_message text) TO service_role;

-- Name: FUNCTION numbered_clock(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.numbered_clock() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.numbered_clock() TO service_role;

-- Name: FUNCTION open_lease(p_worker text, p_seconds double precision, p_queues text[], p_host text, p_pid integer, p_kinds text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.open_lease(p_worker text, p_seconds double precision, p_queues text[], p_host text, p_pid integer, p_kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.open_lease(p_worker text, p_seconds double precision, p_queues text[], p_host text, p_pid integer, p_kinds text[]) TO service_role;

-- Name: FUNCTION operate(p_action text, p_options jsonb, p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.operate(p_action text, p_options jsonb, p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.operate(p_action text, p_options jsonb, p_ids uuid[]) TO service_role;

-- Name: FUNCTION operation_filter(p_action text, p_filter jsonb, p_now timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.operation_filter(p_action text, p_filter jsonb, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.operation_filter(p_action text, p_filter jsonb, p_now timestamp with time zone) TO service_role;

-- Name: FUNCTION outputs(p_lease bigint, p_id uuid, p_claims integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.outputs(p_lease bigint, p_id uuid, p_claims integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.outputs(p_lease bigint, p_id uuid, p_claims integer) TO service_role;

-- Name: FUNCTION own_name(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.own_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.own_name(p_name text) TO service_role;

-- Name: FUNCTION park(p_lease bigint, p_ids uuid[], p_claims integer[], p_reasons text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.park(p_lease bigint, p_ids uuid[], p_claims integer[], p_reasons text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.park(p_lease bigint, p_ids uuid[], p_claims integer[], p_reasons text[]) TO service_role;

-- Name: FUNCTION parked_jobs(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.parked_jobs() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.parked_jobs() TO service_role;

-- Name: FUNCTION partitions_of(p_table regclass); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.partitions_of(p_table regclass) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.partitions_of(p_table regclass) TO service_role;

-- Name: FUNCTION pause_schedule(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.pause_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.pause_schedule(p_name text) TO service_role;

-- Name: FUNCTION payload_text(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.payload_text(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.payload_text(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.payload_text(p_id uuid) TO authenticated;

-- Name: FUNCTION pick_by_member(p_queue text, p_line integer, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_settings penstock.queues, p_running jsonb, p_now timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.pick_by_member(p_queue text, p_line integer, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_settings penstock.queues, p_running jsonb, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.pick_by_member(p_queue text, p_line integer, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_settings penstock.queues, p_running jsonb, p_now timestamp with time zone) TO service_role;

-- Name: FUNCTION pick_limited(p_queue penstock.queues, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_now timestamp with time zone, p_under_quota boolean, p_quota_floor penstock.floors); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.pick_limited(p_queue penstock.queues, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_now timestamp with time zone, p_under_quota boolean, p_quota_floor penstock.floors) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.pick_limited(p_queue penstock.queues, p_limit integer, p_floor penstock.floors, p_kinds text[], p_owner text, p_now timestamp with time zone, p_under_quota boolean, p_quota_floor penstock.floors) TO service_role;

-- Name: FUNCTION pick_ready(p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.pick_ready(p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.pick_ready(p_queue text, p_limit integer, p_priorities integer[], p_turns bigint[], p_ids uuid[], p_kinds text[], p_owner text) TO service_role;

-- Name: FUNCTION plan_schedule(p_name text, p_next timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.plan_schedule(p_name text, p_next timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.plan_schedule(p_name text, p_next timestamp with time zone) TO service_role;

-- Name: FUNCTION preview_operation(p_action text, p_filter jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.preview_operation(p_action text, p_filter jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.preview_operation(p_action text, p_filter jsonb) TO service_role;

-- Name: FUNCTION progress_again(p_progress jsonb, p_rollup jsonb, p_reason text, p_attempt integer, p_attempts integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.progress_again(p_progress jsonb, p_rollup jsonb, p_reason text, p_attempt integer, p_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.progress_again(p_progress jsonb, p_rollup jsonb, p_reason text, p_attempt integer, p_attempts integer) TO service_role;

-- Name: FUNCTION promote(p_limit integer, p_everywhere boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.promote(p_limit integer, p_everywhere boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.promote(p_limit integer, p_everywhere boolean) TO service_role;

-- Name: FUNCTION purge_where(p_filter jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.purge_where(p_filter jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.purge_where(p_filter jsonb) TO service_role;

-- Name: FUNCTION queue_names(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.queue_names() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.queue_names() TO service_role;

-- Name: FUNCTION queue_overview(p_most integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.queue_overview(p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.queue_overview(p_most integer) TO service_role;

-- Name: FUNCTION queue_stats(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.queue_stats() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.queue_stats() TO service_role;

-- Name: TABLE time_floors; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.time_floors TO service_role;

-- Name: FUNCTION quota_allowance(p_quota text, p_owner text, p_floor penstock.time_floors); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.quota_allowance(p_quota text, p_owner text, p_floor penstock.time_floors) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.quota_allowance(p_quota text, p_owner text, p_floor penstock.time_floors) TO service_role;

-- Name: FUNCTION raise_floor(p_queue text, p_line integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.raise_floor(p_queue text, p_line integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.raise_floor(p_queue text, p_line integer) TO service_role;

-- Name: FUNCTION raise_floors(p_most integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.raise_floors(p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.raise_floors(p_most integer) TO service_role;

-- Name: TABLE horizons; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.horizons TO service_role;

-- Name: FUNCTION raise_horizon(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.raise_horizon() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.raise_horizon() TO service_role;

-- Name: FUNCTION raise_time_floor(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.raise_time_floor() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.raise_time_floor() TO service_role;

-- Name: FUNCTION ready_jobs(p_queue text, p_most integer, OUT jobs integer, OUT oldest timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.ready_jobs(p_queue text, p_most integer, OUT jobs integer, OUT oldest timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.ready_jobs(p_queue text, p_most integer, OUT jobs integer, OUT oldest timestamp with time zone) TO service_role;

-- Name: FUNCTION ready_past(p_queue text, p_line integer, p_priorities integer[], p_turns bigint[], p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.ready_past(p_queue text, p_line integer, p_priorities integer[], p_turns bigint[], p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.ready_past(p_queue text, p_line integer, p_priorities integer[], p_turns bigint[], p_ids uuid[]) TO service_role;

-- Name: FUNCTION recall_steps(p_lease bigint, p_id uuid, p_claims integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.recall_steps(p_lease bigint, p_id uuid, p_claims integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.recall_steps(p_lease bigint, p_id uuid, p_claims integer) TO service_role;

-- Name: FUNCTION reclaim(p_everywhere boolean, p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.reclaim(p_everywhere boolean, p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.reclaim(p_everywhere boolean, p_lease bigint) TO service_role;

-- Name: FUNCTION recount(p_flow uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.recount(p_flow uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.recount(p_flow uuid) TO service_role;

-- Name: FUNCTION recount_edges(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.recount_edges(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.recount_edges(p_id uuid) TO service_role;

-- Name: FUNCTION refuse_blobs(p_args jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.refuse_blobs(p_args jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.refuse_blobs(p_args jsonb) TO service_role;

-- Name: FUNCTION refuse_others(p_lease bigint, p_id uuid, p_claims integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.refuse_others(p_lease bigint, p_id uuid, p_claims integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.refuse_others(p_lease bigint, p_id uuid, p_claims integer) TO service_role;

-- Name: FUNCTION refuse_storage(p_used bigint, p_storage bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.refuse_storage(p_used bigint, p_storage bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.refuse_storage(p_used bigint, p_storage bigint) TO service_role;

-- Name: FUNCTION release(p_lease bigint, p_ids uuid[], p_claims integer[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.release(p_lease bigint, p_ids uuid[], p_claims integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.release(p_lease bigint, p_ids uuid[], p_claims integer[]) TO service_role;

-- Name: FUNCTION release_unknown(p_lease bigint, p_known uuid[], p_seconds double precision); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.release_unknown(p_lease bigint, p_known uuid[], p_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.release_unknown(p_lease bigint, p_known uuid[], p_seconds double precision) TO service_role;

-- Name: FUNCTION remember_step(p_lease bigint, p_id uuid, p_claims integer, p_name text, p_output jsonb, p_kind text, p_number integer, p_version integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.remember_step(p_lease bigint, p_id uuid, p_claims integer, p_name text, p_output jsonb, p_kind text, p_number integer, p_version integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.remember_step(p_lease bigint, p_id uuid, p_claims integer, p_name text, p_output jsonb, p_kind text, p_number integer, p_version integer) TO service_role;

-- Name: FUNCTION remove_artifacts(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.remove_artifacts(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.remove_artifacts(p_ids uuid[]) TO service_role;

-- Name: FUNCTION remove_schedule(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.remove_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.remove_schedule(p_name text) TO service_role;

-- Name: FUNCTION renew_waiting(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.renew_waiting() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.renew_waiting() TO service_role;

-- Name: FUNCTION report_progress(p_lease bigint, p_ids uuid[], p_claims integer[], p_progress jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.report_progress(p_lease bigint, p_ids uuid[], p_claims integer[], p_progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.report_progress(p_lease bigint, p_ids uuid[], p_claims integer[], p_progress jsonb) TO service_role;

-- Name: FUNCTION report_statistics(p_lease bigint, p_runs jsonb, p_errors jsonb, p_memory bigint, p_load double precision, p_slots integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.report_statistics(p_lease bigint, p_runs jsonb, p_errors jsonb, p_memory bigint, p_load double precision, p_slots integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.report_statistics(p_lease bigint, p_runs jsonb, p_errors jsonb, p_memory bigint, p_load double precision, p_slots integer) TO service_role;

-- Name: FUNCTION reported_before(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.reported_before(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.reported_before(p_lease bigint, p_ids uuid[], p_claims integer[], p_errors text[]) TO service_role;

-- Name: FUNCTION reported_runs(p_numbers bigint[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.reported_runs(p_numbers bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.reported_runs(p_numbers bigint[]) TO service_role;

-- Name: FUNCTION requeue(p_ids uuid[], p_queue text, p_priority integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.requeue(p_ids uuid[], p_queue text, p_priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.requeue(p_ids uuid[], p_queue text, p_priority integer) TO service_role;

-- Name: FUNCTION resume_schedule(p_name text, p_next timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.resume_schedule(p_name text, p_next timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.resume_schedule(p_name text, p_next timestamp with time zone) TO service_role;

-- Name: FUNCTION retake_turns(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.retake_turns(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.retake_turns(p_ids uuid[]) TO service_role;

-- Name: FUNCTION retry(p_ids uuid[], p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.retry(p_ids uuid[], p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.retry(p_ids uuid[], p_queue text) TO service_role;

-- Name: FUNCTION retry_mine(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.retry_mine(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.retry_mine(p_id uuid) TO service_role;
GRANT ALL ON FUNCTION penstock.retry_mine(p_id uuid) TO authenticated;

-- Name: FUNCTION retry_where(p_filter jsonb, p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.retry_where(p_filter jsonb, p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.retry_where(p_filter jsonb, p_queue text) TO service_role;

-- Name: FUNCTION rollup_add(p_rollup jsonb, p_amounts jsonb, p_ended jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.rollup_add(p_rollup jsonb, p_amounts jsonb, p_ended jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.rollup_add(p_rollup jsonb, p_amounts jsonb, p_ended jsonb) TO service_role;

-- Name: FUNCTION rollup_progress(p_rollup jsonb, p_before jsonb, p_message text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.rollup_progress(p_rollup jsonb, p_before jsonb, p_message text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.rollup_progress(p_rollup jsonb, p_before jsonb, p_message text) TO service_role;

-- Name: FUNCTION run_schedule(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.run_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.run_schedule(p_name text) TO service_role;

-- Name: FUNCTION running_jobs(p_queue text, p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.running_jobs(p_queue text, p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.running_jobs(p_queue text, p_lease bigint) TO service_role;

-- Name: FUNCTION scale_of(p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.scale_of(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.scale_of(p_queue text) TO service_role;

-- Name: FUNCTION search_jobs(p_filter jsonb, p_before uuid, p_limit integer, p_most integer, p_ms integer, p_after uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.search_jobs(p_filter jsonb, p_before uuid, p_limit integer, p_most integer, p_ms integer, p_after uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.search_jobs(p_filter jsonb, p_before uuid, p_limit integer, p_most integer, p_ms integer, p_after uuid) TO service_role;

-- Name: FUNCTION set_expiry(p_lease bigint, p_expires_at timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.set_expiry(p_lease bigint, p_expires_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.set_expiry(p_lease bigint, p_expires_at timestamp with time zone) TO service_role;

-- Name: FUNCTION set_priority(p_ids uuid[], p_priority integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.set_priority(p_ids uuid[], p_priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.set_priority(p_ids uuid[], p_priority integer) TO service_role;

-- Name: FUNCTION set_queue(p_name text, p_settings jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.set_queue(p_name text, p_settings jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.set_queue(p_name text, p_settings jsonb) TO service_role;

-- Name: FUNCTION set_quota(p_name text, p_limits jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.set_quota(p_name text, p_limits jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.set_quota(p_name text, p_limits jsonb) TO service_role;

-- Name: FUNCTION set_schedule(p_name text, p_cron text, p_kind text, p_args jsonb, p_tz text, p_catch_up text, p_options jsonb, p_source text, p_next timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.set_schedule(p_name text, p_cron text, p_kind text, p_args jsonb, p_tz text, p_catch_up text, p_options jsonb, p_source text, p_next timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.set_schedule(p_name text, p_cron text, p_kind text, p_args jsonb, p_tz text, p_catch_up text, p_options jsonb, p_source text, p_next timestamp with time zone) TO service_role;

-- Name: FUNCTION settle(p_finished uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.settle(p_finished uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.settle(p_finished uuid[]) TO service_role;

-- Name: FUNCTION shown(p_errors jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.shown(p_errors jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.shown(p_errors jsonb) TO service_role;

-- Name: FUNCTION snooze(p_lease bigint, p_ids uuid[], p_claims integer[], p_seconds double precision[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.snooze(p_lease bigint, p_ids uuid[], p_claims integer[], p_seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.snooze(p_lease bigint, p_ids uuid[], p_claims integer[], p_seconds double precision[]) TO service_role;

-- Name: FUNCTION sorted_json(p_value jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.sorted_json(p_value jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.sorted_json(p_value jsonb) TO service_role;

-- Name: FUNCTION stale_artifacts(p_grace double precision, p_after uuid, p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.stale_artifacts(p_grace double precision, p_after uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.stale_artifacts(p_grace double precision, p_after uuid, p_limit integer) TO service_role;

-- Name: FUNCTION start(p_kind text, p_args jsonb, p_org text, p_idempotency_key text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.start(p_kind text, p_args jsonb, p_org text, p_idempotency_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.start(p_kind text, p_args jsonb, p_org text, p_idempotency_key text) TO service_role;
GRANT ALL ON FUNCTION penstock.start(p_kind text, p_args jsonb, p_org text, p_idempotency_key text) TO authenticated;

-- Name: FUNCTION start_batch(p_jobs jsonb, p_org text, p_idempotency_key text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.start_batch(p_jobs jsonb, p_org text, p_idempotency_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.start_batch(p_jobs jsonb, p_org text, p_idempotency_key text) TO service_role;
GRANT ALL ON FUNCTION penstock.start_batch(p_jobs jsonb, p_org text, p_idempotency_key text) TO authenticated;

-- Name: FUNCTION start_for(p_owner text, p_quota text, p_jobs jsonb, p_by_user boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.start_for(p_owner text, p_quota text, p_jobs jsonb, p_by_user boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.start_for(p_owner text, p_quota text, p_jobs jsonb, p_by_user boolean) TO service_role;

-- Name: TABLE operations; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.operations TO service_role;

-- Name: FUNCTION start_operation(p_id uuid, p_action text, p_filter jsonb, p_options jsonb, p_who text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.start_operation(p_id uuid, p_action text, p_filter jsonb, p_options jsonb, p_who text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.start_operation(p_id uuid, p_action text, p_filter jsonb, p_options jsonb, p_who text) TO service_role;

-- Name: FUNCTION starts_left(p_queue text, p_key text, p_rate integer, p_period interval, p_now timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.starts_left(p_queue text, p_key text, p_rate integer, p_period interval, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.starts_left(p_queue text, p_key text, p_rate integer, p_period interval, p_now timestamp with time zone) TO service_role;

-- Name: FUNCTION statistics_series(p_since timestamp with time zone, p_step integer, p_queue text, p_kind text, p_each boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.statistics_series(p_since timestamp with time zone, p_step integer, p_queue text, p_kind text, p_each boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.statistics_series(p_since timestamp with time zone, p_step integer, p_queue text, p_kind text, p_each boolean) TO service_role;

-- Name: FUNCTION steps_of(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.steps_of(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.steps_of(p_job uuid) TO service_role;

-- Name: FUNCTION stop_cancelled(p_lease bigint, p_ids uuid[], p_claims integer[], p_reason text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.stop_cancelled(p_lease bigint, p_ids uuid[], p_claims integer[], p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.stop_cancelled(p_lease bigint, p_ids uuid[], p_claims integer[], p_reason text) TO service_role;

-- Name: FUNCTION stop_waiting(p_lease bigint, p_queues text[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.stop_waiting(p_lease bigint, p_queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.stop_waiting(p_lease bigint, p_queues text[]) TO service_role;

-- Name: FUNCTION store_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.store_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.store_artifact(p_lease bigint, p_job uuid, p_claims integer, p_id uuid, p_size bigint, p_digest text) TO service_role;

-- Name: FUNCTION stored_bytes(p_owner text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.stored_bytes(p_owner text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.stored_bytes(p_owner text) TO service_role;

-- Name: FUNCTION sum_of_buckets(p_column text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.sum_of_buckets(p_column text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.sum_of_buckets(p_column text) TO service_role;

-- Name: FUNCTION sum_usage(p_since date, p_org text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.sum_usage(p_since date, p_org text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.sum_usage(p_since date, p_org text) TO service_role;

-- Name: FUNCTION suspend(p_lease bigint, p_id uuid, p_claims integer, p_step jsonb, p_calls jsonb, p_progress jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.suspend(p_lease bigint, p_id uuid, p_claims integer, p_step jsonb, p_calls jsonb, p_progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.suspend(p_lease bigint, p_id uuid, p_claims integer, p_step jsonb, p_calls jsonb, p_progress jsonb) TO service_role;

-- Name: FUNCTION take_approval(p_job uuid, p_step text, p_approved boolean, p_who text, p_comment text, p_owner text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_approval(p_job uuid, p_step text, p_approved boolean, p_who text, p_comment text, p_owner text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_approval(p_job uuid, p_step text, p_approved boolean, p_who text, p_comment text, p_owner text) TO service_role;

-- Name: FUNCTION take_back(p_flow penstock.jobs); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_back(p_flow penstock.jobs) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_back(p_flow penstock.jobs) TO service_role;

-- Name: FUNCTION take_callback(p_job uuid, p_step text, p_event text, p_payload jsonb); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_callback(p_job uuid, p_step text, p_event text, p_payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_callback(p_job uuid, p_step text, p_event text, p_payload jsonb) TO service_role;

-- Name: FUNCTION take_event(p_event text, p_key text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_event(p_event text, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_event(p_event text, p_key text) TO service_role;

-- Name: FUNCTION take_idempotency_key(p_owner text, p_of_user boolean, p_key text, p_job uuid, p_fingerprint bytea, p_ttl double precision); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_idempotency_key(p_owner text, p_of_user boolean, p_key text, p_job uuid, p_fingerprint bytea, p_ttl double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_idempotency_key(p_owner text, p_of_user boolean, p_key text, p_job uuid, p_fingerprint bytea, p_ttl double precision) TO service_role;

-- Name: FUNCTION take_lost(p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_lost(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_lost(p_limit integer) TO service_role;

-- Name: FUNCTION take_quota(p_owner text, p_quota text, p_started integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_quota(p_owner text, p_quota text, p_started integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_quota(p_owner text, p_quota text, p_started integer) TO service_role;

-- Name: FUNCTION take_turns(p_queue text, p_key text, p_jobs integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.take_turns(p_queue text, p_key text, p_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.take_turns(p_queue text, p_key text, p_jobs integer) TO service_role;

-- Name: FUNCTION tell_it_runs(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.tell_it_runs(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.tell_it_runs(p_id uuid) TO service_role;

-- Name: FUNCTION tell_watchers(p_ids uuid[]); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.tell_watchers(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.tell_watchers(p_ids uuid[]) TO service_role;

-- Name: FUNCTION tend(p_lease bigint); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.tend(p_lease bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.tend(p_lease bigint) TO service_role;

-- Name: FUNCTION time_floor(); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.time_floor() FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.time_floor() TO service_role;

-- Name: FUNCTION time_of_uuid7(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.time_of_uuid7(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.time_of_uuid7(p_id uuid) TO service_role;

-- Name: FUNCTION try_lock(p_name text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.try_lock(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.try_lock(p_name text) TO service_role;

-- Name: FUNCTION turn_served(p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.turn_served(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.turn_served(p_queue text) TO service_role;

-- Name: FUNCTION unblock(p_job penstock.jobs); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.unblock(p_job penstock.jobs) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.unblock(p_job penstock.jobs) TO service_role;

-- Name: FUNCTION under_quota(p_queue text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.under_quota(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.under_quota(p_queue text) TO service_role;

-- Name: FUNCTION unpark(p_kinds text[], p_queues text[], p_limit integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.unpark(p_kinds text[], p_queues text[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.unpark(p_kinds text[], p_queues text[], p_limit integer) TO service_role;

-- Name: FUNCTION uuid7(p_at timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.uuid7(p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.uuid7(p_at timestamp with time zone) TO service_role;

-- Name: FUNCTION uuid7_floor(p_at timestamp with time zone); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.uuid7_floor(p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.uuid7_floor(p_at timestamp with time zone) TO service_role;
GRANT ALL ON FUNCTION penstock.uuid7_floor(p_at timestamp with time zone) TO authenticated;

-- Name: FUNCTION uuid_of_prefix(p_prefix text, p_digit text); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.uuid_of_prefix(p_prefix text, p_digit text) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.uuid_of_prefix(p_prefix text, p_digit text) TO service_role;
GRANT ALL ON FUNCTION penstock.uuid_of_prefix(p_prefix text, p_digit text) TO authenticated;

-- Name: FUNCTION wait_for_work(p_lease bigint, p_queues text[], p_backend integer, p_direct boolean); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.wait_for_work(p_lease bigint, p_queues text[], p_backend integer, p_direct boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.wait_for_work(p_lease bigint, p_queues text[], p_backend integer, p_direct boolean) TO service_role;

-- Name: FUNCTION wake(p_queue text, p_jobs integer); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.wake(p_queue text, p_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.wake(p_queue text, p_jobs integer) TO service_role;

-- Name: FUNCTION watch(p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.watch(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.watch(p_id uuid) TO service_role;

-- Name: FUNCTION withdraw_artifact(p_lease bigint, p_claims integer, p_id uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.withdraw_artifact(p_lease bigint, p_claims integer, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.withdraw_artifact(p_lease bigint, p_claims integer, p_id uuid) TO service_role;

-- Name: FUNCTION workers(p_job uuid); Type: ACL; Schema: penstock; Owner: -
REVOKE ALL ON FUNCTION penstock.workers(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION penstock.workers(p_job uuid) TO service_role;

-- Name: TABLE application_migrations; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.application_migrations TO service_role;

-- Name: TABLE artifacts_view; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.artifacts_view TO service_role;
GRANT SELECT ON TABLE penstock.artifacts_view TO authenticated;

-- Name: TABLE audit; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.audit TO service_role;

-- Name: SEQUENCE audit_number_seq; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.audit_number_seq TO service_role;

-- Name: TABLE channels; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.channels TO service_role;

-- Name: TABLE declared_queues; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.declared_queues TO service_role;

-- Name: TABLE depths; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.depths TO service_role;

-- Name: TABLE edges; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.edges TO service_role;

-- Name: TABLE errors; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.errors TO service_role;

-- Name: TABLE errors_strays; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.errors_strays TO service_role;

-- Name: TABLE events; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.events TO service_role;

-- Name: TABLE failures; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.failures TO service_role;

-- Name: SEQUENCE floor_numbers; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.floor_numbers TO service_role;

-- Name: TABLE heartbeats; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.heartbeats TO service_role;

-- Name: TABLE history_strays; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.history_strays TO service_role;

-- Name: TABLE idempotency_keys; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.idempotency_keys TO service_role;

-- Name: TABLE leases; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.leases TO service_role;

-- Name: TABLE leases_now; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.leases_now TO service_role;

-- Name: TABLE jobs_view; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.jobs_view TO service_role;

-- Name: TABLE kinds; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.kinds TO service_role;

-- Name: TABLE leader; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.leader TO service_role;

-- Name: SEQUENCE leases_id_seq; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.leases_id_seq TO service_role;

-- Name: TABLE live_jobs_view; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.live_jobs_view TO service_role;

-- Name: TABLE locks; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.locks TO service_role;

-- Name: TABLE lost_jobs; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.lost_jobs TO service_role;

-- Name: SEQUENCE lost_jobs_number_seq; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.lost_jobs_number_seq TO service_role;

-- Name: TABLE mailboxes; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.mailboxes TO service_role;

-- Name: TABLE payloads; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.payloads TO service_role;
GRANT SELECT ON TABLE penstock.payloads TO authenticated;

-- Name: TABLE payloads_strays; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.payloads_strays TO service_role;

-- Name: TABLE quota_use; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.quota_use TO service_role;

-- Name: TABLE quotas; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.quotas TO service_role;

-- Name: TABLE reports; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.reports TO service_role;

-- Name: SEQUENCE reports_number_seq; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.reports_number_seq TO service_role;

-- Name: TABLE schema_migrations; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.schema_migrations TO service_role;

-- Name: TABLE settings; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.settings TO service_role;

-- Name: TABLE starts; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.starts TO service_role;

-- Name: TABLE statistics; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.statistics TO service_role;

-- Name: TABLE steps; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.steps TO service_role;

-- Name: TABLE turns; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.turns TO service_role;

-- Name: TABLE usage; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.usage TO service_role;
GRANT SELECT ON TABLE penstock.usage TO authenticated;

-- Name: TABLE usage_log; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.usage_log TO service_role;
GRANT SELECT ON TABLE penstock.usage_log TO authenticated;

-- Name: TABLE usage_so_far; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.usage_so_far TO service_role;
GRANT SELECT ON TABLE penstock.usage_so_far TO authenticated;

-- Name: TABLE usage_sums; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.usage_sums TO service_role;

-- Name: TABLE vitals; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.vitals TO service_role;

-- Name: SEQUENCE waiting_numbers; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON SEQUENCE penstock.waiting_numbers TO service_role;

-- Name: TABLE waiting; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.waiting TO service_role;

-- Name: TABLE waiting_now; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.waiting_now TO service_role;

-- Name: TABLE waits; Type: ACL; Schema: penstock; Owner: -
GRANT ALL ON TABLE penstock.waits TO service_role;
