// A worker over supabase-js: what stands between the marks was written for Supabase, and is here as it was.
import os from 'node:os'
import { createClient } from '@supabase/supabase-js'

const supabase = createClient(process.env.SUPABASE_URL!, process.env.SUPABASE_SERVICE_KEY!)

// every interval passes at once, and whoever would sleep has nothing left to do
const said: unknown[] = []
const under_way: Promise<unknown>[] = []
const setInterval = (work: () => Promise<void>, _: number) => under_way.push(work())
const clearInterval = (_: number) => undefined
const sleep = async (milliseconds: number) => {
  await Promise.all(under_way)
  await finish(milliseconds)
}

// ----
class Worker {
  private workerId = `worker-${os.hostname()}-${process.pid}`;
  private backoff = 5000; // Start at 5s
  
  async start() {
    while (true) {
      try {
        const tasks = await this.claimTasks(5);
        
        if (tasks.length === 0) {
          // Exponential backoff (5s → 10s → 20s → 30s max)
          this.backoff = Math.min(this.backoff * 2, 30000);
          await sleep(this.backoff);
          continue;
        }
        
        // Reset backoff on work
        this.backoff = 5000;
        
        // Process tasks in parallel (up to 5 concurrent)
        await Promise.all(tasks.map(task => this.processTask(task)));
        
      } catch (error) {
        console.error('Worker error:', error);
        await sleep(10000); // Cool down on error
      }
    }
  }
  
  private async claimTasks(maxTasks: number) {
    const { data, error } = await supabase.rpc('claim_tasks', {
      p_worker_id: this.workerId,
      p_max_tasks: maxTasks,
      p_task_types: ['text_generation', 'audio_generation']
    });
    
    return data || [];
  }
  
  private async processTask(task) {
    // Start heartbeat (every 60s)
    const heartbeatInterval = setInterval(async () => {
      await supabase.rpc('heartbeat_task', {
        p_task_id: task.id,
        p_worker_id: this.workerId
      });
    }, 60000);
    
    try {
      // Process task (with retries)
      const result = await this.executeTask(task);
      
      // Upload artifacts if needed
      if (result.artifacts) {
        for (const artifact of result.artifacts) {
          await this.uploadArtifact(artifact);
        }
      }
      
      // Mark complete
      await supabase.rpc('complete_task', {
        p_task_id: task.id,
        p_worker_id: this.workerId,
        p_output: result.output
      });
      
    } catch (error) {
      await supabase.rpc('fail_task', {
        p_task_id: task.id,
        p_worker_id: this.workerId,
        p_error: error.message
      });
    } finally {
      clearInterval(heartbeatInterval);
    }
  }
}
// ----

class Writer extends Worker {
  async executeTask(task: any) {
    if (task.input.chapter === 13) throw new Error('nobody wants chapter 13')
    const artifacts = task.task_type === 'audio_generation' ? [task] : undefined
    return { output: { success: true, chapter: task.input.chapter }, artifacts }
  }

  async uploadArtifact(task: any) {
    const jobId = task.job_id
    const artifactPath = `${task.user_id}/${jobId}/audio/chapter1.mp3`
    const mp3Buffer = Buffer.from('ID3')
    const signedUrl = 'https://x.supabase.co/storage/chapter1.mp3'
    // ----
    await supabase.from('job_artifacts').insert({
      job_id: jobId,
      task_id: task.id,
      artifact_type: 'audio_mp3',
      storage_path: artifactPath,
      public_url: signedUrl,
      file_size_bytes: mp3Buffer.length,
      duration_seconds: 180
    });
    // ----
  }
}

async function follow(userId: string, jobId: string) {
  // ----
  // Generate 1-hour signed URL
  const { data, error } = await supabase.storage
    .from('job-artifacts')
    .createSignedUrl(`${userId}/${jobId}/audio/chapter1.mp3`, 3600);
  // ----
  return error ?? await (await fetch(data.signedUrl)).text()
}

async function finish(idle: number) {
  const console = { log: (line: string) => said.push(line) }
  const runpod = { scaleEndpoint: async () => said.push('scaled') }
  const endpointId = 'x'
  // ----
  setInterval(async () => {
    const { data } = await supabase.rpc('reclaim_stale_tasks');
    if (data > 0) {
      console.log(`Reclaimed ${data} stale tasks`);
    }
  }, 5 * 60 * 1000);

  const pendingTasks = await supabase
    .from('job_tasks')
    .select('count')
    .eq('status', 'pending');

  if (pendingTasks.count > 100) {
    // Spin up more RunPod workers
    await runpod.scaleEndpoint(endpointId, { minWorkers: 5 });
  }
  // ----
  await Promise.all(under_way)
  const file = await follow('ada', process.env.JOB_ID!)
  process.stdout.write(JSON.stringify({ idle, said, file, pending: pendingTasks.data, error: pendingTasks.error }))
  process.exit(0)
}

await new Writer().start()
