// A queue over supabase-js: what stands between the marks was written for Supabase, and is here as it was.
import { createClient } from '@supabase/supabase-js'

const supabaseUrl = process.env.SUPABASE_URL!
const supabaseServiceKey = process.env.SUPABASE_SERVICE_KEY!

// ----
// Service key client configuration
export const apiSupabaseServiceClient = () => {
	const supabase = createClient(supabaseUrl, supabaseServiceKey, {
		auth: {
			autoRefreshToken: false, // No token refresh needed
			persistSession: false, // No session persistence
		},
	});
	return supabase;
};
// ----

const supabase = apiSupabaseServiceClient()

async function send() {
// ----
// After sending response, enqueue job
const queuePayload = {
	bookmarkId: 456,
	url: "https://example.com",
	userId: "d6f10806-1c03-4884-badb-9a22b33f437b",
	favIcon: "https://example.com/favicon.ico",
	isImage: false,
};

await supabase.schema("pgmq_public").rpc("send", {
	queue_name: "add-bookmark-url-queue",
	message: queuePayload,
});
// ----
}

async function read() {
// ----
// Consumer reads messages
const messages = await supabase.schema("pgmq_public").rpc("read", {
	queue_name: "add-bookmark-url-queue",
	n: 10, // Batch of 10
});
// ----
	return messages
}

await send()
await send()
const messages = await read()
const archived = await supabase.schema("pgmq_public").rpc("archive", {
	queue_name: "add-bookmark-url-queue",
	message_id: messages.data[0].msg_id,
});
const unknown = await supabase.schema("pgmq_public").rpc("no_such_function", {})
process.stdout.write(JSON.stringify({ messages, archived, unknown }))
